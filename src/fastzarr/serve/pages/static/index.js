// The list of datasets.

import * as api from "./api.js";
import { $, askForToken, copyable, make, times } from "./elements.js";
import { lengthText } from "./lengths.js";
import { layerAddress, neuroglancerAddress, neuroglancerState } from "./share.js";
import { drawPreview } from "./preview.js";
import { magName } from "./layers.js";
import { defaultState } from "./state.js";

const FILTER_FROM = 8; // datasets that are seen without a filter

const KINDS = { wkw: "WKW", zarr: "Zarr", "ome-zarr": "OME-Zarr" };

const isShown = (dataset) => dataset.layers.length > 0;

const voxelSize = (dataset) =>
  dataset.voxel_size_known ? dataset.voxel_size.map((nm) => lengthText(nm)).join(" × ") : "size not known";

function layerRow(layer) {
  const { offset, size: extent } = layer.bounding_box;
  const moved = offset.some((v) => v !== 0);
  return make("tr", {},
    make("th", { scope: "row" }, make(`i.kind.${layer.category}`, { title: layer.category }), layer.name),
    make("td", { "data-name": "Data type" }, layer.channels > 1 ? `${layer.channels} × ${layer.dtype}` : layer.dtype),
    make("td", { "data-name": "Shape" }, times(extent), moved ? make("small", {}, ` from ${offset.join(", ")}`) : null),
    make("td", { "data-name": "Magnifications" }, layer.mags.map(magName).join(", ")));
}

function card(dataset) {
  const { problems } = dataset;
  const shown = isShown(dataset);
  const view = api.address(`view/${api.segments(dataset.name)}`);
  const picture = shown ? make("a.picture", { href: view, tabindex: "-1", "aria-hidden": "true" }, make("canvas", { width: 160, height: 160 })) : null;
  const element = make("article", { "data-dataset": dataset.name },
    picture,
    make("div.about", {},
      make("h2", {}, shown ? make("a", { href: view }, dataset.name) : dataset.name, make("span.badge", {}, KINDS[dataset.kind] ?? dataset.kind), shown ? make("a.button", { href: view, "aria-label": `View ${dataset.name}` }, "View") : null),
      problems.length > 0
        ? make("div.problem", {}, make("b", {}, shown ? "A part of it can't be read" : "Can't be read"), problems.map((text) => make("p", {}, text))) : null,
      dataset.remarks.map((text) => make("p.remark", {}, text)),
      shown ? make("table", {},
        make("thead", {}, make("tr", {}, ["Layer", "Data type", "Shape x × y × z", "Magnifications"].map((name) => make("th", { scope: "col" }, name)))),
        make("tbody", {}, dataset.layers.map(layerRow))) : null,
      make("footer", {}, shown ? make("span.size", {}, `Voxel ${voxelSize(dataset)}`) : null, links(dataset, shown))));
  if (shown) drawWhenSeen(picture.firstChild, dataset);
  return element;
}

function links(dataset, shown) {
  const { urls, name } = dataset;
  const found = [];
  if (shown) {
    const state = defaultState(dataset);
    if (state) {
      const target = neuroglancerAddress(neuroglancerState(dataset, state.shown, state));
      found.push(make("a", { href: target, target: "_blank", rel: "noopener noreferrer" }, "neuroglancer"));
    }
  }
  if (urls.zarr) found.push(make("a", { href: api.address(urls.zarr) }, "Stored Zarr"));
  if (urls.zarr3) found.push(make("a", { href: api.address(urls.zarr3) }, "Zarr v3"));
  if (urls.zarr2) found.push(make("a", { href: api.address(urls.zarr2) }, "Zarr v2"));
  if (shown) {
    const more = make("button", { type: "button", "aria-expanded": "false" }, "webknossos …");
    more.addEventListener("click", () => toggleAddresses(more, dataset));
    found.push(more);
  }
  found.push(make("a", { href: api.address(`api/datasets/${api.segments(name)}`) }, "JSON"));
  return make("nav", { "aria-label": `${name} elsewhere` }, found);
}

function toggleAddresses(button, dataset) {
  const about = button.closest(".about");
  const open = $(".addresses", about);
  button.setAttribute("aria-expanded", String(!open));
  if (open) return open.remove();
  return about.append(make("div.addresses", {},
    make("p", {}, "In webknossos: Add Dataset → Add Remote Dataset."),
    copyable(dataset.urls.zarr3, `the address of ${dataset.name}`),
    make("p", {}, "Or one layer alone:"),
    dataset.layers.map((layer) => copyable(layerAddress(dataset, layer), `the address of ${layer.name}`))));
}

function drawWhenSeen(canvas, dataset) {
  new IntersectionObserver(async ([entry], observer) => {
    if (!entry.isIntersecting) return;
    observer.disconnect();
    try {
      await drawPreview(canvas, dataset);
    } catch {
      canvas.parentElement.classList.add("blank");
    }
  }).observe(canvas);
}

function show({ datasets, problems }) {
  const main = $("main");
  const cards = datasets.map((dataset) => {
    const words = [dataset.name, dataset.kind, ...dataset.layers.flatMap((layer) => [layer.name, layer.dtype, layer.category])];
    return { element: card(dataset), words: words.join(" ").toLowerCase() };
  });
  const notes = problems.length > 0 ? [make("div.problem", {}, make("b", {}, "Not looked at"), problems.map((text) => make("p", {}, text)))] : [];
  main.replaceChildren(...cards.map(({ element }) => element), ...notes);
  const unreadable = datasets.filter((dataset) => !isShown(dataset) && dataset.problems.length > 0).length;
  const all = `${datasets.length} ${datasets.length === 1 ? "dataset" : "datasets"}`;
  $(".count").textContent = unreadable > 0 ? `${all}, ${unreadable} of them unreadable` : all;
  const filter = $(".filter");
  filter.hidden = datasets.length < FILTER_FROM;
  filter.addEventListener("input", () => {
    const wanted = filter.value.toLowerCase().split(/\s+/);
    for (const { element, words } of cards) element.hidden = !wanted.every((word) => words.includes(word));
  });
}

async function open() {
  try {
    show(await api.datasets());
    document.body.dataset.state = "idle";
  } catch (error) {
    document.body.dataset.state = "failed";
    if (api.wantsToken(error)) askForToken($("dialog.token"), api.rememberToken);
    else $("main").replaceChildren(make("p.fatal", {}, "The list of datasets can't be read. ", make("span", {}, error.message)));
  }
}

open();
