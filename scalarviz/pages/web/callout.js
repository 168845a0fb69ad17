// The callout: a few words beside the neuron or cube that the caption is about; as view/callout.py.

import { Box } from "./camera.js";
import { WAY_BACK } from "./lights.js";
import { cornersOfCube } from "./marks.js";
import { marksOf } from "./numbers.js";

const CALLOUT = {
  size: 14, // letters
  pad: 8, // space around them
  gap: 8, // and from what they name
  words: 4, // so much worse is it to cover words than a part of a sphere
  known: 0.8, // part of an operation from which on its result is known
  cube: 0.42, // half the side of the box around a cube
};

/** Write beside the subject of an operation what it is and has. */
export function drawCallout(view, taken) {
  const { paper, frame, palette, scale } = view;
  const words = calloutWords(frame);
  if (!frame.moment || !words || frame.part < CALLOUT.known) return;
  const subject = subjectOf(view);
  if (!subject) return;
  const size = CALLOUT.size * scale;
  const wide = paper.measure(words, { size, bold: true }) + 2 * CALLOUT.pad * scale;
  const high = size + 1.4 * CALLOUT.pad * scale;
  const written = [...taken.boxes, ...nameBoxes(view)];
  const others = [...written.map((box) => [box, CALLOUT.words]), ...toldBoxes(view).map((box) => [box, 1])];
  const box = placeForWords(view, subject, wide, high, taken.spheres, others);
  const light = WAY_BACK.has(frame.moment.kind) ? palette.accent : palette.light;
  const look = { radius: 0.4 * high, outline: light, line: 1.5 * scale };
  paper.box(box.x, box.y, box.width, box.height, palette.panel.slice(0, 7), look);
  const base = box.y + 0.5 * high + 0.36 * size;
  paper.text(box.x + CALLOUT.pad * scale, base, words, { size, color: palette.ink, bold: true });
}

/** What stands beside the subject: the callout, or else what its cube would say. */
function calloutWords({ caption, pieces }) {
  if (!caption) return "";
  const first = caption.rows?.[0] ?? -1;
  const mark = pieces.find((piece) => first >= 0 && piece.row === first && piece.mark)?.mark ?? "";
  return caption.callout || mark.split("\n").join(" ");
}

/** The box around what the caption is about; null if that is not in the picture. */
function subjectOf(view) {
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

/** Where the words cover little of spheres and other boxes: above, below, or aside. */
function placeForWords({ see, scale }, subject, wide, high, spheres, others) {
  const gap = CALLOUT.gap * scale;
  const middle = subject.y + 0.5 * (subject.height - high);
  const level = subject.x + 0.5 * (subject.width - wide);
  const [left, right] = [subject.x - gap - wide, subject.right + gap];
  const [above, below] = [subject.y - gap - high, subject.bottom + gap];
  const { box: view } = see;
  const places = [
    [level, above], [subject.right - wide, above], [subject.x, above], [left, middle], [right, middle],
    [left, above], [right, above], [level, below], [left, below], [right, below],
  ].map(([x, y]) => {
    const across = Math.min(Math.max(x, view.x), Math.max(view.x, view.right - wide));
    const down = Math.min(Math.max(y, view.y), Math.max(view.y, view.bottom - high));
    return new Box(across, down, wide, high);
  });
  const parts = spheres.map(([x, y, r]) => [new Box(x - r, y - r, 2 * r, 2 * r), 1]);
  const costs = places.map((box) => {
    const own = box.meets(subject) ? 1e6 : 0;
    return [...parts, ...others].reduce((sum, [other, weight]) => sum + weight * overlap(box, other), own);
  });
  return places[costs.indexOf(Math.min(...costs))];
}

function overlap(a, b) {
  const wide = Math.min(a.right, b.right) - Math.max(a.x, b.x);
  const high = Math.min(a.bottom, b.bottom) - Math.max(a.y, b.y);
  return Math.max(wide, 0) * Math.max(high, 0);
}

/** The boxes of the cubes with the arithmetic of the caption. */
function toldBoxes(view) {
  return [...marksOf(view.frame).keys()].map((row) => cubeBox(view, row)).filter(Boolean);
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
      if (Number.isFinite(each + below)) found.push(new Box(each - 20 * scale, below, 40 * scale, high));
    });
  }
  return found;
}
