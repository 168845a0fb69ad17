// The callout: a few words beside the neuron or cube that the caption is about; as pictures/view/callout.py.

import { Box } from "./camera.js";
import { WAY_BACK } from "./lights.js";
import { cornersOfCube } from "./marks.js";
import { marksOf } from "./numbers.js";

export const CALLOUT = {
  size: 14, // letters
  pad: 8, // space around them
  gap: 8, // and from what they name
  words: 4, // what it costs to cover a pixel of words,
  spheres: 4, // of spheres,
  told: 1, // of cubes with arithmetic,
  cubes: 0.3, // and of others,
  far: 6, // and to be a pixel further away
  farthest: 7, // from what they name, in gaps
  away: [0, 1, 2], // distances that are tried, in heights of the box
  aside: [0, -1, 1, -0.5, 0.5, -0.75, 0.75, -0.25, 0.25], // from its middle to its sides
  step: 4, // logical pixels of which the width of the box is a multiple
  most: 200, // cubes that it keeps clear of
  known: 0.8, // part of an operation from which on its result is known
  cube: 0.42, // half the side of the box around a cube
};

/** The width of the box of words, in whole steps: fonts differ by parts of a pixel. */
export function widthOfWords({ paper, scale }, words) {
  const look = { size: CALLOUT.size * scale, bold: true };
  const room = paper.measure(words, look) + 2 * CALLOUT.pad * scale;
  return CALLOUT.step * Math.ceil(room / CALLOUT.step);
}

/** Write beside the subject of an operation what it is and has. */
export function drawCallout(view, taken) {
  const { paper, frame, palette, scale } = view;
  const words = calloutWords(frame);
  if (!frame.moment || !words || frame.part < CALLOUT.known) return;
  const subject = subjectOf(view);
  if (!subject) return;
  const size = CALLOUT.size * scale;
  const wide = widthOfWords(view, words);
  const high = size + 1.4 * CALLOUT.pad * scale;
  const box = placeForWords(view, subject, wide, high, coversOf(view, taken));
  drawPanel(view, box, subject);
  const base = box.y + 0.5 * high + 0.36 * size;
  paper.text(box.x + CALLOUT.pad * scale, base, words, { size, color: palette.ink, bold: true });
}

/** Boxes of what words beside a subject may cover, with what a pixel of each costs. */
export function coversOf(view, taken) {
  const { frame } = view;
  const priced = (boxes, price) => boxes.map((box) => [box, price]);
  const around = ([x, y, r]) => new Box(x - r, y - r, 2 * r, 2 * r);
  const every = frame.sizes.length <= CALLOUT.most ? frame.sizes.keys() : [];
  return [
    ...priced([...taken.boxes, ...nameBoxes(view)], CALLOUT.words),
    ...priced(cubeBoxes(view, marksOf(frame).keys()), CALLOUT.told),
    ...priced(cubeBoxes(view, every), CALLOUT.cubes),
    ...priced(taken.spheres.map(around), CALLOUT.spheres),
  ];
}

/** Draw the ground of words beside a subject, and a line from one that is away from it. */
export function drawPanel({ paper, frame, palette, scale }, box, subject) {
  const light = WAY_BACK.has(frame.moment.kind) ? palette.accent : palette.light;
  const ends = shortestLine(box, subject);
  const apart = Math.hypot(ends[1][0] - ends[0][0], ends[1][1] - ends[0][1]);
  if (apart > CALLOUT.gap * scale + 1) paper.segment(...ends, light, { width: 1.5 * scale });
  const radius = 0.4 * (CALLOUT.size + 1.4 * CALLOUT.pad) * scale;
  const look = { radius, outline: light, line: 1.5 * scale };
  paper.box(box.x, box.y, box.width, box.height, palette.panel.slice(0, 7), look);
}

/** What stands beside the subject: the callout, or else what its cube would say. */
export function calloutWords({ caption, pieces }) {
  if (!caption) return "";
  const first = caption.rows?.[0] ?? -1;
  const mark = pieces.find((piece) => first >= 0 && piece.row === first && piece.mark)?.mark ?? "";
  return caption.callout || mark.split("\n").join(" ");
}

/** The box around what the caption is about; null if that is not in the picture. */
export function subjectOf(view) {
  const { see, frame } = view;
  const row = frame.caption.rows?.[0] ?? -1;
  const cube = row >= 0 ? cubeBox(view, row) : null;
  if (cube) return cube;
  const neuron = frame.caption.neurons?.[0];
  const line = neuron && frame.layout.lineOf(neuron);
  if (!line) return null;
  const { x, y, unit } = see.one(line.point(neuron[1]));
  const half = (line.isImages ? 0.5 * line.side : line.radius) * unit;
  return Number.isFinite(x + y) ? new Box(x - half, y - half, 2 * half, 2 * half) : null;
}

function cubeBox({ see, frame }, row) {
  const corners = cornersOfCube(frame, row, CALLOUT.cube);
  const { x, y } = see.see(corners ?? []);
  if (!x.length || !x.every(Number.isFinite)) return null;
  const [left, top] = [Math.min(...x), Math.min(...y)];
  return new Box(left, top, Math.max(...x) - left, Math.max(...y) - top);
}

/** Where the words cover little: above, below or aside, a little away if need be; `covers` are boxes
 * with what a covered pixel of each costs.
 */
function placeForWords({ see, scale }, subject, wide, high, covers) {
  const { box: view } = see;
  const middle = subject.y + 0.5 * (subject.height - high);
  const level = subject.x + 0.5 * (subject.width - wide);
  let [best, least] = [null, Infinity];
  for (const away of CALLOUT.away) {
    const far = CALLOUT.gap * scale + away * high;
    const reach = 0.5 * (subject.width + wide) + far;
    const [above, below] = [subject.y - far - high, subject.bottom + far];
    // prettier-ignore
    const places = [[level - reach, middle], [level + reach, middle]];
    for (const y of [above, below]) {
      places.push(...CALLOUT.aside.map((aside) => [level + aside * reach, y]));
    }
    for (const [x, y] of places) {
      const across = Math.min(Math.max(x, view.x), Math.max(view.x, view.right - wide));
      const down = Math.min(Math.max(y, view.y), Math.max(view.y, view.bottom - high));
      const box = new Box(across, down, wide, high);
      const [start, end] = shortestLine(box, subject);
      const isFar =
        Math.hypot(end[0] - start[0], end[1] - start[1]) > CALLOUT.farthest * CALLOUT.gap * scale;
      const own = CALLOUT.far * away * high + (box.meets(subject) ? 1e6 : 0) + (isFar ? 1e5 : 0);
      const cost = covers.reduce((sum, [other, price]) => sum + price * overlap(box, other), own);
      if (cost < least) [best, least] = [box, cost];
    }
  }
  return best;
}

/** The ends of the shortest line between two boxes. */
export function shortestLine(box, subject) {
  const [x, y] = [
    [box.x, box.right, subject.x, subject.right],
    [box.y, box.bottom, subject.y, subject.bottom],
  ].map(([low, high, first, last]) => {
    if (high < first) return [high, first];
    if (last < low) return [low, last];
    const shared = 0.5 * (Math.max(low, first) + Math.min(high, last));
    return [shared, shared];
  });
  // prettier-ignore
  return [[x[0], y[0]], [x[1], y[1]]];
}

export function overlap(a, b) {
  const wide = Math.min(a.right, b.right) - Math.max(a.x, b.x);
  const high = Math.min(a.bottom, b.bottom) - Math.max(a.y, b.y);
  return Math.max(wide, 0) * Math.max(high, 0);
}

/** The boxes of some cubes. */
function cubeBoxes(view, rows) {
  return [...rows].map((row) => cubeBox(view, row)).filter(Boolean);
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
