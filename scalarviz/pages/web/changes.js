// The changes of a user: a kind of change is one row, and a command of the worker; it is
// journalled, replayed and undone, and begins and names branches.
//
//   apply(engine, change, clock)   make it
//   between   whether it changes how steps are taken: within a step it waits until that ends
//   again     whether it changes weights: a step that is begun is begun again with them

import { plural, text } from "./texts.js";

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
  "learning rate": { apply: (engine, { rate }) => (engine.rate = rate) },
  batch: { between: true, apply: (engine, { size }) => (engine.size = size) },
  optimizer: { between: true, apply: (engine, { number }) => engine.setOptimizer(number) },
  weights: { between: true, apply: (engine, { seed }) => engine.setWeights(seed) },
};

/** Whether a change goes on with the last one at the same place, as when a cube is dragged. */
export function goesOn(last, change) {
  return last.kind === change.kind && last.row === change.row && !("on" in change);
}

// Names of branches: where they begin, and what was done there; as
// training/session/branches.py.

const MOST = 2; // changes that a name tells

// What a change did, in a few words; `spec` are the data of the engine.
const DID = {
  edit: ({ row, value }) => plural("branches.did.edit", 1, { row, value }),
  freeze: ({ row, count, on }) =>
    plural(on ? "branches.frozen.on" : "branches.frozen.off", count, { row }),
  "learning rate": ({ rate }) => text("branches.did.rate", { rate }),
  batch: ({ size }) => text("branches.did.batch", { size }),
  optimizer: ({ number }, { optimizers = [] }) => optimizers[number]?.title ?? "",
  roll: () => text("page.branch.roll"),
  weights: () => text("page.branch.weights"),
};

/** Return what a user did where a branch begins, for `branchName`: without long lists of rows. */
export function begunBy({ journal, fork }) {
  const here = journal.slice(fork.applied).filter(
    ({ step, operation }) => step === fork.step && operation === fork.operation,
  ); // prettier-ignore
  const counted = ({ rows = [], row = rows[0], ...more }) => {
    if (more.values) delete more.old; // of all weights
    delete more.values;
    return { ...more, row, count: rows.length };
  };
  return here.map(counted);
}

/** Return the name of a branch, which begins where something was `done`; `spec` is as for DID. */
export function branchName({ start, operation, is_first: isFirst, done }, spec) {
  const key = operation ? "operation" : start === 0 ? "start" : "step";
  const from = text(`branches.from.${key}`, { step: start, operation });
  const told = done.filter(
    (each, i) => i + 1 === done.length || subject(done[i + 1]) !== subject(each),
  );
  if (isFirst || !told.length) return from;
  const words = told.map((change) => DID[change.kind](change, spec));
  const listed = words.slice(0, MOST).join(", ");
  const count = words.length - MOST;
  const did = count > 0 ? text("branches.name.more", { listed, count }) : listed;
  return text("branches.name.did", { start: from, did });
}

/** Return what a change changes: of several in a row on one subject, the last one is told. */
function subject({ kind, row, count }) {
  return `${kind} ${row} ${count}`;
}
