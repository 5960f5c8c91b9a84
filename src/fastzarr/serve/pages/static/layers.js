// Layers as the viewer has them, and how one is shown before anyone changes it.

import { TINTS } from "./colours.js";
import * as voxels from "./voxels.js";

const LATER = ["green", "magenta", "cyan", "yellow", "red", "blue"];

const volume = (mag) => mag[0] * mag[1] * mag[2];

export const magName = (mag) => (mag.every((m) => m === mag[0]) ? String(mag[0]) : mag.join("-"));

export function prepared(layer) {
  const narrow = voxels.bytesOf(layer.dtype) <= 2 && !voxels.isFloat(layer.dtype);
  const mags = [...layer.mags].sort((a, b) => volume(a) - volume(b));
  return { ...layer, mags, isRGB: layer.category !== "segmentation" && layer.channels === 3 && narrow };
}

export const showable = (dataset) =>
  dataset.layers.filter((layer) => voxels.isKnown(layer.dtype) && layer.mags.length > 0).map(prepared);

// The first image is white, the others have colours that tell them from it and from each other.
function tintOf(layer, layers) {
  const number = layers.filter((other) => other.category === "color" && !other.isRGB).indexOf(layer);
  return number < 1 ? TINTS.white : TINTS[LATER[(number - 1) % LATER.length]];
}

// The first image and the first segmentation are seen; a window of null is found from the data.
export function defaultsOf(layer, layers) {
  const overlays = layers.some((other) => other.category === "color");
  return {
    visible: layer === layers.find((other) => other.category === layer.category),
    opacity: layer.category === "segmentation" && overlays ? 0.4 : 1,
    window: voxels.bytesOf(layer.dtype) === 1 ? voxels.limits(layer.dtype) : null,
    windowIsChosen: false,
    windowIsSettled: false,
    tint: tintOf(layer, layers),
    channel: 0,
  };
}
