// The losses of the steps of a branch.

const ROOM = 64; // losses for which there is room at first

/** The loss of every step from `first` on. */
export class LossRecord {
  constructor(first) {
    this.first = first;
    this.room = new Float64Array(ROOM);
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
}
