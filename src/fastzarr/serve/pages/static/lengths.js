// Lengths for people: metric, or in voxels where their size is not known.

import { grouped } from "./elements.js";

const METRIC = [[1e9, "m"], [1e6, "mm"], [1e3, "µm"], [1, "nm"]];
const VOXELS = [1, "vx"];

// Size and name of the unit that a length, in nanometres or in voxels, is told in.
export const unitOf = (length, isKnown) => (isKnown ? METRIC.find(([size]) => length >= size) ?? METRIC.at(-1) : VOXELS);

export function lengthText(length, isKnown = true) {
  const [size, name] = unitOf(length, isKnown);
  return `${Number((length / size).toPrecision(4))} ${name}`;
}

// A position with as many digits as tell two apart that are `step` away from each other.
export function positionText(position, step, [size]) {
  const [whole, ...part] = (position / size).toFixed(Math.max(0, Math.ceil(-Math.log10(step / size)))).split(".");
  return [grouped(whole), ...part].join(".");
}

// The longest of 1, 2, 5 × 10ⁿ that takes up to a quarter of so many pixels.
export function barLength(pixels, scale) {
  const most = (pixels / 4) * scale;
  const power = 10 ** Math.floor(Math.log10(most));
  return [5, 2, 1].map((digit) => digit * power).find((length) => length <= most) ?? power;
}
