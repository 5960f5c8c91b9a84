// Voxels of every data type: memory, numbers for painting, texts for reading.

const ARRAYS = {
  uint8: Uint8Array,
  int8: Int8Array,
  uint16: Uint16Array,
  int16: Int16Array,
  uint32: Uint32Array,
  int32: Int32Array,
  uint64: BigUint64Array,
  int64: BigInt64Array,
  float32: Float32Array,
  float64: Float64Array,
};
if (typeof Float16Array !== "undefined") ARRAYS.float16 = Float16Array;

export const isKnown = (dtype) => dtype === "bool" || dtype in ARRAYS;
export const isFloat = (dtype) => dtype.startsWith("float");
export const isWide = (dtype) => dtype === "uint64" || dtype === "int64";
export const bytesOf = (dtype) => arrayOf(dtype).BYTES_PER_ELEMENT;

function arrayOf(dtype) {
  return dtype === "bool" ? Uint8Array : ARRAYS[dtype];
}

export function typed(dtype, buffer) {
  return new (arrayOf(dtype))(buffer);
}

// The values that the data type can have, or null for floating-point numbers.
export function limits(dtype) {
  if (dtype === "bool") return [0, 1];
  if (isFloat(dtype)) return null;
  const bits = 8 * bytesOf(dtype);
  return dtype.startsWith("u") ? [0, 2 ** bits - 1] : [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1];
}

// As many digits as tell two neighbours apart, and no more.
export function text(dtype, value) {
  if (dtype === "float32") return String(Number(value.toPrecision(7)));
  if (dtype === "float16") return String(Number(value.toPrecision(4)));
  return String(value);
}

// The end of a contrast window: a whole number as it is, though within what the data type can have.
export function limitText(dtype, value) {
  if (isFloat(dtype) || !Number.isInteger(value)) return String(Number(value.toPrecision(4)));
  if (!isWide(dtype)) return String(value);
  const most = 2n ** (dtype === "uint64" ? 64n : 63n) - 1n;
  return String(BigInt(value) < most ? BigInt(value) : most);
}

// Smallest and largest of the middle 98 % of some of the numbers, zero left out: padding is zero.
export function typicalRange(samples) {
  const numbers = samples.filter((v) => Number.isFinite(v) && v !== 0).sort((a, b) => a - b);
  if (numbers.length === 0) return null;
  const at = (share) => numbers[Math.round(share * (numbers.length - 1))];
  const [low, high] = [at(0.01), at(0.99)];
  return low < high ? [low, high] : [Math.min(0, low), Math.max(low, high, low === 0 ? 1 : 0)];
}
