// Keyframes of a training, within a budget of bytes, and the losses of its steps.

const MOST_FRAMES = 20000;

/** Saved states of an engine by their step; the first one is never removed. */
export class Keyframes {
  /** Keep states within `memory` bytes. */
  constructor(memory) {
    this.memory = memory;
    this.frames = [];
    this.used = 0;
    this.gap = 1; // least number of steps between two frames
  }

  /** The newest frame at or before a step. */
  before(step) {
    let low = 0;
    let high = this.frames.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.frames[middle].step <= step) low = middle;
      else high = middle;
    }
    return this.frames[low];
  }

  /** Whether a frame at a step is wanted, at least `apart` steps after the last one. */
  wants(step, apart) {
    const last = this.frames.at(-1);
    return last === undefined || step - last.step >= Math.max(this.gap, apart);
  }

  /** Add a frame later than all others. */
  add(frame) {
    this.frames.push(frame);
    this.used += frame.saved.byteLength;
    const many = () => this.used > this.memory || this.frames.length > MOST_FRAMES;
    while (many() && this.frames.length > 2) this.thin();
  }

  /** Drop every other frame. */
  thin() {
    this.frames = this.frames.filter((_, i) => i % 2 === 0);
    this.used = this.frames.reduce((sum, { saved }) => sum + saved.byteLength, 0);
    this.gap *= 2;
  }

  /** Drop the frames after a step. */
  dropAfter(step) {
    this.frames = this.frames.filter((frame, i) => i === 0 || frame.step <= step);
    this.used = this.frames.reduce((sum, { saved }) => sum + saved.byteLength, 0);
  }
}

/** The loss of every step from `first` on. */
export class LossRecord {
  constructor(first) {
    this.first = first;
    this.room = new Float64Array(1024);
    this.count = 0;
  }

  /** The step after the last one with a loss. */
  get end() {
    return this.first + this.count;
  }

  /** The loss of a step; NaN if there is none. */
  at(step) {
    return step >= this.first && step < this.end ? this.room[step - this.first] : NaN;
  }

  /** Write the losses of the steps from `step` on. */
  write(step, losses) {
    const end = step - this.first + losses.length;
    if (end > this.room.length) {
      const room = new Float64Array(Math.max(end, 2 * this.room.length));
      room.set(this.room.subarray(0, this.count));
      this.room = room;
    }
    this.room.set(losses, step - this.first);
    this.count = Math.max(this.count, end);
  }

  /** Copy the losses from a step on. */
  from(step) {
    return this.room.slice(Math.max(0, step - this.first), this.count);
  }

  /** Forget the losses from a step on. */
  cut(step) {
    this.count = Math.min(this.count, Math.max(0, step - this.first));
  }
}
