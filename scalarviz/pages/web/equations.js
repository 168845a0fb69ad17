// Lines of numbers: equations of captions, made of terms, each about a weight or a neuron; tables
// of products and lines of an optimizer on cards. As story/equations.py.

import * as py from "./python.js";
import { LEAST as LEAST_POWER, MOST as MOST_POWER, stripped } from "./story/decimals.js";
import {
  FEW,
  MOST,
  agreeing,
  digits_between,
  exact_sum,
  fill,
  last_place,
  said,
  value_of,
  written_apart,
} from "./story/formats.js";
import { text } from "./texts.js";
import { NO_INDEX, computedTree } from "./formulas.js";

export const LONGEST_LINE = 110; // characters

/** Return whether a number is written with all its digits: a rate, or a short constant. */
export function isExactLine({ name, value, same }) {
  const short = Number(value.toExponential(1));
  if (name === "lr") return true;
  return Boolean(same) && Math.abs(short - value) <= 1e-12 * Math.abs(value);
}

export const SHOWN_TERMS = 3; // of a long sum
export const MOST_TERMS = 64; // of one that is shown as a whole

/** Return a piece of a line; see training/session/caption.py. */
export function pieceOf(words, about = {}) {
  const { row = NO_INDEX, neuron = null, mark = "", opens = false, behind = null } = about;
  return { words, row, neuron, mark, opens, behind };
}

/** Return lines that consist of one piece each, about nothing in the picture. */
export function plainLines(...lines) {
  return lines.map((words) => [pieceOf(words)]);
}

/** Return a caption with what is not given left empty. */
export function captionWith(title, formula = "", lines = [], more = {}) {
  const nothing = { whole: [], rows: [], neurons: [], callout: "", summed: null };
  return { title, formula, lines, ...nothing, ...more };
}

/** Return words of a product or of one number. */
export const asProduct = (...shown) => shown.join(" × ");
export const secondOnCube = (first, second) => `${second}\n× ${first}`;
export const firstOnCube = (first, second) => `${first}\n× ${second}`;

/** Return a part of an equation with numbers in it; a term of a sum is their product. */
export function termOf(numbers, more = {}) {
  const value = numbers.reduce((product, each) => product * each, 1);
  const words = (shown) => shown;
  return { numbers, value, words, row: NO_INDEX, neuron: null, mark: null, ...more };
}

/**
 * Return a line of terms and words, and its result.
 *
 * parts    terms, and words between them
 * compute  computes the result from the numbers of all terms
 * result   what the engine has
 * about    the neuron whose number the result is, or null
 */
export function equationLine(parts, compute, result, { about = null, least = FEW } = {}) {
  const terms = parts.filter((part) => typeof part !== "string");
  const values = terms.flatMap((each) => each.numbers);
  const exact = terms.flatMap((each) => each.numbers.map(() => Boolean(each.exact)));
  const [shown, ending, agrees] = agreeing(values, compute, result, least, exact);
  let at = 0;
  const pieces = parts.map((part) => {
    if (typeof part === "string") return pieceOf(part);
    const own = shown.slice(at, (at += part.numbers.length));
    const mark = part.mark === null ? "" : part.mark(...own);
    const { row, neuron, opens, behind } = part;
    return pieceOf(part.words(...own), { row, neuron, mark, opens, behind });
  });
  return [...pieces, pieceOf(agrees ? " = " : " ≈ "), pieceOf(ending, { neuron: about })];
}

/** Return what computes a sum of products from the numbers of all terms. */
export function sumOf(terms) {
  return (numbers) => {
    let found = 0;
    let at = 0;
    for (const { numbers: own } of terms) {
      let product = 1;
      for (let i = 0; i < own.length; i++) product *= numbers[at++];
      found += product;
    }
    return found;
  };
}

/** Return terms with a sign between them. */
export function joinedBy(parts, sign = " + ") {
  return parts.flatMap((part, i) => (i ? [sign, part] : [part]));
}

/** Return a number that a sign or a power stands beside: a negative one in brackets. */
export function inBrackets(writing) {
  return writing.startsWith("-") ? `(${writing})` : writing;
}

/** Return a sum of products and its result, or a note if a weight was changed since. */
export function sumLine(terms, result, options = {}) {
  const { keep = NO_INDEX, about = null, start = "", most = SHOWN_TERMS } = options;
  if (isChanged(terms, result)) {
    return [pieceOf(text("captions.changed", { result: said(result, 3) }), { neuron: about })];
  }
  const found = shortenedTerms(terms, keep, most);
  const pieces = start ? [start, ...joinedBy(found)] : joinedBy(found);
  return equationLine(pieces, sumOf(found), result, { about });
}

/** Return whether a sum is not the result, since a weight was changed after the engine added. */
function isChanged(terms, result) {
  const sizes = terms.reduce((sum, each) => sum + Math.abs(each.value), 0);
  const total = terms.reduce((sum, each) => sum + each.value, 0);
  return Math.abs(total - result) > 2e-3 * sizes + 1e-6;
}

/** Return a sum whose `most` largest terms travel; null if there is none to show.
 *
 * one   the neuron "1", from which the bias comes
 * back  whether the weight is the first factor
 */
export function summedOf(terms, result, most, one, back = false) {
  if (isChanged(terms, result) || !Number.isFinite(result)) return null;
  const size = (i) => Math.abs(terms[i].value);
  const order = [...terms.keys()].sort((i, j) => size(j) - size(i));
  const largest = order.slice(0, most).sort((i, j) => i - j);
  const found = largest.map((i) => {
    const { row, neuron, numbers } = terms[i];
    const factors = [1, ...numbers].slice(-2);
    const [number, weight] = back ? factors.reverse() : factors;
    return { row, neuron: neuron ?? one, number, weight };
  });
  const rest = order.slice(most);
  const others = rest.length ? exact_sum(rest.map((i) => terms[i].value)) : null;
  return { largest: found, others, result };
}

/** Return a sum with all its terms; its digits are its own, since it may need many. */
export function wholeLine(terms, result, options = {}) {
  return written_apart(() => sumLine(terms, result, { ...options, most: MOST_TERMS }));
}

/** Return a line whose result stands on the cube of a weight, as its grad. */
export function endingOn(line, row) {
  const last = line.at(-1);
  return [...line.slice(0, -1), { ...last, row, mark: `gradient\n${last.words}` }];
}

/** Return the largest terms of a long sum in their order, and one term for all others. */
export function shortenedTerms(terms, keep, most) {
  const free = terms.flatMap((each, i) => (each.stays ? [] : [i]));
  if (free.length <= most + 1) return [...terms];
  const size = (i) => Math.abs(terms[i].value);
  const order = [...free].sort(
    (i, j) => Number(i !== keep) - Number(j !== keep) || size(j) - size(i),
  );
  const shown = order.slice(0, most).sort((i, j) => i - j);
  const others = order.slice(most);
  const rest = exact_sum(others.map((i) => terms[i].value));
  const words = text("captions.more", { count: others.length, rest: "{}" });
  const open = termOf([rest], { words: (number) => words.replace("{}", number), opens: true });
  return [...shown.map((i) => terms[i]), open, ...terms.filter((each) => each.stays)];
}

/** Return whether a line leaves some terms out. */
export function isLong(terms) {
  return terms.filter((each) => !each.stays).length > SHOWN_TERMS + 1;
}

/** Return some numbers, separated by commas. */
export function listed(values, digits = 3) {
  const shown = [...values].slice(0, SHOWN_TERMS).map((value) => said(value, digits));
  const left = values.length - SHOWN_TERMS;
  if (left > 0) shown.push(text("captions.others", { count: left }));
  return shown.join(", ");
}

// Tables of products: a calculator agrees with every row.

export const MOST_ROWS_WRITTEN = 40; // of a table
const COLUMN_SPREAD = 5; // digits of the largest number of a column

/**
 * Return products, one to a row, and their sum, as scene/frame_data.py describes tables.
 *
 * products  all of them, in order: {name, first, second}
 * total     name of the sum; "" for none
 * marked    index of the row of the focus sample, or NO_INDEX
 * least     digits of the sum, if it can have them
 */
export function productTable(head, products, total, more = {}) {
  const { marked = NO_INDEX, least = FEW } = more;
  const shown = products.slice(0, MOST_ROWS_WRITTEN);
  const values = products.map((each) => each.first * each.second);
  if (!values.every(Number.isFinite)) {
    const rows = shown.map(({ name, first, second }) => {
      return [name, said(first), said(second), said(first * second)];
    });
    return { head, rows, rests: restsOf(values, () => "", shown.length), total: [], marked };
  }
  let column = null;
  for (const digits of [least, Math.max(FEW, least - 1), ...digitsFrom(least + 1)]) {
    column = columnOf(values, digits, total !== "");
    if (column.agrees) break;
  }
  const write = (value, place = column.place) => writtenAt(value, place, column.exponent);
  const rows = shown.map((each, i) => {
    const factors = factorsWritten(each, column.terms[i], column.place);
    return [each.name, ...factors, write(column.terms[i])];
  });
  const rests = restsOf(values, (count) => write(column.rests[count]), shown.length);
  const sum = total ? [total, "", "", write(column.total, column.totalPlace)] : [];
  return { head, rows, rests, total: sum, marked };
}

function digitsFrom(first) {
  return Array.from({ length: Math.max(0, MOST + 1 - first) }, (_, i) => first + i);
}

/** Round numbers to one decimal place, so that their sum has some digits. */
function columnOf(values, digits, hasTotal) {
  const total = exact_sum(values);
  const largest = values.reduce((top, each) => Math.max(top, Math.abs(each)), 0);
  const top = exponentOf(largest);
  const finest = top - COLUMN_SPREAD;
  let totalPlace = Math.max(exponentOf(total) - digits + 1, finest + 1);
  let place = totalPlace - Number(values.length > 1);
  if (!hasTotal) totalPlace = place = Math.max(top - digits, finest);
  if (top < MOST_POWER) [totalPlace, place] = [Math.min(totalPlace, 0), Math.min(place, 0)];
  const rests = [0];
  for (let i = values.length - 1, sum = 0; i >= 0; i--) rests.unshift((sum += values[i]));
  const terms = values.map((each) => roundedAt(each, place));
  const roundedRests = rests.map((each) => roundedAt(each, place));
  const sum = roundedAt(total, totalPlace);
  let shown = 0;
  let agrees = true;
  for (let i = 0; i <= Math.min(terms.length, MOST_ROWS_WRITTEN); i++) {
    if (i) shown += terms[i - 1];
    agrees &&= Math.abs(shown + roundedRests[i] - sum) < 0.4999 * py.pow(10, totalPlace);
  }
  agrees ||= !hasTotal;
  return { terms, rests: roundedRests, total: sum, place, totalPlace, exponent: top, agrees };
}

/** Return the power of ten of the first digit. */
function exponentOf(value) {
  return value ? Number(value.toExponential().split("e")[1]) : LEAST_POWER;
}

/** Return a number rounded at a decimal place; halves go to the even one. */
function roundedAt(value, place) {
  const scaled = value / py.pow(10, place);
  const low = Math.floor(scaled);
  const isHalf = scaled - low === 0.5;
  return (isHalf ? low + (Math.abs(low) % 2) : Math.round(scaled)) * py.pow(10, place);
}

/** Return a number that ends at a decimal place, in a column whose largest has this exponent. */
function writtenAt(value, place, exponent) {
  if (value === 0) return "0";
  const isPlain = LEAST_POWER <= exponent && exponent < MOST_POWER;
  if (isPlain) return stripped(py.format(value, `.${Math.max(0, -place)}f`));
  const digits = Math.max(0, exponent - place);
  const mantissa = py.format(value / py.pow(10, exponent), `.${digits}f`);
  return `${stripped(mantissa)}e${exponent}`;
}

/** Return two factors with as few digits as make their product the written one. */
function factorsWritten({ first, second }, result, place) {
  let shown = [];
  for (let digits = FEW; digits < MOST + 3; digits++) {
    shown = [said(first, digits), said(second, digits)];
    const found = py.float(shown[0]) * py.float(shown[1]);
    if (Math.abs(found - result) < 0.4999 * py.pow(10, place)) break;
  }
  return shown;
}

/** Return what stands for the rows that are left out, by the number of those shown. */
function restsOf(values, write, most) {
  return Array.from({ length: most + 1 }, (_, count) => {
    const left = values.length - count;
    return left ? [text("card.more", { count: left }), "", "", write(count)] : [];
  });
}

// The lines of an optimizer on the card of a weight.

/** Return a line of a card; see scene/frame_data.py. */
export function cardLine(words, look = "plain", aside = "") {
  return { words, look, aside };
}

/** Return two numbers, and their difference, with as few digits as make them agree. */
export function changeBetween(old, fresh) {
  const least = digits_between(old, fresh);
  if (!Number.isFinite(fresh - old))
    return [said(old, least), said(fresh, least), said(fresh - old)];
  let shown = [];
  for (let digits = least; digits <= Math.max(least, MOST + 2); digits++) {
    shown = [said(old, digits), said(fresh, digits), said(fresh - old)];
    const [a, b, by] = shown.map(py.float);
    if (Math.abs(b - a - by) < 0.4999 * last_place(fresh - old, FEW)) break;
  }
  return shown;
}

/**
 * Return the lines of an optimizer with numbers in place of names.
 *
 * optimizer  of the step, as `optimizerOf` returns it
 * found    as `explained` returns it
 * written  numbers as they are written elsewhere on the card: {old, fresh, grad}
 */
export function optimizerRows(optimizer, found, written) {
  const { slots } = optimizer;
  const { lines } = found;
  const corrected = slots.map((slot) => `${slot}_corrected`);
  const changing = new Set(["w", "g", "scale", ...slots, ...corrected]);
  lines.filter((line) => !isExactLine(line)).forEach((line) => changing.add(line.name));
  return lines.flatMap((line, i) => {
    const isLast = i === lines.length - 1;
    if (!line.card && line.name === "g") return [cardLine(text("card.no_grad"))];
    if (!line.card && line.name === "w" && line.formula) return [cardLine(text("card.refused"))];
    const isOwn = line.own_rate === true;
    const name = isOwn ? text("card.own_rate") : calledOnCard(line.name, isLast);
    if (isOwn && !line.card) return [cardLine(`${name} = ${exactlySaid(line.value)}`)];
    if (!line.card || (line.name !== "lr" && line.same)) return [];
    const known = { ...line.known };
    const rows = (line.corrections ?? []).map(({ name: slot, by, card }) => {
      const value = known[slot] / known[by];
      known[`${slot}_corrected`] = value;
      const own = { name: "", card, value, known: line.known };
      return cardEquation(own, text("card.corrected", { name: slot }), changing);
    });
    const own = {};
    if (known.g === found.grad) own.g = written.grad;
    if (known.w === found.value) own.w = written.old;
    const result = isLast ? written.fresh : "";
    return [...rows, cardEquation({ ...line, known }, name, changing, own, result)];
  });
}

/** Return what a line of the optimizer is called on a card. */
function calledOnCard(name, isLast) {
  if (name === "w") return text(isLast ? "card.new_w" : "card.decayed");
  if (name === "g") return text("card.head.grad");
  return name === "lr" ? text("card.rate") : name;
}

/** Return a formula with numbers: "new w = 0.54 - 0.5 × 0.036 = 0.52"; see `equation_of` in Python. */
function cardEquation(line, name, changing, own = {}, result = "") {
  const { known, value, card } = line;
  const settings = card.names.filter((each) => !changing.has(each));
  const fixedNumbers = Object.fromEntries(settings.map((each) => [each, exactlySaid(known[each])]));
  let [given, free, shown, ending, agrees] = [{}, [], [], "", false];
  for (const now of [{ ...fixedNumbers, ...own }, fixedNumbers]) {
    given = now;
    free = card.names.filter((each) => !(each in now));
    const pairs = Object.entries(now).map(([key, each]) => [key, py.float(each)]);
    const numbers = Object.fromEntries(pairs);
    const compute = (v) => {
      const all = { ...numbers, ...Object.fromEntries(free.map((each, i) => [each, v[i]])) };
      return computedTree(card.tree, all);
    };
    const values = free.map((each) => known[each]);
    const isChange = line.name === "w" && card.names.includes("w");
    const least = isChange ? digits_between(known.w, value) : FEW;
    [shown, ending, agrees] = agreeing(values, compute, value, least);
    if (result) {
      [shown, agrees] = digitsUntil(values, compute, result);
      ending = result;
    }
    if (agrees) break;
  }
  const all = { ...given, ...Object.fromEntries(free.map((each, i) => [each, shown[i]])) };
  const filled = fill(card.words, all);
  const formula = filled.length > LONGEST_LINE ? "..." : filled.replaceAll("+ -", "- ");
  return cardLine(`${name} = ${formula} ${agrees ? "=" : "≈"} ${ending}`);
}

/** Return numbers with as few digits as give a result that is written already.
 *
 * @returns {any[]}
 */
function digitsUntil(values, compute, result) {
  const [mantissa, power] = result.split("e");
  const place = py.pow(10, Number(power ?? 0) - (mantissa.split(".")[1] ?? "").length);
  let shown = [];
  for (let digits = FEW; digits < MOST + 3; digits++) {
    shown = values.map((value) => said(value, digits));
    if (Math.abs(value_of(compute, shown) - py.float(result)) <= 0.5 * place) return [shown, true];
  }
  return [shown, false];
}

/** Return a setting, such as a rate, with all of its digits. */
function exactlySaid(value) {
  const shown = [1, 2, 3, 4, 5, 6, 7, 8].map((digits) => said(value, digits));
  return shown.find((each) => py.float(each) === value) ?? shown.at(-1);
}
