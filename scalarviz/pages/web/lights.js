// Brightness of plates and neurons during an operation; as scene/lights.py.

import { LIT, SAME_PLACE, OF_CUBES, WAYS_BACK } from "./story/pace.js";
import { row3 } from "./projection.js";

const LIGHTS = { small: 2000, dimSmall: 0.7 };

/**
 * What is lit in a moment; it is null for a network at rest.
 *
 * focus      what stays bright; null: all that takes part
 * attention  how far all else has fallen back, 0 to 1
 */
export function lightsOf(layout, scene, moment, focus = null, attention = 1) {
  const shown = lightsOfMoment(layout, scene, moment);
  const level = focus ? 1 - attention * (1 - scene.shader.dim) : 1;
  const outside = shown.plates.map((each) => Math.min(each, level));
  const plates = focus ? shown.plates.map(() => 1) : shown.plates;
  const brightOf = (line, place) => {
    const bright = shown.neurons[line.place];
    if (!focus) return bright;
    return focus.neurons[line.place][place] ? 1 : Math.min(bright, level);
  };
  const isDim = (row, plate) => ((focus?.rows.has(row) ?? true) ? plates[plate] < 1 : true);
  return { ...shown, plates, outside, level, focus, brightOf, isDim };
}

function lightsOfMoment(layout, scene, moment) {
  const shown = {
    plates: layout.plates.map(() => 1),
    neurons: layout.neurons.map(() => 1),
  };
  if (!moment || !LIT.has(moment.kind)) return shown;
  const { dim } = scene.shader;
  const isLit = (name) => moment.lit.includes(name);
  shown.neurons = layout.neurons.map(({ buffers }) => (buffers.some(isLit) ? 1 : dim));
  const rest = layout.size > LIGHTS.small ? LIGHTS.dimSmall : dim;
  if (moment.kind !== "step")
    shown.plates = layout.plates.map((plate) => (isBright(scene, moment, plate) ? 1 : rest));
  return shown;
}

/** Whether the cubes of a plate are bright in a moment; numbers go back through no bias. */
function isBright(scene, { kind, operation }, plate) {
  if (!OF_CUBES.has(kind)) return false;
  const { rows } = scene.operations[operation]; // in a graph a cube may be read by several operations
  const isOwn = rows ? rows.includes(plate.first) : plate.operation === operation;
  return isOwn && (!WAYS_BACK.has(kind) || ["weight", "gain", "value"].includes(plate.role));
}

// The one sum that is looked at or explained, while all else falls back.

const SPOKEN = new Set(["forward", "weight gradient", "input gradient"]);
const NOWHERE = [0, 0, -1, -1];
export const EVERYWHERE = [0, 0, 1e6, 1e6];

/** What stays bright: `rows`, `cells` of each plate, and masks of neurons by line; null for all. */
export function focusOf(frame) {
  const { layout } = frame;
  const rows = rowsInFocus(frame);
  const fans = rows.map((row) => [row, layout.fan_of(row)]).filter(([, found]) => found);
  if (!fans.length && !frame.walked) return null;
  const sums = fans.flatMap(([row, [fan, unit]]) => fan.ends_of(row, unit));
  const lit = fans.length ? sums : standingAt(layout, frame.walked);
  const lying = frame.isUpright ? [] : rows;
  return {
    rows: new Set(lying),
    cells: layout.plates.map((plate) => rectangleOf(plate, lying)),
    neurons: layout.neurons.map((line) => areAt(line, lit)),
  };
}

/** The bank indices of a cube, a sum or a column, in order: under the mouse, else pinned, else spoken of. */
export function rowsInFocus(frame) {
  const { layout, moment, caption } = frame;
  for (const name of ["hover", "pinned"]) {
    const [row, neuron] = [frame[`${name}Row`], frame[`${name}Neuron`]];
    if (row >= 0 && layout.fan_of(row)) return [row];
    const found = neuron && layout.fan_into(neuron);
    if (found) return rowsOfSum(found);
    const leaving = neuron && layout.fan_from(neuron);
    if (leaving) return rowsOfColumn(leaving);
  }
  if (moment?.kind === "step") return frame.moved[0];
  if (!caption || !moment || !SPOKEN.has(moment.kind)) return [];
  const rows = rowsExplained(frame);
  const isWhole = moment.kind !== "input gradient" && rows.length;
  const whole = isWhole ? layout.fan_of(rows[0]) : null;
  const linked = (caption.chain ?? []).slice(1).map((each) => each.row);
  return [...(whole ? rowsOfSum(whole) : rows), ...linked.filter((row) => row >= 0)];
}

/** Where a neuron stands. */
function standingAt(layout, [name, place]) {
  const own = layout.neurons.filter((line) => line.buffers.includes(name));
  return own.map((line) => row3(line.points, place));
}

/** The bank indices that an operation has come to by neurons, else of its caption. */
export function rowsExplained(frame) {
  const { moment, caption, pieces } = frame;
  const walked = rowsWalked(frame);
  if (walked.length || !caption || !moment) return walked;
  const told = [...pieces.map((piece) => piece.row ?? -1), ...(caption.rows ?? [])];
  return [...new Set(told)].filter((row) => row >= 0).sort((a, b) => a - b);
}

/** The bank indices of the neuron that weight gradients have come to; else none. */
export function rowsWalked({ layout, moment, walked }) {
  const found = walked && moment?.kind === "weight gradient" && layout.fan_into(walked);
  return found ? rowsOfSum(found) : [];
}

export function rowsOfSum([fan, unit]) {
  const rows = fan.rows_of(unit);
  return fan.biases >= 0 ? [...rows, fan.bias_of(unit)] : rows;
}

/** The bank indices that multiply one unit. */
export function rowsOfColumn([fan, column]) {
  const units = Array.from({ length: fan.units }, (_, unit) => unit);
  const first = fan.weights + column * fan.pixels;
  const parts = Array.from({ length: fan.pixels }, (_, i) => i);
  return units.flatMap((unit) => parts.map((i) => first + unit * fan.stride + i));
}

/** The smallest rectangle of cells with these bank indices: first column and row, last ones. */
function rectangleOf(plate, rows) {
  const places = rows.map((row) => plate.place_of(row)).filter(Boolean);
  if (!places.length) return NOWHERE;
  const [down, right] = [0, 1].map((k) => places.map((place) => place[k]));
  const ends = (numbers) =>
    numbers.reduce(([a, b], x) => [Math.min(a, x), Math.max(b, x)], [1e9, -1]);
  const [[top, bottom], [left, last]] = [ends(down), ends(right)];
  return [left, top, last, bottom];
}

/** Which neurons of a line are at one of these places or in an image there. */
export function areAt(line, places) {
  const reach = SAME_PLACE + 0.5 * line.side * Math.max(0, ...line.shape.slice(1));
  const is = (point) => places.some((at) => at.every((x, k) => Math.abs(x - point[k]) <= reach));
  return Array.from({ length: line.count }, (_, i) => is(row3(line.points, i)));
}
