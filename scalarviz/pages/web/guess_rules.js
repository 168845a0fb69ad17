// The rules of guessing: which weight and which operation a question is about, and what is right.

import { numberTyped } from "./numbers.js";
import { rounded } from "./story/decimals.js";
import { figures } from "./story/formats.js";

const LEAST_CHANGE = 1e-12; // of the larger number; below it a number stays
const NEAR = 0.1; // of the true change: a number that is so near is right
const FEWEST_FIGURES = 2; // with so many digits a number is right if they are those of the true one

/** Return the bank index of the weight of question k: the pinned one, unless that is negative, else
 * one of the `rows` that can change.
 */
export function rowAsked({ step, k, pinned, rows }) {
  return pinned >= 0 ? pinned : rows[(step * 7919 + k * 104729) % rows.length];
}

/** Return what question k about a row asks, {kind, moment}: in turn its value, before the step, and
 * its gradient, before the last operation that adds to it. `moments` are those of the scene.
 */
export function questionAbout(moments, k, row) {
  const filled = moments.findLastIndex(
    ({ kind, rows: [first, end] }) => kind === "weight gradient" && first <= row && row < end,
  );
  if (k % 2 && filled >= 0) return { kind: "gradient", moment: filled };
  return { kind: "value", moment: moments.findIndex(({ kind }) => kind === "step") };
}

/** Return 1 for a number that has grown, -1 for one that has become smaller, 0 for one that stays. */
export function wayBetween(before, after) {
  const change = after - before;
  const most = Math.max(Math.abs(before), Math.abs(after));
  return Math.abs(change) <= LEAST_CHANGE * most ? 0 : Math.sign(change);
}

/** Whether a number that was typed is right: near the true change, or the same in all its digits. */
export function isRightNumber(typed, before, after) {
  const number = numberTyped(typed);
  const digits = figures(typed.toLowerCase().replace(/[^\d.e]/g, ""));
  const agrees = digits >= FEWEST_FIGURES && Number(rounded(after, digits)) === number;
  return agrees || Math.abs(number - after) <= NEAR * Math.abs(after - before);
}

/** Return {truth, isWay, isRight}: the way that a number went, whether it is the one that was guessed,
 * and whether all of the guess is right; `typed` is "" if no number was guessed.
 */
export function judged({ way, typed, before, after }) {
  const truth = wayBetween(before, after);
  const isWay = way === truth;
  return { truth, isWay, isRight: isWay && (!typed || isRightNumber(typed, before, after)) };
}
