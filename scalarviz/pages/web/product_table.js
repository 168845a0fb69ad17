// Tables of products on cards: a calculator agrees with every row; as story/equations.py.

import {
  FEW_DIGITS,
  LEAST_POWER,
  MOST_DIGITS,
  MOST_POWER,
  exactSum,
  fixed,
  isPlain,
  numberOf,
  powerOfTen,
  said,
  stripped,
} from "./format.js";
import { NO_INDEX } from "./lines.js";
import { text } from "./texts.js";

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
  const { marked = NO_INDEX, least = FEW_DIGITS } = more;
  const shown = products.slice(0, MOST_ROWS_WRITTEN);
  const values = products.map((each) => each.first * each.second);
  if (!values.every(Number.isFinite)) {
    const rows = shown.map(({ name, first, second }) => {
      return [name, said(first), said(second), said(first * second)];
    });
    return { head, rows, rests: restsOf(values, () => "", shown.length), total: [], marked };
  }
  let column = null;
  for (const digits of [least, Math.max(FEW_DIGITS, least - 1), ...digitsFrom(least + 1)]) {
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
  return Array.from({ length: Math.max(0, MOST_DIGITS + 1 - first) }, (_, i) => first + i);
}

/** Round numbers to one decimal place, so that their sum has some digits. */
function columnOf(values, digits, hasTotal) {
  const total = exactSum(values);
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
    agrees &&= Math.abs(shown + roundedRests[i] - sum) < 0.4999 * powerOfTen(totalPlace);
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
  const scaled = value / powerOfTen(place);
  const low = Math.floor(scaled);
  const isHalf = scaled - low === 0.5;
  return (isHalf ? low + (Math.abs(low) % 2) : Math.round(scaled)) * powerOfTen(place);
}

/** Return a number that ends at a decimal place, in a column whose largest has this exponent. */
function writtenAt(value, place, exponent) {
  if (value === 0) return "0";
  if (isPlain(exponent)) return stripped(fixed(value, Math.max(0, -place)));
  const mantissa = fixed(value / powerOfTen(exponent), Math.max(0, exponent - place));
  return `${stripped(mantissa)}e${exponent}`;
}

/** Return two factors with as few digits as make their product the written one. */
function factorsWritten({ first, second }, result, place) {
  let shown = [];
  for (let digits = FEW_DIGITS; digits < MOST_DIGITS + 3; digits++) {
    shown = [said(first, digits), said(second, digits)];
    const found = numberOf(shown[0]) * numberOf(shown[1]);
    if (Math.abs(found - result) < 0.4999 * powerOfTen(place)) break;
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
