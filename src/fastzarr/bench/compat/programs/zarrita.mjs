// Implementation `zarrita.js` of the command protocol (docs/external-backends.md), for Node 20 and newer.
// zarrita reads Zarr v2 and v3, and writes v3 arrays without shards.

import { readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import FileSystemStore from "@zarrita/storage/fs";
import * as zarr from "zarrita";

const here = new URL(".", import.meta.url);
const { version } = JSON.parse(readFileSync(new URL("node_modules/zarrita/package.json", here), "utf8"));

const TYPED_ARRAYS = {
  int8: Int8Array,
  uint16: Uint16Array,
  int32: Int32Array,
  float32: Float32Array,
  float64: Float64Array,
};

class Unsupported extends Error {}

function elements(testCase, file) {
  const content = readFileSync(file);
  if (testCase.data_type === "string") return JSON.parse(content.toString("utf8"));
  if (testCase.data_type === "bool") return new zarr.BoolArray(new Uint8Array(content).buffer);
  const TypedArray = TYPED_ARRAYS[testCase.data_type];
  return new TypedArray(new Uint8Array(content).buffer);
}

// Bytes in C order, whatever the strides, by copying elements as bits.
function inOrder({ data, shape, stride }) {
  const count = shape.reduce((product, length) => product * length, 1);
  const offsets = new Array(count);
  const index = shape.map(() => 0);
  for (let i = 0; i < count; i++) {
    offsets[i] = index.reduce((sum, at, axis) => sum + at * stride[axis], 0);
    for (let axis = shape.length - 1; axis >= 0 && ++index[axis] === shape[axis]; axis--) index[axis] = 0;
  }
  if (Array.isArray(data)) return Buffer.from(JSON.stringify(offsets.map((offset) => data[offset])));
  const size = data.BYTES_PER_ELEMENT;
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  return Buffer.concat(offsets.map((offset) => bytes.subarray(offset * size, (offset + 1) * size)));
}

function codecs(testCase) {
  const first =
    testCase.data_type === "string"
      ? { name: "vlen-utf8", configuration: {} }
      : { name: "bytes", configuration: { endian: testCase.endian } };
  const { level } = testCase;
  const typesize = TYPED_ARRAYS[testCase.data_type]?.BYTES_PER_ELEMENT ?? 1;
  const blosc = { cname: "lz4", clevel: level, shuffle: "shuffle", typesize, blocksize: 0 };
  const second = {
    none: [],
    zstd: [{ name: "zstd", configuration: { level, checksum: false } }],
    blosc: [{ name: "blosc", configuration: blosc }],
  }[testCase.codec];
  return [first, ...second];
}

function check(operation, testCase) {
  if (!(testCase.data_type in TYPED_ARRAYS) && !["bool", "string"].includes(testCase.data_type)) {
    throw new Unsupported(`zarrita.js has no data type ${testCase.data_type}`);
  }
  if (operation === "read") return;
  if (testCase.zarr_format === 2) throw new Unsupported("zarrita.js creates Zarr v3 arrays only");
  if (testCase.shard_shape) throw new Unsupported("zarrita.js does not write shards");
  if (testCase.codec === "gzip") throw new Unsupported("zarrita.js does not encode gzip");
  if (testCase.data_type === "string") throw new Unsupported("zarrita.js does not encode vlen-utf8");
}

async function write(testCase, directory, file) {
  const array = await zarr.create(new FileSystemStore(directory), {
    shape: testCase.shape,
    chunkShape: testCase.chunk_shape,
    dtype: testCase.data_type,
    codecs: codecs(testCase),
    fillValue: testCase.fill_value,
  });
  const shape = [testCase.written_rows, ...testCase.shape.slice(1)];
  const stride = [shape[1] * shape[2], shape[2], 1];
  const data = elements(testCase, file);
  await zarr.set(array, [zarr.slice(0, shape[0]), null, null], { data, shape, stride });
  return { status: "ok" };
}

async function read(testCase, directory, file) {
  const open = testCase.zarr_format === 2 ? zarr.open.v2 : zarr.open.v3;
  const array = await open(new FileSystemStore(directory), { kind: "array", attrs: false });
  const whole = await zarr.get(array);
  writeFileSync(file, inOrder(whole));
  return { status: "ok", shape: whole.shape };
}

async function answer({ operation, case: testCase, directory, file }) {
  try {
    if (operation === "describe") return { status: "ok", version, writes: true, reads: true };
    check(operation, testCase);
    return await (operation === "write" ? write : read)(testCase, directory, file);
  } catch (error) {
    if (error instanceof Unsupported) return { status: "unsupported", message: error.message };
    const cause = error.cause ? ` (${error.cause.message ?? error.cause})` : "";
    return { status: "failed", message: `${error.name}: ${error.message}${cause}` };
  }
}

// What a library logs must not be taken for an answer.
console.log = console.info = console.error;

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await answer(JSON.parse(line)))}\n`);
}
