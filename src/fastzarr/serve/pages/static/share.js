// Addresses by which other programs open the dataset.

import { address, segments, token } from "./api.js";
import { copyable, make } from "./elements.js";

export const NEUROGLANCER = "https://neuroglancer-demo.appspot.com/";

const slashed = (path) => path.replace(/\/?$/, "/");

// The address of a layer as Zarr v3 where the server offers it, else v2, for neuroglancer's `layers[].source`.
export function neuroglancerSource(dataset, layer) {
  const own = layer.urls ?? {};
  if (own.neuroglancer) return own.neuroglancer;
  if (own.zarr3) return `zarr3://${address(slashed(own.zarr3))}`;
  if (own.zarr2) return `zarr2://${address(slashed(own.zarr2))}`;
  return `zarr3://${address(`data/zarr3_experimental/${segments(dataset.name, layer.name)}/`)}`;
}

// What neuroglancer reads from the part of its address after `#!`.
export function neuroglancerState(dataset, layers, state) {
  const units = state.voxelSize.map((nanometres) => [nanometres * 1e-9, "m"]);
  return {
    dimensions: { x: units[0], y: units[1], z: units[2] },
    position: state.position.map((v) => v + 0.5),
    crossSectionScale: state.scale / state.unit,
    layers: layers.map((layer, index) => ({
      type: layer.category === "segmentation" ? "segmentation" : "image",
      name: layer.name,
      source: neuroglancerSource(dataset, layer),
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
  const first = layers[0];
  const zarr = (layer) => neuroglancerSource(dataset, layer).replace(/^zarr\d:\/\//, "");
  const link = neuroglancerAddress(neuroglancerState(dataset, layers, state));
  const stored = dataset.urls?.zarr ? address(slashed(dataset.urls.zarr)) : null;
  const webknossos = address(slashed(dataset.urls?.webknossos ?? dataset.urls?.zarr3 ?? `data/zarr3_experimental/${segments(dataset.name)}`));
  const local = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
  dialog.querySelector(".body").replaceChildren(
    section("This view", "Position, zoom and layers are part of the address.", copyable(location.href, "this address")),
    section(
      "neuroglancer",
      make("p", {}, make("a.button", { href: link, target: "_blank", rel: "noopener noreferrer" }, "Open in neuroglancer"), " or paste a source into a viewer of yours:"),
      ...layers.map((layer) => copyable(neuroglancerSource(dataset, layer), `the source of ${layer.name}`)),
      make("p.note", {}, "Its page reads from this server, so it has to be allowed: ", make("code", {}, `fastzarr serve … --cors ${new URL(NEUROGLANCER).origin}`),
        local ? ". Only a browser on this computer reaches the address." : ". Browsers let its https page read from https only: put this server behind a proxy with a certificate, or run neuroglancer of your own."),
    ),
    section("webknossos", "Add Dataset → Add Remote Dataset; one layer after the other:", ...layers.map((layer) => copyable(zarr(layer), `the address of ${layer.name}`)),
      make("p.note", {}, "Or the whole dataset, in Python: ", make("code", {}, `webknossos.Dataset.open(…)`), " with ", make("code", {}, webknossos), ".")),
    section("Python", "Any Zarr library that reads from HTTP, such as:", copyable(`import zarr\nimage = zarr.open(${JSON.stringify(withMag(zarr(first), first))}, mode="r")`, "the lines of Python"),
      stored ? make("p.note", {}, "As it is stored: ", make("code", {}, stored)) : null),
    token() ? make("p.warning", {}, "All addresses here carry the token: whoever has one may read everything on this server.") : "",
  );
}

function section(title, ...content) {
  return make("section", {}, make("h3", {}, title), ...content.map((part) => (typeof part === "string" ? make("p", {}, part) : part)));
}

function withMag(url, layer) {
  const full = new URL(url);
  const [x, y, z] = layer.mags[0];
  full.pathname += x === y && y === z ? String(x) : `${x}-${y}-${z}`;
  return full.href;
}
