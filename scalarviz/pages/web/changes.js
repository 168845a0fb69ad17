// The changes of a user: a kind of change is one row, and a command of the worker; it is
// journalled, replayed and undone, and begins and names branches.
//
//   apply(engine, change, clock)   make it
//   between   whether it changes how steps are taken: within a step it waits until that ends
//   again     whether it changes weights: a step that is begun is begun again with them

import { branch_name, in_few_words } from "./story/branch_names.js";
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
  freeze: { apply: (engine, { rows, on }) => engine.freeze(rows, on) },
  "learning rate": { apply: (engine, { rate }) => (engine.rate = rate) },
  batch: { between: true, apply: (engine, { size }) => (engine.size = size) },
  optimizer: { between: true, apply: (engine, { number }) => engine.setOptimizer(number) },
  weights: { between: true, apply: (engine, { seed }) => engine.setWeights(seed) },
};

/** Return whether a change continues the last one at the same place, such as a drag. */
export function goesOn(last, change) {
  return last.kind === change.kind && last.row === change.row && !("on" in change);
}

// Names of branches: where they begin, and what was done there.

// What a change did, in a few words; `spec` are the data of the engine.
const DID = {
  edit: ({ row, value }) => plural("branches.did.edit", 1, { row, value }),
  freeze: ({ row, count, on }) =>
    plural(on ? "branches.frozen.on" : "branches.frozen.off", count, { row }),
  "learning rate": ({ rate }) => text("branches.did.rate", { rate }),
  batch: ({ size }) => text("branches.did.batch", { size }),
  optimizer: ({ number }, { optimizers = [] }) => optimizers[number]?.title ?? "",
  weights: () => text("page.branch.weights"),
};

/** Return the changes at the start of a branch for `branchName`, without long lists of rows. */
export function begunBy({ journal, fork }) {
  const isHere = ({ step, operation }) => step === fork.step && operation === fork.operation;
  const here = journal.slice(fork.applied).filter(isHere);
  return here.map(({ kind, rows = [], row = rows[0], value, rate, size, number, on }) => ({
    kind, row, count: rows.length, value, rate, size, number, on,
  })); // prettier-ignore
}

/** Return the name of a branch from the changes `done` at its start; `spec` is as for DID. */
export function branchName({ start, operation, is_first: isFirst, done }, spec) {
  const about = ({ kind, row, count }) => `${kind} ${row} ${count}`;
  const did = done.map((change) => [about(change), DID[change.kind](change, spec)]);
  return branch_name(start, operation, isFirst ? "" : in_few_words(did));
}
