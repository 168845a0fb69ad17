// The number with the strongest color and the largest cube: a stop that follows the numbers slowly.

import { GrowingStops } from "./story/scales.js";

const KNOWN_PARTS = new WeakMap(); // by array
const SCALES = { few: 4096, high: 99, sample: 65536 };

/** As stage/channels.py, one scale for the network. */
export class Scales {
  constructor(apart = []) {
    this.apart = apart; // the rows of each Affine, which has units and a scale of its own
    this.stops = new GrowingStops();
  }

  /** Forget all scales, for numbers that have nothing to do with those before. */
  forget() {
    this.stops.known.clear();
    this.stops.growth = null;
  }

  /** Choose the scale of a channel for these numbers. */
  choose(channel, numbers) {
    this.stops.choose(this.largest(channel, numbers));
  }

  /** Let the scale follow the numbers, slowly. */
  follow(channel, numbers, now) {
    this.stops.follow(this.largest(channel, numbers), now);
  }

  largest(channel, numbers) {
    const parts = this.parts(channel, numbers);
    return new Map(parts.map(([key, own, noted]) => [key, noted?.[0] ?? largestOf(own)]));
  }

  /** Let the scale wait while a hand drags a cube, and grow at once when it lets go. */
  hold(isHeld) {
    if (isHeld) this.stops.held = true;
    else this.stops.let_go();
  }

  /** The numbers with a scale of their own, each with its key and with what is noted of it: those of
   * the network, and of each Affine.
   */
  parts(channel, numbers) {
    const noted = numbers.noted?.parts ?? [];
    if (!this.apart.length) return [[channel, numbers, noted[0]]];
    if (!KNOWN_PARTS.has(numbers)) {
      const common = Float64Array.from(numbers);
      for (const [start, stop] of this.apart) common.fill(NaN, start, stop);
      KNOWN_PARTS.set(numbers, [common, ...this.apart.map((rows) => numbers.slice(...rows))]);
    }
    const keys = [channel, ...this.apart.map(([start]) => `${channel} ${start}`)];
    return KNOWN_PARTS.get(numbers).map((own, i) => [keys[i], own, noted[i]]);
  }

  /** The scale before and after it has grown, for some seconds; else null. */
  grown(now) {
    return this.stops.just_grown(now);
  }

  /** The scale of a channel: of the network, or of a row that may belong to an Affine. */
  of(channel, row = -1) {
    const own = this.apart.find(([start, stop]) => row >= start && row < stop);
    return this.stops.of(own ? `${channel} ${own[0]}` : channel);
  }

  /** How many numbers of a channel exceed their scale. */
  beyond(channel, numbers) {
    const counts = this.parts(channel, numbers).map(([key, own, noted]) => {
      const scale = this.stops.of(key);
      return noted ? countNoted(noted[1], scale) : countBeyond(own, scale);
    });
    return counts.reduce((a, b) => a + b, 0);
  }
}

const KNOWN_LARGEST = new WeakMap(); // by array: states have arrays of their own

/** The largest finite magnitude, of many numbers a high percentile of some of them. */
export function largestOf(numbers) {
  if (!KNOWN_LARGEST.has(numbers)) KNOWN_LARGEST.set(numbers, largestNow(numbers));
  return KNOWN_LARGEST.get(numbers);
}

function largestNow(numbers) {
  const step = numbers.length > SCALES.sample ? Math.floor(numbers.length / SCALES.sample) : 1;
  const sizes = new Float64Array(Math.ceil(numbers.length / step));
  let count = 0;
  for (let i = 0; i < numbers.length; i += step) {
    const size = Math.abs(numbers[i]);
    if (size < Infinity) sizes[count++] = size;
  }
  if (!count) return 0;
  const own = sizes.subarray(0, count);
  if (count <= SCALES.few) return own.reduce((a, b) => Math.max(a, b), 0);
  const at = ((count - 1) * SCALES.high) / 100;
  const low = Math.floor(at);
  const first = chosenInOrder(own, low);
  const next = own.subarray(low + 1).reduce((a, b) => Math.min(a, b), Infinity);
  return first + (at - low) * ((next < Infinity ? next : first) - first);
}

/** The number that would stand at a place of the sorted array, which is sorted about it. */
function chosenInOrder(numbers, place) {
  let [low, high] = [0, numbers.length - 1];
  while (low < high) {
    const middle = numbers[(low + high) >> 1];
    let [i, j] = [low, high];
    while (i <= j) {
      while (numbers[i] < middle) i++;
      while (numbers[j] > middle) j--;
      if (i <= j) {
        const kept = numbers[i];
        numbers[i++] = numbers[j];
        numbers[j--] = kept;
      }
    }
    if (place <= j) high = j;
    else if (place >= i) low = i;
    else break;
  }
  return numbers[place];
}

const KNOWN_BEYOND = new WeakMap();

/** How many numbers exceed a scale. */
export function countBeyond(numbers, scale) {
  const known = KNOWN_BEYOND.get(numbers);
  if (known?.scale === scale) return known.count;
  let count = 0;
  for (let i = 0; i < numbers.length; i++) if (Math.abs(numbers[i]) > scale) count++;
  KNOWN_BEYOND.set(numbers, { scale, count });
  return count;
}

/** How many numbers exceed a scale, of [stop, count]; 0 where it is not known, below all stops. */
function countNoted(counts, scale) {
  const at = counts.findLastIndex(([stop]) => stop <= scale);
  return at < 0 ? 0 : counts[at][1];
}
