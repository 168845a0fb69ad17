// The rules of guessing: which weight and which operation a question is about, and what is right.

import { figures, numberTyped, powerOfTen } from "./format.js";

const LEAST_CHANGE = 1e-12; // of the larger number; below it a number stays
const NEAR = 0.1; // of the true change: a number that is so near is right
const FEWEST_FIGURES = 2; // with so many digits a number is right if they are those of the true one

/** Return what question k is about, "value" or "gradient". */
export function kindAsked(k) {
  return k % 2 ? "gradient" : "value";
}

/** Return the bank index of the weight of question k: the pinned one, unless that is negative, else
 * one of the `rows` that can change.
 */
export function rowAsked({ step, k, pinned, rows }) {
  return pinned >= 0 ? pinned : rows[(step * 7919 + k * 104729) % rows.length];
}

/** Return the place of the operation that answers: the step, or the last one that adds to the
 * gradient of a row; -1 if none does. `moments` are those of the scene.
 */
export function momentAsked(moments, kind, row) {
  return moments.findLastIndex(({ kind: each, rows: [first, end] }) =>
    kind === "value" ? each === "step" : each === "weight gradient" && first <= row && row < end,
  );
}

/** Return how many operations lie between two places of a step, at most one step on. */
export function operationsBetween(operation, moment, count) {
  return (moment - operation + count) % count;
}

/** Return 1 for a number that has grown, -1 for one that has become smaller, 0 for one that stays. */
export function wayBetween(before, after) {
  const change = after - before;
  const most = Math.max(Math.abs(before), Math.abs(after));
  return Math.abs(change) <= LEAST_CHANGE * most ? 0 : Math.sign(change);
}

/** Whether a number that was typed is right: near the true change, or the same in all its digits. */
export function isRightNumber(typed, before, after) {
  const off = Math.abs(numberTyped(typed) - after);
  const size = typed.trim().replace(/^[+\u2212-]/, "").replace(",", "."); // prettier-ignore
  const [mantissa, power = "0"] = size.toLowerCase().split("e");
  const decimals = mantissa.split(".")[1]?.length ?? 0;
  const agrees = off <= 0.5 * powerOfTen(Number(power) - decimals);
  return off <= NEAR * Math.abs(after - before) || (agrees && figures(mantissa) >= FEWEST_FIGURES);
}

/** Return {truth, isRight, isWay}: the way that a number went, whether the guess is right, and
 * whether its arrow is. `typed` is "" if no number was guessed.
 */
export function judged({ way, typed, before, after }) {
  const truth = wayBetween(before, after);
  const isWay = way === truth;
  return { truth, isWay, isRight: isWay && (!typed || isRightNumber(typed, before, after)) };
}
