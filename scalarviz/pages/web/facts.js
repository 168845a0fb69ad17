// Facts and states as story/facts.py has them: with functions of numbers in place of trees.

import { explainedOf, frozenOf } from "./explanation.js";
import { calledFormula, errorsOf, isKnownLoss, lossOf, partOfLoss } from "./formulas.js";

/** Return facts with functions in place of trees; null for those that a page cannot compute. */
export function readyFacts(facts) {
  if (facts.is_ready) return facts;
  const { loss } = facts;
  const part = (name) => ({
    ...loss[name],
    cases: casesOf(loss[name].cases, ["p", "t"]),
    compute: loss[name].tree && loss.weight && ((p, t) => partOfLoss(loss, name, p, t)),
  });
  const ofRow = (p, t) => errorsOf(loss, p, t)[0];
  return {
    ...facts,
    is_ready: true,
    program: null,
    activations: mapped(facts.activations, (row) => ({
      ...row,
      ...bothOf(row),
      cases: casesOf(row.cases, ["z"]),
      slope_cases: casesOf(row.slope_cases, ["z", "a"]),
    })),
    parametrics: mapped(facts.parametrics, (row) => ({ ...row, ...bothOf(row) })),
    loss: {
      ...loss,
      error: part("error"),
      slope: part("slope"),
      of_row: loss.name === "softmax_cross_entropy" ? ofRow : null,
      is_value: false,
    },
  };
}

/** Return value and derivative of a formula as functions. */
function bothOf({ value, derivative }) {
  const of = (formula) => formula && ((...numbers) => calledFormula(formula, numbers));
  return { value: of(value), derivative: of(derivative) };
}

/** Return lists of cases, whose tests and results are functions of these names. */
function casesOf(lists, names) {
  const of =
    (tree) =>
    (...numbers) =>
      calledFormula({ names, result: tree }, numbers);
  const tested = ({ tests }) => tests.map(([tree, holds]) => [of(tree), holds]);
  return lists.map((cases) =>
    cases.map((each) => ({ ...each, tests: tested(each), compute: of(each.tree) })),
  );
}

function mapped(rows, make) {
  return Object.fromEntries(Object.entries(rows).map(([name, row]) => [name, make(row)]));
}

const readied = new WeakMap(); // by state

/** Return a state with all that words are made of; null for what it does not have. */
export function readyState(facts, state) {
  if (readied.has(state)) return readied.get(state);
  const { all = null, before = null, earlier = null, grad_before = null, target = null } = state;
  const { batch = 1, focus = 0, edited = {}, values = {}, gradients = {}, bank_state = [] } = state;
  const frozen = new Array(facts.rows).fill(0);
  frozenOf(facts, state).forEach((row) => (frozen[row] = 1));
  const found = {
    ...state, all, before, earlier, grad_before, target, batch, focus, edited, values, gradients,
    bank_state, frozen, again: lossAgain(facts, state), run: null,
    explained: (row) => explainedOf(facts, state, row),
  }; // prettier-ignore
  readied.set(state, found);
  return found;
}

/** Return the loss of the same batch by the weights after the step; null where it is not known. */
function lossAgain({ learning, loss }, { fresh, all, target, batch = 1 }) {
  const targets = all?.targets ?? (batch === 1 ? target : null);
  if (learning || !fresh || !targets || !isKnownLoss(loss)) return null;
  return lossOf(loss, fresh, targets, batch);
}
