// Flat shapes, words and small images over the cubes, with depth; as scene/canvas/canvas2d.py.

import { colorOf } from "./colors.js";

const PAPER = {
  numbers: 24, // of a shape: place, axis and depths, extra, style, clip, colors
  halo: 2.5, // logical pixels around a letter
  head: 0.42, // half of the width of an arrow head, by its length
};
const SHAPES = { box: 0, capsule: 4, arrow: 8, letter: 12, image: 16 };
const NO_CLIP = [-1e9, -1e9, 1e9, 1e9];
const NO_EXTRA = [0, 0, 0, 0];
const PACKED_COLORS = new Map();

/** A color as two numbers: 256 * red + green and 256 * blue + alpha, each 0 to 255. */
function packedColor(color) {
  if (typeof color === "string") {
    if (!PACKED_COLORS.has(color)) PACKED_COLORS.set(color, packedColor(colorOf(color)));
    return PACKED_COLORS.get(color);
  }
  if (!color) return [0, 0];
  const byte = (part) => Math.round(255 * Math.min(Math.max(part, 0), 1));
  const [r, g, b, a = 1] = color;
  return [256 * byte(r) + byte(g), 256 * byte(b) + byte(a)];
}

/** A sheet of width x height logical pixels, of `ratio` device pixels each, for one picture. */
export class Paper {
  constructor(glyphs, width, height, ratio, scale) {
    Object.assign(this, { glyphs, width, height, ratio, scale });
    Object.assign(this, { clip: NO_CLIP, words: [], images: [] });
    this.rows = new Float32Array(64 * PAPER.numbers);
    this.count = 0;
  }

  put(x, y, half, axis, depths, extra, style, colors) {
    if (!Number.isFinite(x + y + half[0] + half[1] + axis[0])) return false;
    if ((this.count + 1) * PAPER.numbers > this.rows.length) {
      const longer = new Float32Array(2 * this.rows.length);
      longer.set(this.rows);
      this.rows = longer;
    }
    const at = this.count * PAPER.numbers;
    const { rows } = this;
    [rows[at], rows[at + 1], rows[at + 2], rows[at + 3]] = [x, y, half[0], half[1]];
    [rows[at + 4], rows[at + 5]] = axis;
    [rows[at + 6], rows[at + 7]] = depths;
    rows.set(extra, at + 8);
    rows.set(style, at + 12);
    rows.set(this.clip, at + 16);
    rows.set(colors, at + 20);
    this.count++;
    return true;
  }

  /** Draw a rectangle from its top left corner; the outline is inside the edge. */
  box(x, y, width, height, fill, { radius = 0, outline = null, line = 1, depth = -1 } = {}) {
    const style = [radius, outline ? line : 0, SHAPES.box, 0];
    const colors = [...packedColor(fill), ...packedColor(outline)];
    const half = [width / 2, height / 2];
    this.put(x + half[0], y + half[1], half, [1, 0], [depth, depth], NO_EXTRA, style, colors);
  }

  /** Draw a disc; `hatch` is the strength of stripes. */
  disc(x, y, radius, fill, { outline = null, line = 1, depth = -1, hatch = 0 } = {}) {
    const style = [radius, outline ? line : 0, SHAPES.box, hatch];
    const colors = [...packedColor(fill), ...packedColor(outline)];
    this.put(x, y, [radius, radius], [1, 0], [depth, depth], NO_EXTRA, style, colors);
  }

  /** Draw an arrow with a head of length `head`, or only a head if it is too short. */
  arrow([x, y], [endX, endY], color, { width = 1.5, head = 6, depth = -1 } = {}) {
    const length = Math.hypot(endX - x, endY - y);
    if (!(length > 0)) return;
    const tip = Math.min(head, length);
    const half = [length / 2, Math.max(PAPER.head * tip, width / 2)];
    const axis = [(endX - x) / length, (endY - y) / length];
    const style = [0, 0, SHAPES.arrow, 0];
    const colors = [...packedColor(color), 0, 0];
    const middle = [(x + endX) / 2, (y + endY) / 2];
    this.put(...middle, half, axis, [depth, depth], [tip, width / 2, 0, 0], style, colors);
  }

  /** Draw a straight line with round ends; depths of its two ends. */
  segment([x, y], [endX, endY], color, { width = 1, depths = [-1, -1] } = {}) {
    const length = Math.hypot(endX - x, endY - y);
    const axis = length > 0 ? [(endX - x) / length, (endY - y) / length] : [1, 0];
    const half = [length / 2 + width / 2, width / 2];
    const middle = [(x + endX) / 2, (y + endY) / 2];
    const colors = [...packedColor(color), 0, 0];
    this.put(...middle, half, axis, depths, NO_EXTRA, [0, 0, SHAPES.capsule, 0], colors);
  }

  /** Draw a path through points, each [x, y] with a depth. */
  path(points, depths, color, width) {
    for (let i = 0; i + 1 < points.length; i++) {
      this.segment(points[i], points[i + 1], color, { width, depths: [depths[i], depths[i + 1]] });
    }
  }

  /** Draw a part of an image: corners are upper left, upper right and lower left, x and y each; `radius` rounds it. */
  image(corners, pixels, part, depths, radius = 0) {
    const [x, y, rightX, rightY, downX, downY] = corners;
    const wide = Math.hypot(rightX - x, rightY - y);
    const high = Math.hypot(downX - x, downY - y);
    const style = [(downX - x) / high, (downY - y) / high, SHAPES.image, radius];
    const axis = [(rightX - x) / wide, (rightY - y) / wide];
    const colors = [...packedColor("#ffffff"), 0, 0];
    const middle = [(rightX + downX) / 2, (rightY + downY) / 2];
    const at = this.count;
    if (this.put(...middle, [wide / 2, high / 2], axis, depths, part, style, colors)) {
      const last = this.images.at(-1);
      if (last && last.pixels === pixels && last.stop === at) last.stop++;
      else this.images.push({ start: at, stop: at + 1, pixels });
    }
  }

  /** Write text on the baseline y; x is where `anchor` says: "left", "center" or "right". */
  text(x, y, words, look = {}) {
    const { size = 13, color = "#ffffff", bold = false } = look;
    const { anchor = "left", depth = -1, outline = null } = look;
    this.words.push(words);
    const { ratio } = this;
    const pixels = Math.round(size * ratio) || 1;
    if (!Number.isFinite(x + y)) return;
    // Letters are sharp only on whole device pixels.
    const place = [Math.round(x * ratio) / ratio, Math.round(y * ratio) / ratio];
    const halo = Math.ceil(PAPER.halo * ratio - 0.5);
    if (outline) this.letters(place, words, pixels, bold, anchor, halo, outline, depth);
    this.letters(place, words, pixels, bold, anchor, 0, color, depth);
  }

  letters(/** @type {number[]} */ [x, y], words, pixels, bold, anchor, halo, color, depth) {
    const { ratio } = this;
    const colors = [...packedColor(color), 0, 0];
    for (const glyph of this.glyphs.laidOut(words, pixels, bold, anchor, halo)) {
      const half = [glyph.half[0] / ratio, glyph.half[1] / ratio];
      const style = [0, 0, SHAPES.letter, 0];
      const middle = [x + glyph.x / ratio, y + glyph.y / ratio];
      this.put(...middle, half, [1, 0], [depth, depth], glyph.place, style, colors);
    }
  }

  /** The width of text: that of its widest line. */
  measure(words, { size = 13, bold = false } = {}) {
    const pixels = Math.round(size * this.ratio) || 1;
    const widths = words.split("\n").map((line) => this.glyphs.width(line, pixels, bold));
    return Math.max(...widths) / this.ratio;
  }

  /** The text, or as much of it as fits into a width, with dots at the end. */
  fit(words, width, look) {
    if (this.measure(words, look) <= width) return words;
    let kept = words.slice(0, -1);
    while (kept && this.measure(`${kept}...`, look) > width) kept = kept.slice(0, -1);
    return `${kept.trimEnd()}...`;
  }

  /** Shapes from start to stop that are drawn by one call, with at most one image. */
  batches() {
    const found = [];
    let at = 0;
    for (const { start, stop, pixels } of this.images) {
      if (start > at) found.push({ start: at, stop: start, pixels: null });
      found.push({ start, stop, pixels });
      at = stop;
    }
    if (this.count > at) found.push({ start: at, stop: this.count, pixels: null });
    return found;
  }
}
