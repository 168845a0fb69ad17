// How an operation is explained in the picture: its sum, its curve, the reason of a gradient; as
// scene/callout.py.

import { Ball } from "./story/annotations.js";
import * as telling from "./story/telling.js";
import { SeenLayer, draw_blame } from "./story/blame.js";
import { head_of } from "./story/caption.js";
import { blame_in } from "./story/focus.js";
import { BACK } from "./story/pace.js";
import { box_of, box_of_neuron, cube_boxes } from "./story/marks.js";
import { draw_cubes } from "./small_cubes.js";
import { carried } from "./lines.js";
import { text } from "./texts.js";

/** Draw how an operation comes to its number; return the boxes that it covers.
 *
 * A sum has its products as bars below its row, an activation its curve, the loss a panel in the
 * place of the last layer, and a weight that is to change a panel with its cube and the reason.
 */
export function drawTold(view, taken, fans, cards = []) {
  const { paper, see, frame, palette, scale } = view;
  const { told, part, is_upright } = frame;
  if (blame_in(frame)) return drawBlamed(view, taken, fans);
  const panels = panelsOf(view, taken, fans);
  if (panels) {
    taken.panel = panels[0] ?? null;
    return panels;
  }
  const ball = told?.subject ? ballOf(see, frame.layout, told.subject) : null;
  if (!ball) return [];
  const { summed, bent } = told;
  const [minus, , plus] = palette.ends;
  const back = BACK.has(frame.moment.kind);
  const into = is_upright ? frame.layout.fan_into(told.subject) : null;
  const whole = into ? toldRow(view, into, fans) : null;
  const panel = whole && telling.panel_of(whole, see.box, scale);
  if (panel) {
    telling.draw_sum(paper, palette, whole, panel, told.title, [minus, plus], part);
    taken.panel = panel;
    return [panel];
  }
  const hasCard = into?.[0].is_direct; // see tray_card.js
  const [wide, high] = telling.card_size(told, scale);
  const hasRoom = wide <= see.box.width && high <= see.box.height;
  if (hasCard || part < telling.COME || !hasRoom) return [];
  const subject = telling.told_about(ball, scale);
  const rows = summed ? summed.largest.map(({ row }) => row) : frame.cubes.moved[0];
  const own = [box_of_neuron(see, frame.layout, told.subject)];
  own.push(...cube_boxes(see, frame, rows, null));
  const others = [...spheresOf(taken, scale), ...cards, subject.inside(1)];
  others.push(...own.filter(Boolean));
  const box = telling.card_place(wide, high, subject, see.box, others);
  if (!box) return [];
  telling.draw_card(paper, palette, box, subject, back);
  const chips = summed?.largest.map((each) => chipOf(view, each));
  if (summed) telling.draw_bars(paper, palette, summed, chips, box, [minus, plus], part, back);
  else telling.draw_curve(paper, palette, bent, box, [minus, plus], part);
  return [box];
}

/** Draw the panel of a wish or of an error; null of other operations. */
function panelsOf(view, taken, fans) {
  const { told, moment } = view.frame;
  if (told?.chain.length) return drawWished(view, taken, fans);
  if (told?.outcome) return drawMoved(view, taken, fans);
  return moment?.kind === "loss" ? drawError(view, fans) : null;
}

/** Write what blame asks of a weight. */
function drawBlamed({ paper, see, frame, palette, scale }, taken, fans) {
  const { layout, told, part } = frame;
  const ball = ballOf(see, layout, told.neurons[0]);
  if (!ball) return [];
  const seen = [layersOf(frame, fans), ball, see.box, spheresOf(taken, scale), part];
  const [boxes, head] = draw_blame(paper, palette, told.blame, head_of(told), ...seen);
  taken.panel = head;
  return boxes;
}

/** What cards keep clear of: words, and neurons with their names. */
function spheresOf({ boxes, spheres }, scale) {
  return [...boxes, ...spheres.map((each) => telling.kept_clear(...each.slice(0, 3), scale))];
}

/** The row of a unit as it is seen; null if its layer has no rows that are told. */
function toldRow({ frame }, [fan, unit], fans) {
  const seen = fans[frame.layout.fans.indexOf(fan)];
  if (!seen || fan.is_direct || fan.is_tiled || seen.feet[unit].length > telling.ROWED) return null;
  const { values, terms, halves } = carried(fan, frame);
  const feet = seen.feet[unit];
  const tops = feet.map(([, y], i) => y - 2.1 * halves[unit][i] * seen.cell);
  const weights = feet.map((_, column) => frame.weights[fan.row_of(unit, column)]);
  const result = terms[unit].reduce((sum, each) => sum + each, 0);
  return new telling.ToldRow(feet, tops, seen.gates[unit], seen.left, values, weights, result);
}

/** Draw what a weight is to become, and why; return the box of the panel. */
function drawWished(view, taken, fans) {
  const { told, pushes, weights } = view.frame;
  const { row } = told.chain[0];
  const box = weightPlace(view, row, taken, fans);
  if (!box || !Number.isFinite(pushes?.[row])) return [];
  const most = pushes.reduce((top, each) => Math.max(top, Math.abs(each) || 0), 0) || 1;
  const share = weights[row] / (view.frame.sizeScaleAt(row) || 1);
  const words = telling.wish_words(told, share, pushes[row] / most);
  return drawWeight(view, box, [share, telling.wished(share, pushes[row] / most)], words);
}

/** Draw how a weight has moved, with all others; return the box of the panel. */
function drawMoved(view, taken, fans) {
  const { told, cubes, sizes, before } = view.frame;
  const [row = -1] = told.rows;
  const box = weightPlace(view, row, taken, fans);
  if (!box || !before || !told.wish) return [];
  const cube = [sizes, before].map((all) => all[row] / (view.frame.sizeScaleAt(row) || 1));
  const [moved, factor] = cubes.moved;
  return drawWeight(view, box, cube, telling.moved_words(told, moved.length, factor));
}

function drawWeight(view, box, cube, words) {
  const draw = (cubes) => draw_cubes(view.paper, cubes, view.palette);
  telling.draw_wish(view.paper, view.palette, box, cube, words, draw);
  return [box];
}

/** Where the panel of a weight stands: below or above its row, else beside its cube; or null. */
function weightPlace(view, row, taken, fans) {
  const { see, frame, scale } = view;
  const near = row >= 0 ? box_of(see, frame, row, null) : null;
  if (!near) return null;
  const solid = layersOf(frame, fans).flatMap(({ boxes }) => boxes);
  const others = [...spheresOf(taken, scale), ...solid];
  const found = frame.layout.fan_of(row);
  const told = found && toldRow(view, found, fans);
  const box = told && telling.wish_of(told, see.box, scale, others);
  if (box) return box;
  const [wide, high] = [telling.WISH_WIDE * scale, telling.WISH * scale];
  const around = near.inside(-telling.BESIDE * scale);
  return telling.card_place(wide, high, around, see.box, [...others, near]);
}

/** The layers whose rows are seen. */
function layersOf(frame, fans) {
  return frame.layout.fans.flatMap((fan, i) => {
    const isSeen = fans[i] && !fan.is_direct;
    return isSeen ? [new SeenLayer(fan, fans[i], carried(fan, frame).halves)] : [];
  });
}

/** Draw how wrong the answer is, in the place of the last layer. */
function drawError(view, fans) {
  const { paper, see, frame, palette, scale } = view;
  const { answers, target, words } = frame;
  const [box, line] = [telling.error_box(fans, see.box, scale), frame.layout.neurons.at(-1)];
  if (!box || !answers || !target || answers.length > telling.FEW_OUTPUTS) return [];
  const misses = Array.from(answers, (out, i) => {
    const color = line.is_color ? palette.channels[i] : palette.ink;
    return new telling.Miss(line.names[i] ?? text("picture.out"), color, out, target[i]);
  });
  telling.draw_misses(paper, palette, misses, box, words.caption?.title ?? "", frame.scene.squared);
  return [box];
}

/** A neuron as it is seen; null if it is not in the picture. */
function ballOf(see, layout, neuron) {
  const [line, place] = layout.line_of(neuron) ?? [];
  if (!line) return null;
  const { x, y, unit, depth } = see.one(line.point(place));
  const radius = (line.isImages ? 0.5 * line.side : line.radius) * unit;
  return Number.isFinite(x + y) ? new Ball(x, y, radius, depth, unit) : null;
}

/** The colour of what a term of a sum comes from; null of a bias. */
function chipOf(view, { neuron, number }) {
  if (!view.frame.layout.line_of(neuron)) return null;
  const [minus, , plus] = view.palette.ends;
  return channelOf(view, neuron) ?? (number < 0 ? minus : plus);
}

/** The colour of a channel; null for other neurons. */
function channelOf({ frame, palette }, neuron) {
  return neuron && frame.layout.line_of(neuron)?.[0].is_color
    ? palette.channels[neuron[1] % 3]
    : null;
}
