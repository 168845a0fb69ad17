// How an operation is explained in the network: its sum, the error, the reason of a gradient; as
// scene/callout.py.

import { Ball } from "./story/annotations.js";
import * as telling from "./story/telling.js";
import { SeenLayer, draw_blame } from "./story/blame.js";
import { blame_in } from "./story/focus.js";
import { draw_cubes } from "./small_cubes.js";
import { carried } from "./lines.js";
import { draw_side, side_of } from "./story/side_panel.js";

const LIDS = 8; // pixels above the fronts of a row that it needs

/** Draw how an operation is computed; return the boxes that this covers.
 *
 * For a sum, the products are bars below its row. For the loss, a panel replaces the last layer.
 * For a weight gradient, a panel shows the cube of the weight and the reason for its change.
 */
export function drawTold(view, taken, fans) {
  const { told } = view.frame;
  if (!told) return [];
  if (blame_in(view.frame)) return drawBlamed(view, taken, fans);
  let draw = drawAdded;
  if (view.frame.moment.kind === "weight gradient") draw = drawWeight;
  else if (fans.some((each) => each?.is_below))
    return []; // a panel would cover other rows
  else if (told.misses.length) draw = drawError;
  const boxes = draw(view, taken, fans);
  taken.panel = boxes[0] ?? null;
  return boxes;
}

/** Draw how a sum is computed, at its row of weights; return the box of the panel. */
function drawAdded(view, _, fans) {
  const { paper, see, frame, palette } = view;
  const { told, moment, layout, part } = frame;
  const isSum = told.bars && moment.kind === "forward" && told.subject;
  const into = isSum ? layout.fan_into(told.subject) : null;
  const row = into && toldRow(view, into, fans);
  if (!row) return [];
  const [[minus, , plus], rows] = [palette.ends, topsIn(frame, into[0], fans)];
  return telling.draw_row(paper, palette, row, rows, see.box, told.title, [minus, plus], part);
}

/** Return the top of each row of a layer in the picture. */
function topsIn(frame, fan, fans) {
  const seen = fans[frame.layout.fans.indexOf(fan)];
  const { halves } = carried(fan, frame);
  return seen.feet.map((feet, unit) => {
    const tops = feet.map(([, y], i) => y - 2.1 * halves[unit][i] * seen.cell);
    return Math.min(...tops) - LIDS * seen.scale;
  });
}

/** Draw how the error of an output is passed back to a weight. */
function drawBlamed({ paper, see, frame, palette, scale }, taken, fans) {
  const { layout, told, part } = frame;
  const ball = ballOf(see, layout, told.neurons[0]);
  if (!ball) return [];
  const seen = [layersOf(frame, fans), ball, see.box, spheresOf(taken, scale), part];
  return draw_blame(paper, palette, told.blame, ...seen);
}

/** Return the boxes that panels must not cover: texts, and neurons with their names. */
function spheresOf({ boxes, spheres }, scale) {
  return [...boxes, ...spheres.map((each) => telling.kept_clear(...each.slice(0, 3), scale))];
}

/** Return the row of a unit in the picture; null if the layer has no rows to explain. */
function toldRow({ frame }, [fan, unit], fans) {
  const seen = fans[frame.layout.fans.indexOf(fan)];
  if (!seen || fan.is_direct || fan.is_tiled || seen.feet[unit].length > telling.ROWED) return null;
  const along = seen.feet[unit].map(([x]) => x);
  const long = Math.max(...along) - Math.min(...along);
  if (long < telling.LEAST_ROW * seen.scale && seen.form !== "upright") return null;
  const { values, terms, halves } = carried(fan, frame);
  const feet = seen.feet[unit];
  const tops = feet.map(([, y], i) => y - 2.1 * halves[unit][i] * seen.cell);
  const weights = feet.map((_, column) => frame.weights[fan.row_of(unit, column)]);
  const result = terms[unit].reduce((sum, each) => sum + each, 0);
  return new telling.ToldRow(feet, tops, seen.gates[unit], seen.left, values, weights, result);
}

/** Draw how a weight should change, and why; return the box of the panel. */
function drawWeight(view, taken, fans) {
  const { told, pushes, weights } = view.frame;
  const [row = -1] = told.rows;
  const box = weightPlace(view, row, taken, fans);
  if (!box || !Number.isFinite(pushes?.[row])) return [];
  const most = pushes.reduce((found, each) => Math.max(found, Math.abs(each) || 0), 0) || 1;
  const [share, push] = [weights[row] / (view.frame.sizeScaleAt(row) || 1), pushes[row] / most];
  const words = telling.wish_words(told, share, push);
  const draw = (found) => draw_cubes(view.paper, found, view.palette);
  telling.draw_wish(
    view.paper,
    view.palette,
    box,
    [share, telling.wished(share, push)],
    words,
    draw,
  );
  return [box];
}

/** Return the box for the panel of a weight, below or above its row, or null. */
function weightPlace({ see, frame, scale }, row, taken, fans) {
  const solid = layersOf(frame, fans).flatMap(({ boxes }) => boxes);
  const found = frame.layout.fan_of(row);
  const told = found && toldRow({ frame }, found, fans);
  return told && telling.wish_of(told, see.box, scale, [...spheresOf(taken, scale), ...solid]);
}

/** Return the layers whose rows are visible. */
function layersOf(frame, fans) {
  return frame.layout.fans.flatMap((fan, i) => {
    const isSeen = fans[i] && !fan.is_direct;
    return isSeen ? [new SeenLayer(fan, fans[i], carried(fan, frame).halves)] : [];
  });
}

/** Draw the error of the output in place of the last layer. */
function drawError({ paper, see, frame, palette, scale }, _, fans) {
  const { told, moment, layout, scene } = frame;
  const box = telling.error_box(fans, see.box, scale);
  if (!box || moment.kind !== "loss" || told.misses.length > telling.FEW_OUTPUTS) return [];
  telling.draw_misses(paper, palette, told, colorsOf(layout, palette), box, scene.squared);
  return [box];
}

/** Return the content of the panel next to the network, or null. */
export const sideOf = (frame, things, isTold) => side_of(frame.told, things, isTold);

/** Draw the panel next to the network. */
export function drawBeside(paper, palette, { layout, told, part }, side, box) {
  const line = layout.neurons.at(-1);
  const [colors, [minus, , plus]] = [colorsOf(layout, palette), palette.ends];
  const [name, place] = told.subject ?? [];
  const tint = line.is_color && name === line.values ? colors[place] : null;
  draw_side(paper, palette, box, side, colors, tint, [minus, plus], part);
}

/** Return the colors of the outputs. */
function colorsOf(layout, palette) {
  const line = layout.neurons.at(-1);
  return line.is_color ? palette.channels : Array(line.count).fill(palette.ink);
}

/** Return a neuron as a disc in the picture; null if it is not visible. */
function ballOf(see, layout, neuron) {
  const [line, place] = layout.line_of(neuron) ?? [];
  if (!line) return null;
  const { x, y, unit, depth } = see.one(line.point(place));
  const radius = (line.isImages ? 0.5 * line.side : line.radius) * unit;
  return Number.isFinite(x + y) ? new Ball(x, y, radius, depth, unit) : null;
}
