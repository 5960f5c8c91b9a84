// What keys do, and the list of it for the help.

import { make } from "./elements.js";

const ARROWS = { ArrowLeft: ["u", -1], ArrowRight: ["u", 1], ArrowUp: ["v", -1], ArrowDown: ["v", 1] };

export const HELP = [
  ["Slices", [
    ["Wheel", "to the next slice; with Shift ten at once"],
    ["F  D", "next slice, slice before; Shift: ten"],
    ["Page up, down", "the same"],
  ]],
  ["Position", [
    ["Click", "sets the cross-hair"],
    ["← → ↑ ↓", "move it by a voxel; Shift: ten"],
    ["C", "centres the planes on it"],
    ["X", "hides or shows it"],
  ]],
  ["Zoom and pan", [
    ["Ctrl wheel", "zooms at the pointer; on a touch screen two fingers"],
    ["+  −", "zoom at the centre"],
    ["0", "shows all"],
    ["Drag", "moves the planes"],
  ]],
  ["Layers", [
    ["1 … 9", "show or hide a layer"],
    ["S", "shows or hides segmentations"],
    ["A", "fits contrast to what is shown"],
  ]],
];

export function helpList() {
  return HELP.map(([title, rows]) =>
    make("section", {}, make("h3", {}, title),
      make("dl", {}, rows.flatMap(([keys, does]) => [make("dt", {}, keys.split("  ").map((key) => make("kbd", {}, key))), make("dd", {}, does)]))));
}

// `active()` is the plane that keys are for.
export function listenToKeys(active, act) {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.target.matches("input:not([type=checkbox]), select, textarea")) return;
    const by = event.shiftKey ? 10 : 1;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const plane = active();
    const does = {
      f: () => act.step(plane, by),
      d: () => act.step(plane, -by),
      PageUp: () => act.step(plane, by),
      PageDown: () => act.step(plane, -by),
      "+": act.in,
      "=": act.in,
      "-": act.out,
      0: act.fit,
      c: act.centre,
      x: act.toggleCrossHair,
      s: act.toggleSegmentations,
      a: act.autoWindows,
      "?": act.help,
      h: act.help,
    }[key];
    if (does) does();
    else if (key in ARROWS) act.move(plane, ARROWS[key][0], ARROWS[key][1] * by);
    else if (/^[1-9]$/.test(key)) act.toggleLayer(Number(key) - 1);
    else return;
    event.preventDefault();
  });
}
