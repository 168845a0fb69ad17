// The part of an operation that is shown: its light takes time, forward and, undone, backward; as
// stage/motion.py.

import { SHORTEST, SHOWN, SLOWEST } from "./story/pace.js";

/** Follows states, and says which of them is to be drawn, and how much of its moment is done. */
export class Motion {
  constructor(pace, calm) {
    this.pace = pace; // see `pace_data`
    this.given = 0; // seconds that a slow step gives to the next operation; 0 without
    this.calm = calm; // whether everything appears at once
    this.now = null;
    this.neuron = 0; // how many neurons of the operation are shown; 0: all
    this.leaving = 0; // of the one that is undone
    this.undone = null;
    this.began = -Infinity;
    this.moved = -Infinity;
    this.seconds = 0;
  }

  /** Take up a new state at a time in seconds; `playing` lets slow operations take longer.
   *
   * neuron  how many neurons of its operation are shown, where one goes by neurons; else 0
   * size    how many these are
   */
  follow(state, time, playing, neuron = 0, size = 1) {
    const old = this.now;
    const before = this.neuron;
    this.now = state;
    this.neuron = neuron;
    const way = old === null ? 0 : this.place(state) - this.place(old);
    const turn = way || !neuron ? 0 : neuron - (before || size); // within the operation
    if (way === 0 && old !== null && state.focus === old.focus && neuron === before) return;
    this.leaving = turn < 0 ? before || size : before;
    const isShort = Math.abs(way) < this.pace.longest.length;
    const isForward = (way > 0 || turn > 0) && isShort && state.moment >= 0;
    this.undone = (way === -1 && old.moment >= 0) || turn < 0 ? (way ? old : state) : null;
    const paused = SHOWN * this.given || 0.8 * (time - this.moved);
    const own = this.pace.longest[(this.undone ?? state).moment] ?? 0;
    const longest = playing && Number.isFinite(paused) ? SLOWEST : own;
    const usual = Math.min(longest, Math.max(SHORTEST, paused));
    this.seconds = !this.calm && (isForward || this.undone) ? usual : 0;
    this.began = this.moved = time;
  }

  /** Return the number of operations that lead to a state. */
  place(state) {
    return state.step * this.pace.longest.length + state.operation;
  }

  /** Show the end of the operation that is under way. */
  finish() {
    this.began = -Infinity;
  }

  /** Return the state to draw at a time, how many neurons of its moment are shown, the part of it
   * that is done, and whether more is to come.
   */
  at(time) {
    const part = this.seconds ? Math.min(1, (time - this.began) / this.seconds) : 1;
    const { seconds } = this;
    if (this.undone && part < 1)
      return { state: this.undone, neuron: this.leaving, part: 1 - part, seconds, moving: true };
    const { neuron } = this;
    return { state: this.now, neuron, part: this.undone ? 1 : part, seconds, moving: part < 1 };
  }
}
