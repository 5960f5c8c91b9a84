// One plane: its image, the cross-hair above it, and what pointer and wheel do on it.

import { PLANES, chooseMag, extent, runs } from "./geometry.js";
import { barLength } from "./lengths.js";
import { INSIDE, blender, colourer, paintLayer } from "./paint.js";

const CLICK = 4; // pixels that a pointer may move between down and up for a click
const NOTCH = 100; // of a wheel, in pixels as browsers tell them

export class Plane {
  // `act` has the viewer's actions: step, zoomAt, panned, clicked, hovered.
  constructor(name, figure, viewer, act) {
    this.name = name;
    this.axes = PLANES[name];
    this.figure = figure;
    this.viewer = viewer;
    this.act = act;
    this.canvas = figure.querySelector("canvas.image");
    this.overlay = figure.querySelector("canvas.overlay");
    this.context = this.canvas.getContext("2d");
    this.mags = [];
    this.wishes = [];
    this.tooMany = false;
    this.stale = true;
    this.colourers = new Map();
    this.listen();
    new ResizeObserver(() => this.resize()).observe(this.overlay);
  }

  resize() {
    const { width, height } = this.overlay.getBoundingClientRect();
    this.width = Math.max(1, Math.round(width));
    this.height = Math.max(1, Math.round(height));
    this.ratio = Math.min(devicePixelRatio || 1, 2);
    this.pixels = [this.width * this.ratio, this.height * this.ratio].map(Math.round);
    for (const canvas of [this.canvas, this.overlay]) [canvas.width, canvas.height] = this.pixels;
    this.data = this.context.createImageData(...this.pixels);
    this.image = new Uint32Array(this.data.data.buffer);
    this.stale = true;
    this.act.resized();
  }

  get isShown() {
    return this.width > 1 && this.height > 1;
  }

  // How long the scale bar is.
  get barLength() {
    return barLength(Math.min(this.width, 640), this.viewer.state.scale);
  }

  // Pixels per voxel along an axis.
  perVoxel(axis) {
    return this.viewer.state.voxelSize[axis] / this.viewer.state.scale;
  }

  // The pixel (from the left or the top) of a place along u or v, in voxels of magnification 1.
  toPixel(axis, place) {
    const size = axis === this.axes.u ? this.width : this.height;
    return size / 2 + (place - this.viewer.state.centre[axis]) * this.perVoxel(axis);
  }

  // The place, in voxels of magnification 1, below a pixel of this plane.
  toVoxel(x, y) {
    const { state } = this.viewer;
    const place = [...state.position];
    place[this.axes.u] = state.centre[this.axes.u] + (x - this.width / 2) / this.perVoxel(this.axes.u);
    place[this.axes.v] = state.centre[this.axes.v] + (y - this.height / 2) / this.perVoxel(this.axes.v);
    return place;
  }

  paint() {
    const { state, layers, store, boxes } = this.viewer;
    const [width, height] = this.pixels;
    const { u, v, w } = this.axes;
    const shown = extent(this.axes, this.width, this.height, state, state.voxelSize);
    this.wishes = [];
    this.mags = [];
    this.tooMany = false;
    this.image.fill(0);
    this.fillBox(state.box, width, height);
    let isFirst = true;
    layers.forEach((layer, index) => {
      const settings = state.layers[index];
      const box = boxes[index];
      const inBox = {
        u: [Math.max(shown.u[0], box.low[u]), Math.min(shown.u[1], box.high[u])],
        v: [Math.max(shown.v[0], box.low[v]), Math.min(shown.v[1], box.high[v])],
      };
      const depth = state.position[w];
      const chosen = chooseMag(layer.mags, this.axes, inBox, state, state.voxelSize);
      this.mags[index] = chosen.index;
      if (!settings.visible || depth < box.low[w] || depth >= box.high[w]) return;
      const frame = {
        image: this.image,
        width,
        height,
        plane: this.axes,
        centre: [state.centre[u], state.centre[v]],
        step: [1 / this.perVoxel(u) / this.ratio, 1 / this.perVoxel(v) / this.ratio],
        depth,
        low: box.low,
        high: box.high,
      };
      const wishes = [];
      const painter = { colour: this.colourer(index), blend: blender(layer, settings, isFirst), isFirst };
      paintLayer(frame, store, index, layer, chosen.index, painter, (mag, coords, key, x, y) => {
        wishes.push({ layer: index, mag, coords, key, priority: Math.hypot(x - width / 2, y - height / 2) });
      });
      if (chosen.tooMany && wishes.length > 0) {
        this.tooMany = true;
        wishes.sort((a, b) => a.priority - b.priority).splice(chosen.tooMany);
      }
      this.wishes.push(...wishes);
      isFirst = false;
    });
    this.context.putImageData(this.data, 0, 0);
    this.stale = false;
  }

  // Tables of colours are made when a layer's settings change, not for each image.
  colourer(index) {
    const settings = this.viewer.state.layers[index];
    const { window, tint, opacity, channel } = settings;
    const made = JSON.stringify([window, tint, opacity, channel]);
    const known = this.viewer.colourers.get(index);
    if (known?.made === made) return known.colour;
    const colour = colourer(this.viewer.layers[index], settings);
    this.viewer.colourers.set(index, { made, colour });
    return colour;
  }

  // Black where the dataset is, whatever has been loaded of it.
  fillBox({ low, high }, width, height) {
    const { u, v } = this.axes;
    const { centre } = this.viewer.state;
    const [across, down] = [[u, width], [v, height]].map(([axis, pixels]) => {
      const found = runs(pixels, centre[axis], 1 / this.perVoxel(axis) / this.ratio, 1, low[axis], high[axis]).runs;
      return found.length > 0 ? [found[0].from, found.at(-1).to] : [0, 0];
    });
    for (let y = down[0]; y < down[1]; y++) this.image.fill(INSIDE, y * width + across[0], y * width + across[1]);
  }

  listen() {
    const target = this.overlay;
    const pointers = new Map();
    let moved = 0;
    let notches = 0;

    target.addEventListener("wheel", (event) => {
      event.preventDefault();
      const pixels = event.deltaY * [1, 33, 400][event.deltaMode];
      if (event.ctrlKey || event.metaKey) {
        const [x, y] = this.place(event);
        this.act.zoomAt(this, x, y, Math.exp(-pixels / (Math.abs(pixels) < 20 ? 60 : 350)));
        return;
      }
      notches += pixels / NOTCH;
      const steps = Math.abs(pixels) >= NOTCH / 2 ? Math.sign(pixels) * Math.max(1, Math.round(Math.abs(notches))) : Math.trunc(notches);
      if (steps === 0) return;
      notches = 0;
      this.act.step(this, steps * (event.shiftKey ? 10 : 1));
    }, { passive: false });

    target.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 && event.button !== 1) return;
      target.setPointerCapture(event.pointerId);
      if (pointers.size === 0) moved = 0;
      pointers.set(event.pointerId, this.place(event));
      this.figure.focus({ preventScroll: true });
    });

    target.addEventListener("pointermove", (event) => {
      const [x, y] = this.place(event);
      this.act.hovered(this, x, y);
      if (!pointers.has(event.pointerId)) return;
      const [oldX, oldY] = pointers.get(event.pointerId);
      const others = [...pointers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
      pointers.set(event.pointerId, [x, y]);
      moved += Math.hypot(x - oldX, y - oldY);
      if (others.length === 1) {
        const [[otherX, otherY]] = others;
        const ratio = Math.hypot(x - otherX, y - otherY) / Math.max(1, Math.hypot(oldX - otherX, oldY - otherY));
        this.act.zoomAt(this, (x + otherX) / 2, (y + otherY) / 2, ratio);
        this.act.panned(this, (x - oldX) / 2, (y - oldY) / 2);
      } else if (moved > CLICK) {
        this.figure.classList.add("dragged");
        this.act.panned(this, x - oldX, y - oldY);
      }
    });

    const up = (event) => {
      if (!pointers.delete(event.pointerId)) return;
      this.figure.classList.remove("dragged");
      if (event.type === "pointerup" && moved <= CLICK && event.button === 0) this.act.clicked(this, ...this.place(event));
      if (pointers.size > 0) moved = CLICK + 1;
    };
    target.addEventListener("pointerup", up);
    target.addEventListener("pointercancel", up);
    target.addEventListener("pointerenter", () => this.act.entered(this));
    target.addEventListener("pointerleave", () => this.act.left(this));
  }

  place(event) {
    const { left, top } = this.overlay.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top];
  }
}
