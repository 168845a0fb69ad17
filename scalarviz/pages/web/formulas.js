// Formulas as trees from Python's tables, a number, a name, or [operation, ...trees]; losses, and
// the answers of a network as they read them.

import { inRows, replacedIn } from "./arrays.js";
import { log_sum_exp } from "./story/forward_captions.js";
import { largest_place, read_answers } from "./story/traced_weight.js";

const FORMULA_OPERATIONS = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
  "//": (a, b) => Math.floor(a / b),
  "%": (a, b) => a - b * Math.floor(a / b),
  "**": (a, b) => a ** b,
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
  "==": (a, b) => Number(a) === Number(b), // true is 1
  "!=": (a, b) => Number(a) !== Number(b),
  neg: (a) => -a,
  not: (a) => !a,
  inf: () => Infinity,
  nan: () => NaN,
  float: Number,
  divide: (a, b) => a / b,
  power: (a, b) => (Number.isNaN(a ** b) && a === 1 ? 1 : a ** b),
  erfc,
};

/** Return the value of an expression tree, given the values of its variables. */
function computedTree(tree, known) {
  if (typeof tree === "string") return known[tree];
  if (!Array.isArray(tree)) return tree;
  const [operation, ...parts] = tree;
  const of = (part) => computedTree(part, known);
  if (operation === "if") return of(parts[0]) ? of(parts[1]) : of(parts[2]);
  if (operation === "and") return of(parts[0]) && of(parts[1]);
  if (operation === "or") return of(parts[0]) || of(parts[1]);
  if (operation === "let") return computedTree(parts[2], { ...known, [parts[0]]: of(parts[1]) });
  if (operation === "call") return calledFormula(parts[0], parts.slice(1).map(of));
  return (FORMULA_OPERATIONS[operation] ?? Math[operation])(...parts.map(of));
}

/** Call a function from the tables; return {names, result}. */
export function calledFormula(formula, args) {
  const known = Object.fromEntries(formula.names.map((name, i) => [name, args[i]]));
  return computedTree(formula.result, known);
}

/** Return the complementary error function, computed as a sum with a correction for a pole. */
export function erfc(x) {
  const size = Math.min(Math.abs(x), 30); // beyond, it is 0
  let sum = 0;
  for (let t = 0.25; t < 7; t += 0.5) sum += Math.exp(-t * t) / (t * t + size * size);
  const pole = size < 2 * Math.PI ? 2 / (1 + Math.exp(4 * Math.PI * size)) : 0;
  const found = (size / Math.PI) * Math.exp(-size * size) * sum + pole;
  return x < 0 ? 2 - found : found;
}

/** Return data in which functions from the tables are replaced by JavaScript functions. */
export function ready(data) {
  const called = (formula) => (formula.result === undefined ? null : (...numbers) => calledFormula(formula, numbers)); // prettier-ignore
  return replacedIn(data, called);
}

/** Return the error of a sample, given its outputs and targets. */
export function errorOf(loss, p, t) {
  if (loss.scalar) return p.reduce((sum, each, i) => sum + loss.error.compute(each, t[i]), 0);
  const normalizer = loss.logits ? log_sum_exp(p) : 0;
  return t.reduce((sum, each, i) => (each ? sum + each * (normalizer - p[i]) : sum), 0);
}

/** Return the loss of a batch, given its outputs and targets, sample by sample. */
export function lossOf(loss, outputs, targets, count) {
  const [own, right] = [outputs, targets].map((all) => inRows(all, all.length / count));
  const errors = own.map((p, i) => errorOf(loss, p, right[i]));
  return errors.reduce((a, b) => a + b, 0) * (loss.factor / (count * loss.divisor || 1));
}

// Answers of a network: its outputs as the loss reads them.

/** Apply the function of a loss, such as sigmoid or softmax, to the outputs. */
export function readAnswers(outputs, reads, count = outputs.length) {
  if (reads !== "softmax") return read_answers(outputs, reads);
  return inRows(outputs, count).flatMap((own) => read_answers(own, reads));
}

/** Return the outputs for each sample, after the function of the loss. */
export function answersEach(outputs, reads, count) {
  return inRows(readAnswers(outputs, reads, count), count);
}

/** Return the index of the largest number; NaN if one of the numbers is NaN. */
export function classOf(row) {
  return row.some(Number.isNaN) ? NaN : largest_place(row);
}
