// Numbers as the fields and labels of a page write and read them.

import * as py from "./python.js";
import { typeset } from "./story/decimals.js";

/** Return a number as text with some decimals, without a sign if it is rounded to zero. */
export function withDecimals(value, decimals) {
  const words = value.toFixed(decimals);
  return typeset(Number(words) === 0 ? (0).toFixed(decimals) : words);
}

/** Return a number as text with some significant digits, without trailing zeros. */
export function generalNumber(value, digits = 6) {
  return value === 0 ? "0" : py.format(value, `.${digits}g`);
}

const TYPED = /^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/;

/** Parse a number that a user has typed, with a comma or a point; NaN if it is invalid. */
export function numberTyped(words) {
  const given = asWritten(words);
  return TYPED.test(given) ? Number(given) : NaN;
}

/** Convert a number that a user has typed to Python's form: with a point, without a plus sign. */
function asWritten(words) {
  const given = words.trim().toLowerCase().replace(",", ".");
  return given.replace(/[\u2212\u2013]/, "-").replace(/^(?:\+|(-))\s*(?=[\d.])/, "$1");
}
