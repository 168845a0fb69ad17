// Labels: IN and OUT where they cover nothing, and colors beside neurons; as scene/labels.py.

import { Box } from "./story/camera.js";
import { colorOf } from "./palette.js";
import { classOf } from "./formulas.js";
import { sign_words, write_end } from "./story/annotations.js";
import { LinePaint } from "./lines.js";
import { BEHIND, curve } from "./story/ways.js";
import { ballsOf, goodOf } from "./neuron_images.js";
import { text } from "./texts.js";

const LABELS = {
  margin: 16, // pixels by which a label may leave the box of the network
  wire: 1.4, // of a line to a result without colors
};

/** Write which line is the input and which the output; return what is taken. */
export function drawLabels(view) {
  const taken = obstaclesOf(view);
  drawEnds(view, taken);
  return taken;
}

/** What words must not cover: boxes, spheres [x, y, radius], and convex outlines. */
class Obstacles {
  constructor(boxes, spheres, polygons) {
    this.boxes = boxes;
    this.spheres = spheres;
    this.polygons = polygons;
    this.words = []; // words in space, whose boxes are the last of the first `placed` ones
    this.placed = boxes.length;
  }

  /** Keep a place free for words in space, (x, y) the middle of their line. */
  place(paper, x, y, words, look) {
    const wide = paper.measure(words, look);
    this.boxes.push(new Box(x - 0.5 * wide, y - 0.8 * look.size, wide, look.size));
    this.words.push({ box: this.boxes.at(-1), place: [x, y, words, look] });
    this.placed = this.boxes.length;
  }

  /** Write words in space, but those on which a card or a later box lies. */
  write({ paper, palette }, cards) {
    const others = [...this.boxes.slice(this.placed), ...cards];
    for (const { box, place } of this.words) {
      const [x, y, words, look] = place;
      if (others.some((other) => box.meets(other))) continue;
      paper.text(x, y, words, { ...look, anchor: "center", outline: palette.ground });
    }
  }

  /** The share of a box with something of the network or its labels under it. */
  covered(box) {
    const points = pointsIn(box, 25, 7);
    const found = points.filter(
      ([x, y]) =>
        this.spheres.some((each) => Math.hypot(x - each[0], y - each[1]) < each[2]) ||
        this.boxes.some((each) => each.has(x, y)) ||
        this.polygons.some((polygon) => isInside([x, y], polygon)),
    );
    return found.length / points.length;
  }

  /** Whether a box covers a part of a sphere. */
  onSphere(box) {
    return this.spheres.some(([x, y, radius]) => {
      const aside = Math.max(box.x - x, x - box.right, 0);
      const apart = Math.max(box.y - y, y - box.bottom, 0);
      return aside ** 2 + apart ** 2 < radius ** 2;
    });
  }
}

/** Points of a grid over a box. */
function pointsIn({ x, y, width, height }, across, down) {
  return Array.from({ length: across * down }, (_, i) => [
    x + (Math.floor(i / down) / (across - 1)) * width,
    y + ((i % down) / (down - 1)) * height,
  ]);
}

function obstaclesOf(view) {
  const { see, frame, scale } = view;
  const { neurons, plates } = frame.layout;
  const boxes = [tiedColor({ frame, see, scale })?.box].filter(Boolean);
  const spheres = [];
  const polygons = plates.map((plate) => outline(see.see(plate.corners(frame.scene.shader.half))));
  for (const line of neurons) {
    const seen = line.isImages ? null : see.see(line.points);
    for (const i of seen ? goodOf(seen) : [])
      spheres.push([seen.x[i], seen.y[i], line.radius * seen.unit[i]]);
    for (let i = 0; line.isImages && i < line.shape[0]; i++) {
      const { x, y } = see.see(line.corners().subarray(9 * i, 9 * i + 9));
      const fourth = [x[1] + x[2] - x[0], y[1] + y[2] - y[0]];
      polygons.push(outline({ x: [...x, fourth[0]], y: [...y, fourth[1]] }));
    }
  }
  const wide = polygons.filter((polygon) => polygon.length > 2);
  return new Obstacles(boxes, spheres, wide);
}

/** The convex outline of points, counterclockwise; empty if one is behind the eye. */
function outline({ x, y }) {
  const points = Array.from(x, (each, i) => [each, y[i]]);
  if (!points.every(([a, b]) => Number.isFinite(a + b))) return [];
  points.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const found = [];
  for (const order of [points, [...points].reverse()]) {
    const first = found.length;
    for (const point of order) {
      while (found.length - first > 1 && turnOf(found.at(-2), found.at(-1), point) <= 0)
        found.pop();
      found.push(point);
    }
    found.pop();
  }
  return found;
}

function turnOf(a, b, c) {
  return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
}

function isInside(point, polygon) {
  return polygon.every(
    (corner, i) => turnOf(corner, polygon[(i + 1) % polygon.length], point) >= 0,
  );
}

/** Write which line is the input and which the output. */
function drawEnds({ paper, see, frame, palette, scale }, taken) {
  const { neurons, signs, written } = frame.layout;
  if (neurons.length < 2 || signs.length || written.length) return;
  const ends = frame.hasResult ? [] : [[neurons.at(-1), "out"]]; // else the result has the word
  for (const [line, key] of [[neurons[0], "in"], ...ends]) {
    if (line.tied) continue; // its color has the word
    const balls = ballsOf(see.see(line.points), line.isImages ? 0.5 * line.side : line.radius);
    const top = Math.max(see.box.y - LABELS.margin * scale, 0);
    const covers = (box) => taken.onSphere(box);
    const box = write_end(paper, palette, text(`picture.${key}`), balls, see.box, top, covers);
    if (box) taken.boxes.push(box);
  }
}

// The color that goes in, beside the neurons that stand for it.

/** Where the color of the inputs is seen; null if they are no color. */
export function tiedColor({ frame, see, scale }) {
  const [line] = frame.layout.neurons;
  if (!line?.tied) return null;
  const { place, side: long, largest, letters } = line.tied;
  const { x, y, unit, depth } = see.one(place);
  const side = Math.min(long * unit, largest * scale);
  if (!Number.isFinite(x + y)) return null;
  const high = side + 1.6 * letters * scale;
  const box = new Box(x - side / 2, y + side / 2 - high, side, high);
  return { line, box, x, y, depth, side, color: frame.values[line.values] };
}

/** Draw the color that goes in, with a tube to each of its neurons. */
export function drawTied(view) {
  const { paper, palette, see, scale } = view;
  const tied = tiedColor(view);
  if (!tied) return;
  const { line, x, y, depth, side, color } = tied;
  const { letters } = line.tied;
  const seen = see.see(line.points);
  const paint = new LinePaint(paper, palette);
  for (let i = 0; i < line.count; i++) {
    const start = [x + side / 2, y + 0.8 * side * ((i + 0.5) / line.count - 0.5)];
    const end = [seen.x[i] - line.radius * seen.unit[i], seen.y[i]];
    paint.tube(curve(start, end), i, color?.[i] ?? 0);
  }
  const known = color && !color.some(Number.isNaN);
  const fill = known ? Array.from(color, (each) => Math.min(1, Math.max(0, each))) : null;
  const look = { radius: 0.125 * side, outline: palette.ghost, depth };
  paper.box(x - side / 2, y - side / 2, side, side, fill, look);
  const size = letters * scale;
  const bold = { size, bold: true, anchor: "center", color: palette.ink, outline: palette.ground };
  paper.text(x, y - side / 2 - 0.6 * size, text("picture.in"), bold);
}

/** Draw lines from the outputs to the result: one each, or from the answer, or from their middle. */
export function drawDoors({ paper, palette, see, frame }) {
  const { doors, layout, values, answers } = frame;
  const line = layout.neurons.at(-1);
  const { x, y, unit } = see.see(line.points);
  let starts = Array.from(x, (each, i) => [each + line.radius * unit[i], y[i]]);
  if (doors.length < starts.length && answers) starts = [starts[classOf(answers) || 0]];
  else if (doors.length < starts.length) starts = [[0, 1].map((k) => middleOf(starts, k))];
  const paint = new LinePaint(paper, palette);
  const width = LABELS.wire * paper.scale;
  doors.forEach((door, i) => {
    const path = curve(starts[i], door);
    if (line.is_color) paint.tube(path, i, values[line.values]?.[i]);
    else paint.path(path, colorOf(palette.quiet), width, BEHIND);
  });
}

const middleOf = (points, k) => points.reduce((sum, each) => sum + each[k], 0) / points.length;

// Signs of a graph: the operation above each node, its name and its gradient below.

/** Place words in space, as large as their parts of a line are seen. */
export function placeWritten({ paper, see, frame, palette, scale }, taken) {
  let [edge, line] = [-Infinity, 0]; // where the last words end; a name that meets them is left out
  for (const { words, ends, least } of frame.layout.written) {
    const { x, y } = see.see(ends);
    if (![...x, ...y].every(Number.isFinite)) continue;
    const wide = Math.hypot(x[1] - x[0], y[1] - y[0]) / paper.measure(words, { size: 20 });
    const named = Math.max(least, ...[12, 14, 16].filter((step) => step * scale <= 20 * wide));
    const size = least ? named * scale : 20 * wide;
    const [middle, high] = [(x[0] + x[1]) / 2, (y[0] + y[1]) / 2];
    const half = 0.5 * paper.measure(words, { size });
    const apart = middle - half >= edge + 0.5 * size || Math.abs(high - line) >= size;
    if (least && !apart) continue;
    taken.place(paper, middle, high + 0.36 * size, words, { size, color: palette.ink });
    [edge, line] = [middle + half, high];
  }
}

/** Place what stands around the nodes of a graph; smaller than readable, nothing. */
export function placeSigns({ paper, see, frame, palette }, taken) {
  const { signs } = frame.layout;
  const balls = signs.flatMap((sign) => ballsOf(see.see(sign.middle), sign.radius));
  const gradients = signs.map((sign) => gradientOf(sign, frame));
  for (const [x, y, words, size, color, bold] of sign_words(
    paper,
    palette,
    signs,
    balls,
    gradients,
  ))
    taken.place(paper, x, y, words, { size, color, bold });
}

/** The gradient of a node as far as it is known in this step; null if it is not. */
function gradientOf({ row, buffer }, { pushes, flows }) {
  const found = row >= 0 ? pushes?.[row] : flows[buffer]?.[0];
  return found === undefined || Number.isNaN(found) ? null : found;
}
