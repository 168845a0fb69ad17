// Arrays that packed.py wrote into the page.

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

/** The bytes of a text in base64. */
export function bytesIn(words) {
  const letters = atob(words);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

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
