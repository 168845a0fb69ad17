// The one sum that is looked at or spoken of, while all else falls back; as scene/lights.py.

import { row3 } from "./space.js";

const SPOKEN = new Set(["forward", "weight gradient", "input gradient"]);
const NOWHERE = [0, 0, -1, -1];
export const EVERYWHERE = [0, 0, 1e6, 1e6];

/** What stays bright: `rows`, `cells` of each plate, and masks of neurons by line; null for all. */
export function focusOf(frame) {
  const { layout } = frame;
  const rows = rowsInFocus(frame);
  const fans = rows.map((row) => [row, layout.fanOf(row)]).filter(([, found]) => found);
  if (!fans.length && !frame.walked) return null;
  const sums = fans.flatMap(([row, { fan, unit }]) => [
    row3(fan.starts, fan.unitBefore(row)),
    row3(fan.ends, unit),
  ]);
  const lit = fans.length ? sums : standingAt(layout, frame.walked);
  return {
    rows: new Set(rows),
    cells: layout.plates.map((plate) => rectangleOf(plate, rows)),
    neurons: layout.neurons.map((line) => areAt(line, lit)),
  };
}

/** The bank indices of a sum, in order: under the mouse, else pinned, else spoken of. */
function rowsInFocus({ layout, moment, caption, pieces, ...frame }) {
  for (const name of ["hover", "pinned"]) {
    const [row, neuron] = [frame[`${name}Row`], frame[`${name}Neuron`]];
    const found = row >= 0 ? layout.fanOf(row) : neuron && layout.fanInto(neuron);
    if (found) return rowsOfSum(found);
    const leaving = neuron && layout.fanFrom(neuron);
    if (leaving) return rowsOfColumn(leaving);
  }
  if (!caption || !moment || !SPOKEN.has(moment.kind)) return [];
  const walked = rowsWalked({ layout, moment, walked: frame.walked });
  if (walked.length) return walked;
  const told = [...pieces.map((piece) => piece.row ?? -1), ...(caption.rows ?? [])];
  const rows = [...new Set(told)].filter((row) => row >= 0).sort((a, b) => a - b);
  const whole = moment.kind === "forward" && rows.length ? layout.fanOf(rows[0]) : null;
  return whole ? rowsOfSum(whole) : rows;
}

/** Where a neuron stands. */
function standingAt(layout, [name, place]) {
  const own = layout.neurons.filter((line) => line.buffers.includes(name));
  return own.map((line) => row3(line.points, place));
}

/** The bank indices of the neuron that weight gradients have come to; else none. */
export function rowsWalked({ layout, moment, walked }) {
  const found = walked && moment?.kind === "weight gradient" && layout.fanInto(walked);
  return found ? rowsOfSum(found) : [];
}

export function rowsOfSum({ fan, unit }) {
  const rows = Array.from({ length: fan.inputs }, (_, i) => fan.weights + unit * fan.inputs + i);
  return fan.biases >= 0 ? [...rows, fan.biases + unit] : rows;
}

/** The bank indices that multiply one unit; of the 1, those of the biases. */
function rowsOfColumn({ fan, unit: column }) {
  const count = fan.all - (fan.biases >= 0 ? 1 : 0);
  const units = Array.from({ length: fan.units }, (_, unit) => unit);
  if (column >= count) return units.map((unit) => fan.biases + unit);
  const each = Math.max(1, Math.floor(fan.inputs / Math.max(1, count)));
  const first = fan.weights + column * each;
  const parts = Array.from({ length: each }, (_, i) => i);
  return units.flatMap((unit) => parts.map((i) => first + unit * fan.inputs + i));
}

/** The smallest rectangle of cells with these bank indices: first column and row, last ones. */
function rectangleOf(plate, rows) {
  const places = rows.map((row) => plate.placeOf(row)).filter(Boolean);
  if (!places.length) return NOWHERE;
  const [down, right] = [0, 1].map((k) => places.map((place) => place[k]));
  const ends = (numbers) =>
    numbers.reduce(([a, b], x) => [Math.min(a, x), Math.max(b, x)], [1e9, -1]);
  const [[top, bottom], [left, last]] = [ends(down), ends(right)];
  return [left, top, last, bottom];
}

/** Which neurons of a line, and its 1, are at one of these places or in an image there. */
export function areAt(line, places) {
  const reach = 1e-4 + 0.5 * line.side * Math.max(0, ...line.shape.slice(1));
  const is = (point) => places.some((at) => at.every((x, k) => Math.abs(x - point[k]) <= reach));
  const all = Array.from({ length: line.count }, (_, i) => row3(line.points, i));
  return [...all, ...(line.one ? [line.one] : [])].map(is);
}
