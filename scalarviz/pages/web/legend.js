// The legend: what color and size of a cube stand for, and what the marks mean; as
// scene/legend.py.

import { Box } from "./story/camera.js";
import { generalNumber } from "./numbers.js";
import { said } from "./story/formats.js";
import { text } from "./texts.js";
import { byId, isNews, made, setShown } from "./dom.js";

const LEGEND = {
  size: [240, 54], // logical pixels, with the line of text
  small: [245, 18], // of the one in a line, where there is no room for that
  squares: 90, // width of the squares in this one
  steps: 9, // squares from the negative to the positive end
  room: [1.5, 5.5], // a stage must be so many times as wide and as high,
  smallRoom: [1.25, 5], // for the small one
};

/** The box of the legend, in the lower left corner of the network's box; null without room. */
export function legendBox(inner, scale) {
  // prettier-ignore
  const sizes = [[LEGEND.size, LEGEND.room], [LEGEND.small, LEGEND.smallRoom]];
  for (const [[wide, high], [wider, higher]] of sizes) {
    if (inner.width >= wider * wide * scale && inner.height >= higher * high * scale) {
      return new Box(inner.x, inner.bottom - high * scale, wide * scale, high * scale);
    }
  }
  return null;
}

/** Draw squares of the colors and sizes of cubes, with the numbers they stand for. */
export function drawLegend(view) {
  const { paper, see, frame, palette, scale } = view;
  const box = legendBox(see.box, scale);
  if (!box) return;
  const pad = 8 * scale;
  const [wide, high] = [box.width + 2 * pad, box.height + pad / 4];
  const fill = `${palette.ground}d8`;
  paper.box(box.x - pad, box.y + 2 * scale, wide, high, fill, { radius: pad });
  if (box.height < LEGEND.size[1] * scale) {
    drawLegendLine(view, box);
    return;
  }
  const size = 13 * scale;
  const look = { size, color: palette.quiet, outline: palette.ground };
  paper.text(box.x, box.y + size, legendWords(frame), look);
  const largest = 17 * scale;
  drawSquares(view, box.x, box.y + size + 6 * scale + largest / 2, box.width, largest);
  const ends = legendEnds(frame);
  const widths = ends.map((each) => paper.measure(each, { size }));
  if (widths[0] + 0.5 * widths[1] > 0.22 * box.width) ends[1] = ends[3] = ""; // no room between
  ends.forEach((words, i) => {
    const anchor = i === 0 ? "left" : i === ends.length - 1 ? "right" : "center";
    const x = box.x + (i / (ends.length - 1)) * box.width;
    paper.text(x, box.bottom - 2 * scale, words, { ...look, anchor });
  });
}

/** Draw the legend in a line: the squares between their ends, then in short what they show. */
function drawLegendLine(view, box) {
  const { paper, frame, palette, scale } = view;
  const [size, gap, wide] = [13 * scale, 3.5 * scale, LEGEND.squares * scale];
  const look = { size, color: palette.quiet, outline: palette.ground };
  const ends = legendEnds(frame);
  const base = box.bottom - 0.3 * size;
  let { x } = box;
  const write = (words, after) => {
    paper.text(x, base, words, look);
    x += paper.measure(words, look) + after;
  };
  write(ends[0], gap);
  drawSquares(view, x, base - 0.36 * size, wide, 10 * scale);
  x += wide + gap;
  write(ends.at(-1), 2 * gap);
  write(paper.fit(shortLegendWords(frame), box.right - x, look), 0);
}

/** Draw the squares from the negative to the positive end, from x on, around y. */
function drawSquares({ paper, frame, palette, scale }, x, y, wide, largest) {
  const { least } = frame.scene.shader;
  for (let i = 0; i < LEGEND.steps; i++) {
    const number = -1 + (2 * i) / (LEGEND.steps - 1);
    const side = largest * (least + (1 - least) * Math.sqrt(Math.abs(number)));
    const middle = x + largest / 2 + ((wide - largest) * (number + 1)) / 2;
    paper.box(middle - side / 2, y - side / 2, side, side, palette.map(number), {
      radius: 1.5 * scale,
    });
  }
}

/** The numbers below the squares: at both ends, in the middle, and between. */
function legendEnds({ scale: most }) {
  return [-most, -most / 2, 0, most / 2, most].map(
    (each) => (each > 0 ? "+" : "") + generalNumber(each),
  );
}

function grownWords(frame) {
  const [before, after] = frame.grown.map((each) => generalNumber(each));
  return text("legend.grown", { before, after });
}

/** In short, what colors stand for, or what is new of their scale. */
function shortLegendWords(frame) {
  if (frame.grown) return grownWords(frame);
  return frame.clipped
    ? text("legend.only_beyond", { count: frame.clipped })
    : frame.tile
      ? text("legend.tile", { color: channelName(frame.color), count: frame.tile })
      : channelName(frame.color);
}

function legendWords(frame) {
  if (frame.grown) return grownWords(frame);
  const [color, size] = [channelName(frame.color), channelName(frame.size)];
  const { hoverRow: row, tile: count } = frame;
  const value = count && row >= 0 ? frame.numberAt(row) : undefined;
  if (value !== undefined)
    return text("legend.tile.hover", { value: said(value), mean: said(frame.colors[row]) });
  const key = count ? "legend.cube.tile" : "legend.cube";
  const words = color === size ? text(key, { color, count }) : text("legend.both", { color, size });
  return frame.clipped ? text("legend.beyond", { words, count: frame.clipped }) : words;
}

/** The name of a channel: a translation has one, in English it is its own. */
export function channelName(channel) {
  const key = `rows.channels.${channel}.name`;
  const found = text(key);
  return found === key ? channel : found;
}

/** Write what arrows on cubes mean, in an upper corner if the box is wide and the words cover nothing
 * of the network; the key has it, too.
 */
export function explainArrows({ paper, see, palette, scale }, taken) {
  if (see.box.width < LEGEND.room[0] * LEGEND.size[0] * scale) return;
  const size = 13 * scale;
  const look = { size, color: palette.quiet, outline: palette.ground };
  const words = text("legend.pushes");
  const { x, y, right } = see.box;
  const wide = paper.measure(words, look);
  const corners = [x, right - wide].map((left) => new Box(left, y, wide, 1.3 * size));
  const free = corners.find((corner) => !taken.meets(corner)); // it covers nothing of the network
  if (free) paper.text(free.x, y + size, words, look);
}

// The key to the marks: what each mark that is in the picture means.

/** The names of the marks that are in a picture, and what they mean. */
function markRows(frame) {
  const rows = ["cube", "sphere", "numbers", ...extraMarks(frame)].map((name) => [
    text(`marks.${name}.name`), text(`marks.${name}.meaning`),
  ]); // prettier-ignore
  if (frame.clipped)
    rows.push([text("legend.only_beyond", { count: frame.clipped }), text("marks.beyond.meaning")]);
  if (frame.grown) {
    const [before, after] = frame.grown.map((each) => generalNumber(each));
    rows.push([text("legend.grown", { before, after }), text("marks.grown.meaning")]);
  }
  return rows;
}

/** The marks that not every picture has. */
function extraMarks({ saturated, values, leftOut, flows, pushes, before, frozen }) {
  const some = (each) => Array.from(each ?? []).some((x) => x > 0);
  const known = {
    striped: Object.keys(saturated).some((name) => name in values && some(saturated[name])),
    crossed: Object.values(leftOut).some(some),
    dot: Object.keys(flows).length > 0,
    arrow: pushes !== null,
    before: before !== null,
    frozen: some(frozen),
  };
  return Object.keys(known).filter((name) => known[name]);
}

/** The button over the legend, and the key that it opens; `toggle` is what it does. */
export class MarksKey {
  constructor(toggle) {
    this.button = byId("legend");
    this.panel = byId("marks");
    this.list = made("dl");
    this.panel.append(this.list);
    this.button.addEventListener("click", toggle);
  }

  get isOpen() {
    return !this.panel.hidden;
  }

  open(isOpen) {
    setShown(this.panel, isOpen);
    for (const id of ["legend", "explain"]) byId(id).setAttribute("aria-expanded", isOpen);
  }

  /** Show the marks of a frame, beside the box of its legend, which may be null. */
  show(frame, box) {
    setShown(this.button, box !== null);
    if (box) {
      const { style } = this.button;
      // prettier-ignore
      const place = [["left", box.x], ["top", box.y], ["width", box.width], ["height", box.height]];
      for (const [name, length] of place) style[name] = `${Math.round(length)}px`;
    }
    if (!this.isOpen || !frame) return;
    const rows = markRows(frame);
    if (!isNews(this.list, rows)) return;
    this.list.replaceChildren(
      ...rows.flatMap(([name, meaning]) => [made("dt", "", name), made("dd", "", meaning)]),
    );
  }
}
