// Signs of a graph: the operation above each node, its name and its gradient below; as
// scene/labels.py.

import { rounded } from "./formats.js";
import { text } from "./texts.js";

/** Write what stands around the nodes of a graph; smaller than readable, nothing. */
export function drawSigns({ paper, see, frame, palette, scale }) {
  const { signs } = frame.layout;
  const { largest, smallest, part, nearly, smaller, digits, tiny, widest, away } =
    frame.scene.signs;
  const seen = signs.map((sign) => see.one(sign.middle));
  const units = seen.map(({ unit }) => unit).sort((a, b) => a - b);
  const least = smallest * scale;
  if (!(part * units[units.length >> 1] >= nearly * least)) return;
  signs.forEach((sign, i) => {
    const { x, y, unit } = seen[i];
    if (!Number.isFinite(x + y)) return;
    const radius = sign.radius * unit;
    const size = Math.max(least, Math.min(largest * scale, part * unit));
    const look = { size, anchor: "center", outline: palette.ground };
    const strong = { ...look, color: palette.ink, bold: true };
    if (sign.above) paper.text(x, y - radius - away * size, sign.above, strong);
    let low = y + radius + (away + 0.8) * size;
    if (sign.below) {
      paper.text(x, low, sign.below, strong);
      low += 1.15 * size;
    }
    const gradient = gradientOf(sign, frame);
    if (gradient === null) return;
    let words = rounded(gradient, Math.abs(gradient) >= tiny ? digits : digits - 1);
    const lines = Number(Boolean(sign.above)) + Number(Boolean(sign.below));
    const room = sign.apart * unit - 2 * radius;
    let across = x;
    const named = text("graph.gradient", { gradient: words });
    const isNarrow = paper.measure(named, { size }) < widest * unit;
    if (room > (lines + 1 + 2 * away) * size && isNarrow) words = named;
    else {
      look.size = smaller * size; // without the word, since the next node stands there
      low -= (1 - smaller) * size;
    }
    if (room < (lines + smaller) * size) {
      across = x + radius + away * size + 0.5 * paper.measure(words, look);
      low = y;
    }
    paper.text(across, low, words, { ...look, color: palette.accent });
  });
}

/** The gradient of a node as far as it is known in this step; null if it is not. */
function gradientOf({ row, buffer }, { pushes, flows }) {
  const found = row >= 0 ? pushes?.[row] : flows[buffer]?.[0];
  return found === undefined || Number.isNaN(found) ? null : found;
}
