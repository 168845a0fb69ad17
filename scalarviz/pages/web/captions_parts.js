// What captions of operations of several kinds have in common.

import { FEW_DIGITS, fillNumbers, said } from "./format.js";
import { calledFormula, caseOf, computedTree, partOfLoss } from "./formulas.js";
import { captionWith, equationLine, termOf } from "./lines.js";
import { asSentence } from "./names.js";
import { text } from "./texts.js";

/** Return the caption with the texts of a key and these lines of numbers. */
export function captionOfKey(key, lines, fields = {}) {
  const [title, formula] = ["title", "formula"].map((part) =>
    text(`captions.${key}.${part}`, fields),
  );
  return captionWith(asSentence(title), formula, lines);
}

/** Return a caption whose subject is the output of the operation. */
export function aboutOutput(ctx, caption, value) {
  const callout = text("captions.callout", { unit: ctx.called(ctx.behind), value: said(value) });
  return { ...caption, neurons: [ctx.behind], callout };
}

/** Return the rows of the parameters that a formula has for an output. */
export function parametersOf({ operation, outputs }, place) {
  let first = operation.weights;
  return operation.settings.map((each) => {
    const row = first + Math.floor(place / each);
    first += outputs.length / each;
    return row;
  });
}

/** Return the parts of (x - mean) / sqrt(variance + eps). */
export function standardizing(x, mean, variance, eps) {
  const minus = mean < 0 ? " + " : " - ";
  const parts = ["(", termOf([x]), minus, termOf([Math.abs(mean)]), ") / sqrt("];
  return [...parts, termOf([variance]), " + ", termOf([eps], { exact: true }), ")"];
}

/** Return what computes (x - mean) / sqrt(variance + eps) from x, |mean|, variance and eps. */
export function standardized(mean) {
  const sign = mean < 0 ? -1 : 1;
  return (v) => (v[0] - sign * v[1]) / Math.sqrt(v[2] + v[3]);
}

/** Return what an activation makes of a number, as a line. */
export function activationLine(name, row, z, a, more = {}) {
  const { before = null, behind = null, least = FEW_DIGITS } = more;
  const options = { about: behind, least };
  const given = termOf([z], { neuron: before });
  const own = caseOf(row.cases, { z });
  if (own === null) {
    return equationLine([`${name}(`, given, ")"], (v) => calledFormula(row.value, v), a, options);
  }
  const filled = termOf([z], { words: (shown) => fillNumbers(own.alone, { z: shown }) });
  const compute = (v) => computedTree(own.tree, { z: v[1] });
  return equationLine([`${name}(`, given, ") = ", filled], compute, a, options);
}

/** Return the "error" of a loss, or its "slope", as a term, and what computes it.
 *
 * @returns {any[]}
 */
export function lossTerm(loss, part, p, t, neuron) {
  const known = { p, t };
  const own = caseOf(loss[part].cases, known);
  const formula = own ? own.text : loss[part].text;
  const names = ["p", "t"].filter((each) => new RegExp(`\\b${each}\\b`).test(formula));
  const given = (v) => Object.fromEntries(names.map((each, i) => [each, v[i]]));
  const words = (...shown) => fillNumbers(formula, given(shown));
  const compute = (v) => {
    const now = { ...known, ...given(v) };
    return own ? computedTree(own.tree, now) : partOfLoss(loss, part, now.p, now.t);
  };
  const numbers = names.map((each) => known[each]);
  return [termOf(numbers, { words, neuron }), compute];
}
