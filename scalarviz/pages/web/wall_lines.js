// Lines of walls: hairlines of what large layers say, and lit ways; as scene/wall_lines.py.

import { LinePaint, rings } from "./lines.js";
import { pointed_rows, told_rows } from "./story/focus.js";
import { cubeOf } from "./layout.js";
import { along3, row3 } from "./projection.js";
import { saidTo, threadOf } from "./threads.js";
import { BEHIND } from "./story/ways.js";
import { MOST_LIT, SeenWall, hairlines, lit_way } from "./story/wall_ways.js";

/** The walls of a frame as they are seen, each with its sums. */
export function wallsSeen({ frame, see, scale }) {
  const fans = frame.layout.fans.filter((fan) => fan.top);
  const seen = fans.map((fan) => [fan, seenWall(fan, frame.layout, see, scale)]);
  return seen.filter(([, wall]) => wall);
}

/** Above a column of a wall. */
const gateOf = (fan, column, see) => see.one(along3(cubeOf(fan, column, 0), 1, fan.top));

/** A wall as it is seen; null if a part is behind the eye. */
function seenWall(fan, layout, see, scale) {
  const gates = Array.from({ length: fan.inputs_count }, (_, column) => {
    const { x, y } = gateOf(fan, column, see);
    return [x, y];
  });
  const starts = rings(fan.starts, layout.neurons[fan.before], see);
  if (![...gates, ...starts].flat().every(Number.isFinite)) return null;
  return new SeenWall(starts, gates, scale);
}

/** Draw the lines of all walls: ways of what is pointed at are lit, else the strongest. */
export function drawWalls({ paper, see, frame, palette }, walls) {
  if (!walls.length) return;
  const paint = new LinePaint(paper, palette);
  const inWalls = (row) => walls.some(([fan]) => fan.unit_of(row) !== null);
  const lit = [...pointed_rows(frame), ...told_rows(frame)].filter(inWalls);
  const rowOf = ({ number, unit, column }) => frame.layout.fans[number].row_of(unit, column);
  const rows = lit.length ? lit : threadOf(frame).map(rowOf);
  for (const [fan, wall] of walls) {
    const values = saidTo(fan, frame);
    const before = [fan.top[0], 0, 0];
    const draw = (stroke, depth) =>
      paint.add(stroke, stroke.value >= 0 ? palette.positive : palette.negative, depth, false);
    for (const stroke of hairlines(wall, values)) draw(stroke, BEHIND);
    for (const row of rows.filter((each) => fan.unit_of(each) !== null).slice(0, MOST_LIT)) {
      const [unit, column] = [fan.unit_of(row), fan.unit_before(row)];
      const cube = see.one(along3(cubeOf(fan, column, unit), 1, before));
      const end = see.one(row3(fan.ends, unit));
      const ends = [cube, end].map(({ x, y }) => [x, y]);
      const way = lit_way(wall, column, values[column] ?? 1, frame.colors[row], ...ends);
      const gate = gateOf(fan, column, see);
      const depths = [BEHIND, [gate.depth, cube.depth], [cube.depth, end.depth]];
      way.forEach((stroke, i) => draw(stroke, depths[depths.length - way.length + i]));
    }
  }
}
