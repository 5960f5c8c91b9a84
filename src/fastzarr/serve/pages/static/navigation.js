// Moving through a volume: each changes the state and tells the viewer which planes are stale.

import { AXES } from "./geometry.js";

export class Navigation {
  constructor(viewer) {
    this.viewer = viewer;
    this.direction = new Map(); // the last way of the wheel on each plane: 1, -1
  }

  get state() {
    return this.viewer.state;
  }

  step(plane, by) {
    this.direction.set(plane, Math.sign(by));
    this.viewer.active = plane;
    this.along(plane.axes.w, by);
  }

  along(axis, by) {
    const { state, viewer } = this;
    const before = state.position[axis];
    const place = [...state.position];
    place[axis] += by;
    state.moveTo(place);
    if (state.position[axis] === before) return;
    if (this.keepInSight(axis)) viewer.changed();
    else viewer.changed(viewer.planes.find((plane) => plane.axes.w === axis));
  }

  goTo(place) {
    this.state.moveTo(place);
    this.viewer.changed();
  }

  jumpTo(place) {
    this.state.moveTo(place);
    this.centre();
  }

  centre() {
    this.state.centreOnPosition();
    this.viewer.changed();
  }

  // Moves the planes along with a cross-hair that would leave them; true if they were moved.
  keepInSight(axis) {
    const { state } = this;
    const across = this.viewer.planes.filter((plane) => plane.isShown && plane.axes.w !== axis);
    const isOut = across.some((plane) => {
      const at = plane.toPixel(axis, state.position[axis] + 0.5);
      return at < 0 || at > (plane.axes.u === axis ? plane.width : plane.height);
    });
    if (isOut) state.centre[axis] = state.position[axis] + 0.5;
    return isOut;
  }

  pan(plane, x, y) {
    const { centre } = this.state;
    centre[plane.axes.u] -= x / plane.perVoxel(plane.axes.u);
    centre[plane.axes.v] -= y / plane.perVoxel(plane.axes.v);
    this.viewer.changed();
  }

  // Zooms so that what is below a pixel stays there.
  zoomAt(plane, x, y, factor) {
    const { state } = this;
    const fixed = plane.toVoxel(x, y);
    state.zoomTo(state.zoom * factor);
    const moved = plane.toVoxel(x, y);
    for (const axis of [plane.axes.u, plane.axes.v]) state.centre[axis] += fixed[axis] - moved[axis];
    this.viewer.changed();
  }

  zoomBy(factor) {
    const plane = this.viewer.active;
    this.zoomAt(plane, plane.width / 2, plane.height / 2, factor);
  }

  // All of the dataset on every plane.
  fit() {
    const { box, voxelSize, unit } = this.state;
    const scales = this.viewer.planes.filter((plane) => plane.isShown).flatMap((plane) =>
      [[plane.axes.u, plane.width], [plane.axes.v, plane.height]].map(
        ([axis, pixels]) => ((box.high[axis] - box.low[axis]) * voxelSize[axis]) / (0.96 * pixels),
      ),
    );
    if (scales.length === 0) return;
    this.state.zoomTo(unit / Math.max(...scales));
    this.state.centre = AXES.map((_, a) => (box.low[a] + box.high[a]) / 2);
    this.viewer.changed();
  }
}
