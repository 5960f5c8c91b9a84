// Contrast windows that suit the data at hand.

import * as voxels from "./voxels.js";

const SAMPLES = 4000; // voxels that a window is found from

// Some values of a layer's channel that is shown, from the buckets of the magnifications that are shown.
function samples({ layers, planes, state, store }, index) {
  const layer = layers[index];
  const mags = new Set(planes.map((plane) => plane.mags[index]).filter((mag) => mag !== undefined));
  const filled = [...mags].flatMap((mag) => [...store.levels[index][mag].buckets.values()].filter((b) => b.nbytes > 0));
  const each = Math.max(1, Math.floor(SAMPLES / Math.max(1, filled.length)));
  const channel = layer.isRGB ? 0 : Math.min(state.layers[index].channel, layer.channels - 1);
  return filled.flatMap(({ data }) => {
    const count = data.length / layer.channels;
    const at = (n) => Math.floor(((n + 0.5) * count) / each) * layer.channels + channel;
    return Array.from({ length: each }, (_, n) => Number(data[at(n)])).filter(Number.isFinite);
  });
}

// Sets the window of a layer; false where there is nothing to find one from.
export function fitWindow(viewer, index, isChosen) {
  const layer = viewer.layers[index];
  if (layer.category === "segmentation") return false;
  const values = samples(viewer, index);
  const window = voxels.typicalRange(values);
  if (window === null) return false;
  layer.observed = values.reduce(([low, high], v) => [Math.min(low, v), Math.max(high, v)], [values[0], values[0]]);
  Object.assign(viewer.state.layers[index], { window, windowIsChosen: isChosen });
  return true;
}

// Windows of visible layers that nobody chose: a first one as soon as there is data, a better one when all is there.
export function fitUnchosen(viewer) {
  const isDone = viewer.store.pending === 0;
  let changed = false;
  viewer.layers.forEach((layer, index) => {
    const settings = viewer.state.layers[index];
    if (!settings.visible || settings.windowIsChosen || settings.windowIsSettled || voxels.bytesOf(layer.dtype) === 1) return;
    if (!isDone && settings.window !== null) return;
    const isFitted = fitWindow(viewer, index, false);
    settings.windowIsSettled = isDone && isFitted;
    changed ||= isFitted;
  });
  return changed;
}
