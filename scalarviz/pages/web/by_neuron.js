// What is shown of an operation whose neurons come one by one; as stage/by_parts.py.

import { rows_of_sum } from "./story/focus.js";

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
    const fan = layout.fan_into([walked[0], place]);
    for (const row of fan ? rows_of_sum(...fan) : [])
      found[row] = place === walked[1] ? grown * found[row] : missing;
  }
  return found;
}

/** Return a state with the numbers that a picture of it shows. */
export function seenOf(state, frame) {
  return frame?.walked ? { ...state, values: frame.values, gradients: frame.flows } : state;
}
