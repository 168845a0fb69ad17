// The changes of a user: a kind of change is one row, and a command of the worker; it is journalled,
// replayed and undone.
//
// apply(engine, change, clock)   make it
// between   whether it changes how steps are taken: within a step it waits until that ends
// again     whether it changes weights: a step that is begun is begun again with them

export const CHANGES = {
  edit: {
    again: true,
    apply(engine, change, { operation, before }) {
      const { row, value } = change;
      change.old ??= engine.value[row];
      engine.value[row] = value;
      if (operation > 0) before.value[row] = value; // "step" begins there
    },
  },
  roll: {
    again: true,
    apply(engine, change, { operation, before }) {
      const { values } = change;
      change.old ??= engine.value.slice();
      engine.value.set(values);
      if (operation > 0) before.value.set(values);
    },
  },
  freeze: { apply: (engine, { rows, on }) => engine.freeze(rows, on) },
  rate: { apply: (engine, { rate }) => (engine.rate = rate) },
  size: { between: true, apply: (engine, { size }) => (engine.size = size) },
  optimizer: { between: true, apply: (engine, { number }) => engine.setOptimizer(number) },
  weights: { between: true, apply: (engine, { seed }) => engine.setWeights(seed) },
};

/** Whether a change goes on with the last one at the same place, as when a cube is dragged. */
export function goesOn(last, change) {
  return last.kind === change.kind && last.row === change.row && !("on" in change);
}
