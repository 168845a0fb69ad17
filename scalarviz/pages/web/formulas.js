// Formulas as trees from Python's tables, a number, a name, or [operation, ...trees]; losses, and
// the answers of a network as they read them.

export const NO_INDEX = -1;

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
  abs: Math.abs,
  min: (...all) => Math.min(...all),
  max: (...all) => Math.max(...all),
  float: Number,
  exp: Math.exp,
  expm1: Math.expm1,
  log: Math.log,
  log1p: Math.log1p,
  sqrt: Math.sqrt,
  sin: Math.sin,
  cos: Math.cos,
  tanh: Math.tanh,
  divide: (a, b) => a / b,
  power: (a, b) => (Number.isNaN(a ** b) && a === 1 ? 1 : a ** b),
  sign: (a) => Number(a > 0) - Number(a < 0),
  clip: (a, low, high) => Math.min(Math.max(a, low), high),
  erfc,
};

/** Return what a tree gives with the numbers of names. */
function computedTree(tree, known) {
  if (typeof tree === "string") return known[tree];
  if (!Array.isArray(tree)) return tree;
  const [operation, ...parts] = tree;
  const of = (part) => computedTree(part, known);
  if (operation === "if") return of(parts[0]) ? of(parts[1]) : of(parts[2]);
  if (operation === "and") return of(parts[0]) && of(parts[1]);
  if (operation === "or") return of(parts[0]) || of(parts[1]);
  if (operation === "let") {
    return computedTree(parts[2], { ...known, [parts[0]]: of(parts[1]) });
  }
  if (operation === "call") return calledFormula(parts[0], parts.slice(1).map(of));
  return FORMULA_OPERATIONS[operation](...parts.map(of));
}

/** Return what a function from the tables gives: {names, result}. */
export function calledFormula(formula, args) {
  const known = Object.fromEntries(formula.names.map((name, i) => [name, args[i]]));
  return computedTree(formula.result, known);
}

/** Return the complementary error function: by its series near 0, else by a continued fraction. */
export function erfc(x) {
  if (Number.isNaN(x)) return NaN;
  const size = Math.abs(x);
  if (size > 27) return x > 0 ? 0 : 2;
  if (size < 2.5) {
    let term = x;
    let sum = x;
    for (let n = 1; Math.abs(term) > 1e-18 * Math.abs(sum); n++) {
      term *= (2 * x * x) / (2 * n + 1);
      sum += term;
    }
    return 1 - (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
  }
  let below = size;
  for (let n = 120; n > 0; n--) below = size + n / 2 / below;
  const small = Math.exp(-x * x) / Math.sqrt(Math.PI) / below;
  return x > 0 ? small : 2 - small;
}

/** Return log(sum of exp(z)) without overflow: the largest is subtracted first. */
function logSumExp(z) {
  const largest = z.reduce((top, each) => (each > top ? each : top), z[0]);
  return largest + Math.log(z.reduce((sum, each) => sum + Math.exp(each - largest), 0));
}

/** Return data with functions in place of the functions of tables. */
export function ready(data) {
  if (Array.isArray(data)) return data.map(ready);
  if (data === null || typeof data !== "object") return data;
  if ("result" in data) return (...numbers) => calledFormula(data, numbers);
  return Object.fromEntries(Object.entries(data).map(([name, each]) => [name, ready(each)]));
}

/** Return whether a page can compute a loss. */
export function isKnownLoss(loss) {
  return loss.scalar ? loss.error.compute !== null : loss.name === "softmax_cross_entropy";
}

/** Return the errors of a sample, one for each output; a loss of a whole row has one. */
export function errorsOf(loss, p, t) {
  if (loss.scalar) return p.map((each, i) => loss.error.compute(each, t[i]));
  const normalizer = logSumExp(p);
  return [t.reduce((sum, each, i) => sum + each * (normalizer - p[i]), 0)];
}

/** Return the loss of a batch: outputs and targets sample by sample, one after the other.
 *
 * weights  of the samples, which are 1 on average; null: all count alike
 */
export function lossOf(loss, outputs, targets, count, weights = null) {
  const size = outputs.length / count;
  let total = 0;
  for (let i = 0; i < count; i++) {
    const [p, t] = [outputs, targets].map((all) => [...all.slice(i * size, (i + 1) * size)]);
    total += errorsOf(loss, p, t).reduce((sum, each) => sum + each, 0) * (weights?.[i] ?? 1);
  }
  return total * (loss.factor / (count * loss.divisor || 1));
}

// Answers of a network: its outputs as the loss reads them.

/** Return the answers that a loss reads in outputs, of which there are `count` for each sample. */
export function readAnswers(outputs, reads, count = outputs.length) {
  const found = Float64Array.from(outputs);
  if (reads === "sigmoid") return found.map((x) => 0.5 + 0.5 * Math.tanh(0.5 * x));
  if (reads !== "softmax") return found;
  for (let start = 0; start < found.length; start += count) {
    const own = found.subarray(start, start + count);
    const top = Math.max(...own);
    const sum = own.reduce((total, x) => total + Math.exp(x - top), 0);
    own.forEach((x, i) => (own[i] = Math.exp(x - top) / sum));
  }
  return found;
}

/** Return the answers to each of some samples. */
export function answersEach(outputs, reads, count) {
  const found = readAnswers(outputs, reads, count);
  return Array.from({ length: found.length / count }, (_, i) =>
    found.subarray(count * i, count * (i + 1)),
  );
}

/** Return the place of the first of the largest numbers. */
function indexOfLargest(numbers) {
  return numbers.reduce((best, each, i) => (each > numbers[best] ? i : best), 0);
}

/** Return the place of the largest number; NaN if one of them is not a number. */
export function classOf(row) {
  return row.some(Number.isNaN) ? NaN : indexOfLargest(row);
}
