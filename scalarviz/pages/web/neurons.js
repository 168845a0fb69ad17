// What stands on and beside the spheres of neurons; as scene/neurons.py.

import { colorOf } from "./palette.js";
import { numbers_in, write_names } from "./story/annotations.js";
import {
  ballsOf,
  crossOut,
  drawMaps,
  drawSquares,
  droppedIn,
  goodOf,
  heldBy,
  paintedLine,
  shownIn,
} from "./neuron_images.js";

const NEURONS = {
  spoken: 0.7, // brightness from which on a neuron has words
  edge: 9, // pixels by which names may leave the box of the network at its left
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
    const [words, size, aside] = numbers_in(paper, numbers, least);
    known.forEach((i, place) => {
      const [x, y, look] = [seen.x[i], seen.y[i], { depth: front[i], hatch: 0.75 }];
      if (hatched[i]) paper.disc(x, y, 0.92 * radius[i], fills[i], look);
      if (!size || view.lit.brightOf(line, i) < NEURONS.spoken) return;
      const middle = x + aside[place];
      if (hatched[i]) clearGround(view, middle, y, words[place], size, fills[i], front[i]);
      const isClear = line.is_color && numbers[place] < 0.5; // glass, of the ground's brightness
      const inks = isClear ? [palette.ink, palette.ground] : [palette.number, palette.halo];
      writeInside(paper, middle, y, front[i], words[place], size, ...inks);
    });
  }
  drawNames(view, line, seen, good);
}

/** Points just before the fronts of spheres, where their numbers stand. */
function frontsOf(points, radius, see) {
  const way = see.camera.toward.map((each) => 1.02 * radius * each);
  return points.length ? Float64Array.from(points, (each, i) => each + way[i % 3]) : points;
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

/** Write the names of the neurons that are seen. */
function drawNames({ paper, palette, scale, see, frame, lit }, line, seen, good) {
  const isFirst = line === frame.layout.neurons[0]; // at its right are cubes
  const beyond = NEURONS.edge * scale;
  const edges = [isFirst ? see.box.x - beyond : Infinity, see.box.right + beyond];
  const all = ballsOf(seen, line.radius);
  const own = good.filter((i) => i < line.names.length);
  const balls = good.map((i) => all[i]);
  const names = own.map((i) => line.names[i]);
  const silent = own.map((i) => lit.brightOf(line, i) < NEURONS.spoken);
  write_names(paper, palette, line, names, balls, edges, silent);
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
