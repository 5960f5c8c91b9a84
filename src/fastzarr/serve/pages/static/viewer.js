// The viewer of one dataset: ties planes, panel, readout, keys and address together.

import * as api from "./api.js";
import { BucketStore } from "./buckets.js";
import { fitUnchosen, fitWindow } from "./contrast.js";
import { $, askForToken } from "./elements.js";
import { AXES, PLANES, around } from "./geometry.js";
import { listenToKeys } from "./keys.js";
import { magName } from "./layers.js";
import { lengthText } from "./lengths.js";
import { Navigation } from "./navigation.js";
import { drawOverlay } from "./overlay.js";
import { Panel } from "./panel.js";
import { Plane } from "./plane.js";
import { Readout } from "./readout.js";
import { fillSharing } from "./share.js";
import { defaultState } from "./state.js";
import { wishes } from "./wishes.js";

const SAVE_AFTER = 300; // milliseconds without a change until the address is
const ZOOM = 1.25;

export class Viewer {
  constructor(dataset) {
    this.dataset = dataset;
    this.state = defaultState(dataset);
    if (this.state === null) throw new Error("It has no layer that can be shown.");
    this.layers = this.state.shown;
    this.boxes = this.layers.map(({ bounding_box: box }) => around([box]));
    this.store = new BucketStore(dataset.name, this.layers, () => this.changed());
    this.colourers = new Map();
    this.hover = null;
    this.isFitted = this.state.fromHash(location.hash, this.layers);
    this.navigation = new Navigation(this);
    const act = this.actions();
    this.planes = Object.keys(PLANES).map((name) => new Plane(name, $(`[data-plane=${name}]`), this, act));
    this.active = this.planes[0];
    this.panel = new Panel($(".layers"), this, {
      changed: () => this.changed(),
      autoWindow: (index) => this.autoWindows((_, i) => i === index),
    });
    this.readout = new Readout($(".readout"), this);
    this.listen(act);
    this.panel.refresh();
  }

  actions() {
    const to = this.navigation;
    const showHelp = () => $("dialog.help").showModal();
    return {
      resized: () => this.changed(),
      step: (plane, by) => to.step(plane, by),
      move: (plane, direction, by) => to.along(plane.axes[direction], by),
      zoomAt: (plane, x, y, factor) => to.zoomAt(plane, x, y, factor),
      in: () => to.zoomBy(ZOOM),
      out: () => to.zoomBy(1 / ZOOM),
      fit: () => to.fit(),
      centre: () => to.centre(),
      panned: (plane, x, y) => to.pan(plane, x, y),
      clicked: (plane, x, y) => to.goTo(plane.toVoxel(x, y)),
      entered: (plane) => (this.active = plane),
      hovered: (plane, x, y) => this.point([plane, x, y]),
      left: () => this.point(null),
      toggleCrossHair: () => {
        this.state.crossHair = !this.state.crossHair;
        this.changed();
      },
      toggleLayer: (index) => this.toggle((_, i) => i === index),
      toggleSegmentations: () => this.toggle((layer) => layer.category === "segmentation"),
      autoWindows: () => this.autoWindows((_, index) => this.state.layers[index].visible),
      help: showHelp,
      share: () => this.share(),
    };
  }

  listen(act) {
    listenToKeys(() => this.active, act);
    for (const button of document.querySelectorAll("[data-act]")) {
      button.addEventListener("click", () => act[button.dataset.act]());
    }
    for (const plane of this.planes) plane.figure.addEventListener("focus", () => (this.active = plane));
    const input = $(".go input");
    input.addEventListener("change", () => {
      const place = (input.value.match(/-?\d+(\.\d+)?/g) ?? []).map(Number);
      if (place.length === 3) this.navigation.jumpTo(place);
      else this.changed();
    });
    $(".go").addEventListener("submit", (event) => {
      event.preventDefault();
      input.blur();
    });
    $(".banner button").addEventListener("click", () => this.store.retry());
    addEventListener("hashchange", () => {
      this.state.fromHash(location.hash, this.layers);
      this.panel.refresh();
      this.changed();
    });
  }

  // Something is not as it is shown: a plane, or all, are painted anew in the next frame.
  changed(plane = null) {
    for (const each of plane ? [plane] : this.planes) each.stale = true;
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.show();
    });
  }

  show() {
    if (!this.isFitted && this.planes.every((plane) => plane.isShown)) {
      this.isFitted = true;
      this.navigation.fit();
    }
    this.store.clock++;
    for (const plane of this.planes.filter((each) => each.isShown)) {
      if (plane.stale) plane.paint();
      drawOverlay(plane);
    }
    this.store.want(wishes(this));
    if (fitUnchosen(this)) {
      this.panel.refresh();
      this.changed();
    }
    this.tell();
    clearTimeout(this.saving);
    this.saving = setTimeout(() => this.save(), SAVE_AFTER);
  }

  toggle(which) {
    const chosen = this.state.layers.filter((_, index) => which(this.layers[index], index));
    const visible = !chosen.some((settings) => settings.visible);
    for (const settings of chosen) settings.visible = visible;
    this.panel.refresh();
    this.changed();
  }

  autoWindows(which) {
    this.layers.forEach((layer, index) => which(layer, index) && fitWindow(this, index, true));
    this.panel.refresh();
    this.changed();
  }

  // `hover`: a plane and the place on it that the pointer is at, or null.
  point(hover) {
    this.hover = hover;
    this.tellValues();
  }

  tell() {
    const { state } = this;
    const input = $(".go input");
    if (document.activeElement !== input) input.value = state.position.join(", ");
    $(".zoom output").textContent = `${Number((state.zoom * 100).toPrecision(3))} %`;
    for (const plane of this.planes) this.tellPlane(plane);
    this.tellProgress();
    this.tellValues();
  }

  tellPlane(plane) {
    const { state, layers } = this;
    const index = layers.findIndex((_, i) => state.layers[i].visible && plane.mags[i] !== undefined);
    const mag = index < 0 ? null : layers[index].mags[plane.mags[index]];
    const { w } = plane.axes;
    const coarse = mag !== null && Math.max(...mag) > 1 ? ` · mag ${magName(mag)}` : "";
    plane.label.textContent = `${AXES[w]} ${state.position[w]}${coarse}`;
    plane.figure.dataset.mag = mag === null ? "" : magName(mag);
    plane.figure.dataset.slice = state.position[w];
    plane.notice.hidden = !plane.tooMany;
    plane.slider.value = state.position[w];
  }

  tellProgress() {
    const { pending, failures, problem } = this.store;
    document.body.dataset.state = pending > 0 || this.frame ? "loading" : "idle";
    $(".status").textContent =
      pending > 0 ? `Loading ${pending} ${pending === 1 ? "bucket" : "buckets"}` : `${lengthText(this.state.scale, this.state.sizeIsKnown)} per pixel`;
    const [buckets, are] = failures === 1 ? ["bucket", "is"] : ["buckets", "are"];
    let words = "";
    if (failures > 0) words = `${failures} ${buckets} could not be read and ${are} hatched${problem ? `: ${problem.message}` : "."}`;
    else if (problem) words = `${problem.message} Trying again.`;
    $(".banner").hidden = words === "";
    $(".banner p").textContent = words;
    if (api.wantsToken(problem)) askForToken($("dialog.token"), api.rememberToken);
  }

  tellValues() {
    if (this.hover === null) {
      this.readout.show(this.state.position, this.active.mags, "At the cross-hair");
    } else {
      const [plane, x, y] = this.hover;
      this.readout.show(plane.toVoxel(x, y), plane.mags, "Below the pointer");
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
