// What the pages ask the server for.

// The root of the server, also where a proxy puts it below a path: modules are at <root>static/.
export const root = new URL("../", import.meta.url);

const query = new URLSearchParams(location.search);
const entered = "fastzarr-token";

export function token() {
  return query.get("token") ?? sessionStorage.getItem(entered);
}

export function rememberToken(value) {
  sessionStorage.setItem(entered, value);
}

// An address of the server: of a path below its root, or a whole one that it told. It has the token of this page where
// a program or another page is to use it.
export function address(path, { withToken = true } = {}) {
  const url = new URL(path, root);
  if (withToken && token() !== null) url.searchParams.set("token", token());
  return url.href;
}

export const segments = (...names) => names.map(encodeURIComponent).join("/");

export class ServerError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export const wantsToken = (error) => error?.status === 401 || error?.status === 403;

async function ask(path, options = {}) {
  const headers = { ...options.headers };
  if (token() !== null) headers["X-Auth-Token"] = token();
  let response;
  try {
    response = await fetch(address(path, { withToken: false }), { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServerError(0, "The server does not answer.");
  }
  if (!response.ok) throw new ServerError(response.status, await message(response));
  return response;
}

async function message(response) {
  const text = await response.text().catch(() => "");
  try {
    return JSON.parse(text).messages.map(({ error }) => error).join("; ");
  } catch {
    return text.slice(0, 300) || `The server answers ${response.status}.`;
  }
}

export async function datasets() {
  return (await ask("api/datasets")).json();
}

export async function dataset(name) {
  return (await ask(`api/datasets/${segments(name)}`)).json();
}

const dataPath = (dataset, layer) => `data/datasets/${segments(dataset)}/layers/${segments(layer)}/data`;

// A box of one magnification: `corner` in voxels of magnification 1, `size` in voxels of `mag`.
export async function cutout(dataset, layer, mag, corner, size) {
  const [x, y, z] = corner;
  const [width, height, depth] = size;
  const box = new URLSearchParams({ x, y, z, width, height, depth, mag: mag.join("-") });
  return (await ask(`${dataPath(dataset, layer)}?${box}`)).arrayBuffer();
}

const indices = (response, header) => JSON.parse(response.headers.get(header) ?? "[]");

// Cubes of `edge` voxels at the bucket coordinates `coords`: for each its bytes, "empty" or "failed".
export async function buckets(dataset, layer, mag, coords, { edge, nbytes, signal }) {
  const body = coords.map((c) => ({
    position: c.map((v, axis) => v * edge * mag[axis]),
    mag,
    cubeSize: edge,
  }));
  const response = await ask(dataPath(dataset, layer), {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
    signal,
  });
  const failed = new Set(indices(response, "Failure-Bucket-Indices"));
  const empty = new Set([
    ...indices(response, "Empty-Bucket-Indices"),
    ...indices(response, "MISSING-BUCKETS").filter((index) => !failed.has(index)),
  ]);
  const bytes = await response.arrayBuffer();
  const found = coords.length - empty.size - failed.size;
  if (bytes.byteLength !== found * nbytes) {
    throw new ServerError(0, `The server sent ${bytes.byteLength} bytes, expected ${found * nbytes}.`);
  }
  let offset = -nbytes;
  return coords.map((_, index) => {
    if (failed.has(index)) return "failed";
    if (empty.has(index)) return "empty";
    offset += nbytes;
    return bytes.slice(offset, offset + nbytes);
  });
}
