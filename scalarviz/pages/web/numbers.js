// Numbers as the fields and labels of a page write and read them.

import * as py from "./python.js";
import { typeset } from "./story/decimals.js";

/** Return a number with some decimals as it is drawn, without a sign if it rounds to zero. */
export function withDecimals(value, decimals) {
  const words = value.toFixed(decimals);
  return typeset(Number(words) === 0 ? (0).toFixed(decimals) : words);
}

/** Return a number with some digits in all, without zeros at its end. */
export function generalNumber(value, digits = 6) {
  return value === 0 ? "0" : py.format(value, `.${digits}g`);
}

const TYPED = /^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/;

/** Return the decimal number that a user has typed, with a comma or a point; NaN for anything else. */
export function numberTyped(words) {
  const given = asWritten(words);
  return TYPED.test(given) ? Number(given) : NaN;
}

/** Return a number that a user has typed as Python writes it: with a point, and no sign but minus. */
export function asWritten(words) {
  const given = words.trim().toLowerCase().replace(",", ".");
  return given.replace(/[\u2212\u2013]/, "-").replace(/^(?:\+|(-))\s*(?=[\d.])/, "$1");
}
