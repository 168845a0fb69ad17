// Facts as story/facts.py has them: with functions of numbers in place of trees.

import { calledFormula, errorsOf, partOfLoss } from "./formulas.js";

/** Return facts with functions in place of trees; null for those that a page cannot compute. */
export function readyFacts(facts) {
  const { loss } = facts;
  const part = (name) => ({
    ...loss[name],
    cases: casesOf(loss[name].cases, ["p", "t"]),
    compute: loss[name].tree && loss.weight && ((p, t) => partOfLoss(loss, name, p, t)),
  });
  const ofRow = (p, t) => errorsOf(loss, p, t)[0];
  return {
    ...facts,
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
