// The losses of steps: those of the last ones exactly, of all the means of blocks.

import * as py from "./python.js";

const READ = 50; // losses that a mean is made of, at most
const EXACT = 2 ** 16; // steps at most whose losses are kept as they are
const FIRST_ROOM = 64; // of them for which there is room at first
const BLOCK = 256; // steps of a block at first
const MOST_BLOCKS = 2 ** 13; // of which two become one then

/** The losses of the steps from `first` up to `end`: means before `start`, exact afterwards. */
export class LossRecord {
  constructor(first = 0) {
    this.first = this.start = this.end = first;
    this.room = new Float64Array(FIRST_ROOM); // the loss of a step stands at its number after the first one, modulo the length
    this.size = BLOCK;
    this.sums = []; // of the known losses of each block of `size` steps
    this.counts = []; // and how many these are
  }

  /** The size of the losses in bytes. */
  get bytes() {
    return this.room.byteLength + 16 * this.sums.length;
  }

  /** Return the loss of a step; NaN if it is not known exactly. */
  at(step) {
    return step >= this.start && step < this.end
      ? this.room[(step - this.first) % this.room.length]
      : NaN;
  }

  /** Store the losses of the steps beginning at `step`; known losses are unchanged. */
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

  /** Add a loss to the block of a step `times` times; -1 removes it. */
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

  /** Return the index of the block of a step; create the block if it does not exist. */
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

  /** Return the first step after the block of a step. */
  after(step) {
    return this.first + (this.blockOf(step) + 1) * this.size;
  }

  /** Store the mean loss of the steps up to `end`, whose individual losses are unknown. */
  cover([end, mean]) {
    while (this.end < end) {
      const next = Math.min(end, this.after(this.end));
      this.count(this.end, mean, next - this.end);
      this.start = this.end = next;
    }
  }

  /** Return [end, mean] of the blocks that contain these steps, for `cover`. */
  blocks(from, end) {
    const found = [];
    for (let step = from; step < end; step = found.at(-1)[0]) {
      const next = Math.min(end, this.after(step));
      found.push([next, this.meanOfBlocks(step, next)]);
    }
    return found;
  }

  /** Remove the losses beginning at a step. */
  cut(step) {
    if (step >= this.end) return;
    const end = Math.max(step, this.first);
    for (let each = Math.max(end, this.start); each < this.end; each++)
      this.count(each, this.at(each), -1);
    this.sums.length = this.counts.length = Math.ceil((end - this.first) / this.size);
    this.end = end;
    this.start = Math.min(this.start, end);
  }

  /** Append the losses of another record, up to `end`. */
  append(other, end = other.end) {
    for (const block of other.blocks(this.end, Math.min(end, other.start))) this.cover(block);
    for (let step = this.end; step < end; step++) this.push(other.at(step));
  }

  /** Return a record of losses as `told` has them, or one that begins at a step. */
  static of(told, first) {
    const record = new LossRecord(told?.from ?? first);
    if (told) record.take({ losses: told, last: Infinity });
    return record;
  }

  /** The data of the record for a page, see `take`. */
  get told() {
    const { first, start, end } = this;
    const values = Float64Array.from({ length: end - start }, (_, i) => this.at(start + i));
    return { from: first, past: this.blocks(first, start), values };
  }

  /** Replace the losses beginning at a step by those of a state; remove losses after `last`. */
  take({ losses: { from, past = [], values }, last }) {
    const start = past.at(-1)?.[0] ?? from;
    if (start + values.length >= this.end || last < this.end) this.cut(from); // else they are known
    for (const block of past) this.cover(block);
    this.write(start, values);
    this.cut(last);
  }

  /** Return the mean of the known losses between two steps, or else the mean of their blocks. */
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
