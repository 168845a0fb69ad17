// How an operation is explained in the picture: its sum, its curve, the reason of a gradient; as
// scene/callout.py.

import { Box } from "./story/camera.js";
import { Ball } from "./story/annotations.js";
import * as telling from "./story/telling.js";
import { BACK } from "./story/pace.js";
import { cubeBox, neuronBox } from "./marks.js";
import { drawCube } from "./tray_card.js";
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
  if (told?.chain.length || frame.moment?.kind === "loss") {
    const boxes = told?.chain.length ? drawWished(view, taken, fans) : drawError(view, fans);
    taken.panel = boxes[0] ?? null;
    return boxes;
  }
  const ball = told?.subject ? ballOf(see, frame.layout, told.subject) : null;
  if (!ball) return [];
  const { summed, bent, changes } = told;
  const [minus, , plus] = palette.ends;
  const back = BACK.has(frame.moment.kind);
  const whole = is_upright ? toldRow(view, told.subject, fans) : null;
  const panel = whole && telling.panel_of(whole, see.box, scale);
  if (panel) {
    telling.draw_sum(paper, palette, whole, panel, told.title, [minus, plus], part);
    taken.panel = panel;
    return [panel];
  }
  const hasCard = is_upright && frame.layout.fan_into(told.subject)?.[0].is_direct; // see tray_card.js
  const [wide, high] = telling.card_size(told, scale);
  const hasRoom = wide <= see.box.width && high <= see.box.height;
  if (hasCard || part < telling.COME || !hasRoom) return [];
  const subject = telling.told_about(ball, scale);
  const rows = summed ? summed.largest.map(({ row }) => row) : frame.cubes.moved[0];
  const own = [neuronBox(view, told.subject), ...rows.map((row) => cubeBox(view, row, null))];
  const others = [...spheresOf(taken, scale), ...cards, subject.inside(1)];
  others.push(...own.filter(Boolean));
  const box = telling.card_place(wide, high, subject, see.box, others);
  if (!box) return [];
  telling.draw_card(paper, palette, box, subject, back);
  const chips = summed?.largest.map((each) => chipOf(view, each));
  if (summed) telling.draw_bars(paper, palette, summed, chips, box, [minus, plus], part, back);
  else if (changes.length) {
    const colors = changes.map(({ neuron }) => channelOf(view, neuron) ?? palette.ink);
    telling.draw_changes(paper, palette, changes, colors, box, part);
  } else telling.draw_curve(paper, palette, bent, box, [minus, plus], part);
  return [box];
}

/** What cards keep clear of: words, and neurons with their names. */
function spheresOf({ boxes, spheres }, scale) {
  return [...boxes, ...spheres.map((each) => telling.kept_clear(...each.slice(0, 3), scale))];
}

/** The row of a neuron as it is seen; null if its layer has no rows that are told. */
function toldRow({ frame }, neuron, fans) {
  const { layout } = frame;
  const [fan, unit] = layout.fan_into(neuron) ?? [];
  const seen = fan && fans[layout.fans.indexOf(fan)];
  if (!seen || fan.is_direct || fan.is_tiled || seen.feet[unit].length > telling.ROWED) return null;
  const { values, terms, halves } = carried(fan, frame);
  const feet = seen.feet[unit];
  const tops = feet.map(([, y], i) => y - 2.1 * halves[unit][i] * seen.cell);
  const weights = feet.map((_, column) => frame.weights[fan.row_of(unit, column)]);
  const result = terms[unit].reduce((sum, each) => sum + each, 0);
  return new telling.ToldRow(feet, tops, seen.gates[unit], seen.left, values, weights, result);
}

/** Draw what a weight is to become, and why; return the box of the panel.
 *
 * It stands below or above its row, else beside its cube.
 */
function drawWished(view, taken, fans) {
  const { paper, see, frame, palette, scale } = view;
  const { told, pushes, weights } = frame;
  const { row } = told.chain[0];
  const near = cubeBox(view, row, null);
  if (!near || !Number.isFinite(pushes?.[row])) return [];
  const about = told.neurons.length ? toldRow(view, told.neurons[0], fans) : null;
  let box = about && telling.wish_of(about, see.box, scale);
  if (!box) {
    const [wide, high] = [telling.WISH_WIDE * scale, telling.WISH * scale];
    const around = near.inside(-telling.BESIDE * scale);
    const others = [...spheresOf(taken, scale), near];
    box = telling.card_place(wide, high, around, see.box, others);
  }
  if (!box) return [];
  const most = pushes.reduce((top, each) => Math.max(top, Math.abs(each) || 0), 0) || 1;
  const share = weights[row] / (frame.sizeScaleAt(row) || 1);
  const words = telling.wish_words(told, share, pushes[row] / most);
  const cube = [share, telling.wished(share, pushes[row] / most)];
  const draw = (cubes) => cubes.forEach((each) => drawCube(view, ...each));
  telling.draw_wish(paper, palette, box, cube, words, draw);
  return [box];
}

/** Draw how wrong the answer is, in the place of the last layer. */
function drawError(view, fans) {
  const { paper, see, frame, palette, scale } = view;
  const { answers, target, words } = frame;
  const [fan, line] = [fans.at(-1), frame.layout.neurons.at(-1)];
  if (!fan || !answers || !target || answers.length > telling.FEW_OUTPUTS) return [];
  const misses = Array.from(answers, (out, i) => {
    const color = line.is_color ? palette.channels[i] : palette.ink;
    return new telling.Miss(line.names[i] ?? text("picture.out"), color, out, target[i]);
  });
  const [left, right] = [fan.left - 30 * scale, fan.gates[0][0] + fan.half_gate];
  const box = new Box(left, see.box.y, right - left, see.box.height);
  if (box.width < telling.LEAST_WIDE * scale) return [];
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
