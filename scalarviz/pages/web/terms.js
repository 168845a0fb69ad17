// Terms of a sum of products: their numbers travel along the wires and stack up to the sum; as
// pictures/view/terms.py.

import { Box } from "./camera.js";
// prettier-ignore
import {
  CALLOUT, calloutWords, coversOf, drawPanel, overlap, shortestLine, subjectOf, widthOfWords,
} from "./callout.js";
import { shortNumber } from "./format.js";
import { legendBox } from "./legend.js";
import { WAY_BACK } from "./lights.js";
import { along3, minus3 } from "./space.js";

/** Draw the sum of an operation as far as it is added up; say whether it has a stack. */
export function drawTerms(view, taken) {
  const { paper, see, frame, palette, scale } = view;
  const { summed = null } = frame.caption ?? {};
  const subject = frame.moment && summed && subjectOf(view);
  if (!subject) return false;
  const { pace, stack } = frame.scene;
  const [size, pad] = [CALLOUT.size * scale, CALLOUT.pad * scale];
  const rows = endsOfBars(summed, 1);
  const high = rows.length * (stack.high + stack.apart) * scale + 1.2 * size + 1.4 * pad;
  const whole = calloutWords(frame);
  let [box, words] = [null, ""];
  for (const [each, least] of [
    [whole, stack.long],
    [whole.split(": ").at(-1), stack.small],
  ]) {
    const wide = Math.max(least * scale + 2 * pad, widthOfWords(view, each));
    if (wide > see.box.width || high > see.box.height) continue;
    words = each;
    box = freePlace(view, taken, subject, [wide, high]);
    if (box.isFree) break;
  }
  if (!box) return false;
  drawPanel(view, box, subject);
  const ends = rows.map((both) => both.map((end) => end * (box.width - 2 * pad)));
  drawTermBars(view, summed, [box.x + pad, box.y + 0.7 * pad], ends);
  if (frame.part >= pace.arrives) {
    const base = box.bottom - 0.7 * pad - 0.2 * size;
    paper.text(box.x + pad, base, words, { size, color: palette.ink, bold: true });
  }
  return true;
}

/** Draw bars from a corner as far as they have come, and what travels there. */
function drawTermBars(view, summed, [x, y], ends) {
  const { paper, see, frame, palette, scale } = view;
  const { pace, stack } = frame.scene;
  const [step, high, thin] = [
    (stack.high + stack.apart) * scale,
    stack.high * scale,
    { width: scale },
  ];
  const left = (pace.terms + 1) * Math.min(1, frame.part / pace.arrives);
  const [zero, last] = [x + ends[0][0], ends.length - 1];
  const isBack = WAY_BACK.has(frame.moment.kind);
  paper.segment([zero, y - scale], [zero, y + ends.length * step], palette.quiet, thin);
  ends.forEach(([first, end], row) => {
    const color = isBack ? palette.push : palette.ends[end < first ? 0 : 2];
    const summand = summed.largest[row];
    let place = [x + Math.min(first, end), y + row * step];
    let grown = Math.min(1, left - row - (summand ? 1 : 0));
    if (row === last) grown = Number(frame.part >= pace.arrives);
    const at = summand && placeOfNumber(see, frame.layout, summand, Math.min(1, left - row));
    if (at && left >= row && left < row + 2) {
      const numbers = grown < 0 ? [summand.number] : [summand.number, summand.weight];
      writeTerm(view, at, numbers.map((each) => shortNumber(each, 2)).join(" × "), color);
      const far = Math.max(0, grown);
      place = [at[0] + far * (place[0] - at[0]), at[1] + far * (place[1] - at[1])];
    }
    if (grown <= 0) return;
    const fill = isBack && end < first ? null : color;
    const long = Math.max(grown * Math.abs(end - first), scale);
    paper.box(...place, long, high, fill, { outline: color, line: scale });
    const below = [x + end, place[1] + step + high]; // where the next one begins
    if (grown === 1 && row < last) paper.segment([x + end, place[1]], below, palette.ink, thin);
  });
}

/** Where bars begin and end in a width: of the products, then of the result. */
function endsOfBars({ largest, others, result }, wide) {
  const values = largest.map(({ number, weight }) => number * weight);
  if (others !== null) values.push(others);
  let reached = 0;
  const ends = values.map((value) => [reached, (reached += value)]);
  ends.push([0, result]);
  const low = Math.min(...ends.flat());
  const unit = wide / (Math.max(...ends.flat()) - low || 1);
  return ends.map((both) => both.map((end) => (end - low) * unit));
}

/** Where a number is seen on its way to its cube, [x, y]; null if one is not in the picture. */
function placeOfNumber(see, layout, { row, neuron }, part) {
  const [line, found] = [layout.lineOf(neuron), layout.plateOf(row)];
  if (!line || !found) return null;
  const start = line.point(neuron[1]);
  const end = found.plate.point(found.column + 0.5, found.row + 0.5);
  const { x, y } = see.one(along3(start, part, minus3(end, start)));
  return Number.isFinite(x + y) ? [x, y] : null;
}

/** Write a number over what it passes. */
function writeTerm({ paper, frame, palette, scale }, at, words, color) {
  const [x, y] = at;
  const size = frame.scene.stack.number * scale;
  const wide = paper.measure(words, { size, bold: true }) + size;
  const look = { radius: 0.8 * size, outline: color, line: 1.5 * scale };
  const [left, top] = [x - 0.5 * wide, y - 0.8 * size];
  paper.box(left, top, wide, 1.6 * size, palette.panel.slice(0, 7), look);
  const letters = { size, bold: true, color: palette.ink, anchor: "center" };
  paper.text(x, y + 0.36 * size, words, letters);
}

/** The box that covers least, of those the nearest to its subject; `isFree` if it covers nothing. */
function freePlace(view, taken, subject, [wide, high]) {
  const { see, frame, scale } = view;
  const { places, covered } = frame.scene.stack;
  const legend = legendBox(see.box, scale);
  const covers = [
    subject,
    ...coversOf(view, taken).map(([box]) => box),
    ...(legend ? [legend] : []),
  ];
  let [best, least] = [null, Infinity];
  for (let i = 0; i < places[0]; i++) {
    const left = see.box.x + (i / (places[0] - 1)) * (see.box.width - wide);
    for (let k = 0; k < places[1]; k++) {
      const top = see.box.y + (k / (places[1] - 1)) * (see.box.height - high);
      const box = new Box(left, top, wide, high);
      const [start, end] = shortestLine(box, subject);
      const away = Math.hypot(end[0] - start[0], end[1] - start[1]);
      if (away >= least) continue;
      const over = covers.reduce((sum, each) => sum + overlap(box, each), 0);
      if (covered * over + away >= least) continue;
      least = covered * over + away;
      best = Object.assign(box, { isFree: over === 0 });
    }
  }
  return best;
}
