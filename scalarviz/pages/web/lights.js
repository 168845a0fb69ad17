// Brightness of plates, neurons and wires during an operation, and the light on them; as
// scene/lights.py.

import { row3 } from "./projection.js";

const LIGHTS = { small: 2000, dimSmall: 0.7, pulse: 0.4 };
/** Kinds of operations whose light is that of the way back. */
export const WAY_BACK = new Set(["delta", "weight gradient", "input gradient", "operand gradient"]);

/**
 * What is lit when `part` of a moment, 0 to 1, is done; `moment` is null for a network at rest.
 *
 * focus      what stays bright, see lights.js; null: all that takes part
 * attention  how far all else has fallen back, 0 to 1
 * wave       without a moment, how much of a whole step is done; null: nothing is lit
 * walks      whether one goes by neurons: only lines of the caption have light
 */
export function lightsOf(
  layout,
  scene,
  moment,
  part,
  focus = null,
  attention = 1,
  wave = null,
  walks = false,
) {
  const isWave = !moment && wave !== null;
  const shown = isWave
    ? lightsOfWave(layout, scene, wave)
    : lightsOfMoment(layout, scene, moment, part);
  if (walks) shown.glows.clear();
  const level = focus ? 1 - attention * (1 - scene.shader.dim) : 1;
  const outside = shown.plates.map((each) => Math.min(each, level));
  const plates = focus ? shown.plates.map(() => 1) : shown.plates;
  const brightOf = (line, place) => {
    const bright = shown.neurons[line.place];
    if (!focus) return bright;
    return focus.neurons[line.place][place] ? 1 : Math.min(bright, level);
  };
  const isDim = (row, plate) => ((focus?.rows.has(row) ?? true) ? plates[plate] < 1 : true);
  const glowOf = (operation, behind) => shown.glows.get(operation)?.[behind ? 1 : 0] ?? null;
  return { ...shown, plates, outside, level, focus, brightOf, isDim, glowOf };
}

function lightsOfMoment(layout, scene, moment, part) {
  const shown = {
    plates: layout.plates.map(() => 1),
    neurons: layout.neurons.map(() => 1),
    glows: new Map(), // before and behind the cubes of operations that take part
  };
  if (!moment || !(moment.kind in LIGHT_KINDS)) return shown;
  shown.plates.fill(layout.size > LIGHTS.small ? LIGHTS.dimSmall : scene.shader.dim);
  shown.neurons.fill(scene.shader.dim);
  const operation = scene.operations[moment.operation];
  LIGHT_KINDS[moment.kind]({ layout, moment, part, shown, scene, operation });
  return shown;
}

/** The lights of a whole step of which a part is done: they run forward, then back. */
function lightsOfWave(layout, scene, part) {
  const shown = lightsOfMoment(layout, scene, null, 1);
  const back = new Set(scene.moments.filter(isWayBack).map(({ operation }) => operation));
  const isWay = (each) =>
    each.kind === "forward" ||
    isWayBack(each) ||
    (each.kind === "weight gradient" && !back.has(each.operation));
  const wired = new Set([...layout.wires, ...layout.fans].map(({ operation }) => operation));
  const ways = scene.moments.filter((each) => wired.has(each.operation) && isWay(each));
  const at = part * ways.length;
  const moment = ways[Math.floor(at)];
  if (!moment) return shown;
  const lit = { ...shown, plates: [...shown.plates], neurons: [...shown.neurons] };
  const operation = scene.operations[moment.operation];
  LIGHT_KINDS[moment.kind]({ layout, moment, part: at % 1, shown: lit, scene, operation });
  return shown;
}

const LIGHT_KINDS = {
  forward(about) {
    const { operation, part, shown } = about;
    lightNeurons(about, operation.target);
    if (operation.kind !== "activation") {
      for (const source of operation.sources) lightNeurons(about, source);
    }
    lightCubes(about);
    const ways = [glow(pulse(part, 0, 0.45)), glow(pulse(part, 0.5, 0.95))];
    shown.glows.set(about.moment.operation, ways);
  },
  loss(about) {
    lightNeurons(about, about.scene.outputs);
  },
  delta(about) {
    lightNeurons(about, about.operation.target);
    for (const buffer of about.moment.gradients) lightNeurons(about, buffer);
  },
  "weight gradient"(about) {
    const { operation, part, shown } = about;
    lightNeurons(about, operation.target);
    lightNeurons(about, operation.source);
    lightCubes(about);
    const ways = [glow(pulse(part, 0, 0.45)), glow(pulse(part, 0, 0.45, true), true)];
    shown.glows.set(about.moment.operation, ways);
  },
  "input gradient"(about) {
    const { operation, part, shown } = about;
    for (const buffer of operation.back) lightNeurons(about, buffer);
    lightCubes(about);
    const ways = [pulse(part, 0.5, 0.95, true), pulse(part, 0, 0.45, true)];
    shown.glows.set(
      about.moment.operation,
      ways.map((each) => glow(each, true)),
    );
  },
  step({ shown }) {
    shown.plates.fill(1);
  },
};
LIGHT_KINDS["operand gradient"] = LIGHT_KINDS["input gradient"]; // of a node of a graph

/** Let the cubes of an operation stay bright; numbers go back through no bias. */
function lightCubes(about) {
  for (const plate of ownPlates(about))
    if (!isWayBack(about.moment) || ["weight", "gain", "value"].includes(plate.role))
      about.shown.plates[plate.place] = 1;
}

const isWayBack = ({ kind }) => kind === "input gradient" || kind === "operand gradient";

/** The light on a bundle of wires: where it runs, and whether it is that of the way back. */
function glow(span, back = false) {
  return { span, back };
}

/** Where light is that runs along a wire between two parts of the operation. */
function pulse(part, first, last, reverse = false) {
  const head = (1 + LIGHTS.pulse) * Math.min(1, Math.max(0, (part - first) / (last - first)));
  const span = part >= last ? [1, 1] : [Math.max(0, head - LIGHTS.pulse), Math.min(1, head)];
  return reverse ? [1 - span[1], 1 - span[0]] : span;
}

function ownPlates({ layout, moment, operation }) {
  const { rows } = operation; // in a graph a cube may be read by several operations
  if (rows) return layout.plates.filter((each) => rows.includes(each.first));
  return moment.operation < 0
    ? []
    : layout.plates.filter((each) => each.operation === moment.operation);
}

function lightNeurons({ layout, shown }, buffer) {
  for (const line of layout.neurons)
    if (line.buffers.includes(buffer)) shown.neurons[line.place] = 1;
}

// The one sum that is looked at or explained, while all else falls back.

const SPOKEN = new Set(["forward", "weight gradient", "input gradient"]);
const NOWHERE = [0, 0, -1, -1];
export const EVERYWHERE = [0, 0, 1e6, 1e6];

/** What stays bright: `rows`, `cells` of each plate, and masks of neurons by line; null for all. */
export function focusOf(frame) {
  const { layout } = frame;
  const rows = rowsInFocus(frame);
  const fans = rows.map((row) => [row, layout.fanOf(row)]).filter(([, found]) => found);
  if (!fans.length && !frame.walked) return null;
  const sums = fans.flatMap(([row, { fan, unit }]) => fan.endsOf(row, unit));
  const lit = fans.length ? sums : standingAt(layout, frame.walked);
  return {
    rows: new Set(rows),
    cells: layout.plates.map((plate) => rectangleOf(plate, rows)),
    neurons: layout.neurons.map((line) => areAt(line, lit)),
  };
}

/** The bank indices of a cube, a sum or a column, in order: under the mouse, else pinned, else spoken of. */
export function rowsInFocus({ layout, moment, caption, pieces, ...frame }) {
  for (const name of ["hover", "pinned"]) {
    const [row, neuron] = [frame[`${name}Row`], frame[`${name}Neuron`]];
    if (row >= 0 && layout.fanOf(row)) return [row];
    const found = neuron && layout.fanInto(neuron);
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
  const rows = Array.from({ length: fan.inputs }, (_, i) => fan.weights + unit * fan.stride + i);
  return fan.biases >= 0 ? [...rows, fan.biasOf(unit)] : rows;
}

/** The bank indices that multiply one unit. */
export function rowsOfColumn({ fan, unit: column }) {
  const units = Array.from({ length: fan.units }, (_, unit) => unit);
  const each = Math.max(1, Math.floor(fan.inputs / Math.max(1, fan.count)));
  const first = fan.weights + column * each;
  const parts = Array.from({ length: each }, (_, i) => i);
  return units.flatMap((unit) => parts.map((i) => first + unit * fan.stride + i));
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

/** Which neurons of a line are at one of these places or in an image there. */
export function areAt(line, places) {
  const reach = 1e-4 + 0.5 * line.side * Math.max(0, ...line.shape.slice(1));
  const is = (point) => places.some((at) => at.every((x, k) => Math.abs(x - point[k]) <= reach));
  return Array.from({ length: line.count }, (_, i) => is(row3(line.points, i)));
}
