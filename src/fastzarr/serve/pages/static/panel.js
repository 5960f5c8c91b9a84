// The controls of the layers.

import { TINTS } from "./colours.js";
import { make } from "./elements.js";
import * as voxels from "./voxels.js";

export class Panel {
  // `act.changed()` after every change, `act.autoWindow(index)` for a window that suits what is shown.
  constructor(element, viewer, act) {
    this.viewer = viewer;
    this.act = act;
    this.updates = viewer.layers.map((layer, index) => this.add(element, layer, index));
  }

  // Shows the state anew.
  refresh() {
    for (const update of this.updates) update();
  }

  add(element, layer, index) {
    const settings = () => this.viewer.state.layers[index];
    const eye = make("input", { type: "checkbox", role: "switch", "aria-label": `Show ${layer.name}`, title: `Show or hide (${index + 1})` });
    eye.addEventListener("change", () => this.change(() => (settings().visible = eye.checked)));
    const voxel = layer.channels > 1 ? `${layer.channels} × ${layer.dtype}` : layer.dtype;
    const opacity = make("input", { type: "range", min: 0, max: 1, step: 0.01, "aria-label": `Opacity of ${layer.name}` });
    const percent = make("output");
    opacity.addEventListener("input", () => this.change(() => (settings().opacity = Number(opacity.value))));
    const parts = [make("label.row", {}, make("span", {}, "Opacity"), opacity, percent)];
    const updates = [() => {
      eye.checked = settings().visible;
      card.classList.toggle("off", !settings().visible);
      opacity.value = settings().opacity;
      percent.textContent = `${Math.round(settings().opacity * 100)} %`;
    }];
    if (layer.category !== "segmentation") {
      for (const [part, update] of [this.contrast(layer, index, settings), this.colour(layer, settings), this.channel(layer, settings)]) {
        if (part === null) continue;
        parts.push(part);
        updates.push(update);
      }
    }
    const card = make("div.layer", { "data-layer": layer.name },
      make("label.title", {}, eye, make("b", { title: `${layer.name}, ${layer.category}` }, layer.name), make("small", {}, voxel)), ...parts);
    element.append(card);
    return () => updates.forEach((update) => update());
  }

  change(set) {
    set();
    this.refresh();
    this.act.changed();
  }

  contrast(layer, index, settings) {
    const ends = ["Black", "White"].map((name) => ({
      slider: make("input", { type: "range", "aria-label": `${name} at, ${layer.name}` }),
      number: make("input.number", { type: "text", inputmode: "decimal", "aria-label": `${name} at, ${layer.name}` }),
    }));
    const track = make("div.window", {}, make("i"), ...ends.map((end) => end.slider));
    const auto = make("button.quiet", { type: "button", title: "Fit to what is shown (a)" }, "Auto");
    auto.addEventListener("click", () => this.act.autoWindow(index));
    const floats = voxels.isFloat(layer.dtype);

    const range = () => {
      const [low, high] = settings().window ?? [0, 1];
      const [least, most] = layer.observed ?? voxels.limits(layer.dtype) ?? [low, high];
      return [Math.min(least, low), Math.max(most, high)];
    };
    const set = (which, value) => {
      if (!Number.isFinite(value)) return this.refresh();
      const smallest = floats ? (range()[1] - range()[0]) / 1000 : 1;
      const window = [...(settings().window ?? range())];
      window[which] = value;
      if (window[0] >= window[1]) window[1 - which] = which === 0 ? value + smallest : value - smallest;
      return this.change(() => Object.assign(settings(), { window, windowIsChosen: true }));
    };
    ends.forEach(({ slider, number }, which) => {
      slider.addEventListener("input", () => set(which, Number(slider.value)));
      number.addEventListener("change", () => set(which, Number(number.value)));
    });

    const update = () => {
      const window = settings().window ?? range();
      const [least, most] = range();
      ends.forEach(({ slider, number }, which) => {
        slider.min = least;
        slider.max = most;
        slider.step = floats ? (most - least) / 1000 || "any" : 1;
        slider.value = window[which];
        number.value = voxels.limitText(layer.dtype, window[which]);
      });
      const share = (value) => `${(100 * (value - least)) / (most - least || 1)}%`;
      track.style.setProperty("--low", share(window[0]));
      track.style.setProperty("--high", share(window[1]));
    };
    const row = make("div.row", {}, make("span", {}, "Contrast"), track, auto);
    return [make("div.contrast", {}, row, make("div.ends", {}, ends[0].number, ends[1].number)), update];
  }

  colour(layer, settings) {
    if (layer.isRGB) return [null];
    const buttons = Object.entries(TINTS).map(([name, tint]) => {
      const button = make("button.tint", { type: "button", title: name, "aria-label": `Colour ${name}` });
      button.style.background = `rgb(${tint.join(" ")})`;
      button.addEventListener("click", () => this.change(() => (settings().tint = tint)));
      return [button, tint];
    });
    const update = () => buttons.forEach(([button, tint]) => button.setAttribute("aria-pressed", settings().tint === tint));
    return [make("div.row", {}, make("span", {}, "Colour"), make("div.tints", {}, buttons.map(([button]) => button))), update];
  }

  channel(layer, settings) {
    if (layer.isRGB || layer.channels === 1) return [null];
    const select = make("select", { "aria-label": `Channel of ${layer.name}` },
      Array.from({ length: layer.channels }, (_, n) => make("option", { value: n }, String(n))));
    select.addEventListener("change", () => this.change(() => (settings().channel = Number(select.value))));
    return [make("label.row", {}, make("span", {}, "Channel"), select), () => (select.value = settings().channel)];
  }
}
