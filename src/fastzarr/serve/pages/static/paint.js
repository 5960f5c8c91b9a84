// Pixels of one layer on one plane: bucket by bucket, row by row, straight from the voxels.

import { PALETTE, PRIMARIES, ramp, paletteIndex, pixel } from "./colours.js";
import { AXES, EDGE, runs, standIns } from "./geometry.js";
import { bucketKey } from "./buckets.js";
import * as voxels from "./voxels.js";

export const INSIDE = pixel(0, 0, 0);
export const LOADING = pixel(30, 34, 40);
export const HATCH = [pixel(196, 52, 40), pixel(64, 16, 14)];

const STRIDES = [1, EDGE, EDGE * EDGE];

// A function that fills `row` with the colours of the voxels `base + offsets[from..to]`.
export function colourer(layer, settings) {
  if (layer.category === "segmentation") return segments(layer);
  const tints = layer.isRGB ? PRIMARIES : [settings.tint];
  const [low, high] = settings.window ?? voxels.limits(layer.dtype) ?? [0, 1];
  const ramps = tints.map((tint) => ramp(tint, settings.opacity));
  const channel = layer.isRGB ? 0 : settings.channel;
  const tables = voxels.bytesOf(layer.dtype) <= 2 && !voxels.isFloat(layer.dtype);
  if (tables) return byTable(layer, ramps.map((colours) => table(layer.dtype, colours, low, high)), channel);
  return byLevel(layer, ramps[0], low, high, channel);
}

const level = (value, low, factor) => {
  const at = (value - low) * factor;
  return at > 0 ? Math.min(255, Math.round(at)) : 0;
};
const factorOf = (low, high) => 255 / Math.max(high - low, Number.MIN_VALUE);

// The colour of each value of a narrow integer, at the value's bits.
function table(dtype, colours, low, high) {
  const bits = 8 * voxels.bytesOf(dtype);
  const signed = dtype.startsWith("int");
  return Uint32Array.from({ length: 2 ** bits }, (_, at) => {
    const value = signed && at >= 2 ** (bits - 1) ? at - 2 ** bits : at;
    return colours[level(value, low, factorOf(low, high))];
  });
}

function byTable({ dtype, channels }, tables, channel) {
  const Bits = voxels.bytesOf(dtype) === 1 ? Uint8Array : Uint16Array;
  const [first, second, third] = tables;
  return (data, base, offsets, from, to, row) => {
    const bits = new Bits(data.buffer);
    const start = base * channels + channel;
    if (tables.length === 1) {
      for (let i = from; i < to; i++) row[i] = first[bits[start + offsets[i]]];
      return;
    }
    for (let i = from; i < to; i++) {
      const at = start + offsets[i];
      row[i] = first[bits[at]] | second[bits[at + 1]] | third[bits[at + 2]];
    }
  };
}

function byLevel({ dtype, channels }, colours, low, high, channel) {
  const factor = factorOf(low, high);
  if (!voxels.isWide(dtype)) {
    return (data, base, offsets, from, to, row) => {
      const start = base * channels + channel;
      for (let i = from; i < to; i++) row[i] = colours[level(data[start + offsets[i]], low, factor)];
    };
  }
  const Upper = dtype === "int64" ? Int32Array : Uint32Array;
  return (data, base, offsets, from, to, row) => {
    const lower = new Uint32Array(data.buffer);
    const upper = new Upper(data.buffer);
    const start = base * channels + channel;
    for (let i = from; i < to; i++) {
      const at = 2 * (start + offsets[i]);
      row[i] = colours[level(upper[at + 1] * 2 ** 32 + lower[at], low, factor)];
    }
  };
}

// Colours of ids; zero stays transparent. Neighbours often have the same id.
function segments({ dtype, channels }) {
  const wide = voxels.isWide(dtype);
  const signed = dtype.startsWith("int");
  return (data, base, offsets, from, to, row) => {
    const ids = wide ? new Int32Array(data.buffer) : data;
    const start = base * channels;
    let lastLow = 0;
    let lastHigh = 0;
    let colour = 0;
    for (let i = from; i < to; i++) {
      const at = start + offsets[i];
      const low = wide ? ids[2 * at] : ids[at] | 0;
      const high = wide ? ids[2 * at + 1] : signed && low < 0 ? -1 : 0;
      if (low !== lastLow || high !== lastHigh) {
        colour = low === 0 && high === 0 ? 0 : PALETTE[paletteIndex(low, high)];
        lastLow = low;
        lastHigh = high;
      }
      row[i] = colour;
    }
  };
}

// How a row comes onto the image. Colour layers add their light; segments cover, as far as they are opaque.
export function blender(layer, settings, isFirst) {
  if (layer.category === "segmentation") return (image, at, row, from, to) => cover(image, at, row, from, to, settings.opacity);
  return isFirst ? (image, at, row, from, to) => image.set(row.subarray(from, to), at) : add;
}

function add(image, at, row, from, to) {
  for (let i = from; i < to; i++, at++) {
    const a = image[at];
    const b = row[i];
    const red = Math.min(255, (a & 255) + (b & 255));
    const green = Math.min(255, ((a >>> 8) & 255) + ((b >>> 8) & 255));
    const blue = Math.min(255, ((a >>> 16) & 255) + ((b >>> 16) & 255));
    image[at] = 0xff000000 | (blue << 16) | (green << 8) | red;
  }
}

function cover(image, at, row, from, to, opacity) {
  const share = Math.round(opacity * 256);
  const rest = 256 - share;
  for (let i = from; i < to; i++, at++) {
    const a = image[at];
    const b = row[i];
    if (b === 0) continue;
    const red = ((a & 255) * rest + (b & 255) * share) >>> 8;
    const green = (((a >>> 8) & 255) * rest + ((b >>> 8) & 255) * share) >>> 8;
    const blue = (((a >>> 16) & 255) * rest + ((b >>> 16) & 255) * share) >>> 8;
    image[at] = 0xff000000 | (blue << 16) | (green << 8) | red;
  }
}

// Paints one layer. `frame`: image, width, height, plane, centre (of u and v), step (voxels of magnification 1 per
// pixel along u and v), depth (voxel along w), low and high (bounding box). Calls `wish(mag, coords, key, x, y)` for
// each bucket of the chosen magnification that is not there.
export function paintLayer(frame, store, index, layer, chosen, { colour, blend, isFirst }, wish) {
  const { image, width, height, plane } = frame;
  const row = new Uint32Array(width);
  const chain = standIns(layer.mags, chosen);
  const grids = new Map();

  const gridOf = (mag) => {
    if (!grids.has(mag)) {
      const size = layer.mags[mag];
      const [low, high] = [frame.low, frame.high];
      const across = runs(width, frame.centre[0], frame.step[0], size[plane.u], low[plane.u], high[plane.u]);
      const down = runs(height, frame.centre[1], frame.step[1], size[plane.v], low[plane.v], high[plane.v]);
      const offsets = Int32Array.from(across.within, (v) => v * STRIDES[plane.u] * layer.channels);
      const depth = Math.floor(frame.depth / size[plane.w]);
      const slice = Math.floor(depth / EDGE);
      grids.set(mag, { across, down, offsets, slice, base: (depth - slice * EDGE) * STRIDES[plane.w] });
    }
    return grids.get(mag);
  };

  const fill = (link, left, right, top, bottom) => {
    if (link === chain.length) {
      if (isFirst) for (let y = top; y < bottom; y++) image.fill(LOADING, y * width + left, y * width + right);
      return;
    }
    const mag = chain[link];
    const grid = gridOf(mag);
    const coords = AXES.map(() => grid.slice);
    for (const rows of grid.down.runs) {
      const [y0, y1] = [Math.max(rows.from, top), Math.min(rows.to, bottom)];
      if (y0 >= y1) continue;
      for (const columns of grid.across.runs) {
        const [x0, x1] = [Math.max(columns.from, left), Math.min(columns.to, right)];
        if (x0 >= x1) continue;
        coords[plane.u] = columns.bucket;
        coords[plane.v] = rows.bucket;
        const key = bucketKey(coords);
        const bucket = store.get(index, mag, key);
        if (bucket === undefined) {
          if (link === 0) wish(mag, [...coords], key, (x0 + x1) / 2, (y0 + y1) / 2);
          fill(link + 1, x0, x1, y0, y1);
        } else if (bucket.data === null) {
          if (link === 0) hatch(image, width, x0, x1, y0, y1);
          else fill(link + 1, x0, x1, y0, y1);
        } else {
          let last = -1;
          for (let y = y0; y < y1; y++) {
            const place = grid.down.within[y];
            if (place !== last) colour(bucket.data, grid.base + place * STRIDES[plane.v], grid.offsets, x0, x1, row);
            last = place;
            blend(image, y * width + x0, row, x0, x1);
          }
        }
      }
    }
  };
  fill(0, 0, width, 0, height);
}

// What could not be read looks like nothing else.
function hatch(image, width, left, right, top, bottom) {
  for (let y = top; y < bottom; y++) {
    for (let x = left; x < right; x++) image[y * width + x] = HATCH[((x + y) >> 2) & 1];
  }
}
