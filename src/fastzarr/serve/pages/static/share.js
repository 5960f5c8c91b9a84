// Addresses by which other programs open the dataset.

import { token } from "./api.js";
import { copyable, make } from "./elements.js";
import { AXES } from "./geometry.js";
import { magName } from "./layers.js";

export const NEUROGLANCER = "https://neuroglancer-demo.appspot.com/";

// The address of a layer as Zarr v3, as any client reads it.
export function layerAddress(dataset, layer, below = "") {
  const url = new URL(dataset.urls.zarr3);
  url.pathname += `${encodeURIComponent(layer.name)}/${below}`;
  return url.href;
}

export const neuroglancerSource = (dataset, layer) => `zarr3://${layerAddress(dataset, layer)}`;

// What neuroglancer reads from the part of its address after `#!`. OME-Zarr has the middle of a voxel at its index.
export function neuroglancerState(dataset, layers, state) {
  const dimensions = Object.fromEntries(AXES.map((name, a) => [name, [state.voxelSize[a], "nm"]]));
  return {
    dimensions,
    position: state.position,
    crossSectionScale: state.scale / state.unit,
    layers: layers.map((layer, index) => ({
      type: layer.category === "segmentation" ? "segmentation" : "image",
      name: layer.name,
      visible: state.layers[index].visible,
      source: layer.isRGB
        ? { url: neuroglancerSource(dataset, layer), transform: { outputDimensions: { "c^": [1, ""], ...dimensions } } }
        : neuroglancerSource(dataset, layer),
      ...(layer.category === "segmentation" ? {} : shading(layer, state.layers[index])),
    })),
    layout: "4panel",
  };
}

function shading(layer, { window }) {
  if (layer.isRGB) {
    const part = (channel) => `toNormalized(getDataValue(${channel}))`;
    return { shader: `void main() { emitRGB(vec3(${[0, 1, 2].map(part).join(", ")})); }` };
  }
  return window ? { shaderControls: { normalized: { range: window } } } : {};
}

export const neuroglancerAddress = (state) => `${NEUROGLANCER}#!${encodeURIComponent(JSON.stringify(state))}`;

export function fillSharing(dialog, dataset, layers, state) {
  const isLocal = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
  const array = layerAddress(dataset, layers[0], magName(layers[0].mags[0]));
  const sections = [
    section("This view", "Position, zoom and layers are part of the address.", copyable(location.href, "this address")),
    section(
      "neuroglancer",
      make("p", {},
        make("a.button", { href: neuroglancerAddress(neuroglancerState(dataset, layers, state)), target: "_blank", rel: "noopener noreferrer" }, "Open in neuroglancer"),
        " or paste a source into a neuroglancer of yours:"),
      ...layers.map((layer) => copyable(neuroglancerSource(dataset, layer), `the source of ${layer.name}`)),
      make("p.note", {},
        "Its page reads from this server, so the server has to allow it: ",
        make("code", {}, `fastzarr serve … --cors ${new URL(NEUROGLANCER).origin}`),
        isLocal
          ? ". This address works in a browser on this computer only."
          : ". Its page is https, and browsers let it read from https only: put a proxy with a certificate before this server."),
    ),
    section(
      "webknossos",
      "Add Dataset → Add Remote Dataset: the whole dataset, or one of its layers.",
      copyable(dataset.urls.zarr3, `the address of ${dataset.name}`),
      ...layers.map((layer) => copyable(layerAddress(dataset, layer), `the address of ${layer.name}`)),
    ),
    section(
      "Python",
      "With any Zarr library that reads from HTTP, such as zarr-python:",
      copyable(`import zarr\nimage = zarr.open_array(${JSON.stringify(array)}, mode="r")`, "the lines of Python"),
    ),
  ];
  if (dataset.urls.zarr) {
    sections.push(section("As it is stored", "Its own keys, compressed as they are on disk.", copyable(dataset.urls.zarr, "the address of the stored keys")));
  }
  if (token() !== null) {
    sections.unshift(make("p.warning", {}, "The addresses here carry the token: whoever has one can read everything on this server."));
  }
  dialog.querySelector(".body").replaceChildren(...sections);
}

function section(title, ...content) {
  return make("section", {}, make("h3", {}, title), ...content.map((part) => (typeof part === "string" ? make("p", {}, part) : part)));
}
