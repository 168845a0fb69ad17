// The number with the strongest color and the largest cube: a stop that follows the numbers slowly.

import { numbersOf } from "./frame_data.js";
import * as rules from "./story/scales.js";

const KNOWN_PARTS = new WeakMap(); // by array: states have arrays of their own

/** The scales of channels: one for the network, as in stage/channels.py. */
export class Scales {
  constructor(apart = [], usual = null) {
    this.usual = usual; // scale of values that stays, or null
    this.apart = apart; // the rows of each Affine, which has units and a scale of its own
    this.stops = new rules.GrowingStops();
    this.shown = ""; // which numbers they were chosen for
  }

  /** Adapt the scales of channels slowly to a state, the first one being shown by colors; after a
   * jump, or if the channels have changed, choose new scales. Bars of `plates` show the second.
   */
  take(state, channels, now, plates = []) {
    const bars = plates.some(({ wide }) => wide);
    const shown = `${state.jumps} ${channels}`;
    for (const channel of new Set(channels)) {
      const parts = this.parts(numbersOf(state, channel));
      for (const part of parts) part.largest ??= largestOf(part.own);
      const usual = channel === "value" ? this.usual : null;
      const isOfBars = bars && channel === channels[1];
      const largest = isOfBars
        ? new Map([[channel, neededBy(plates, numbersOf(state, channel))]])
        : new Map(parts.map((part) => [channel + part.key, usual ?? part.largest]));
      if (shown !== this.shown) this.stops.choose(largest);
      this.stops.follow(largest, now, channel === channels[0]);
    }
    this.shown = shown;
  }

  /** Divide numbers into parts with separate scales: the network, and each Affine. */
  parts(numbers) {
    if (!KNOWN_PARTS.has(numbers)) {
      const common = this.apart.length ? Float64Array.from(numbers) : numbers;
      for (const [start, stop] of this.apart) common.fill(NaN, start, stop);
      const all = [["", common], ...this.apart.map((rows) => [rows[0], numbers.slice(...rows)])];
      const noted = numbers.noted?.parts ?? []; // of numbers that came as codes
      KNOWN_PARTS.set(
        numbers,
        all.map(([key, own], i) => ({ key, own, largest: noted[i]?.[0], counts: noted[i]?.[1] })),
      );
    }
    return KNOWN_PARTS.get(numbers);
  }

  /** Return the scale of a channel for a row, which can belong to an Affine. */
  of(channel, row = -1) {
    const own = this.apart.find(([start, stop]) => row >= start && row < stop);
    return this.stops.of(channel + (own?.[0] ?? ""));
  }

  /** Return how many numbers of a channel exceed their scale. */
  beyond(channel, numbers) {
    const counts = this.parts(numbers).map((part) =>
      countBeyond(part, this.stops.of(channel + part.key)),
    );
    return counts.reduce((a, b) => a + b, 0);
  }
}

// Bars that share a line, as in stage/channels.py.
const BARS = { near: 1e-6, highest: 1.1, free: 0.06 };
const KNOWN_NEIGHBORS = new WeakMap(); // by list of plates

/** Return [upper bar, lower bar, distance] of neighbors one below the other, by bank indices. */
function neighborsOf(plates) {
  const round = (x) => Math.round(1e6 * x) / 1e6;
  const feet = plates.flatMap((plate) => {
    const { rows, columns, indices } = plate.cells();
    return Array.from(indices, (index, i) => {
      const [x, y] = plate.point(columns[i] + 0.5, rows[i] + 0.5).map(round);
      return { index, x, y };
    });
  });
  feet.sort((one, other) => one.x - other.x || other.y - one.y);
  return feet.slice(1).flatMap(({ index, x, y }, i) => {
    const before = feet[i];
    return x - before.x < BARS.near ? [[before.index, index, before.y - y]] : [];
  });
}

/** Return the number whose bar may be as high as two lines are apart, so that bars never meet,
 * and bars of biases touch no neurons.
 */
export function neededBy(plates, numbers) {
  if (!KNOWN_NEIGHBORS.has(plates)) KNOWN_NEIGHBORS.set(plates, neighborsOf(plates));
  const number = (row) => (Number.isNaN(numbers[row]) ? 0 : numbers[row]);
  const pitch = 2 * plates[0].half;
  let found = 0;
  for (const [upper, lower, apart] of KNOWN_NEIGHBORS.get(plates)) {
    const shared = Math.max(-number(upper), 0) + Math.max(number(lower), 0);
    found = Math.max(found, (shared * pitch) / ((1 - BARS.free) * apart));
  }
  for (const plate of plates)
    for (const row of plate.cells().indices) {
      found = Math.max(found, Math.abs(number(row)) / BARS.highest);
      if (plate.free) found = Math.max(found, (number(row) * pitch) / plate.free); // of its sign
    }
  return found;
}

/** Return the largest finite magnitude; for many numbers, a high percentile of a sample. */
export function largestOf(numbers) {
  const step = Math.max(1, Math.floor(numbers.length / rules.SAMPLE));
  const some = step > 1 ? numbers.filter((_, i) => i % step === 0) : numbers;
  const sizes = some.map(Math.abs).filter((size) => size < Infinity);
  if (sizes.length <= rules.FEW_NUMBERS) return sizes.reduce((a, b) => Math.max(a, b), 0);
  const place = (rules.HIGH_PERCENTILE / 100) * (sizes.length - 1);
  const count = sizes.length - Math.floor(place);
  const [first, next] = largestOnes(sizes, count).slice(-count);
  return first + (place % 1) * (next - first);
}

/** Return at least `count` of the largest numbers, in ascending order. */
function largestOnes(numbers, count) {
  const middle = numbers[numbers.length >> 1];
  const above = numbers.filter((each) => each > middle);
  return above.length < count ? numbers.sort() : largestOnes(above, count);
}

/** Return how many numbers of a part exceed a scale; for codes, from the counts sent with them. */
function countBeyond(part, scale) {
  if (part.counts) return part.counts.findLast(([stop]) => stop <= scale)?.[1] ?? 0;
  if (part.scale !== scale) {
    const count = part.own.reduce((sum, each) => sum + Number(Math.abs(each) > scale), 0);
    Object.assign(part, { scale, count });
  }
  return part.count;
}
