// What stands on and beside the spheres of neurons; as scene/neurons.py.

import { colorOf } from "./palette.js";
import { short } from "./story/decimals.js";
import {
  crossOut,
  drawMaps,
  drawSquares,
  droppedIn,
  flowsOf,
  goodOf,
  heldBy,
  paintedLine,
  shownIn,
} from "./neuron_images.js";
import { text } from "./texts.js";

const NEURONS = {
  smallest: 7.5, // least radius of a sphere in pixels for a number
  wide: 3.6, // radii of a sphere that its number may be wide
  big: 14, // sizes of the letters of numbers
  little: 12,
  spoken: 0.7, // brightness from which on a neuron has words
  most: 128, // numbers in a line
  edge: 12, // pixels by which names may leave the box of the network at its left
  letters: 14, // of a line of a name
  few: 3, // least room for two lines, in sizes of letters
  errors: 22, // least pixels of a cell for the errors of outputs
};

/** Write names and numbers of a line of neurons, or draw images. */
export function drawNeurons(view, line) {
  drawWay(view, line);
  if (line.isImages) {
    drawMaps(view, line);
    return;
  }
  const { see, frame, paper, palette } = view;
  const seen = see.see(line.points);
  const good = goodOf(seen);
  if (!good.length) return;
  const radius = seen.unit.map((unit) => line.radius * unit);
  const front = see.see(frontsOf(line.points, line.radius, see)).depth;
  const name = shownIn(line, frame);
  const isMapped = line.square && drawSquares(view, line, seen, good);
  const reach = radius.map((each) => 0.8 * each);
  crossOut(view, seen, reach, front, droppedIn(line, frame));
  const held = isMapped ? [] : heldBy(line, frame); // hovering a map shows its number
  if (held.length) {
    const fills = paintedLine(line, frame, palette).map((each, i) =>
      palette.faded(each, view.lit.brightOf(line, i)),
    );
    const hatched = (name === line.values && frame.saturated[name]) || [];
    const least = good.reduce((low, i) => Math.min(low, radius[i]), Infinity);
    const known = good.filter((i) => i < held.length);
    const numbers = known.map((i) => held[i]);
    const { words, size } = numbersIn(view, numbers, least);
    known.forEach((i, place) => {
      const [x, y, look] = [seen.x[i], seen.y[i], { depth: front[i], hatch: 0.75 }];
      if (hatched[i]) paper.disc(x, y, 0.92 * radius[i], fills[i], look);
      if (!words || view.lit.brightOf(line, i) < NEURONS.spoken) return;
      if (hatched[i]) clearGround(view, x, y, words[place], size, fills[i], front[i]);
      writeInside(paper, x, y, front[i], words[place], size, palette.number, palette.halo);
    });
  }
  writeNames(view, line, seen, radius, good);
  if (!frame.layout.signs.length) drawFlows(view, line, seen, radius, good); // where it is written
}

/** Points just before the fronts of spheres, where their numbers stand. */
function frontsOf(points, radius, see) {
  const way = see.camera.toward.map((each) => 1.02 * radius * each);
  return points.length ? Float64Array.from(points, (each, i) => each + way[i % 3]) : points;
}

/** The numbers of a line, and their size; none if they would be too small. */
function numbersIn({ paper, scale }, values, radius) {
  if (radius < NEURONS.smallest * scale || values.length > NEURONS.most)
    return { words: null, size: 0 };
  const words = values.map((value) => short(value));
  const widest =
    Math.max(...words.map((each) => paper.measure(each, { size: 10, bold: true }))) / 10;
  const size = Math.floor(Math.min(NEURONS.big * scale, (NEURONS.wide * radius) / widest));
  return size >= NEURONS.little * scale ? { words, size } : { words: null, size: 0 };
}

/** Plain ground for the number of a saturated neuron, which is hatched. */
function clearGround({ paper }, x, y, words, size, color, depth) {
  const wide = paper.measure(words, { size, bold: true }) + 6;
  paper.box(x - wide / 2, y - 0.6 * size, wide, 1.2 * size, color, { radius: size / 2, depth });
}

function writeInside(paper, x, y, depth, words, size, color, outline = null) {
  const look = { size, bold: true, color, anchor: "center", depth, outline };
  paper.text(x, y + 0.36 * size, words, look);
}

/** Write names: below squares and one that is alone, beside others. */
export function writeNames({ paper, palette, scale, see, frame, lit }, line, seen, radius, good) {
  const size = 13 * scale;
  if (!line.names.length) return;
  const [first, last] = [good[0], good.at(-1)];
  const far = Math.hypot(seen.x[last] - seen.x[first], seen.y[last] - seen.y[first]);
  const apart = good.length > 1 ? far / (good.length - 1) : Infinity;
  if (apart < size) return;
  const look = { size, bold: true };
  const own = good.filter((i) => i < line.names.length);
  const isOneLine = apart < NEURONS.few * size;
  const names = own.map((i) => (isOneLine ? line.names[i] : nameLines(line.names[i])));
  const wide = Math.max(0, ...names.map((name) => paper.measure(name, look)));
  const start = Math.min(...own.map((i) => seen.x[i] - radius[i])) - 6 * scale - wide;
  const least = Math.min(...own.map((i) => radius[i]));
  const hasRoom = apart > 2 * least + 1.3 * size && wide < 4 * least;
  const below = good.length === 1 || (line.square && hasRoom);
  const isFirst = line === frame.layout.neurons[0]; // at its right are cubes
  const isLeft = isFirst && start >= see.box.x - NEURONS.edge * scale;
  const side = isLeft ? -1 : 1;
  names.forEach((name, place) => {
    const i = own[place];
    if (lit.brightOf(line, i) < NEURONS.spoken) return;
    const x = below ? seen.x[i] : seen.x[i] + side * (radius[i] + 6 * scale);
    const up = name.includes("\n") ? 0.675 : 0;
    const y = seen.y[i] + (below ? radius[i] + 1.15 * size : (0.36 - up) * size);
    const anchor = below ? "center" : isLeft ? "right" : "left";
    const color = { color: palette.ink, outline: palette.ground, depth: seen.depth[i] };
    if (!line.isColor) {
      paper.text(x, y, name, { ...look, ...color, anchor });
      return;
    }
    if (apart < 2 * radius[i] + size) return; // the rings have the colors
    const own_ = { ...look, ...color, color: palette.channelColors[i], anchor: "center" };
    paper.text(seen.x[i], seen.y[i] - radius[i] - 0.55 * size, name, own_);
  });
}

/** A name of more letters than a line has, in two lines. */
export function nameLines(name) {
  if (name.length <= NEURONS.letters) return name;
  const blanks = [...name].flatMap((letter, place) => (letter === " " ? [place] : []));
  const far = (place) => Math.abs(2 * place - name.length);
  const place = blanks.reduce((a, b) => (far(b) < far(a) ? b : a), blanks[0] ?? NEURONS.letters);
  return `${name.slice(0, place)}\n${name.slice(place).trim()}`;
}

/** Draw the gradient of each neuron as a dot on its rim, larger for a larger gradient. */
function drawFlows({ paper, palette, frame }, line, seen, radius, good) {
  const found = flowsOf(line, frame);
  if (!found || radius[good[0]] < 4) return;
  for (const i of good.filter((place) => place < found.flow.length)) {
    const size = 0.42 * radius[i] * found.parts[i];
    const [x, y] = [seen.x[i] + 0.75 * radius[i], seen.y[i] + 0.75 * radius[i]]; // the side without wires
    paper.disc(x, y, size + 1.6, palette.ground);
    paper.disc(x, y, size, palette.map(Math.sign(found.flow[i]) * 0.85));
  }
}

/** Draw the line of a skip connection, which ends in an arrow. */
function drawWay({ paper, see, palette, lit }, line) {
  if (!line.way) return;
  const seen = see.see(line.way);
  const count = seen.x.length;
  if (goodOf(seen).length < count) return;
  const color = palette.faded(colorOf(palette.quiet), lit.neurons[line.place]);
  const units = Array.from(seen.unit).sort((a, b) => a - b);
  const middle = (units[(count - 1) >> 1] + units[count >> 1]) / 2;
  const width = Math.min(3, Math.max(1.4, 0.12 * middle));
  const points = Array.from(seen.x, (x, i) => [x, seen.y[i]]);
  paper.path(points, seen.depth, color, width);
  const head = { head: 5 * width, depth: seen.depth[count - 1] };
  paper.arrow(points.at(-2), points.at(-1), color, { width, ...head });
}

/** Draw how far each output, as the loss reads it, is off its target: a bar and a number. */
export function drawErrors({ paper, see, palette, frame, scale }) {
  const { target, answers, layout } = frame;
  const line = layout.neurons.at(-1);
  if (!target || !answers || !line) return;
  const seen = see.see(line.points);
  const close = seen.unit[0] >= NEURONS.errors && !line.isImages;
  if (!close || answers.length !== target.length || answers.length !== line.count) return;
  const errors = answers.map((each, i) => each - target[i]);
  const top = Math.max(...errors.map(Math.abs), 1e-12);
  errors.forEach((error, i) => {
    const [x, y, unit] = [seen.x[i], seen.y[i], seen.unit[i]];
    const reach = (0.8 * unit * Math.abs(error)) / top + 2;
    let low = line.radius * unit + 6 * scale;
    const wide = 0.3 * unit;
    const size = Math.round(Math.min(13 * scale, Math.max(11 * scale, 0.26 * unit)));
    const written = short(error);
    const number = (error > 0 && written !== "0" ? "+" : "") + written;
    const words = text("outputs.off", { error: number });
    const color = palette.map(Math.sign(error) * 0.8);
    const look = { size, color: palette.ink, outline: palette.ground };
    if (line.count === 1) {
      low += line.names.length ? 15 * scale : 0;
      paper.box(x - wide / 2, y + low, wide, reach, color, { radius: 2 });
      paper.text(x, y + low + reach + size + 2, words, { ...look, anchor: "center" });
    } else {
      paper.box(x + low, y - wide / 2, reach, wide, color, { radius: 2 });
      paper.text(x + low + reach + 5, y + 0.35 * size, words, look);
    }
  });
}
