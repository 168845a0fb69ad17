// Arrays that bundle.py wrote into the page.

import { bytesIn } from "./zipped.js";

const PACKED_KINDS = {
  float32: Float32Array,
  float64: Float64Array,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
};

/** The typed array of {dtype, shape, data}; its shape stands in `shape`. */
export function unpacked(given) {
  const found = new PACKED_KINDS[given.dtype](bytesIn(given.data).buffer);
  found.shape = given.shape;
  return found;
}

/** A value in which each packed array, however deep, is a typed array. */
export function unpackedAll(value) {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(unpackedAll);
  if ("dtype" in value && "data" in value) return unpacked(value);
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, unpackedAll(each)]));
}
