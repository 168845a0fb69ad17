// What an operation tells in the picture: its sum, and the names of what it speaks of; as
// scene/callout.py.

import { Box } from "./story/camera.js";
import { Ball, FARTHEST, SPOKEN_LETTERS, lead } from "./story/annotations.js";
import * as telling from "./story/telling.js";
import { BACK } from "./story/pace.js";
import { ends_of_bars } from "./story/caption.js";
import { areAt } from "./lights.js";
import { cubeBox, neuronBox } from "./marks.js";
import { drawCube } from "./tray_card.js";
import { rowsSpokenOf } from "./cube_numbers.js";
import { text } from "./texts.js";

const CALLOUT = {
  places: [32, 24], // places that are tried, across and down
  subject: 1e8, // what a covered pixel of the subject costs, in pixels of distance,
  covered: 1e4, // another one,
  cubes: 1e3, // one of a cube,
  dimmed: 0.005, // and of one out of focus
  beside: 12, // least pixels from a neuron to its card
  equal: 1e-3, // to be a pixel further right; down twice as much
  most: 200, // cubes that it keeps clear of
  cube: 0.42, // half the side of the box around a cube
};

/** Draw how an operation comes to its number; return the boxes of what was drawn.
 *
 * A sum stands forward on an upright tray, and as bars; an activation has its curve; why a weight
 * is to change is a chain.
 */
export function drawTold(view, taken, cards = []) {
  const { paper, see, frame, palette, scale } = view;
  const { told, part, isUpright } = frame;
  if (told?.chain.length) {
    const things = told.chain.map(({ row, neuron }) =>
      neuron ? neuronBox(view, neuron) : cubeBox(view, row, null),
    );
    const places = telling.chain_places(paper, told.chain, things, see.box);
    telling.draw_chain(paper, palette, told.chain, things, places, part);
    return places;
  }
  const ball = told?.neurons.length ? ballOf(see, frame.layout, told.neurons[0]) : null;
  if (!ball) return [];
  const { summed, bent } = told;
  const [minus, , plus] = palette.ends;
  const [back, boxes] = [BACK.has(frame.moment.kind), []];
  const lanes = summed ? lanesOf(view, summed) : [];
  const hasCard = isUpright && frame.layout.fanInto(told.neurons[0])?.fan.direct; // see tray_card.js
  const tray = isUpright && !hasCard ? telling.stood(lanes, ball, see.box, scale, part) : null;
  if (tray) {
    boxes.push(tray.box);
    const cubes = (all) => all.forEach((each) => drawCube(view, ...each));
    telling.draw_upright(paper, palette, lanes, ball, tray, [minus, plus], part, cubes);
  }
  const [wide, high] = summed
    ? telling.bars_size(ends_of_bars(summed).length, scale)
    : telling.CURVE.map((each) => each * scale);
  if (part < telling.COME || wide > see.box.width || high > see.box.height) return boxes;
  const reach = ball.radius + CALLOUT.beside * scale;
  const subject = new Box(ball.x - reach, ball.y - reach, 2 * reach, 2 * reach);
  const around = { ...taken, boxes: [...taken.boxes, ...boxes, ...cards] };
  const box = freePlace(view, around, subject, [wide, high], Infinity);
  telling.draw_card(paper, palette, box, subject, back);
  const chips = lanes.map((each) => (each.ball ? each.color : null));
  if (summed) telling.draw_bars(paper, palette, summed, chips, box, [minus, plus], part, back);
  else telling.draw_curve(paper, palette, bent, box, [minus, plus], part);
  return [...boxes, box];
}

/** A neuron as it is seen; null if it is not in the picture. */
function ballOf(see, layout, neuron) {
  const line = layout.lineOf(neuron);
  if (!line || neuron[1] >= line.count) return null;
  const { x, y, unit, depth } = see.one(line.point(neuron[1]));
  const radius = (line.isImages ? 0.5 * line.side : line.radius) * unit;
  return Number.isFinite(x + y) ? new Ball(x, y, radius, depth, unit) : null;
}

/** The products of a sum as they are seen. */
function lanesOf({ see, frame, palette }, summed) {
  const [minus, , plus] = palette.ends;
  return summed.largest.map(({ neuron, row, number, weight }) => {
    const isTube = frame.layout.lineOf(neuron)?.is_color ?? false;
    const hue = number < 0 ? minus : plus;
    const color = isTube ? (palette.channels[neuron[1] % 3] ?? hue) : hue;
    const share = weight / (frame.sizeScaleAt(row) || 1);
    return new telling.Lane(
      ballOf(see, frame.layout, neuron),
      color,
      isTube,
      number,
      weight,
      share,
    );
  });
}

/** The box around a neuron; null if it is behind the eye. */
function boxAround(see, line, place) {
  const { x, y, unit } = see.one(line.point(place));
  const half = (line.isImages ? 0.5 * line.side : line.radius) * unit;
  return Number.isFinite(x + y) ? new Box(x - half, y - half, 2 * half, 2 * half) : null;
}

/** The box within reach of its subject that covers least, with its `cost`.
 *
 * Of those that cover as little, it is the nearest one.
 */
function freePlace(view, taken, subject, [wide, high], reach) {
  const { see, frame } = view;
  const count = frame.sizes.length;
  const around = ([x, y, r]) => new Box(x - r, y - r, 2 * r, 2 * r);
  const every = count <= CALLOUT.most ? frame.sizes.keys() : rowsSpokenOf(frame);
  const words = [...taken.boxes, ...nameBoxes(view), ...taken.spheres.map(around)];
  const priced = (boxes, price) => boxes.map((box) => [box, price]);
  const covers = [
    [subject, CALLOUT.subject],
    ...priced(words, CALLOUT.covered),
    ...priced(cubeBoxes(view, every), frame.told ? CALLOUT.dimmed : CALLOUT.cubes),
  ];
  const places = (low, top, first, last, steps) => {
    const [start, end] = [Math.max(low, first - reach), Math.min(top, last + reach)];
    return Array.from({ length: steps }, (_, i) => start + (i / (steps - 1)) * (end - start));
  };
  const { box: all } = see;
  const [across, down] = CALLOUT.places;
  const { x, y, right, bottom } = subject;
  let best = null;
  for (const left of places(all.x, all.right - wide, x - wide, right, across)) {
    for (const top of places(all.y, all.bottom - high, y - high, bottom, down)) {
      const box = new Box(left, top, wide, high);
      const [start, end] = box.shortest(subject);
      const away = Math.hypot(end[0] - start[0], end[1] - start[1]);
      let cost = away + (away > reach ? 1e9 : 0) + CALLOUT.equal * (left + 2 * top);
      if (best && cost >= best.cost) continue;
      for (const [each, price] of covers) cost += price * overlap(box, each);
      if (!best || cost < best.cost) best = Object.assign(box, { cost });
    }
  }
  return best;
}

function overlap(a, b) {
  const wide = Math.min(a.right, b.right) - Math.max(a.x, b.x);
  const high = Math.min(a.bottom, b.bottom) - Math.max(a.y, b.y);
  return Math.max(wide, 0) * Math.max(high, 0);
}

/** The boxes of some cubes. */
function cubeBoxes(view, rows) {
  return [...rows].map((row) => cubeBox(view, row, CALLOUT.cube)).filter(Boolean);
}

/** The boxes of the names below spheres, and of the errors below those of a loss. */
function nameBoxes({ see, frame, scale }) {
  const found = [];
  const last = frame.layout.neurons.at(-1);
  for (const line of frame.layout.neurons) {
    if (!line.names.length || line.isImages) continue;
    const { x, y, unit } = see.see(line.points);
    const high = (17 + (line === last && frame.moment?.kind === "loss" ? 45 : 0)) * scale;
    x.forEach((each, i) => {
      const below = y[i] + line.radius * unit[i];
      if (Number.isFinite(each + below))
        found.push(new Box(each - 20 * scale, below, 40 * scale, high));
    });
  }
  return found;
}

// Names of the neurons in a sentence or a card, beside their spheres.

const NAMES = [
  "captions.unit.neuron",
  "captions.unit.wave",
  "captions.end.output",
  "captions.end.input",
];

/** Write names beside spheres, where they cover nothing. */
export function drawSpoken(view, taken) {
  const { paper, see, frame, palette, scale } = view;
  const { told, places } = spokenIn(frame);
  const written = paper.words.join(" ").toLowerCase();
  const size = SPOKEN_LETTERS * scale;
  for (const line of places.length ? frame.layout.neurons : []) {
    const isTold = line.names.length || line.isImages ? [] : areAt(line, places);
    for (const [place, is] of isTold.slice(0, line.count).entries()) {
      const names = is ? NAMES.map((key) => text(key, { number: place, name: place })) : [];
      for (const words of names) {
        if (!told.includes(words) || written.includes(words)) continue;
        const subject = boxAround(see, line, place);
        if (!subject) continue;
        /** @type {[number, number]} */
        const sides = [paper.measure(words, { size }), 1.1 * size];
        const box = freePlace(view, taken, subject, sides, 2 * FARTHEST * scale);
        taken.boxes.push(box);
        lead(paper, box, subject, palette.quiet);
        const look = { size, color: palette.ink, outline: palette.ground };
        paper.text(box.x, box.y + 0.9 * size, words, look);
      }
    }
  }
}

/** What the caption and the card say, and where the neurons stand that these are about. */
function spokenIn({ layout, moment, caption, named, pinnedRow, pinnedNeuron }) {
  const said = moment && caption;
  const neurons = [...(said?.neurons ?? []), pinnedNeuron].filter(Boolean);
  const rows = [...(said?.rows ?? []).slice(0, 1), pinnedRow].filter((row) => row >= 0);
  const lines = neurons.map((neuron) => [layout.lineOf(neuron), neuron[1]]);
  const places = lines.filter(([line]) => line).map(([line, place]) => line.point(place));
  for (const row of rows) {
    const { fan, unit } = layout.fanOf(row) ?? {};
    if (fan) places.push(...fan.endsOf(row, unit));
  }
  return { told: `${said?.title ?? ""} ${named}`.toLowerCase(), places };
}
