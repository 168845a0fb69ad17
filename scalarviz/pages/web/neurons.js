// What stands on and beside the spheres of neurons; as scene/neurons.py.

import { colorOf } from "./palette.js";
import { draw_scores, draw_way, write_names, write_numbers_in } from "./story/annotations.js";
import { Box } from "./story/camera.js";
import { FEW, digits_of_off, formula_digits } from "./story/panel_words.js";
import {
  crossOut,
  drawMaps,
  drawSquares,
  droppedIn,
  goodOf,
  heldBy,
  paintedLine,
} from "./neuron_images.js";
import { balls_of } from "./silhouettes.js";

/** Write the names and numbers of a line of neurons, or draw their images. */
export function drawNeurons(view, line) {
  const { paper, palette, see, frame, lit } = view;
  const bright = Array.from({ length: line.count }, (_, i) => lit.brightOf(line, i));
  if (line.way) {
    const color = palette.faded(colorOf(palette.quiet), Math.max(...bright));
    draw_way(paper, balls_of(see, line.way, 0), color);
  }
  if (line.isImages) {
    drawMaps(view, line);
    return;
  }
  const seen = see.see(line.points);
  const good = goodOf(seen);
  if (!good.length) return;
  const own = (each) => good.map((i) => each[i]);
  const fronts = see.see(frontsOf(line.points, line.radius, see)).depth;
  const hasMap = line.square && drawSquares(view, line, seen, good);
  const reach = seen.unit.map((unit) => 0.8 * line.radius * unit);
  crossOut(view, seen, reach, fronts, droppedIn(line, frame));
  const [balls, shown] = [own(balls_of(see, line.points, line.radius)), own(bright)];
  const held = heldBy(line, frame);
  const known = good.filter((i) => i < held.length).map((i) => held[i]);
  if (known.length && !hasMap && !line.scores) {
    const saturated = (line.values in frame.values && frame.saturated[line.values]) || [];
    const hatch = saturated.some(Boolean) ? own(saturated).map(Number) : [];
    const colors = hatch.length ? paintedLine(line, frame, palette) : [];
    const fills = own(colors.map((each, i) => palette.faded(each, bright[i])));
    const inks = [palette.number, palette.halo];
    const { layout, values, weights, target } = frame;
    const isLast = line === layout.neurons.at(-1);
    let digits = formula_digits(layout.steps, values, weights).get(line.values) ?? FEW;
    const isDetailed = isLast && target && !frame.told && !layout.crossbar; // it has two digits
    if (isDetailed && target.length === known.length)
      digits = digits_of_off(known, Array.from(target), FEW); // at rest
    write_numbers_in(paper, balls, own(fronts), known, shown, hatch, fills, inks, digits);
  }
  if (line.scores) draw_scores(paper, palette, balls, known, palette.signs);
  const isFirst = line === frame.layout.neurons[0];
  const below = (hasMap || !line.square) && see.camera.is_front ? known : [];
  const isLast = line === frame.layout.neurons.at(-1);
  const from = (isFirst ? view.names.from : null) ?? see.box.x;
  const to = (isLast ? view.names.to : null) ?? see.box.right;
  const box = new Box(from, see.box.y, to - from, see.box.height);
  write_names(paper, palette, line, good, balls, shown, box, below, palette.signs, isFirst);
}

/** Return the points just in front of spheres where their numbers are written. */
function frontsOf(points, radius, see) {
  const way = see.camera.way(0, 0, 1.02 * radius); // in which depth is counted
  return points.length ? Float64Array.from(points, (each, i) => each + way[i % 3]) : points;
}
