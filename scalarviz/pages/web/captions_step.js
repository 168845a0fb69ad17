// Captions of a step: the optimizer's arithmetic for one weight; as story/captions.py.

import {
  FEW_DIGITS,
  bothSaid,
  digitsBetween,
  figures,
  fillNumbers,
  inBrackets,
  pretty,
  said,
} from "./format.js";
import { computedTree, isKnownLoss, lossOf } from "./formulas.js";
import { NO_INDEX, captionWith, equationLine, pieceOf, plainLines, termOf } from "./lines.js";
import { asSentence } from "./names.js";
import { explained, optimizerOf } from "./optimizer.js";
import { plural, text } from "./texts.js";

export const LONGEST_LINE = 110; // characters
const RATE_DIGITS = 6;

/** The optimizer's arithmetic, and the new loss. */
export function stepCaption(ctx) {
  if (ctx.row === NO_INDEX) return captionWith(text("captions.step.empty"));
  const { say, state, samples } = ctx;
  const found = explained(say, state, ctx.row);
  const name = ctx.nameOf(ctx.row);
  const isKnown = found.lines.length || found.frozen;
  const caption = isKnown
    ? movedCaption(optimizerOf(say, state), found, name)
    : changeCaption(found, state.value[ctx.row], name);
  if (caption.lines.length) {
    const who = text(`captions.step.${found.isAnyFrozen ? "some" : "all"}`);
    addLine(caption, plural("captions.step.together", samples, { who }));
  }
  caption.title = asSentence(caption.title);
  const targets = state.all?.targets ?? (samples === 1 ? state.target : null);
  if (!say.learning && state.fresh && targets && isKnownLoss(say.loss)) {
    const again = lossOf(say.loss, state.fresh, targets, samples);
    const [old, fresh] = bothSaid(state.loss, again);
    addLine(caption, plural("captions.step.loss", samples, { old, new: fresh }));
  }
  return caption;
}

/** Add a line to a caption. */
function addLine(caption, words) {
  caption.lines.push(...plainLines(words));
  if (caption.whole.length) caption.whole.push(...plainLines(words));
}

/** Return how a weight moves: the optimizer's formula, and the same with its numbers. */
function movedCaption(optimizer, found, name) {
  const { row, value: old, lines } = found;
  if (!lines.length) {
    const key = `captions.stays.${found.frozen ? "frozen" : "still"}`;
    return captionWith(text(key, { name, value: said(old, 3) }), "", [], { rows: [row] });
  }
  const last = lines.at(-1);
  if (!found.follows) return changeCaption(found, last.value, name);
  const exactly = new Set(Object.keys(optimizer.settings));
  lines.filter(isExactLine).forEach((line) => exactly.add(line.name));
  const names = { g: "gradient", w: "w" };
  const before = [];
  for (const line of lines.slice(0, -1)) {
    if (line.same) continue;
    if (line.ownRate) {
      const rate = said(line.value, RATE_DIGITS);
      before.push(...plainLines(text("captions.step.own_rate", { rate })));
      continue;
    }
    const key = { g: "clipped", w: "decayed" }[line.name];
    const now = key ? text(`captions.computed.${key}`) : line.name;
    before.push(formulaLine(line, { exactly, start: `${now} = ` }));
    names[line.name] = now;
  }
  const digits = digitsBetween(old, last.value);
  let [ended, shown] = endingLine(found, exactly, digits);
  if (figures(shown) > digits) [ended, shown] = endingLine(found, exactly, figures(shown));
  const fresh = ended.at(-1).words;
  const title = text("captions.step.title", { name, old: shown, new: fresh });
  const mark = `${shown}\n→ ${fresh}`;
  ended = ended.map((each) => (each.row === row ? { ...each, mark } : each));
  if (!ended.some((each) => each.row === row))
    ended[ended.length - 1] = { ...ended.at(-1), row, mark };
  const words = last.words ?? last.formula;
  const formula = text("captions.step.formula", { formula: pretty(fillNumbers(words, names)) });
  const all = [ended, ...before];
  const short = all.map(foldedLine);
  const whole = short.some((line, i) => line !== all[i]) ? all : [];
  return captionWith(title, formula, short, { whole, rows: [row] });
}

/** Return the caption of a step whose arithmetic a page does not know. */
function changeCaption({ row, value }, now, name) {
  const [old, fresh] = bothSaid(value, now);
  const title = text("captions.step.title", { name, old, new: fresh });
  const line = [pieceOf(old, { row, mark: `${old}\n→ ${fresh}` }), pieceOf(` → ${fresh}`)];
  return captionWith(title, "", [line], { rows: [row] });
}

/** Return whether a number is written with all its digits: a rate, or a short constant. */
export function isExactLine({ name, value, same }) {
  const short = Number(value.toExponential(1));
  if (name === "lr") return true;
  return Boolean(same) && Math.abs(short - value) <= 1e-12 * Math.abs(value);
}

/** Return the last line of an optimizer, and the old number as it is written. */
function endingLine(found, exactly, digits) {
  const line = formulaLine(found.lines.at(-1), { exactly, row: found.row, least: digits });
  const decays = found.lines.slice(0, -1).some((each) => each.name === "w");
  const own = decays ? null : line.find((each) => each.row === found.row);
  return [line, own?.words ?? said(found.value, digits)];
}

/** Return a line that is short enough: of a long one the weight, "..." and the result. */
function foldedLine(line) {
  const length = line.reduce((sum, each) => sum + each.words.length, 0);
  if (length <= LONGEST_LINE) return line;
  const own = line.slice(0, -1).find((each) => each.row !== NO_INDEX);
  const start = /^.*? = /s.exec(line[0].words);
  return [
    ...(start ? [pieceOf(start[0])] : []),
    ...(own ? [{ ...own, words: `${own.words} ` }] : []),
    pieceOf("...", { opens: true }),
    ...line.slice(-2),
  ];
}

/** Return a line of the optimizer with numbers in place of its names. */
function formulaLine(line, { exactly, start = "", row = NO_INDEX, least = FEW_DIGITS }) {
  if (!line.numbered) return plainLines(start + line.formula)[0];
  const { words, numbers, tree } = line.numbered;
  /** @type {any[]} */
  const parts = start ? [start] : [];
  const order = [];
  const pieces = words.split(/_(\d+)_/);
  pieces.forEach((each, i) => {
    if (i % 2 === 0) {
      if (each) parts.push(pretty(each));
      return;
    }
    const number = numbers[each];
    const value = typeof number === "string" ? line.known[number] : number;
    const holds = pieces[i - 1].trimEnd().endsWith("-") || pieces[i + 1].startsWith("^");
    const own = { row: number === "w" ? row : NO_INDEX, exact: exactly.has(number) };
    parts.push(termOf([value], holds ? { ...own, words: inBrackets } : own));
    order.push(`_${each}_`);
  });
  if (order.length < numbers.length) return plainLines(start + said(line.value))[0];
  const given = (v) => Object.fromEntries(order.map((name, i) => [name, v[i]]));
  return equationLine(parts, (v) => computedTree(tree, given(v)), line.value, { least });
}
