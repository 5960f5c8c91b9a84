// Which buckets are to be fetched.

import { bucketKey } from "./buckets.js";
import { EDGE } from "./geometry.js";

const LATER = 1e9; // a priority behind all that is seen

// What the planes lack, the middle first; when they lack nothing, what the wheel comes to next.
export function wishes(viewer) {
  const known = new Map();
  for (const plane of viewer.planes) {
    for (const wish of plane.wishes) {
      const name = `${wish.layer}/${wish.mag}/${wish.key}`;
      if (!known.has(name) || known.get(name).priority > wish.priority) known.set(name, wish);
    }
  }
  return known.size > 0 ? [...known.values()] : ahead(viewer);
}

function ahead({ active: plane, navigation, layers, state, boxes, store }) {
  const direction = navigation.direction.get(plane) ?? 0;
  if (direction === 0 || plane.tooMany) return [];
  const { u, v, w } = plane.axes;
  const found = [];
  layers.forEach((layer, index) => {
    const mag = plane.mags[index];
    if (!state.layers[index].visible || mag === undefined) return;
    const size = layer.mags[mag].map((m) => m * EDGE);
    const { low, high } = boxes[index];
    const next = Math.floor(state.position[w] / size[w]) + direction;
    if ((next + 1) * size[w] <= low[w] || next * size[w] >= high[w]) return;
    const range = (axis, pixels) => {
      const half = pixels / 2 / plane.perVoxel(axis);
      const first = Math.max(low[axis], state.centre[axis] - half);
      const last = Math.min(high[axis] - 1, state.centre[axis] + half);
      const count = Math.floor(last / size[axis]) - Math.floor(first / size[axis]) + 1;
      return Array.from({ length: Math.max(0, count) }, (_, n) => Math.floor(first / size[axis]) + n);
    };
    for (const down of range(v, plane.height)) {
      for (const across of range(u, plane.width)) {
        const coords = [0, 0, 0];
        coords[u] = across;
        coords[v] = down;
        coords[w] = next;
        const key = bucketKey(coords);
        if (store.get(index, mag, key) === undefined) {
          found.push({ layer: index, mag, coords, key, priority: LATER + found.length });
        }
      }
    }
  });
  return found;
}
