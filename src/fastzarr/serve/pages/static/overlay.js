// What lies above an image: the cross-hair in the colours of the axes, and a bar of known length.

import { AXES } from "./geometry.js";
import { lengthText } from "./lengths.js";

export const AXIS_COLOURS = ["#ff6b5e", "#5fd068", "#6aa5ff"];
const GAP = 7; // pixels around the voxel that lines leave free

export function drawOverlay(plane) {
  const { state } = plane.viewer;
  const context = plane.overlay.getContext("2d");
  context.setTransform(plane.ratio, 0, 0, plane.ratio, 0, 0);
  context.clearRect(0, 0, plane.width, plane.height);
  if (state.crossHair) crossHair(context, plane, state);
  scaleBar(context, plane, state);
}

function crossHair(context, plane, state) {
  const { u, v } = plane.axes;
  const x = Math.round(plane.toPixel(u, state.position[u] + 0.5)) + 0.5;
  const y = Math.round(plane.toPixel(v, state.position[v] + 0.5)) + 0.5;
  const gap = [u, v].map((axis) => Math.max(GAP, plane.perVoxel(axis) / 2 + 3));
  const lines = [
    [u, [[0, y, x - gap[0], y], [x + gap[0], y, plane.width, y]]],
    [v, [[x, 0, x, y - gap[1]], [x, y + gap[1], x, plane.height]]],
  ];
  context.lineWidth = 1;
  context.globalAlpha = 0.85;
  for (const [axis, parts] of lines) {
    context.strokeStyle = AXIS_COLOURS[axis];
    context.beginPath();
    for (const [fromX, fromY, toX, toY] of parts) {
      if (toX < fromX || toY < fromY) continue;
      context.moveTo(fromX, fromY);
      context.lineTo(toX, toY);
    }
    context.stroke();
  }
  context.globalAlpha = 1;
  label(context, AXES[u], AXIS_COLOURS[u], plane.width - 10, y - 9);
  label(context, AXES[v], AXIS_COLOURS[v], x + 9, plane.height - 12);
}

function label(context, text, colour, x, y) {
  context.font = "600 12px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineWidth = 3;
  context.strokeStyle = "#000000b0";
  context.strokeText(text, x, y);
  context.fillStyle = colour;
  context.fillText(text, x, y);
}

function scaleBar(context, plane, { scale, sizeIsKnown }) {
  if (plane.width < 120) return;
  const length = plane.barLength;
  const text = lengthText(length, sizeIsKnown);
  const width = length / scale;
  const [left, y] = [12.5, plane.height - 13.5];
  for (const [style, thickness] of [["#000000a0", 4], ["#ffffffe0", 2]]) {
    context.strokeStyle = style;
    context.lineWidth = thickness;
    context.beginPath();
    context.moveTo(left, y);
    context.lineTo(left + width, y);
    context.stroke();
  }
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "left";
  context.textBaseline = "bottom";
  context.lineWidth = 3;
  context.strokeStyle = "#000000a0";
  context.strokeText(text, left, y - 4);
  context.fillStyle = "#fff";
  context.fillText(text, left, y - 4);
}
