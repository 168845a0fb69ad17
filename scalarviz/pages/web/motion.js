// The part of an operation that is shown: its light takes time, forward and, undone, backward.

const LONGEST_MOTION = 0.9; // seconds for one operation
const SLOWEST_MOTION = 2.4; // while it plays slowly
const SHORTEST_MOTION = 0.1;

/** Follows states, and says which of them is to be drawn, and how much of its moment is done. */
export class Motion {
  constructor(moments, calm) {
    this.moments = moments; // of a step
    this.calm = calm; // whether everything appears at once
    this.now = null;
    this.undone = null;
    this.began = -Infinity;
    this.moved = -Infinity;
    this.seconds = 0;
  }

  /** Take up a new state at a time in seconds; `playing` lets slow operations take longer. */
  follow(state, time, playing) {
    const old = this.now;
    this.now = state;
    const way = old === null ? 0 : this.place(state) - this.place(old);
    if (way === 0 && old !== null && state.focus === old.focus) return;
    const isShort = Math.abs(way) < this.moments;
    const isForward = way > 0 && isShort && state.moment >= 0;
    this.undone = way === -1 && old.moment >= 0 ? old : null;
    const paused = 0.8 * (time - this.moved);
    const longest = playing ? SLOWEST_MOTION : LONGEST_MOTION;
    const usual = Number.isFinite(paused)
      ? Math.min(longest, Math.max(SHORTEST_MOTION, paused))
      : longest;
    this.seconds = !this.calm && (isForward || this.undone) ? usual : 0;
    this.began = this.moved = time;
  }

  /** Return the number of operations that lead to a state. */
  place(state) {
    return state.step * this.moments + state.operation;
  }

  /** Return the state to draw at a time, the part of its moment, and whether more is to come. */
  at(time) {
    const part = this.seconds ? Math.min(1, (time - this.began) / this.seconds) : 1;
    if (this.undone && part < 1) return { state: this.undone, part: 1 - part, moving: true };
    return { state: this.now, part: this.undone ? 1 : part, moving: part < 1 };
  }
}
