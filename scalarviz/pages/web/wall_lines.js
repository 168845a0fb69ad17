// Lines of walls: hairlines of what large layers say, and lit ways; as scene/wall_lines.py.

import { BEHIND, LinePaint, pointedRows, rings, toldRows } from "./lines.js";
import { along3, row3 } from "./projection.js";
import { MOST_LIT, SeenWall, hairlines, lit_way } from "./story/wall_ways.js";

/** Draw the lines of all walls: ways of what is pointed at are lit, else the strongest. */
export function drawWalls({ paper, see, frame, palette }) {
  const { layout } = frame;
  const paint = new LinePaint(paper, palette);
  const walls = layout.fans.filter((fan) => fan.top);
  if (!walls.length) return;
  const inWalls = (row) => walls.some((fan) => fan.unitOf(row) >= 0);
  const lit = [...pointedRows(frame), ...toldRows(frame)].filter(inWalls);
  const rows = lit.length ? lit : strongestWay(frame, walls);
  for (const fan of walls) {
    const values = saidTo(fan, frame);
    const before = [fan.top[0], 0, 0];
    const gate = (column) => see.one(along3(fan.cube(column, 0), 1, fan.top));
    const gates = values.map((_, column) => [gate(column).x, gate(column).y]);
    const starts = rings(fan.starts, layout.neurons[fan.before], see);
    if (![...gates, ...starts].flat().every(Number.isFinite)) continue;
    const wall = new SeenWall(starts, gates, paper.scale);
    const draw = (stroke, depth) =>
      paint.add(stroke, stroke.value >= 0 ? palette.positive : palette.negative, depth, false);
    for (const stroke of hairlines(wall, values)) draw(stroke, BEHIND);
    for (const row of rows.filter((each) => fan.unitOf(each) >= 0).slice(0, MOST_LIT)) {
      const [unit, column] = [fan.unitOf(row), fan.unitBefore(row)];
      const cube = see.one(along3(fan.cube(column, unit), 1, before));
      const end = see.one(row3(fan.ends, unit));
      const ends = [cube, end].map(({ x, y }) => [x, y]);
      const way = lit_way(wall, column, values[column] ?? 1, frame.colors[row], ...ends);
      const depths = [BEHIND, [gate(column).depth, cube.depth], [cube.depth, end.depth]];
      way.forEach((stroke, i) => draw(stroke, depths[depths.length - way.length + i]));
    }
  }
}

/** What each unit before a wall says, of an image the mean; zeros if it is not known. */
function saidTo(fan, { layout, values }) {
  const line = layout.neurons[fan.before];
  const known = values[line.values] ?? values[line.sums] ?? [];
  const [start, stop] = fan.reads;
  const each = (stop - start) / Math.max(1, fan.count);
  const numbers = (column) =>
    Array.from({ length: each }, (_, i) => known[start + column * each + i] || 0);
  const sum = (column) => numbers(column).reduce((a, b) => a + b, 0);
  return Array.from({ length: fan.count }, (_, column) => sum(column) / each);
}

/** The bank index of one cube of each wall: the way that carries most to the last. */
function strongestWay(frame, walls) {
  const found = [];
  let [unit, last] = [0, -1];
  for (const fan of walls.toReversed()) {
    if (fan.operation === last) continue;
    last = fan.operation;
    const own = Math.min(unit, fan.units - 1);
    const each = Math.floor(fan.inputs / Math.max(1, fan.count));
    const sizes = saidTo(fan, frame).map((value, column) => {
      const first = fan.rowOf(own, column);
      const weights = Array.from(frame.weights.slice(first, first + each), Math.abs);
      return Math.max(...weights) * Math.abs(value);
    });
    const column = sizes.indexOf(Math.max(...sizes));
    found.push(fan.rowOf(own, column));
    unit = column + Math.floor(fan.reads[0] / Math.max(1, fan.reads[1] - fan.reads[0]));
  }
  return found;
}
