// Arrays that Python packed into the page or sends: binary buffers, and numbers of many weights
// from codes.

import { bytesIn } from "./zipped.js";
import { Plate } from "./layout.js";

export const ARRAY_KINDS = {
  bool: Uint8Array,
  uint64: BigUint64Array,
  float32: Float32Array,
  float64: Float64Array,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
};

/** Return the typed array for {dtype, shape, data}; it gets the property `shape`. */
export function unpacked(given) {
  const found = new ARRAY_KINDS[given.dtype](bytesIn(given.data).buffer);
  found.shape = given.shape;
  return found;
}

/** Divide numbers into rows of a given size. */
export function inRows(numbers, size) {
  return Array.from({ length: numbers.length / size }, (_, i) =>
    numbers.slice(size * i, size * (i + 1)),
  );
}

/** Return a JSON value in which nested objects are replaced by a defined result of `make`. */
export function replacedIn(value, make) {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map((each) => replacedIn(each, make));
  const parts = () => Object.entries(value).map(([key, each]) => [key, replacedIn(each, make)]);
  return make(value) ?? Object.fromEntries(parts());
}

/** Return a JSON value in which packed arrays at any depth are replaced by typed arrays. */
export function unpackedAll(value) {
  return replacedIn(value, (each) => ("dtype" in each && "data" in each ? unpacked(each) : null));
}

// Arrays of binary buffers, numbers of many weights from codes, and exact numbers of some.

const LINK_KINDS = {
  f4: Float32Array, f8: Float64Array, u1: Uint8Array, i1: Int8Array, u4: Uint32Array,
}; // prettier-ignore
const NOT_FINITE = { nan: NaN, inf: Infinity, "-inf": -Infinity };
const MOST_CODE = 127;
const NO_NUMBER = 128; // the code -128 as a byte: a number that is not finite

/** Return a JSON value in which references are replaced by their arrays and numbers. */
export function joinedWith(given, buffers) {
  return replacedIn(given, (each) => {
    if ("$n" in each) return NOT_FINITE[each.$n];
    if (!("$" in each)) return null;
    const array = new LINK_KINDS[each.t](buffers[each.$]);
    return each.top === undefined ? array : { ...each, codes: array };
  });
}

/** Return the exact number of a weight; undefined if only its approximation is known. */
export function numberAt(state, row, name = "value") {
  state.exact?.read.add(row);
  return state.exact ? state.exact.known.get(row)?.[name] : state[name][row];
}

/** Add exact numbers of some rows to a state: `known` contains them, and `read` marks the rows. */
export function takeExact({ known, read }, { rows, value, grad }) {
  rows.forEach((row, i) => known.set(row, { value: value[i], grad: grad[i] }));
  return { known, read };
}

/** Computes the numbers of all weights from their codes. */
export class BankReader {
  constructor({ count, layouts }) {
    this.count = count;
    this.plates = layouts[0].plates.map((each) => Object.assign(new Plate(), each));
    this.places = new Map(); // by side of a tile, the place of the code of each weight
  }

  /** Replace the codes in a state by numbers; `tile` is the number of weights that share a code. */
  read(state) {
    if (state.value?.tile) state.tile = state.value.tile ** 2;
    for (const name of ["value", "grad"]) if (state[name]) state[name] = this.numbers(state[name]);
    const { rows = [], old } = state.edited ?? {};
    if (state.edited)
      state.edited = Object.fromEntries(Array.from(rows, (row, i) => [row, old[i]]));
    if (state.exact) state.exact = takeExact({ known: new Map(), read: new Set() }, state.exact);
    return state;
  }

  numbers(given) {
    if (!given.codes) return given;
    const { codes, top, tile } = given;
    const byCode = Float32Array.from({ length: 2 * NO_NUMBER }, (_, byte) => {
      const code = byte < NO_NUMBER ? byte : byte - 2 * NO_NUMBER;
      return byte === NO_NUMBER ? NaN : (code * top) / MOST_CODE;
    });
    const places = tile ? this.placesOf(tile) : null;
    const found = new Float32Array(this.count);
    for (let row = 0; row < found.length; row++) {
      const place = places ? places[row] : row;
      if (place >= 0) found[row] = byCode[codes[place] & 255];
    }
    return Object.assign(found, { noted: given }); // what is so of the numbers themselves
  }

  /** Return the index of each weight's code, given the side of the tiles; -1 without a plate. */
  placesOf(tile) {
    if (this.places.has(tile)) return this.places.get(tile);
    const found = new Int32Array(this.count).fill(-1);
    let first = 0;
    for (const plate of this.plates) {
      const wide = Math.ceil(plate.columns / tile);
      const { rows, columns, indices } = plate.cells();
      indices.forEach((index, i) => {
        found[index] = first + Math.floor(rows[i] / tile) * wide + Math.floor(columns[i] / tile);
      });
      first += Math.ceil(plate.rows / tile) * wide;
      plate.known = null; // millions of places, which nobody asks for again
    }
    this.places.set(tile, found);
    return found;
  }
}
