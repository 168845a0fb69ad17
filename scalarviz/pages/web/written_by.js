// What a network that reads letters writes, in the worker.

import { write_names } from "./story/written_names.js";

/** Return names that the network writes, and the step; `known` is filled with those for training. */
export function writtenBy({ engine, step }, known, { random, signs, heat }) {
  const { inputs } = engine.spec.sizes;
  for (let row = known.size ? Infinity : 0; row < engine.spec.samples; row++) {
    const codes = engine.arrays.inputs.subarray(row * inputs, (row + 1) * inputs);
    known.add(Array.from(codes.slice(1), (code) => signs[code] ?? "").join(""));
  }
  const ask = (rows) => engine.evaluate(new engine.value.constructor(rows));
  return { names: write_names(ask, random, signs, known, heat), step };
}
