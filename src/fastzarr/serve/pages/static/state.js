// Where the viewer looks and how layers are shown, and both as part of an address that can be shared.

import { AXES, around, clamp } from "./geometry.js";
import { TINTS } from "./colours.js";
import { defaultsOf, showable } from "./layers.js";

const number = (text) => (text !== undefined && text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : null);
const short = (value) => String(Number(value.toPrecision(6)));
const exact = (value) => (Number.isInteger(value) ? String(value) : short(value));

// `box`: low and high corner in voxels of magnification 1; `voxelSize` in nanometres, or 1 where it is not known.
export class State {
  constructor(layers, box, { voxel_size: voxelSize, voxel_size_known: sizeIsKnown }, position) {
    this.box = box;
    this.voxelSize = voxelSize;
    this.sizeIsKnown = sizeIsKnown;
    this.unit = Math.min(...voxelSize);
    this.position = this.inside(position);
    this.centre = this.position.map((v) => v + 0.5);
    this.scale = this.unit; // nanometres, or voxels, per pixel
    this.crossHair = true;
    this.shown = layers;
    this.layers = layers.map((layer) => defaultsOf(layer, layers));
  }

  // Pixels per voxel of the finest axis.
  get zoom() {
    return this.unit / this.scale;
  }

  inside(position) {
    return AXES.map((_, a) => clamp(Math.floor(position[a]), this.box.low[a], this.box.high[a] - 1));
  }

  zoomTo(zoom) {
    this.scale = this.unit / clamp(zoom, 1e-4, 128);
  }

  moveTo(position) {
    this.position = this.inside(position);
  }

  centreOnPosition() {
    this.centre = this.position.map((v) => v + 0.5);
  }

  // The part of an address after its `#`.
  toHash(layers) {
    const parts = [`at=${this.position.join(",")}`, `zoom=${short(this.zoom)}`];
    if (this.centre.some((v, a) => Math.abs(v - this.position[a] - 0.5) > 0.01)) {
      parts.push(`centre=${this.centre.map((v) => Number(v.toFixed(2))).join(",")}`);
    }
    if (!this.crossHair) parts.push("cross-hair=off");
    layers.forEach((layer, index) => {
      const changes = difference(this.layers[index], defaultsOf(layer, layers));
      if (changes) parts.push(`layer.${encodeURIComponent(layer.name)}=${changes}`);
    });
    return parts.join("&");
  }

  // Takes what is right of such a text; true where it says how far to zoom.
  fromHash(hash, layers) {
    const entries = new Map(
      hash.replace(/^#/, "").split("&").map((part) => {
        const [name, ...value] = part.split("=");
        return [name, value.join("=")];
      }),
    );
    const triple = (name) => {
      const values = (entries.get(name) ?? "").split(",").map(number);
      return values.length === 3 && values.every((v) => v !== null) ? values : null;
    };
    const [at, centre, zoom] = [triple("at"), triple("centre"), number(entries.get("zoom"))];
    if (at) this.moveTo(at);
    this.centreOnPosition();
    if (centre) this.centre = centre;
    if (zoom > 0) this.zoomTo(zoom);
    this.crossHair = entries.get("cross-hair") !== "off";
    layers.forEach((layer, index) => {
      this.layers[index] = defaultsOf(layer, layers);
      apply(this.layers[index], entries.get(`layer.${encodeURIComponent(layer.name)}`) ?? "");
    });
    return zoom > 0;
  }
}

// The state that a dataset is opened with; null where none of its layers can be shown.
export function defaultState(dataset) {
  const layers = showable(dataset);
  if (layers.length === 0) return null;
  const box = around(layers.map((layer) => layer.bounding_box));
  return new State(layers, box, dataset, layers[0].default_position);
}

function difference(settings, usual) {
  const changes = [];
  if (settings.visible !== usual.visible) changes.push(settings.visible ? "on" : "off");
  if (settings.opacity !== usual.opacity) changes.push(`opacity:${short(settings.opacity)}`);
  if (settings.window !== null && String(settings.window) !== String(usual.window)) changes.push(`window:${settings.window.map(exact).join(":")}`);
  if (settings.channel !== usual.channel) changes.push(`channel:${settings.channel}`);
  const tint = Object.keys(TINTS).find((name) => TINTS[name] === settings.tint);
  if (settings.tint !== usual.tint) changes.push(`tint:${tint}`);
  return changes.join(";");
}

function apply(settings, text) {
  for (const change of text.split(";")) {
    const [name, ...values] = change.split(":");
    const [first, second] = values.map(number);
    if (name === "on" || name === "off") settings.visible = name === "on";
    if (name === "opacity" && first !== null && first !== undefined) settings.opacity = clamp(first, 0, 1);
    if (name === "window" && first < second) {
      settings.window = [first, second];
      settings.windowIsChosen = true;
    }
    if (name === "channel" && Number.isInteger(first)) settings.channel = Math.max(0, first);
    if (name === "tint" && Object.hasOwn(TINTS, values[0])) settings.tint = TINTS[values[0]];
  }
}
