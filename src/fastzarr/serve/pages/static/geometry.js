// Planes, magnifications, and the way from voxels to pixels. Axes are 0 x, 1 y, 2 z.

export const EDGE = 32; // voxels per edge of a bucket
export const AXES = ["x", "y", "z"];

// u goes to the right, v down, w into the screen: planes in a row share an axis.
export const PLANES = {
  xy: { u: 0, v: 1, w: 2 },
  yz: { u: 2, v: 1, w: 0 },
  xz: { u: 0, v: 2, w: 1 },
};

const WIDEST_VOXEL = 1.5; // pixels: a magnification is used while its voxels look no wider than this
const MOST_BUCKETS = 1600; // per plane and layer: beyond, a coarser magnification or a part of the plane

export const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

// The box around all boxes, in voxels of magnification 1.
export function around(boxes) {
  const low = AXES.map((_, axis) => Math.min(...boxes.map((box) => box.offset[axis])));
  const high = AXES.map((_, axis) => Math.max(...boxes.map((box) => box.offset[axis] + box.size[axis])));
  return { low, high };
}

// What a plane of `width` × `height` pixels shows along u and v, in voxels of magnification 1.
export function extent(plane, width, height, { centre, scale }, voxelSize) {
  const along = (axis, pixels) => {
    const half = (pixels * scale) / voxelSize[axis] / 2;
    return [centre[axis] - half, centre[axis] + half];
  };
  return { u: along(plane.u, width), v: along(plane.v, height) };
}

// Runs of pixels that fall into the same bucket, along one axis of the screen.
// `within` is the voxel's place in its bucket for each pixel.
export function runs(pixels, centre, voxelsPerPixel, mag, low, high) {
  const within = new Uint8Array(pixels);
  const found = [];
  let run = null;
  for (let pixel = 0; pixel < pixels; pixel++) {
    const voxel = Math.floor(centre + (pixel + 0.5 - pixels / 2) * voxelsPerPixel);
    if (voxel < low || voxel >= high) continue;
    const at = Math.floor(voxel / mag);
    const bucket = Math.floor(at / EDGE);
    within[pixel] = at - bucket * EDGE;
    if (run === null || run.bucket !== bucket) found.push((run = { bucket, from: pixel, to: pixel }));
    run.to = pixel + 1;
  }
  return { within, runs: found };
}

export function bucketsAcross([low, high], mag) {
  return Math.floor((high - 1) / mag / EDGE) - Math.floor(low / mag / EDGE) + 1;
}

// The index of the coarsest magnification whose voxels are not seen as such, and which needs not too many buckets.
export function chooseMag(mags, plane, shown, { scale }, voxelSize) {
  const wide = (mag) =>
    Math.max((voxelSize[plane.u] * mag[plane.u]) / scale, (voxelSize[plane.v] * mag[plane.v]) / scale);
  const count = (mag) => bucketsAcross(shown.u, mag[plane.u]) * bucketsAcross(shown.v, mag[plane.v]);
  let chosen = 0;
  mags.forEach((mag, index) => {
    if (wide(mag) <= WIDEST_VOXEL || count(mags[chosen]) > MOST_BUCKETS) chosen = index;
  });
  return { index: chosen, tooMany: count(mags[chosen]) > MOST_BUCKETS ? MOST_BUCKETS : 0 };
}

// Which magnifications stand in for one that is not loaded: the coarser ones, then finer ones.
export function standIns(mags, index) {
  const coarser = mags.map((_, i) => i).slice(index + 1);
  const finer = mags.map((_, i) => i).slice(0, index).reverse();
  return [index, ...coarser, ...finer.slice(0, 1)];
}
