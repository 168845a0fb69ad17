// The callout: a few words beside the neuron or cube that the caption is about; as
// scene/callout.py.

import { Box } from "./story/camera.js";
import { FARTHEST, SPOKEN_LETTERS, lead, write_callout } from "./story/annotations.js";
import { along3, minus3 } from "./projection.js";
import { BACK } from "./story/pace.js";
import { areAt } from "./lights.js";
import { cubeBox } from "./marks.js";
import { marksOf } from "./cube_numbers.js";
import { text } from "./texts.js";

const CALLOUT = {
  places: [32, 24], // places that are tried, across and down
  subject: 1e8, // what a covered pixel of the subject costs, in pixels of distance,
  covered: 1e4, // another one,
  cubes: 1e3, // and one of a cube
  equal: 1e-3, // to be a pixel further right; down twice as much
  most: 200, // cubes that it keeps clear of
  cube: 0.42, // half the side of the box around a cube
};

/** Write beside the subject of an operation what it is and has, below its bars; return the box. */
export function drawCallout(view, taken) {
  const { paper, see, frame, palette } = view;
  const subject = frame.moment && frame.caption && subjectOf(view);
  if (!subject) return null;
  const free = (wide, high, reach) => {
    const box = freePlace(view, taken, subject, [wide, high], reach);
    return [box, box.cost];
  };
  const place = (summand, part) => placeOfNumber(see, frame.layout, summand, part);
  const [minus, , plus] = palette.ends;
  const about = [frame.caption, subject, see.box, [minus, plus], frame.part, free, place];
  return write_callout(paper, palette, ...about, BACK.has(frame.moment.kind));
}

/** The box around what the caption is about; null if that is not in the picture. */
function subjectOf(view) {
  const { see, frame } = view;
  const row = frame.caption.rows?.[0] ?? -1;
  const cube = row >= 0 ? cubeBox(view, row, CALLOUT.cube) : null;
  if (cube) return cube;
  const neuron = frame.caption.neurons?.[0];
  const line = neuron && frame.layout.lineOf(neuron);
  return line ? boxAround(see, line, neuron[1]) : null;
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
  const every = count <= CALLOUT.most ? frame.sizes.keys() : marksOf(frame).keys();
  const words = [...taken.boxes, ...nameBoxes(view), ...taken.spheres.map(around)];
  const priced = (boxes, price) => boxes.map((box) => [box, price]);
  const covers = [
    [subject, CALLOUT.subject],
    ...priced(words, CALLOUT.covered),
    ...priced(cubeBoxes(view, every), CALLOUT.cubes),
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

/** Where a number is seen on its way to its cube, [x, y]; null if one is not in the picture. */
function placeOfNumber(see, layout, { row, neuron }, part) {
  const [line, found] = [layout.lineOf(neuron), layout.plateOf(row)];
  if (!line || !found) return null;
  const start = line.point(neuron[1]);
  const end = found.plate.middle(found.row, found.column);
  const { x, y } = see.one(along3(start, part, minus3(end, start)));
  return Number.isFinite(x + y) ? [x, y] : null;
}
