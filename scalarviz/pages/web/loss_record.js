// The losses of steps: those of the last ones exactly, of all the smallest and largest of blocks.

const EXACT = 2 ** 20; // steps at most whose losses are kept as they are
const FIRST_ROOM = 64; // of them for which there is room at first
const BLOCK = 256; // steps of a block at first
const MOST_BLOCKS = 2 ** 13; // of which two become one then

/** The losses of the steps from `first` to before `end`, exact from `start` on, in bounded memory. */
export class LossRecord {
  constructor(first = 0) {
    this.first = this.start = this.end = first;
    this.room = new Float64Array(FIRST_ROOM); // the loss of a step stands at its number after the first one, modulo the length
    this.size = BLOCK;
    this.low = []; // the smallest loss that is shown of each block of `size` steps; Infinity: none
    this.high = []; // the largest one, which may be 0; -Infinity: none
  }

  /** Bytes of the losses. */
  get bytes() {
    return this.room.byteLength + 16 * this.low.length;
  }

  /** The loss of a step; NaN if it is not known exactly. */
  at(step) {
    return step >= this.start && step < this.end
      ? this.room[(step - this.first) % this.room.length]
      : NaN;
  }

  /** Write the losses of the steps from `step` on; those that are known do not change. */
  write(step, losses) {
    const known = Math.max(0, this.end - step);
    while (this.end < step) this.push(NaN);
    for (let i = known; i < losses.length; i++) this.push(losses[i]);
  }

  push(loss) {
    if (this.end - this.start === this.room.length) this.makeRoom();
    this.room[(this.end - this.first) % this.room.length] = loss;
    const block = this.blockOf(this.end);
    if (loss === 0)
      this.widen(block, Infinity, 0); // which a linear scale alone shows
    else if (Number.isFinite(loss)) this.widen(block, loss, loss);
    this.end += 1;
  }

  makeRoom() {
    if (this.room.length === EXACT) {
      this.start += 1;
      return;
    }
    const room = new Float64Array(2 * this.room.length);
    for (let step = this.start; step < this.end; step++)
      room[(step - this.first) % room.length] = this.at(step);
    this.room = room;
  }

  /** Return the number of the block of a step, which is made if there is none. */
  blockOf(step) {
    let block = Math.floor((step - this.first) / this.size);
    while (block >= MOST_BLOCKS) {
      const pairs = Array.from({ length: Math.ceil(this.low.length / 2) }, (_, i) => 2 * i);
      this.low = pairs.map((i) => Math.min(...this.low.slice(i, i + 2)));
      this.high = pairs.map((i) => Math.max(...this.high.slice(i, i + 2)));
      this.size *= 2;
      block = Math.floor((step - this.first) / this.size);
    }
    while (this.low.length <= block) {
      this.low.push(Infinity);
      this.high.push(-Infinity);
    }
    return block;
  }

  widen(block, low, high) {
    if (low < this.low[block]) this.low[block] = low;
    if (high > this.high[block]) this.high[block] = high;
  }

  /** Note the smallest and largest loss of the steps up to an end, of which no more is known. */
  cover([end, low, high]) {
    if (end <= this.end) return;
    const last = this.blockOf(end - 1);
    for (let k = this.blockOf(this.end); k <= last; k++) this.widen(k, low, high);
    this.start = this.end = end;
  }

  /** Return [end, smallest, largest] of the blocks with some steps, as `cover` takes them. */
  blocks(from, end) {
    const found = [];
    for (let step = from; step < end; step = found.at(-1)[0]) {
      const k = this.blockOf(step);
      found.push([Math.min(end, this.first + (k + 1) * this.size), this.low[k], this.high[k]]);
    }
    return found;
  }

  /** Forget the losses from a step on. */
  cut(step) {
    if (step >= this.end) return;
    const end = Math.max(step, this.first);
    const begun = this.blocks(end, end + 1)[0];
    const block = this.blockOf(end);
    const from = this.first + block * this.size;
    this.low.length = this.high.length = block;
    this.end = end;
    this.start = Math.min(this.start, end);
    if (from >= end) return;
    const [low, high] =
      from < this.start ? begun.slice(1) : this.scan(from, end, [Infinity, -Infinity]);
    this.widen(this.blockOf(from), low, high);
  }

  /** Add the losses of another record up to an end. */
  append(other, end = other.end) {
    for (const block of other.blocks(this.end, Math.min(end, other.start))) this.cover(block);
    for (let step = this.end; step < end; step++) this.push(other.at(step));
  }

  /** What a page gets of a record, for `take`. */
  get told() {
    const { first, start, end } = this;
    const values = Float64Array.from({ length: end - start }, (_, i) => this.at(start + i));
    return { from: first, past: this.blocks(first, start), values };
  }

  /** Take up what is told of the losses from a step on; those after the `last` step are forgotten. */
  take({ losses: { from, past = [], values }, last }) {
    const start = past.at(-1)?.[0] ?? from;
    if (start + values.length >= this.end || last < this.end) this.cut(from); // else they are known
    for (const block of past) this.cover(block);
    this.write(start, values);
    this.cut(last);
  }

  /** Return the smallest and the largest loss of some steps; [Infinity, -Infinity] for none. */
  range(from, end) {
    const found = [Infinity, -Infinity];
    const last = Math.min(end, this.end);
    for (let step = Math.max(from, this.first); step < last;) {
      const k = this.blockOf(step);
      const start = this.first + k * this.size;
      const next = Math.min(start + this.size, this.end);
      const isWhole = (step === start && next <= end) || step < this.start;
      if (isWhole)
        [found[0], found[1]] = [Math.min(found[0], this.low[k]), Math.max(found[1], this.high[k])];
      else this.scan(step, Math.min(next, end), found);
      step = next;
    }
    return found;
  }

  scan(from, end, found) {
    for (let step = from; step < end; step++) {
      const value = this.at(step);
      if (!Number.isFinite(value)) continue;
      if (value < found[0] && value) found[0] = value;
      if (value > found[1]) found[1] = value;
    }
    return found;
  }
}
