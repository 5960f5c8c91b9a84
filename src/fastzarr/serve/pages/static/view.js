// Opens the dataset that the address names.

import * as api from "./api.js";
import { $, askForToken, make, times } from "./elements.js";
import { AXES, clamp } from "./geometry.js";
import { helpList } from "./keys.js";
import { lengthText } from "./lengths.js";
import { Viewer } from "./viewer.js";

function dress(plane, viewer) {
  const { u, v, w } = plane.axes;
  const { low, high } = viewer.state.box;
  plane.label = make("output");
  plane.notice = make("p.notice", { hidden: true }, "Too much to load at once: zoom in to see all.");
  plane.slider = make("input", { type: "range", min: low[w], max: high[w] - 1, "aria-label": `Slice along ${AXES[w]}` });
  plane.slider.addEventListener("input", () => {
    viewer.navigation.step(plane, Number(plane.slider.value) - viewer.state.position[w]);
  });
  const axes = [u, v].map((axis) => make(`span.${AXES[axis]}`, {}, AXES[axis]));
  plane.figure.append(make("figcaption", {}, make("b", {}, axes), plane.label), plane.notice, plane.slider);
}

// Cells as wide and high as their planes are, within reason, so that all show as much as can be.
function arrange({ box, voxelSize }) {
  const [x, y, z] = AXES.map((_, a) => (box.high[a] - box.low[a]) * voxelSize[a]);
  const main = $("main");
  main.style.setProperty("--beside", `${clamp(z / x, 0.6, 1.4)}fr`);
  main.style.setProperty("--below", `${clamp(z / y, 0.6, 1.4)}fr`);
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
    if (dataset.layers.length === 0) throw new Error([...dataset.problems, ...dataset.remarks].join("\n"));
    const viewer = new Viewer(dataset);
    const { box, voxelSize, sizeIsKnown } = viewer.state;
    const extent = times(AXES.map((_, a) => box.high[a] - box.low[a]));
    $("h1").title = `${name}: ${extent} voxels of ${sizeIsKnown ? voxelSize.map((nm) => lengthText(nm)).join(" × ") : "unknown size"}`;
    arrange(viewer.state);
    for (const plane of viewer.planes) dress(plane, viewer);
    globalThis.viewer = viewer;
  } catch (error) {
    document.body.dataset.state = "failed";
    if (api.wantsToken(error)) askForToken($("dialog.token"), api.rememberToken);
    else $("main").replaceChildren(make("p.fatal", {}, `${name} can't be shown.`, make("span", {}, error.message)));
  }
}

open();
