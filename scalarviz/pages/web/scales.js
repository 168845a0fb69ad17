// The number with the strongest color and the largest cube: a stop that only grows by itself.

const KNOWN_PARTS = new WeakMap(); // by array
const SCALES = { few: 4096, high: 99, sample: 65536, said: 2 }; // `said` in seconds

/** As stage/channels.py, one scale for the network. */
export class Scales {
  constructor(stops, patience, apart = []) {
    this.stops = stops;
    this.apart = apart; // the rows of each Affine, which has units and a scale of its own
    this.patience = patience;
    this.known = new Map();
    this.grownAt = -Infinity;
    this.growth = null;
    this.held = false; // while a hand drags a cube, which must not shrink meanwhile
  }

  /** Forget all scales, for numbers that have nothing to do with those before. */
  forget() {
    this.known.clear();
    this.growth = null;
  }

  /** Choose the scale of a channel for these numbers. */
  choose(channel, numbers) {
    for (const [key, own, noted] of this.parts(channel, numbers))
      this.known.set(key, this.above(noted?.[0] ?? largestOf(own)));
    this.growth = null;
  }

  /** Let the scale grow if numbers exceed it, not more often than every few seconds. */
  follow(channel, numbers, now) {
    for (const [key, own, noted] of this.parts(channel, numbers)) {
      const stop = this.above(noted?.[0] ?? largestOf(own));
      const before = this.known.get(key) ?? 0;
      if (!before) {
        this.known.set(key, stop);
      } else if (
        stop > before &&
        !this.held &&
        (now - this.grownAt >= this.patience || now < this.grownAt)
      ) {
        this.known.set(key, stop);
        this.grownAt = now;
        this.growth = [before, stop];
      }
    }
  }

  /** Let the scale wait while a hand drags a cube, and grow at once when it lets go. */
  hold(isHeld) {
    this.held = isHeld;
    if (!isHeld) this.grownAt = -Infinity;
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
    const passed = now - this.grownAt;
    return passed >= 0 && passed < SCALES.said ? this.growth : null;
  }

  /** The scale of a channel: of the network, or of a row that may belong to an Affine. */
  of(channel, row = -1) {
    const own = this.apart.find(([start, stop]) => row >= start && row < stop);
    return this.known.get(own ? `${channel} ${own[0]}` : channel) || 1;
  }

  /** How many numbers of a channel exceed their scale. */
  beyond(channel, numbers) {
    const counts = this.parts(channel, numbers).map(([key, own, noted]) => {
      const scale = this.known.get(key) || 1;
      return noted ? countNoted(noted[1], scale) : countBeyond(own, scale);
    });
    return counts.reduce((a, b) => a + b, 0);
  }

  /** The smallest stop that is not below a number; 0 for 0. */
  above(number) {
    if (!(number > 0)) return 0;
    const power = Math.floor(Math.log10(number));
    for (const stop of this.stops) {
      const found = Number(`${stop}e${power}`);
      if (found >= number * (1 - 1e-12)) return found;
    }
    return Number(`1e${power + 1}`);
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

/** The smallest plain number, such as .08, .1, .15, 2 or 30, that is not below this. */
export function roundedUp(value) {
  const power = Math.floor(Math.log10(value));
  const digits = [1, 1.5, 2, 3, 4, 6, 8];
  const all = [power - 1, power, power + 1].flatMap((p) => digits.map((digit) => digit * 10 ** p));
  return Math.min(...all.filter((each) => each >= value));
}

/** Half the side of a cube of a number, in a cell of at least 1; NaN is drawn largest. */
export function halfSide(size, scale, { half, least }) {
  const part = Math.sqrt(Math.abs(size) / scale);
  return half * (least + (1 - least) * (part < 1 ? part : 1));
}
