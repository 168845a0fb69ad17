// Which neurons of the last operation are shown, where one goes by neurons; as
// stage/by_parts.py.

import { rowsOfSum } from "./lights.js";

/** How many neurons are shown at some moments, of whose kinds `moments` of the scene know. */
export class ByNeuron {
  constructor(moments) {
    this.moments = moments;
    this.shown = new Map(); // by place of the clock; the last one is where one goes
  }

  /** Whether one can go by neurons. */
  get isThere() {
    return this.moments.some(({ neurons }) => neurons);
  }

  clear() {
    this.shown.clear();
  }

  /** Return how many neurons a state shows; 0: the whole operation. */
  at(state) {
    return this.shown.get(this.placeOf(state)) ?? 0;
  }

  placeOf({ step, operation }) {
    return step * this.moments.length + operation;
  }

  /** Return the number of neurons of the operation before a place; 1 for one without. */
  sizeAt(place) {
    return this.moments.at((place % this.moments.length) - 1).neurons?.[1] ?? 1;
  }

  /** Go on by some neurons, or back; return by how many operations the training is to go.
   *
   * waits  whether the training is still on its way to where one went before
   */
  go(state, by, waits) {
    const here = this.placeOf(state);
    if (!waits) this.shown = new Map([[here, this.at(state)]]);
    const [first, known] = [...this.shown].at(-1) ?? [here, 0];
    let [place, shown] = [first, known || this.sizeAt(first)];
    for (let i = 0; i < Math.abs(by); i++) {
      if (by > 0) [place, shown] = shown < this.sizeAt(place) ? [place, shown + 1] : [place + 1, 1];
      else if (shown > 1) shown -= 1;
      else if (place > 0) [place, shown] = [place - 1, this.sizeAt(place - 1)];
    }
    this.shown.delete(place);
    this.shown.set(place, shown);
    return place - first;
  }
}

/** Return the neuron that a picture has come to: buffer and place; null where all are shown. */
export function walkedIn(moment, number) {
  return moment?.neurons && number ? [moment.neurons[0], number - 1] : null;
}

/** Return arrays by buffer without the results of later neurons of some `names`. */
export function cutOff(arrays, names, count) {
  const own = ([name, each]) => [name, names.includes(name) ? each.slice(0, count) : each];
  return Object.fromEntries(
    Object.entries(arrays)
      .map(own)
      .filter(([, each]) => each.length),
  );
}

/** Return gradients as far as they are there; `missing` stands for those of later neurons. */
export function partlyGrown(gradients, { layout, moment, part, walked }, missing) {
  if (!walked || moment.kind !== "weight gradient") return gradients;
  const found = gradients.slice();
  const grown = Math.min(1, Math.max(0, 2 * part - 1));
  for (let place = walked[1]; place < moment.neurons[1]; place++) {
    const fan = layout.fanInto([walked[0], place]);
    for (const row of fan ? rowsOfSum(fan) : [])
      found[row] = place === walked[1] ? grown * found[row] : missing;
  }
  return found;
}

/** Return a state with the numbers that a picture of it shows. */
export function seenOf(state, frame) {
  return frame?.walked ? { ...state, values: frame.values, gradients: frame.flows } : state;
}
