// Reads an array over HTTP with zarrita.js: node read_over_http.mjs URL FORMAT SUFFIX FILE
// Writes its elements in C order to FILE, and on stdout shape, data type and the ranges that it asked for.

import { writeFileSync } from "node:fs";
import * as zarr from "zarrita";

const [url, format, suffix, file] = process.argv.slice(2);
const asked = [];
const store = new zarr.FetchStore(url, {
  useSuffixRequest: suffix === "suffix",
  fetch(request) {
    asked.push(`${request.method} ${request.headers.get("Range") ?? "whole"}`);
    return fetch(request);
  },
});
const open = format === "2" ? zarr.open.v2 : zarr.open.v3;
const array = await open(store, { kind: "array" });
const { data, shape, stride } = await zarr.get(array);

const count = shape.reduce((product, length) => product * length, 1);
const ordered = new data.constructor(count);
const index = shape.map(() => 0);
for (let i = 0; i < count; i++) {
  ordered[i] = data[index.reduce((sum, at, axis) => sum + at * stride[axis], 0)];
  for (let axis = shape.length - 1; axis >= 0 && ++index[axis] === shape[axis]; axis--) index[axis] = 0;
}
writeFileSync(file, new Uint8Array(ordered.buffer));
console.log(JSON.stringify({ shape, dtype: array.dtype, asked }));
