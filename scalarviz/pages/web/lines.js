// Lines of a caption: equations made of terms, each about a weight or a neuron.

import { FEW_DIGITS, agreeing, exactSum, said, writtenApart } from "./format.js";
import { text } from "./texts.js";

export const NO_INDEX = -1;
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
export function equationLine(parts, compute, result, { about = null, least = FEW_DIGITS } = {}) {
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
  const others = rest.length ? exactSum(rest.map((i) => terms[i].value)) : null;
  return { largest: found, others, result };
}

/** Return a sum with all its terms; its digits are its own, since it may need many. */
export function wholeLine(terms, result, options = {}) {
  return writtenApart(() => sumLine(terms, result, { ...options, most: MOST_TERMS }));
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
  const rest = exactSum(others.map((i) => terms[i].value));
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
