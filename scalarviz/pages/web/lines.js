// What comes into cubes and what leaves them, drawn in the picture; as scene/lines.py.

import { colorOf, mixedColor } from "./palette.js";
import { numbers_on_cubes } from "./story/cube_numbers.js";
import { draw_first_row, is_called } from "./story/first_row.js";
import { blame_in, chosen_unit, pointed_rows, told_rows } from "./story/focus.js";
import { head_on, lit_by_blame } from "./story/blame.js";
import { cubeOf } from "./layout.js";
import { along3, row3 } from "./projection.js";
import { is_free } from "./story/annotations.js";
import {
  BEHIND,
  LIT,
  MOST,
  MOST_DIRECT,
  NEARER,
  OpenRow,
  SeenFan,
  TUBE,
  curve,
  draw_bias,
  draw_gates,
  draw_heads,
  draw_joined,
  draw_open,
  draw_upright,
  frame_thread,
  lit_parts,
  strokes_of,
  thread_strokes,
  thread_words,
} from "./story/ways.js";
import { WAYS_BACK } from "./story/pace.js";
import { threadOf } from "./threads.js";
import { draw_cubes } from "./small_cubes.js";

const TIP = 12; // pixels of an arrow head
const sumOf = (numbers) => numbers.reduce((sum, each) => sum + each, 0);

/** Caches the result of `make` for a view until the layout, the camera or the size changes. */
export class KnownView {
  constructor(make) {
    this.make = make;
    this.key = "";
    this.layout = this.made = null;
  }

  of(view) {
    const { frame, see, scale } = view;
    const key = `${see.matrix} ${see.width} ${see.height} ${scale}`;
    if (this.key !== key || this.layout !== frame.layout)
      Object.assign(this, { key, layout: frame.layout, made: this.make(view) });
    return this.made;
  }
}

/** Return the rows of each layer in the picture; null for a layer drawn without lines. */
export function fansSeen({ frame, see, scale }) {
  return frame.layout.fans.map((fan) => seenFan(fan, frame.layout, see, scale));
}

/** Return the rows of a layer in the picture, or null if it has too many weights. */
function seenFan(fan, layout, see, scale) {
  const columns = fan.columns.length / 3;
  if (fan.top || fan.units * columns > (fan.is_direct ? MOST_DIRECT : MOST)) return null;
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

/** Return the values and terms that the lines of a layer carry, and cube sizes; 0 if unknown. */
export function carried(fan, frame) {
  const { layout, values, weights } = frame;
  const [before, after] = [layout.neurons[fan.before], layout.neurons[fan.after]];
  const known = values[before.values] ?? values[before.sums] ?? [];
  const each = Math.floor(fan.inputs / Math.max(1, fan.inputs_count));
  const [start, stop] = fan.reads;
  const read = Math.floor((stop - start) / Math.max(1, fan.inputs_count));
  const sum = (length, of) => sumOf(Array.from({ length }, (_, i) => of(i)));
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
  };
}

const NAMED = 34; // least pixels of a cell with call-outs in a playground

/** Return whether the parts of the first layer are labelled, see `drawFirstRow`. */
function isCalled({ frame, see, scale }, seen) {
  const isAsked = frame.marks || (frame.named && seen.cell >= NAMED * scale);
  return frame.names_row && is_called(seen, scale, see.camera, isAsked);
}

/** Label the parts of the first row, if they are explained now; return the boxes of the texts. */
export function drawFirstRow(view, fans, taken) {
  const { frame, paper, palette } = view;
  const whole = frame.layout.fans;
  const known = whole.filter((fan, i) => fans[i] && !fan.is_direct);
  const seen = fans.filter((each, i) => each && !whole[i].is_direct);
  if (!seen.length || !isCalled(view, seen[0])) return [];
  const [first] = carried(known[0], frame).halves;
  const tops = seen[0].feet[0].map(([, y], i) => y - 2.1 * first[i] * seen[0].cell);
  const rows = known.map((fan, i) => openRow(frame, fan, i ? fan.units - 1 : 0));
  const signs = [palette.ends[0], palette.ends[2]];
  return draw_first_row(paper, palette, seen, rows, tops, signs, view.see.box, taken);
}

/** Draw the lines of all layers; return a function that draws the lines above squares. */
export function drawLines(view, fans) {
  const { paper, see, frame, lit, palette } = view;
  const above = [];
  const paint = new LinePaint(paper, palette);
  const [told, pointed] = [told_rows(frame), pointed_rows(frame)];
  const written = told.size ? [...numbers_on_cubes(paper, see, frame).values()] : [];
  frame.layout.fans.forEach((fan, number) => {
    const seen = fans[number];
    if (!seen) return;
    const numbers = carried(fan, frame);
    const far = see.one(row3(fan.ends, 0)).depth;
    const depthOf = (unit, column) => [see.one(cubeOf(fan, column, unit)).depth, far];
    const { values, terms, halves, summed } = numbers;
    const named = number !== 0 || !isCalled(view, seen);
    if (!fan.is_direct) draw_bias(paper, palette, seen, named);
    if (fan.is_direct) draw_joined(paper, palette, seen);
    const strokes = fan.is_direct ? [] : strokes_of(seen, values, terms, halves, summed);
    for (const stroke of strokes) {
      const { kind, unit, column } = stroke;
      const row = unit < 0 || column < 0 ? -1 : fan.row_of(unit, column);
      const isIn = kind === "in" || kind === "arm";
      const leads = (i) => lit.focus.rows.has(fan.row_of(i, column)); // a wire to a whole column
      const isWire = lit.focus && kind === "in" && row < 0;
      const units = isWire ? Array.from({ length: fan.units }, (_, i) => i) : [];
      const isLit = !lit.focus || lit.focus.rows.has(row) || units.some(leads);
      const part = isLit ? 1 : lit.level;
      const color = hueOf(stroke, seen, palette);
      if (pointed.has(row)) Object.assign(stroke, { width: LIT * stroke.width, strength: 0.95 });
      else stroke.strength *= part;
      paint.add(stroke, color, BEHIND, isIn && seen.tubes);
    }
    for (const [, unit, column] of frame.layout.thread.filter(([own]) => own === number)) {
      const two = [values[column], terms[unit][column]];
      const level = far - NEARER;
      for (const stroke of thread_strokes(seen, unit, column, ...two)) {
        const line = [stroke, hueOf(stroke, seen, palette), [level, level], false];
        if (seen.square || stroke.kind === "in") above.push(line);
        else paint.add(...line); // below the numbers of balls
      }
    }
    explain(paint, { fan, seen, halves, depthOf, written }, told, frame);
  });
  paint.drawHeads();
  frame.layout.fans.forEach((fan, number) => {
    if (!fans[number] || fan.is_direct) return;
    const { bends } = frame.layout.neurons[fan.after];
    const { terms, summed } = carried(fan, frame);
    const sums = summed ? terms.map(sumOf) : [];
    draw_gates(paper, palette, fans[number], bends, sums, see.one(row3(fan.ends, 0)).depth);
  });
  return () => {
    above.forEach((each) => paint.add(...each));
    const { fans: whole, thread } = frame.layout;
    const named = view.see.camera.is_front ? thread : [];
    const said = named.map(([number, , column]) => carried(whole[number], frame).values[column]);
    frame_thread(paper, palette, fans, thread, said, sumOfThread(frame, named));
  };
}

/** Return a text with the sum for the first color, at the end of the strongest path, or "". */
function sumOfThread(frame, [step]) {
  const { layout, values, weights } = frame;
  const line = layout.neurons.at(-1);
  if (!step || !line.is_color || line.curve !== "sigmoid" || !values[line.values]) return "";
  const [number, unit, column] = step;
  const fan = layout.fans[number];
  const { values: came, terms } = carried(fan, frame);
  const ends = [values[line.sums][unit], values[line.values][unit]];
  return thread_words(
    weights[fan.row_of(unit, column)],
    column,
    came[column],
    terms[unit],
    ...ends,
  );
}

/** Draw bars for upright rows; for other long rows headings, and one row with its numbers. */
export function drawLongRows(view, fans) {
  const { paper, see, frame, palette } = view;
  const { layout } = frame;
  const [minus, , plus] = palette.ends;
  for (const [number, fan] of layout.fans.entries()) {
    const seen = fans[number];
    if (!seen || !["long", "upright"].includes(fan.form)) continue;
    const { summed } = carried(fan, frame);
    if (fan.form === "upright") {
      const row = summed ? openRow(frame, fan, 0) : null;
      draw_upright(paper, palette, seen, row, [minus, plus], see.camera.is_front);
      continue;
    }
    draw_heads(paper, palette, seen);
    const unit = summed && see.camera.is_front ? openUnit(number, frame) : null;
    if (unit === null) continue;
    const row = openRow(frame, fan, unit);
    const drawCubes = (cubes) => draw_cubes(paper, cubes, palette);
    draw_open(paper, palette, seen, row, [minus, plus], drawCubes);
  }
}

/** Return the row of a unit of a layer, with its numbers. */
export function openRow(frame, fan, unit) {
  const { values, terms } = carried(fan, frame);
  const rows = terms[unit].map((_, column) => fan.row_of(unit, column));
  const own = rows.map((row) => frame.weights[row]);
  const shareOf = (row) => frame.weights[row] / (frame.sizeScaleAt(row) || 1) || 0;
  const shares = rows.map((row) => Math.min(1, Math.max(-1, shareOf(row))));
  const comes = [...values, ...Array(own.length - values.length).fill(1)];
  const result = sumOf(terms[unit]);
  const line = frame.layout.neurons[fan.after];
  const says = frame.values[line.values]?.[unit] ?? result;
  const rest = [result, Math.max(...terms.flat().map(Math.abs)), says, line.curve, line.bends];
  return new OpenRow(unit, values.length, comes, own, shares, terms[unit], ...rest);
}

/** Return the unit whose row shows numbers: chosen, or on the strongest path; or null. */
function openUnit(number, frame) {
  const chosen = chosen_unit(frame.layout.fans[number], frame);
  return chosen ?? threadOf(frame).find(([own]) => own === number)?.[1] ?? null;
}

/** Return the color of a line: for its channel, for the sign of its value, or muted. */
function hueOf({ kind, column, value }, fan, palette) {
  if (fan.tubes && (kind === "in" || kind === "arm")) return palette.channelColors[column % 3];
  if (!value) return colorOf(palette.wire);
  return value > 0 ? palette.positive : palette.negative;
}

/** Highlight the lines through the cubes that the caption explains. */
function explain(paint, { fan, seen, halves, depthOf, written }, told, frame) {
  const { moment, part } = frame;
  if (!moment || !told.size || fan.is_direct) return;
  const { palette } = paint;
  const blame = blame_in(frame);
  for (const [path, width] of blame ? lit_by_blame(fan, seen, halves, blame, part) : []) {
    const violet = colorOf(palette.accent);
    paint.light(path, violet, width, BEHIND);
    paint.head(head_on(path), violet, 1, BEHIND, written);
  }
  const linked = blame ? [] : (frame.told?.linked ?? []);
  const rows = new Set([...told, ...linked.filter((each) => each >= 0)]);
  for (const row of [...rows].sort((a, b) => a - b)) {
    const unit = fan.unit_of(row);
    if (unit === null) continue;
    const column = fan.unit_before(row);
    const half = halves[unit][column];
    const isBack = WAYS_BACK.has(moment.kind) || moment.kind === "delta" || !told.has(row);
    const lit = lit_parts(seen, unit, column, half, isBack, told.has(row) ? part : 1, told.size);
    lit.slice(0, blame ? 1 : 2).forEach(([path, width, back], k) => {
      const color = colorOf(back ? palette.accent : palette.lit);
      const depth = k ? depthOf(unit, column) : BEHIND;
      paint.light(path, color, width, depth);
      const [end, start] = path.slice(Math.floor((3 * path.length) / 4) - 1);
      if (back && start) paint.head([start, end], color, 1, [depth[1], depth[1]], written);
    });
  }
}

/** Draws lines with a dark outline, and arrow heads on them. */
class LinePaint {
  constructor(paper, palette) {
    this.paper = paper;
    this.palette = palette;
    this.heads = [];
  }

  /** Add an arrow head on a short path unless it would cover a text; `part` is its brightness. */
  head(way, color, part, depths, written) {
    if (!way.length || !is_free(written, ...way[0], TIP * this.paper.scale)) return;
    const [[x, y], last] = [way[0], way.at(-1)];
    const far = Math.max(Math.hypot(last[0] - x, last[1] - y), 1e-9);
    const along = [(last[0] - x) / far, (last[1] - y) / far];
    this.heads.push({ x, y, along, color, part, depth: (depths[0] + depths[1]) / 2 });
  }

  /** Draw all arrow heads above all lines. */
  drawHeads() {
    const size = TIP * this.paper.scale;
    const ground = this.palette.groundColor;
    for (const grown of [2, 0]) {
      for (const { x, y, along, color, part, depth } of this.heads) {
        const bright = mixedColor(ground, mixedColor(color, [1, 1, 1], 0.6), part);
        const from = [x - (grown / 2) * along[0], y - (grown / 2) * along[1]];
        const tip = [x + (size + grown) * along[0], y + (size + grown) * along[1]];
        const look = { head: size + 1.5 * grown, depth };
        this.paper.arrows(from, tip, grown ? ground : bright, look);
      }
    }
  }

  /** Draw a line; if `hollow` is true, as a tube. */
  add({ points, width, casing, strength }, color, depth, hollow) {
    const { scale } = this.paper;
    const wide = hollow ? Math.max(width, TUBE * scale) : width;
    this.path(points, this.palette.groundColor, wide + 2 * casing, depth);
    this.path(points, this.mixed(color, strength), wide, depth);
    if (hollow) this.path(points, this.mixed(color, 0.2), 0.88 * wide - 2 * scale, depth);
  }

  /** Highlight a part of a line. */
  light(points, color, width, depth) {
    this.path(points, this.mixed(color, 0.9), width, depth);
  }

  mixed(color, part) {
    return mixedColor(this.palette.groundColor, color, part);
  }

  path(points, color, width, ends) {
    const [begin, end] = ends;
    const last = Math.max(1, points.length - 1);
    const depths = points.map((_, i) => begin + (i / last) * (end - begin));
    this.paper.path(points, depths, color, width);
  }
}

/** Draw lines with depths, each in the color for the sign of its value. */
export function draw_signed(paper, palette, strokes) {
  const paint = new LinePaint(paper, palette);
  for (const [stroke, depth] of strokes)
    paint.add(stroke, stroke.value >= 0 ? palette.positive : palette.negative, depth, false);
}

/** Draw a tube for each channel of a color, as wide as its amount. */
export function draw_tubes(paper, palette, starts, ends, amounts) {
  const [paint, { scale }] = [new LinePaint(paper, palette), paper];
  ends.forEach((end, i) => {
    const width = scale * (2.8 + 5 * Math.min(1, Math.max(0, amounts[i] || 0)));
    const tube = { points: curve(starts[i], end), width, casing: 1.5 * scale, strength: 1 };
    paint.add(tube, palette.channelColors[i % 3], BEHIND, true);
  });
}
