// A small picture of a dataset: the middle of its first layer, and of its first segmentation over it.

import * as api from "./api.js";
import { colourer, blender } from "./paint.js";
import { clamp } from "./geometry.js";
import { defaultsOf, prepared } from "./layers.js";
import * as voxels from "./voxels.js";

const MOST = 512; // voxels per edge that the server cuts out
const ENOUGH = 200; // voxels for a sharp picture

export async function drawPreview(canvas, dataset) {
  const known = dataset.layers.filter((layer) => voxels.isKnown(layer.dtype)).map(prepared);
  const first = known.find((layer) => layer.category === "color");
  const over = known.find((layer) => layer.category === "segmentation");
  const chosen = [first, over].filter(Boolean);
  const box = chosen[0].bounding_box;
  const physical = [0, 1].map((axis) => box.size[axis] * dataset.voxel_size[axis]);
  const scale = Math.max(...physical) / Math.max(canvas.width, canvas.height);
  const [width, height] = physical.map((length) => Math.max(1, Math.round(length / scale)));
  const image = new ImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer).fill(0xff000000);
  for (const layer of chosen) await paint(pixels, width, height, box, dataset, layer, layer === chosen[0], chosen);
  Object.assign(canvas, { width, height });
  canvas.getContext("2d").putImageData(image, 0, 0);
}

async function paint(pixels, width, height, box, dataset, layer, isFirst, layers) {
  const mag = layer.mags.find((m) => [0, 1].every((a) => box.size[a] / m[a] <= ENOUGH)) ?? layer.mags.at(-1);
  const corner = box.offset.map((v, a) => Math.floor(a === 2 ? v + box.size[2] / 2 : v));
  const step = [0, 1].map((a) => Math.min(MOST, Math.ceil(box.size[a] / mag[a])));
  if ([0, 1].some((a) => box.size[a] / mag[a] > MOST)) {
    [0, 1].forEach((a) => (corner[a] += Math.floor((box.size[a] - MOST * mag[a]) / 2) * (box.size[a] / mag[a] > MOST ? 1 : 0)));
  }
  const bytes = await api.cutout(dataset.name, layer.name, mag, corner, [...step, 1]);
  const data = voxels.typed(layer.dtype, bytes);
  const settings = defaultsOf(layer, layers);
  if (settings.window === null) {
    const every = Math.max(1, Math.floor(data.length / 4000));
    settings.window = voxels.typicalRange(Array.from({ length: Math.floor(data.length / every) }, (_, n) => Number(data[n * every])));
  }
  const colour = colourer(layer, settings);
  const blend = blender(layer, settings, isFirst);
  const row = new Uint32Array(width);
  const place = (pixel, size, count) => clamp(Math.floor(((pixel + 0.5) / size) * count), 0, count - 1);
  const offsets = Int32Array.from({ length: width }, (_, x) => place(x, width, step[0]) * layer.channels);
  for (let y = 0; y < height; y++) {
    colour(data, place(y, height, step[1]) * step[0], offsets, 0, width, row);
    blend(pixels, y * width, row, 0, width);
  }
}
