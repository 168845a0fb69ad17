// The losses of steps: those of the last ones exactly, of all the means of blocks.

import * as py from "./python.js";

const READ = 50; // losses that a mean is made of, at most
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
    this.sums = []; // of the known losses of each block of `size` steps
    this.counts = []; // and how many these are
  }

  /** Bytes of the losses. */
  get bytes() {
    return this.room.byteLength + 16 * this.sums.length;
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
    this.count(this.end, loss, 1);
    this.end += 1;
  }

  /** Count a loss in the block of a step, some times; -1 takes it out. */
  count(step, loss, times) {
    const block = this.blockOf(step);
    if (!Number.isFinite(loss)) return;
    this.sums[block] += times * loss;
    this.counts[block] += times;
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
      for (const all of [this.sums, this.counts]) {
        const pairs = all.flatMap((each, i) => (i % 2 ? [] : [each + (all[i + 1] ?? 0)]));
        all.splice(0, all.length, ...pairs);
      }
      this.size *= 2;
      block = Math.floor((step - this.first) / this.size);
    }
    while (this.sums.length <= block) {
      this.sums.push(0);
      this.counts.push(0);
    }
    return block;
  }

  /** Return the end of the block of a step. */
  after(step) {
    return this.first + (this.blockOf(step) + 1) * this.size;
  }

  /** Note the mean loss of the steps up to an end, of which no more is known. */
  cover([end, mean]) {
    while (this.end < end) {
      const next = Math.min(end, this.after(this.end));
      this.count(this.end, mean, next - this.end);
      this.start = this.end = next;
    }
  }

  /** Return [end, mean] of the blocks with some steps, as `cover` takes them. */
  blocks(from, end) {
    const found = [];
    for (let step = from; step < end; step = found.at(-1)[0]) {
      const next = Math.min(end, this.after(step));
      found.push([next, this.meanOfBlocks(step, next)]);
    }
    return found;
  }

  /** Forget the losses from a step on. */
  cut(step) {
    if (step >= this.end) return;
    const end = Math.max(step, this.first);
    for (let each = Math.max(end, this.start); each < this.end; each++)
      this.count(each, this.at(each), -1);
    this.sums.length = this.counts.length = Math.ceil((end - this.first) / this.size);
    this.end = end;
    this.start = Math.min(this.start, end);
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

  /** Return the mean of some losses, as far as they are known; else that of their blocks. */
  mean(from, end) {
    const apart = Math.ceil((end - from) / READ);
    let [sum, count] = [0, 0];
    for (let step = from; step < end; step += apart) {
      const loss = this.at(step);
      if (Number.isFinite(loss)) [sum, count] = [sum + loss, count + 1];
    }
    return count ? sum / count : this.meanOfBlocks(from, end);
  }

  meanOfBlocks(from, end) {
    const ends = [this.blockOf(from), this.blockOf(end - 1) + 1];
    const [sum, count] = [this.sums, this.counts].map((all) => py.total(all.slice(...ends)));
    return sum / count;
  }
}
