// The viewer: opens the dataset that the address names, and ties planes, panel, keys and address together.

import * as api from "./api.js";
import { BucketStore } from "./buckets.js";
import { $, askForToken, make, times } from "./elements.js";
import { AXES, EDGE, PLANES, around } from "./geometry.js";
import { bucketKey } from "./buckets.js";
import { helpList, listenToKeys } from "./keys.js";
import { drawOverlay, lengthText } from "./overlay.js";
import { Panel } from "./panel.js";
import { Plane } from "./plane.js";
import { Readout } from "./readout.js";
import { fillSharing } from "./share.js";
import { defaultState } from "./state.js";
import * as voxels from "./voxels.js";

const SAVE_AFTER = 300; // milliseconds without a change until the address is
const SAMPLES = 4000; // voxels that a contrast window is found from

class Viewer {
  constructor(dataset) {
    this.dataset = dataset;
    this.state = defaultState(dataset);
    if (this.state === null) throw new Error("It has no layer that can be shown.");
    this.layers = this.state.shown;
    this.boxes = this.layers.map(({ bounding_box: box }) => around([box]));
    this.store = new BucketStore(dataset.name, this.layers, () => this.changed());
    this.colourers = new Map();
    this.direction = new Map();
    this.hover = null;
    this.isFitted = this.state.fromHash(location.hash, this.layers);
    this.planes = Object.keys(PLANES).map((name) => new Plane(name, $(`[data-plane=${name}]`), this, this.actions()));
    this.active = this.planes[0];
    this.panel = new Panel($(".layers"), this, { changed: () => this.changed(), autoWindow: (index) => this.autoWindow(index, true) });
    this.readout = new Readout($(".readout"), this);
    this.listen();
    this.panel.refresh();
  }

  actions() {
    return {
      resized: () => this.changed(),
      step: (plane, by) => this.step(plane, by),
      move: (plane, direction, by) => this.moveAlong(plane.axes[direction], by),
      zoomAt: (plane, x, y, factor) => this.zoomAt(plane, x, y, factor),
      zoomBy: (factor) => this.zoomAt(this.active, this.active.width / 2, this.active.height / 2, factor),
      panned: (plane, x, y) => this.pan(plane, x, y),
      clicked: (plane, x, y) => this.goTo(plane.toVoxel(x, y)),
      entered: (plane) => (this.active = plane),
      hovered: (plane, x, y) => this.point(plane, x, y),
      left: () => this.point(null),
      fit: () => this.fit(),
      centre: () => { this.state.centreOnPosition(); this.changed(); },
      toggleCrossHair: () => { this.state.crossHair = !this.state.crossHair; this.changed(); },
      toggleLayer: (index) => this.toggle((_, i) => i === index),
      toggleSegmentations: () => this.toggle((layer) => layer.category === "segmentation"),
      autoWindows: () => this.layers.forEach((_, index) => this.autoWindow(index, true)),
      help: () => $("dialog.help").showModal(),
    };
  }

  listen() {
    listenToKeys(() => this.active, this.actions());
    const act = {
      in: () => this.actions().zoomBy(1.25),
      out: () => this.actions().zoomBy(0.8),
      fit: () => this.fit(),
      help: () => $("dialog.help").showModal(),
      share: () => this.share(),
    };
    for (const button of document.querySelectorAll("[data-act]")) button.addEventListener("click", act[button.dataset.act]);
    this.planes.forEach((plane) => plane.figure.addEventListener("focus", () => (this.active = plane)));
    const input = $(".go input");
    $(".go").addEventListener("submit", (event) => {
      event.preventDefault();
      input.blur();
    });
    input.addEventListener("change", () => {
      const place = (input.value.match(/-?\d+(\.\d+)?/g) ?? []).map(Number);
      if (place.length === 3) {
        this.state.moveTo(place);
        this.state.centreOnPosition();
      }
      this.changed();
    });
    $(".banner button").addEventListener("click", () => this.store.retry());
    addEventListener("hashchange", () => {
      this.state.fromHash(location.hash, this.layers);
      this.panel.refresh();
      this.changed();
    });
  }

  // Something is not as it is shown: all is shown anew in the next frame.
  changed(plane = null) {
    for (const each of plane ? [plane] : this.planes) each.stale = true;
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.show();
    });
  }

  show() {
    if (!this.isFitted && this.planes.every((plane) => plane.isShown)) this.fit();
    const { store } = this;
    store.clock++;
    for (const plane of this.planes) {
      if (plane.isShown && plane.stale) plane.paint();
      if (plane.isShown) drawOverlay(plane);
    }
    store.want(this.wishes());
    this.fitWindows();
    this.tell();
    clearTimeout(this.saving);
    this.saving = setTimeout(() => this.save(), SAVE_AFTER);
  }

  // What the planes lack, near the cross-hair first; then what the wheel comes to next.
  wishes() {
    const known = new Map();
    for (const plane of this.planes) {
      for (const wish of plane.wishes) {
        const name = `${wish.layer}/${wish.mag}/${wish.key}`;
        if (!known.has(name) || known.get(name).priority > wish.priority) known.set(name, wish);
      }
    }
    if (known.size === 0) return this.ahead();
    return [...known.values()];
  }

  ahead() {
    const plane = this.active;
    const direction = this.direction.get(plane) ?? 0;
    if (direction === 0 || plane.tooMany) return [];
    const { w } = plane.axes;
    return this.layers.flatMap((layer, index) => {
      const mag = plane.mags[index];
      if (!this.state.layers[index].visible || mag === undefined) return [];
      const next = Math.floor(this.state.position[w] / layer.mags[mag][w] / EDGE) + direction;
      const end = next * EDGE * layer.mags[mag][w];
      if (end < this.boxes[index].low[w] - EDGE * layer.mags[mag][w] || end >= this.boxes[index].high[w]) return [];
      return this.visibleBuckets(plane, index, mag, next);
    });
  }

  visibleBuckets(plane, index, mag, slice) {
    const size = this.layers[index].mags[mag];
    const box = this.boxes[index];
    const range = (axis, pixels) => {
      const [from, to] = [0, pixels].map((p) => this.state.centre[axis] + (p - pixels / 2) / plane.perVoxel(axis));
      const [low, high] = [Math.max(from, box.low[axis]), Math.min(to, box.high[axis]) - 1e-6];
      const first = Math.floor(low / size[axis] / EDGE);
      return Array.from({ length: Math.max(0, Math.floor(high / size[axis] / EDGE) - first + 1) }, (_, n) => first + n);
    };
    const found = [];
    for (const v of range(plane.axes.v, plane.height)) {
      for (const u of range(plane.axes.u, plane.width)) {
        const coords = [0, 0, 0];
        [coords[plane.axes.u], coords[plane.axes.v], coords[plane.axes.w]] = [u, v, slice];
        const key = bucketKey(coords);
        if (this.store.get(index, mag, key) === undefined) found.push({ layer: index, mag, coords, key, priority: 1e9 + found.length });
      }
    }
    return found;
  }

  step(plane, by) {
    const { w } = plane.axes;
    this.direction.set(plane, Math.sign(by));
    this.active = plane;
    this.moveAlong(w, by);
  }

  moveAlong(axis, by) {
    const { state } = this;
    const before = state.position[axis];
    const place = [...state.position];
    place[axis] += by;
    state.moveTo(place);
    if (state.position[axis] === before) return;
    for (const plane of this.planes) if (plane.axes.w === axis) plane.stale = true;
    if (this.keepInSight(axis)) this.changed();
    else this.changed(this.planes.find((plane) => plane.axes.w === axis));
    if (this.hover) this.point(...this.hover);
  }

  goTo(place) {
    this.state.moveTo(place);
    this.changed();
  }

  // Moves the planes along with a cross-hair that would leave them; true if they were moved.
  keepInSight(axis) {
    const { state } = this;
    const across = this.planes.filter((plane) => plane.isShown && plane.axes.w !== axis);
    const out = across.some((plane) => {
      const at = plane.toPixel(axis, state.position[axis] + 0.5);
      return at < 0 || at > (plane.axes.u === axis ? plane.width : plane.height);
    });
    if (out) state.centre[axis] = state.position[axis] + 0.5;
    return out;
  }

  pan(plane, x, y) {
    const { state } = this;
    state.centre = [...state.centre];
    state.centre[plane.axes.u] -= x / plane.perVoxel(plane.axes.u);
    state.centre[plane.axes.v] -= y / plane.perVoxel(plane.axes.v);
    this.changed();
  }

  // Zooms so that what is below a pixel stays there.
  zoomAt(plane, x, y, factor) {
    const { state } = this;
    const fixed = plane.toVoxel(x, y);
    state.zoomTo(state.zoom * factor);
    const moved = plane.toVoxel(x, y);
    state.centre = [...state.centre];
    for (const axis of [plane.axes.u, plane.axes.v]) state.centre[axis] += fixed[axis] - moved[axis];
    this.changed();
  }

  fit() {
    const { state } = this;
    this.isFitted = true;
    const scales = this.planes.filter((plane) => plane.isShown).flatMap((plane) =>
      [[plane.axes.u, plane.width], [plane.axes.v, plane.height]].map(([axis, pixels]) =>
        ((state.box.high[axis] - state.box.low[axis]) * state.voxelSize[axis]) / (0.96 * pixels)));
    state.zoomTo(state.unit / Math.max(...scales));
    state.centre = AXES.map((_, a) => (state.box.low[a] + state.box.high[a]) / 2);
    this.changed();
  }

  toggle(which) {
    const chosen = this.state.layers.filter((_, index) => which(this.layers[index], index));
    const visible = !chosen.some((settings) => settings.visible);
    for (const settings of chosen) settings.visible = visible;
    this.panel.refresh();
    this.changed();
  }

  point(plane, x, y) {
    this.hover = plane ? [plane, x, y] : null;
    this.tellValues();
  }

  // A first window as soon as there is data, a better one when all is there.
  fitWindows() {
    const isDone = this.store.pending === 0;
    this.layers.forEach((layer, index) => {
      const settings = this.state.layers[index];
      if (layer.category === "segmentation" || layer.isSettled) return;
      if (isDone) layer.isSettled = true;
      if (settings.window === null || (isDone && !settings.windowIsChosen && voxels.bytesOf(layer.dtype) > 1)) this.autoWindow(index, false);
      else if (isDone) this.samples(index);
    });
  }

  samples(index) {
    const layer = this.layers[index];
    const mags = new Set(this.planes.map((plane) => plane.mags[index]));
    const buckets = [...mags].filter((mag) => mag !== undefined).flatMap((mag) => [...this.store.levels[index][mag].buckets.values()]);
    const filled = buckets.filter((bucket) => bucket.nbytes > 0);
    const each = Math.max(1, Math.floor(SAMPLES / Math.max(1, filled.length)));
    const channel = layer.isRGB ? 0 : this.state.layers[index].channel;
    const found = filled.flatMap(({ data }) => {
      const voxelsThere = data.length / layer.channels;
      return Array.from({ length: each }, (_, n) => Number(data[Math.floor(((n + 0.5) * voxelsThere) / each) * layer.channels + channel]));
    }).filter(Number.isFinite);
    if (found.length > 0) layer.observed = found.reduce(([low, high], v) => [Math.min(low, v), Math.max(high, v)], [found[0], found[0]]);
    return found;
  }

  autoWindow(index, isChosen) {
    const layer = this.layers[index];
    if (layer.category === "segmentation") return;
    const window = voxels.typicalRange(this.samples(index));
    if (window === null) return;
    Object.assign(this.state.layers[index], { window, windowIsChosen: isChosen });
    this.panel.refresh();
    this.changed();
  }

  tell() {
    const { state, store } = this;
    const input = $(".go input");
    if (document.activeElement !== input) input.value = state.position.join(", ");
    $(".zoom output").textContent = `${Number((state.zoom * 100).toPrecision(3))} %`;
    for (const plane of this.planes) {
      const mag = plane.mags.find((m, index) => m !== undefined && state.layers[index].visible);
      const shown = mag === undefined ? [] : this.layers[plane.mags.indexOf(mag)].mags[mag];
      const { w } = plane.axes;
      plane.label.textContent = `${AXES[w]} ${state.position[w]}${mag > 0 ? ` · mag ${shown.every((m) => m === shown[0]) ? shown[0] : shown.join("-")}` : ""}`;
      plane.figure.dataset.mag = shown.join("-");
      plane.figure.dataset.slice = state.position[w];
      plane.notice.hidden = !plane.tooMany;
      plane.slider.value = state.position[w];
    }
    const { pending, failures, problem } = store;
    document.body.dataset.state = pending > 0 ? "loading" : "idle";
    $(".status").textContent = pending > 0 ? `Loading ${pending} ${pending === 1 ? "bucket" : "buckets"}` : `${lengthText(state.scale)} per pixel`;
    const banner = $(".banner");
    const words = failures > 0
      ? `${failures} ${failures === 1 ? "bucket" : "buckets"} could not be read and ${failures === 1 ? "is" : "are"} hatched${problem ? `: ${problem.message}` : "."}`
      : problem ? `${problem.message} Trying again.` : "";
    banner.hidden = words === "";
    $("p", banner).textContent = words;
    if (problem?.status === 401 || problem?.status === 403) askForToken($("dialog.token"), api.rememberToken);
    this.tellValues();
  }

  tellValues() {
    if (this.hover) {
      const [plane, x, y] = this.hover;
      this.readout.show(plane.toVoxel(x, y), plane.mags, "Below the pointer");
    } else {
      this.readout.show(this.state.position, this.active.mags, "At the cross-hair");
    }
  }

  share() {
    this.save();
    fillSharing($("dialog.share"), this.dataset, this.layers, this.state);
    $("dialog.share").showModal();
  }

  save() {
    const hash = `#${this.state.toHash(this.layers)}`;
    if (hash !== location.hash) history.replaceState(null, "", hash);
  }
}

function dress(plane, viewer) {
  const { u, v, w } = plane.axes;
  plane.label = make("output");
  plane.notice = make("p.notice", { hidden: true }, "Too much to load at once: zoom in to see all.");
  plane.slider = make("input", {
    type: "range", min: viewer.state.box.low[w], max: viewer.state.box.high[w] - 1, "aria-label": `Slice along ${AXES[w]}`,
  });
  plane.slider.addEventListener("input", () => viewer.step(plane, Number(plane.slider.value) - viewer.state.position[w]));
  plane.figure.append(
    make("figcaption", {}, make("b", {}, make(`span.${AXES[u]}`, {}, AXES[u]), make(`span.${AXES[v]}`, {}, AXES[v])), plane.label),
    plane.notice,
    plane.slider,
  );
}

async function open() {
  const name = decodeURIComponent(location.pathname.split("/").pop());
  document.title = `${name} · fastzarr`;
  $("h1").textContent = name;
  $(".home").href = api.address("");
  $("dialog.help .body").append(...helpList());
  for (const dialog of document.querySelectorAll("dialog:not(.token)")) {
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  }
  try {
    const dataset = await api.dataset(name);
    if (dataset.error) throw new Error(dataset.error);
    const viewer = new Viewer(dataset);
    const { low, high } = viewer.state.box;
    $("h1").title = `${times(AXES.map((_, a) => high[a] - low[a]))} voxels of ${dataset.voxel_size.map((v) => Number(v.toPrecision(5))).join(" × ")} nm`;
    viewer.planes.forEach((plane) => dress(plane, viewer));
    globalThis.viewer = viewer;
  } catch (error) {
    document.body.dataset.state = "failed";
    if (error.status === 401 || error.status === 403) return askForToken($("dialog.token"), api.rememberToken);
    $("main").replaceChildren(make("p.fatal", {}, `${name} can't be shown. `, make("span", {}, error.message)));
  }
  return null;
}

open();
