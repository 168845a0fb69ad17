// Terms of a sum of products: their numbers travel along the wires and stack up to the sum; as
// scene/callout.py.

import { onCube, rounded, shortNumber } from "./formats.js";
import { WAY_BACK } from "./lights.js";
import { along3, minus3 } from "./space.js";

/** Draw the bars of a sum as far as they have come, and the numbers that travel to them. */
export function drawTerms(view, { largest }, [x, y, wide], ends) {
  const { paper, see, frame, palette, scale } = view;
  const { pace, stack } = frame.scene;
  const [step, high, thin] = [stack.row * scale, stack.high * scale, { width: scale }];
  const left = (pace.terms + 1) * Math.min(1, frame.part / pace.arrives);
  const last = ends.length - 1;
  const factor = (/** @type {number} */ value) =>
    Math.abs(value) >= stack.least || !value ? shortNumber(value, 2) : onCube(rounded(value));
  const isBack = WAY_BACK.has(frame.moment.kind);
  const zero = x + wide * ends[0][0];
  paper.segment([zero, y], [zero, y + ends.length * step], palette.quiet, thin);
  ends.forEach((both, row) => {
    const [first, end] = both.map((each) => x + wide * each);
    const color = isBack ? palette.push : palette.ends[end < first ? 0 : 2];
    const summand = largest[row];
    let at = [Math.min(first, end), y + row * step];
    let grown = Math.min(1, left - row - (summand ? 1 : 0));
    if (row === last) grown = Number(frame.part >= pace.arrives);
    const cube = summand && placeOfNumber(see, frame.layout, summand, Math.min(1, left - row));
    if (cube && left >= row && left < row + 2) {
      const numbers = [summand.number, summand.weight].slice(0, grown < 0 ? 1 : 2);
      writeTerm(view, cube, numbers.map(factor).join(" × "), color);
      const far = Math.max(0, grown);
      at = [cube[0] + far * (at[0] - cube[0]), cube[1] + far * (at[1] - cube[1])];
    }
    if (grown <= 0) return;
    const long = Math.max(grown * Math.abs(end - first), scale);
    const fill = isBack && end < first ? null : color;
    paper.box(...at, long, high, fill, { outline: color, line: scale });
    if (grown < 1 || row === last) return;
    paper.segment([end, at[1]], [end, at[1] + step + high], palette.ink, thin); // to the next one
  });
}

/** Where bars begin and end, from 0 to 1: of the products, then of the result. */
export function endsOfBars({ largest, others, result }) {
  const values = largest.map(({ number, weight }) => number * weight);
  if (others !== null) values.push(others);
  let reached = 0;
  const ends = values.map((value) => [reached, (reached += value)]);
  ends.push([0, result]);
  const low = Math.min(...ends.flat());
  const reach = Math.max(...ends.flat()) - low || 1;
  return ends.map((both) => both.map((end) => (end - low) / reach));
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
