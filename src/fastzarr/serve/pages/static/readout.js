// Position and values below the pointer, or at the cross-hair where there is no pointer.

import { AXES, EDGE } from "./geometry.js";
import { bucketKey } from "./buckets.js";
import { css, segmentColour } from "./colours.js";
import { $, make } from "./elements.js";
import { positionText, unitOf } from "./lengths.js";
import * as voxels from "./voxels.js";

// The values of all channels at a voxel of magnification 1: "…" where not loaded, "unreadable" where that failed.
export function valueAt(store, index, layer, mag, box, position) {
  if (position.some((v, a) => v < box.low[a] || v >= box.high[a])) return { text: "outside" };
  const place = position.map((v, a) => Math.floor(v / layer.mags[mag][a]));
  const coords = place.map((v) => Math.floor(v / EDGE));
  const bucket = store.get(index, mag, bucketKey(coords));
  if (bucket === undefined) return { text: "…" };
  if (bucket.data === null) return { text: "unreadable", failed: true };
  const [x, y, z] = place.map((v, a) => v - coords[a] * EDGE);
  const start = (x + EDGE * (y + EDGE * z)) * layer.channels;
  const values = [...bucket.data.subarray(start, start + layer.channels)];
  return { text: values.map((v) => voxels.text(layer.dtype, v)).join(", "), values };
}

export class Readout {
  constructor(element, viewer) {
    this.viewer = viewer;
    this.element = element;
    this.source = $("h3", element);
    this.axes = AXES.map((name) => {
      const [voxel, length, unit] = [make("output.voxel"), make("output.length"), make("small")];
      $(".where", element).append(make(`b.${name}`, {}, name), voxel, length, unit);
      return { voxel, length, unit };
    });
    this.rows = viewer.layers.map((layer) => {
      const swatch = layer.category === "segmentation" ? make("i.swatch") : null;
      const value = make("output", { "data-layer": layer.name });
      const mag = make("small.mag");
      $("dl", element).append(make("dt", {}, layer.name), make("dd", {}, swatch, value, mag));
      return { swatch, value, mag };
    });
  }

  // `place` is in voxels of magnification 1; `mags` are those that are shown there.
  show(place, mags, source) {
    const { state, layers, store, boxes, planes } = this.viewer;
    const position = place.map(Math.floor);
    this.source.textContent = source;
    this.element.dataset.voxel = position.join(",");
    const barUnit = unitOf(planes[0].barLength, state.sizeIsKnown);
    this.axes.forEach(({ voxel, length, unit }, a) => {
      voxel.textContent = position[a];
      if (!state.sizeIsKnown) return;
      length.textContent = positionText(position[a] * state.voxelSize[a], state.unit, barUnit);
      unit.textContent = barUnit[1];
    });
    layers.forEach((layer, index) => {
      const row = this.rows[index];
      const mag = mags[index] ?? 0;
      const isHidden = !state.layers[index].visible;
      const found = isHidden ? { text: "hidden" } : valueAt(store, index, layer, mag, boxes[index], position);
      row.value.textContent = found.text;
      row.value.classList.toggle("failed", found.failed ?? false);
      row.value.classList.toggle("hidden", isHidden);
      row.mag.textContent = mag > 0 ? `mag ${layer.mags[mag].join("-")}` : "";
      if (row.swatch) {
        const id = found.values?.[0];
        row.swatch.style.background = id ? css(segmentColour(id)) : "transparent";
      }
    });
  }
}
