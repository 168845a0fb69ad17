// The lines of an optimizer on the card of a weight; as story/equations.py.

import { LONGEST_LINE, isExactLine } from "./captions_step.js";
import {
  FEW_DIGITS,
  MOST_DIGITS,
  agreeing,
  digitsBetween,
  fillNumbers,
  lastPlace,
  numberOf,
  powerOfTen,
  said,
  valueOf,
} from "./format.js";
import { computedTree } from "./formulas.js";
import { text } from "./texts.js";

/** Return a line of a card; see scene/frame_data.py. */
export function cardLine(words, look = "plain", aside = "") {
  return { words, look, aside };
}

/** Return two numbers, and their difference, with as few digits as make them agree. */
export function changeBetween(old, fresh) {
  const least = digitsBetween(old, fresh);
  if (!Number.isFinite(fresh - old))
    return [said(old, least), said(fresh, least), said(fresh - old)];
  let shown = [];
  for (let digits = least; digits <= Math.max(least, MOST_DIGITS + 2); digits++) {
    shown = [said(old, digits), said(fresh, digits), said(fresh - old)];
    const [a, b, by] = shown.map(numberOf);
    if (Math.abs(b - a - by) < 0.4999 * lastPlace(fresh - old, FEW_DIGITS)) break;
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
    const isOwn = line.ownRate === true;
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
    const pairs = Object.entries(now).map(([key, each]) => [key, numberOf(each)]);
    const numbers = Object.fromEntries(pairs);
    const compute = (v) => {
      const all = { ...numbers, ...Object.fromEntries(free.map((each, i) => [each, v[i]])) };
      return computedTree(card.tree, all);
    };
    const values = free.map((each) => known[each]);
    const isChange = line.name === "w" && card.names.includes("w");
    const least = isChange ? digitsBetween(known.w, value) : FEW_DIGITS;
    [shown, ending, agrees] = agreeing(values, compute, value, least);
    if (result) {
      [shown, agrees] = digitsUntil(values, compute, result);
      ending = result;
    }
    if (agrees) break;
  }
  const all = { ...given, ...Object.fromEntries(free.map((each, i) => [each, shown[i]])) };
  const filled = fillNumbers(card.words, all);
  const formula = filled.length > LONGEST_LINE ? "..." : filled.replaceAll("+ -", "- ");
  return cardLine(`${name} = ${formula} ${agrees ? "=" : "≈"} ${ending}`);
}

/** Return numbers with as few digits as give a result that is written already.
 *
 * @returns {any[]}
 */
function digitsUntil(values, compute, result) {
  const [mantissa, power] = result.split("e");
  const place = powerOfTen(Number(power ?? 0) - (mantissa.split(".")[1] ?? "").length);
  let shown = [];
  for (let digits = FEW_DIGITS; digits < MOST_DIGITS + 3; digits++) {
    shown = values.map((value) => said(value, digits));
    if (Math.abs(valueOf(compute, shown) - numberOf(result)) <= 0.5 * place) return [shown, true];
  }
  return [shown, false];
}

/** Return a setting, such as a rate, with all of its digits. */
function exactlySaid(value) {
  const shown = [1, 2, 3, 4, 5, 6, 7, 8].map((digits) => said(value, digits));
  return shown.find((each) => numberOf(each) === value) ?? shown.at(-1);
}
