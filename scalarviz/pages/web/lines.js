// What comes into cubes and what leaves them, drawn in the picture; as scene/lines.py.

import { mixedColor } from "./palette.js";
import { cubeOf } from "./layout.js";
import { along3, row3 } from "./projection.js";
import {
  BEHIND,
  CHANNEL,
  NEGATIVE,
  MOST,
  MOST_DIRECT,
  POSITIVE,
  SeenFan,
  TIP,
  TUBE,
  curve,
} from "./story/ways.js";

/** Caches the result of `make` for a layout until the camera or the size changes. */
export class KnownView {
  constructor(make) {
    this.make = make;
    this.key = "";
    this.layout = this.made = null;
  }

  of(see, layout, scale) {
    const key = `${see.matrix} ${see.width} ${see.height} ${scale}`;
    if (this.key !== key || this.layout !== layout)
      Object.assign(this, { key, layout, made: this.make(layout, see, scale) });
    return this.made;
  }
}

const FANS = new KnownView((layout, see, scale) =>
  layout.fans.map((fan) => seenFan(fan, layout, see, scale)),
);

/** Return the rows of each layer in the picture; null for a layer drawn without lines. */
export function seen_fans(see, layout, scale) {
  return FANS.of(see, layout, scale);
}

/** Return the rows of a layer in the picture, or null if it has too many weights. */
function seenFan(fan, layout, see, scale) {
  const columns = fan.columns.length / 3;
  if (
    fan.top ||
    fan.form === "crossbar" ||
    fan.units * columns > (fan.is_direct ? MOST_DIRECT : MOST)
  )
    return null;
  const [before, after] = [layout.neurons[fan.before], layout.neurons[fan.after]];
  const at = (unit, column) => along3(cubeOf(fan, column, unit), 1, fan.foot);
  const seen = (point) => {
    const { x, y } = see.one(point);
    return [x, y];
  };
  const feet = Array.from({ length: fan.is_direct ? 1 : fan.units }, (_, unit) =>
    Array.from({ length: columns }, (__, column) => seen(at(unit, column))),
  );
  if (!feet.flat(2).every(Number.isFinite)) return null;
  const first = Array.from({ length: columns }, (_, column) => at(0, column));
  const corner = [0, 1, 2].map((k) => Math.min(...first.map((each) => each[k])));
  const [left] = seen(along3(corner, -1, fan.begin));
  const [, top] = seen(along3(corner, -2.3, fan.foot));
  const cell = seen(along3(corner, 1, [1, 0, 0]))[0] - seen(corner)[0];
  const apart = (k) => Math.abs(feet[0][1][k] - feet[0][0][k]);
  const slot = columns > 1 ? Math.max(apart(0), apart(1)) : cell;
  const ends = [rings(fan.starts, before, see), rings(fan.ends, after, see)];
  const isTiled = fan.is_tiled || fan.form === "strip";
  const kind = [after.square, before.is_color, fan.form, fan.is_wired, isTiled];
  return new SeenFan(...ends, feet, left, top - 6 * scale, slot, cell, scale, ...kind);
}

/** Return the centers and radii of neurons or images in the picture. */
function rings(points, line, see) {
  const half = line.isImages ? 0.33 * line.side * Math.max(...line.shape.slice(1)) : line.radius;
  const { x, y, unit } = see.see(points);
  return Array.from(x, (each, i) => [each, y[i], half * unit[i]]);
}

/** Return the values and terms that the lines of a layer carry, and cube sizes; 0 if unknown.
 *
 * held  what is dragged, for the numbers before that; null means the present numbers
 */
export function carried(fan, frame, held = null) {
  const { layout } = frame;
  const { values } = held ?? frame.buffers;
  const { weights } = held ?? frame;
  const [before, after] = [layout.neurons[fan.before], layout.neurons[fan.after]];
  const known = values[before.values] ?? values[before.sums] ?? [];
  const each = Math.floor(fan.inputs / Math.max(1, fan.inputs_count));
  const [start, stop] = fan.reads;
  const read = Math.floor((stop - start) / Math.max(1, fan.inputs_count));
  const sum = (length, of) => {
    let all = 0;
    for (let i = 0; i < length; i++) all += of(i);
    return all;
  };
  const said = (column, i) => known[start + column * read + i] || 0;
  const columns = Array.from({ length: fan.inputs_count }, (_, column) => column);
  const term = (unit, column) => {
    const first = fan.row_of(unit, column);
    if (each === 1 && read === 1) return weights[first] * known[start + column] || 0;
    const weight = (i) => weights[first + i] || 0;
    if (each === read) return sum(each, (i) => weight(i) * said(column, i));
    const mean = sum(read, (i) => Math.abs(said(column, i))) / read;
    return Math.sqrt(sum(each, (i) => weight(i) ** 2)) * mean;
  };
  const all = fan.biases >= 0 ? [...columns, fan.inputs_count] : columns;
  const [plate] = layout.plate_of(fan.weights) ?? [];
  const half = (unit, column) => {
    const row = fan.row_of(unit, column);
    return plate.halves(frame.sizes[row], frame.sizeScaleAt(row));
  };
  const rows = Array.from({ length: fan.units }, (_, unit) => unit);
  const bias = (unit) => weights[fan.bias_of(unit)] || 0;
  return {
    values: columns.map((column) => sum(read, (i) => said(column, i)) / read),
    terms: rows.map((i) =>
      (fan.is_direct ? columns : all).map((j) => (j < fan.inputs_count ? term(i, j) : bias(i))),
    ),
    halves: fan.is_direct ? [] : rows.map((unit) => all.map((column) => half(unit, column))),
    summed: [after.sums, after.values].some((name) => name && values[name]),
    get most() {
      return Math.max(...this.terms.flat().map(Math.abs));
    },
  };
}

/** Return the depths of the line of a cube, given its layer, unit and column. */
export function depths_at(see, { fans }, [number, unit, column]) {
  const fan = fans[number];
  return [cubeOf(fan, column, unit), row3(fan.ends, 0)].map((point) => see.one(point).depth);
}

/** Paths that are drawn in order, each over a dark casing, and arrow heads above them. Their colors
 * are indices such as POSITIVE, see scene/layout/ways.py.
 */
export class LinePaint {
  constructor(canvas, theme) {
    this.canvas = canvas;
    this.theme = theme;
    this.paths = [];
    this.heads = [];
  }

  /** Add lines, each with its hue, its depths and whether it is a tube. */
  put(lines) {
    const { scale } = this.canvas;
    for (const [{ points, width, casing, strength }, hue, depths, hollow] of lines) {
      const wide = hollow ? Math.max(width, TUBE * scale) : width;
      this.path(points, hue, 0, wide + 2 * casing, depths);
      this.path(points, hue, strength, wide, depths);
      if (hollow) this.path(points, hue, 0.2, 0.88 * wide - 2 * scale, depths);
    }
  }

  /** Highlight a part of a line. */
  light(points, hue, width, depths) {
    this.path(points, hue, 0.9, width, depths);
  }

  path(points, hue, part, width, [begin, end]) {
    const last = Math.max(1, points.length - 1);
    const depths = points.map((_, i) => begin + (i / last) * (end - begin));
    this.paths.push([points, depths, this.theme.faded(this.theme.lineColors[hue], part), width]);
  }

  /** Add an arrow head. */
  head([x, y], [endX, endY], hue, depth) {
    const far = Math.max(Math.hypot(endX - x, endY - y), 1e-9);
    this.heads.push({ x, y, along: [(endX - x) / far, (endY - y) / far], hue, depth });
  }

  /** Draw all lines, and all arrow heads above them. */
  draw() {
    const { canvas, theme } = this;
    for (const each of this.paths) canvas.path(...each);
    const size = TIP * canvas.scale;
    for (const grown of [2, 0]) {
      for (const { x, y, along, hue, depth } of this.heads) {
        const bright = mixedColor(theme.lineColors[hue], [1, 1, 1], 0.6);
        const from = [x - (grown / 2) * along[0], y - (grown / 2) * along[1]];
        const tip = [x + (size + grown) * along[0], y + (size + grown) * along[1]];
        const look = { head: size + 1.5 * grown, depth };
        canvas.arrows(from, tip, grown ? theme.groundColor : bright, look);
      }
    }
  }
}

/** Draw lines with depths, each in the color for the sign of its value. */
export function draw_signed(canvas, theme, strokes) {
  const paint = new LinePaint(canvas, theme);
  paint.put(
    strokes.map(([stroke, depths]) => [stroke, stroke.value >= 0 ? POSITIVE : NEGATIVE, depths]),
  );
  paint.draw();
}

/** Draw a tube for each channel of a color, as wide as its amount. */
export function draw_tubes(canvas, theme, starts, ends, amounts, { upright = false } = {}) {
  const [paint, { scale }] = [new LinePaint(canvas, theme), canvas];
  const turned = (/** @type {number[]} */ [x, y]) => [y, x];
  ends.forEach((end, i) => {
    const width = scale * (2.8 + 5 * Math.min(1, Math.max(0, amounts[i] || 0)));
    const points = upright
      ? curve(turned(starts[i]), turned(end)).map(turned)
      : curve(starts[i], end);
    const tube = { points, width, casing: 1.5 * scale, strength: 1 };
    paint.put([[tube, CHANNEL + (i % 3), BEHIND, true]]);
  });
  paint.draw();
}
