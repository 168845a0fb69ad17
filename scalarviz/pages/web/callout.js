// The callout: a few words beside the neuron or cube that the caption is about; as
// scene/callout.py.

import { Box } from "./story/camera.js";
import { ends_of_bars, words_beside } from "./story/caption.js";
import { along3, minus3 } from "./projection.js";
import { WAY_BACK, areAt } from "./lights.js";
import { cubeBox } from "./marks.js";
import { marksOf } from "./cube_numbers.js";
import { LABELS } from "./labels.js";
import { text } from "./texts.js";
import { rounded, short } from "./story/decimals.js";

const CALLOUT = {
  size: 14, // letters
  pad: 8, // space around them
  gap: 8, // and from what they name
  farthest: 56, // of words without bars
  places: [32, 24], // places that are tried, across and down
  subject: 1e8, // what a covered pixel of the subject costs, in pixels of distance,
  covered: 1e4, // another one,
  much: 1e6, // for which the name is left out
  cubes: 1e3, // and one of a cube
  equal: 1e-3, // to be a pixel further right; down twice as much
  shorter: 60, // what it costs to leave out the name, which is marked anyway
  step: 4, // logical pixels of which the width of the box is a multiple
  most: 200, // cubes that it keeps clear of
  cube: 0.42, // half the side of the box around a cube
};

/** Write beside the subject of an operation what it is and has, below its bars; return the box. */
export function drawCallout(view, taken) {
  const { paper, see, frame, palette, scale } = view;
  const said = frame.caption && words_beside(frame.caption);
  const subject = frame.moment && said && subjectOf(view);
  const isKnown = frame.part >= frame.scene.pace.arrives;
  const summed = frame.caption?.summed ?? null;
  if (!subject || !(summed || isKnown)) return null;
  const ends = summed ? ends_of_bars(summed) : [];
  const { row, long } = frame.scene.stack;
  const [size, pad] = [CALLOUT.size * scale, CALLOUT.pad * scale];
  const high = size + 1.4 * pad + ends.length * row * scale;
  let [box, words] = [null, said];
  [said, said.split(": ").at(-1)].forEach((each, cut) => {
    const room = paper.measure(each, { size, bold: true }) + 2 * pad;
    const least = CALLOUT.step * Math.ceil(room / CALLOUT.step); // fonts differ by parts of a pixel
    const wide = Math.max(least, summed ? (long * scale) / (1 + cut) : 0);
    if (wide > see.box.width || high > see.box.height) return;
    const reach = summed ? Infinity : CALLOUT.farthest * scale;
    const place = freePlace(view, taken, subject, [wide, high], reach);
    place.cost += CALLOUT.shorter * cut;
    const isBad = summed || box?.cost > CALLOUT.much;
    if (!box || (isBad && place.cost < box.cost)) [box, words] = [place, each];
  });
  if (!box) return null;
  const light = WAY_BACK.has(frame.moment.kind) ? palette.accent : palette.light;
  lead(view, box, subject, light);
  const low = size + 1.4 * pad;
  const look = { radius: 0.4 * low, outline: light, line: 1.5 * scale };
  paper.box(box.x, box.y, box.width, box.height, palette.panel.slice(0, 7), look);
  if (summed) drawTerms(view, summed, [box.x + pad, box.y + 0.7 * pad, box.width - 2 * pad], ends);
  const base = box.bottom - 0.5 * low + 0.36 * size;
  if (!isKnown) words = words.split(": ").slice(0, -1).join(": "); // the name, until the number is there
  paper.text(box.x + pad, base, words, { size, color: palette.ink, bold: true });
  return box;
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

/** Draw a line from words to their subject, unless they touch it. */
export function lead({ paper, scale }, box, subject, color) {
  const [start, end] = box.shortest(subject);
  const apart = Math.hypot(end[0] - start[0], end[1] - start[1]);
  if (apart > CALLOUT.gap * scale + 1) paper.segment(start, end, color, { width: 1.5 * scale });
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
  const size = LABELS.size * scale;
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
        const box = freePlace(view, taken, subject, sides, 2 * CALLOUT.farthest * scale);
        taken.boxes.push(box);
        lead(view, box, subject, palette.quiet);
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

// Terms of a sum of products: their numbers travel along the lines and stack up to the sum.

/** Draw the bars of a sum as far as they have come, and the numbers that travel to them. */
function drawTerms(view, { largest }, [x, y, wide], ends) {
  const { paper, see, frame, palette, scale } = view;
  const { pace, stack } = frame.scene;
  const [step, high, thin] = [stack.row * scale, stack.high * scale, { width: scale }];
  const left = (pace.terms + 1) * Math.min(1, frame.part / pace.arrives);
  const last = ends.length - 1;
  const factor = (/** @type {number} */ value) =>
    Math.abs(value) >= stack.least || !value ? short(value) : rounded(value);
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

/** Where a number is seen on its way to its cube, [x, y]; null if one is not in the picture. */
function placeOfNumber(see, layout, { row, neuron }, part) {
  const [line, found] = [layout.lineOf(neuron), layout.plateOf(row)];
  if (!line || !found) return null;
  const start = line.point(neuron[1]);
  const end = found.plate.middle(found.row, found.column);
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
