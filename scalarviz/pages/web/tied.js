// Colors beside the neurons that stand for them; as scene/labels.py.

import { Box } from "./camera.js";
import { shortNumber } from "./formats.js";
import { text } from "./texts.js";

/** Where the colors of the sample are seen: what goes in, and what comes out at its goal. */
export function tiedColors({ frame, see, scale }) {
  const lines = frame.layout.neurons;
  const found = [];
  for (const line of lines) {
    if (!line.tied) continue;
    const { place, side: long, largest, smallest, letters } = line.tied;
    const { x: middle, y, unit, depth } = see.one(place);
    const side = Math.min(long * unit, largest * scale);
    const first = line === lines[0];
    const colors = first
      ? { "picture.in": frame.values[line.values] }
      : { "picture.out": frame.answers, "exhibits.swatches.target": frame.target };
    const x = first ? middle : middle - side / 2; // both are in the middle over the outermost neuron
    if (!Number.isFinite(x + y) || side < smallest) continue;
    const high = side + 3 * letters * scale;
    const wide = side * Object.keys(colors).length;
    const box = new Box(x - side / 2, y + side / 2 - high, wide, high);
    found.push({ line, box, x, y, depth, side, colors, first });
  }
  return found;
}

/** Draw the colors of the sample with wires to their neurons, and how far the answer is off. */
export function drawTied(view) {
  const { paper, palette, scale } = view;
  for (const tied of tiedColors(view)) {
    const { line, x, y, depth, side, colors } = tied;
    const size = line.tied.letters * scale;
    const [top, named] = [y - side / 2, side >= line.tied.named * scale];
    const bolds = Object.keys(colors).map((key) => paper.measure(text(key), { size, bold: true }));
    const fitted = size * Math.min(1, (line.tied.fitted * side) / Math.max(...bolds));
    const look = { size: fitted, anchor: "center", outline: palette.ground };
    drawWires(view, tied);
    Object.entries(colors).forEach(([key, color], i) => {
      const known = color && !color.some(Number.isNaN);
      const fill = known ? Array.from(color, (each) => Math.min(1, Math.max(0, each))) : null;
      const left = x + (i - 0.5) * side;
      paper.box(left, top, side, side, fill, { outline: palette.ghost, depth });
      const bold = key.startsWith("picture");
      const ink = bold ? palette.ink : palette.quiet;
      const place = [left + side / 2, top - size / 2];
      if (named) paper.text(...place, text(key), { ...look, color: ink, bold });
    });
    const { "picture.out": answer, "exhibits.swatches.target": goal } = colors;
    if (!named || !answer || !goal || [...answer, ...goal].some(Number.isNaN)) continue;
    const error = shortNumber(Math.max(...answer.map((each, i) => Math.abs(each - goal[i]))));
    const words = text("outputs.off", { error });
    const hasRoom = tied.box.y >= view.see.box.y - size;
    // Else below the goal, since wires come to the answer from below.
    const most = view.see.box.right + 0.7 * size - paper.measure(words, { size: fitted }) / 2;
    const middle = hasRoom ? x + side / 2 : Math.min(x + side, most);
    const low = hasRoom ? top - 1.9 * size : top + side + 1.3 * size;
    paper.text(middle, low, words, { ...look, color: palette.ink });
  }
}

/** Draw wires with arrows from a color to its neurons, or from them to it. */
function drawWires({ paper, palette, see, scale }, { line, x, y, side, first }) {
  const seen = see.see(line.points);
  for (let i = 0; i < line.count; i++) {
    const [right, down] = [seen.x[i] - x, seen.y[i] - y];
    const far = Math.max(Math.hypot(right, down), 1e-9);
    const way = [right / far, down / far];
    const reach = side / 2 / Math.max(...way.map(Math.abs));
    const edge = [x + reach * way[0], y + reach * way[1]];
    const radius = line.radius * seen.unit[i];
    const rim = [seen.x[i] - radius * way[0], seen.y[i] - radius * way[1]];
    const { wide, head } = line.tied;
    const look = { width: wide * scale, head: head * scale, depth: seen.depth[i] };
    paper.arrow(...(first ? [edge, rim] : [rim, edge]), palette.quiet, look);
  }
}
