// The legend: what color and size of a cube stand for; as view/legend.py.

import { Box } from "./camera.js";
import { generalNumber } from "./colors.js";
import { SINCE_START } from "./frame.js";
import { text } from "./texts.js";

const LEGEND = {
  size: [240, 54], // logical pixels, with the line of text
  steps: 9, // squares from the negative to the positive end
  room: 3, // a stage must be so many times as high, and half of it as wide
};

/** The box of the legend, in the lower left corner of the network's box; null without room. */
export function legendBox(inner, scale) {
  const [wide, high] = LEGEND.size.map((each) => each * scale);
  if (inner.width < 0.5 * LEGEND.room * wide || inner.height < LEGEND.room * high) return null;
  return new Box(inner.x, inner.bottom - high, wide, high);
}

/** Draw squares of the colors and sizes of cubes, with the numbers they stand for. */
export function drawLegend({ paper, see, frame, palette, scale }) {
  const box = legendBox(see.box, scale);
  if (!box) return;
  const pad = 8 * scale;
  paper.box(box.x - pad, box.y + 2 * scale, box.width + 2 * pad, box.height + pad / 4, `${palette.ground}d8`, { radius: pad });
  const size = 13 * scale;
  const look = { size, color: palette.quiet, outline: palette.ground };
  paper.text(box.x, box.y + size, legendWords(frame), look);
  const least = frame.scene.shader.least;
  const largest = 17 * scale;
  const y = box.y + size + 6 * scale + largest / 2;
  for (let i = 0; i < LEGEND.steps; i++) {
    const number = -1 + (2 * i) / (LEGEND.steps - 1);
    const side = largest * (least + (1 - least) * Math.sqrt(Math.abs(number)));
    const x = box.x + largest / 2 + ((box.width - largest) * (number + 1)) / 2;
    paper.box(x - side / 2, y - side / 2, side, side, palette.map(number), { radius: 1.5 * scale });
  }
  const most = frame.scale;
  const ends = [-most, -most / 2, 0, most / 2, most].map((each) => (each > 0 ? "+" : "") + generalNumber(each));
  const widths = ends.map((each) => paper.measure(each, { size }));
  if (widths[0] + 0.5 * widths[1] > 0.22 * box.width) ends[1] = ends[3] = ""; // no room between
  ends.forEach((words, i) => {
    const anchor = i === 0 ? "left" : i === ends.length - 1 ? "right" : "center";
    paper.text(box.x + (i / (ends.length - 1)) * box.width, box.bottom - 2 * scale, words, { ...look, anchor });
  });
}

function legendWords(frame) {
  if (frame.grown) {
    const [before, after] = frame.grown.map((each) => generalNumber(each));
    return text("legend.grown", { before, after });
  }
  const [color, size] = [channelName(frame.color), channelName(frame.size)];
  const words = color === size ? text("legend.cube", { color }) : text("legend.both", { color, size });
  return frame.clipped ? text("legend.beyond", { words, count: frame.clipped }) : words;
}

/** The name of a channel: a translation has one, in English it is its own. */
export function channelName(channel) {
  if (channel === SINCE_START) return text("page.channel.since_start");
  const key = `rows.channels.${channel}.name`;
  const found = text(key);
  return found === key ? channel : found;
}

/** Write what arrows on cubes mean, in the upper left corner. */
export function explainArrows({ paper, see, frame, palette, scale }) {
  const size = 13 * scale;
  const look = { size, color: palette.quiet, outline: palette.ground };
  paper.text(see.box.x, see.box.y + size, text("legend.pushes"), look);
}
