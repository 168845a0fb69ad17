// The part of an operation that is shown: its light takes time, forward and, undone, backward; as
// stage/motion.py.

import { Light } from "./story/pace.js";

/** Animates between states: decides which state to draw, and the progress of its operation. */
export class Motion extends Light {
  constructor({ longest }, calm) {
    super(calm);
    this.longest = longest; // seconds of each operation of a step
    this.state = null;
    this.neuron = 0; // how many neurons of its operation are shown; 0: all
  }

  /** Begin the animation to a new state, at a time in seconds; while playing, it can take longer.
   *
   * neuron  number of neurons of the operation that are shown one by one; 0 if all together
   * size    total number of these neurons
   */
  follow(state, time, playing, neuron = 0, size = 1) {
    const { state: old, neuron: before } = this;
    Object.assign(this, { state, neuron });
    this.advance(time);
    if (old === null) return;
    const way = (state.step - old.step) * this.longest.length + state.operation - old.operation;
    const turn = way || !neuron ? 0 : neuron - (before || size); // within the operation
    if (!way && state.focus === old.focus && neuron === before) return;
    const forward = way > 0 || turn > 0;
    const passage = forward
      ? { state, neuron, forward }
      : { state: way ? old : state, neuron: turn ? before || size : before, forward };
    const isShort = forward ? way < this.longest.length : way === -1 || turn < 0;
    if (!isShort || passage.state.moment < 0) this.empty();
    else this.take_up([passage], this.longest[passage.state.moment], time, playing);
  }

  /** Return the state to draw at a time, the number of shown neurons, the progress of the operation
   * from 0 to 1, and whether the animation continues.
   */
  at(time) {
    const moving = this.advance(time);
    const [first] = this.waiting;
    const goes = first?.forward === false && this.part < 1; // what was undone
    const { state, neuron } = goes || this.waiting.length > 1 ? first : this;
    return { state, neuron, part: goes ? 1 - this.part : this.part, seconds: this.seconds, moving };
  }
}
