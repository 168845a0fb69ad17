// Names of branches: where they begin, and what was done there; as training/session/branches.py.

import { plural, text } from "./texts.js";

const MOST = 2; // changes that a name tells

// What a change did, in a few words; `spec` are the data of the engine.
const DID = {
  edit: ({ row, value }) => plural("branches.did.edit", 1, { row, value }),
  freeze: ({ row, count, on }) =>
    plural(on ? "branches.frozen.on" : "branches.frozen.off", count, { row }),
  rate: ({ rate }) => text("branches.did.rate", { rate }),
  size: ({ size }) => text("branches.did.batch", { size }),
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
export function branchName({ start, operation, isFirst, done }, spec) {
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
