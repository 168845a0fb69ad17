// Threads: the way that carries most through large layers, for one sample; as
// scene/layout/threads.py.

import { along3, row3 } from "./projection.js";

/** Return the output of each unit before a layer, for images the mean; zeros if unknown. */
export function said_to(fan, layout, values) {
  const line = layout.neurons[fan.before];
  const known = values[line.values] ?? values[line.sums] ?? [];
  const [start, stop] = fan.reads;
  if (known.length < stop) return Array(fan.inputs_count).fill(0);
  const each = (stop - start) / Math.max(1, fan.inputs_count);
  const numbers = (column) =>
    Array.from({ length: each }, (_, i) => known[start + column * each + i] || 0);
  const sum = (column) => numbers(column).reduce((a, b) => a + b, 0);
  return Array.from({ length: fan.inputs_count }, (_, column) => sum(column) / each);
}

/** Return the strongest path for the shown sample, from the last layer back; empty if unknown.
 *
 * Each item is [layer, unit, column]. For squares, it is the path that adds most to output 0.
 */
export function thread_of(layout, weights, values) {
  const { fans } = layout;
  const found = [];
  let [last, operation] = [-1, -1];
  for (const [number, fan] of [...fans.entries()].toReversed()) {
    const groups = fans.slice(0, number).filter((each) => each.operation === fan.operation);
    const first = groups.reduce((sum, each) => sum + each.units, 0);
    const isOther = last >= 0 && (last < first || last >= first + fan.units);
    if (fan.operation === operation || isOther) continue; // another group of the operation
    const said = said_to(fan, layout, values);
    if (!said.some((each) => each !== 0)) return [];
    const all = [...Array(fan.is_direct ? 1 : fan.units).keys()];
    const units = last < 0 ? all : [last - first];
    const { unit, column } = strongestOf(fan, units, said, weights);
    found.push([number, unit, column]);
    const pixels = Math.floor((fan.reads[1] - fan.reads[0]) / said.length);
    [last, operation] = [column + Math.floor(fan.reads[0] / pixels), fan.operation];
  }
  return found;
}

/** Return the unit (one of `units`) and the column with the strongest connection. A kernel counts
 * by its largest weight.
 */
function strongestOf(fan, units, said, weights) {
  const each = Math.floor(fan.inputs / said.length);
  let found = { unit: units[0], column: 0, size: -Infinity };
  const sized = (x) => (fan.is_direct ? x : Math.abs(x)) || 0;
  for (const unit of units) {
    said.forEach((value, column) => {
      const first = fan.row_of(unit, column);
      let own = sized(weights[first]);
      for (let i = first + 1; i < first + each; i++) own = Math.max(own, sized(weights[i]));
      const size = own * sized(value);
      if (size > found.size) found = { unit, column, size };
    });
  }
  return found;
}

/** Return the data of a layout of squares with a cube for each weight on a path. */
export function withThread(given, layout, thread, cube) {
  const plates = thread.map(([number, unit, column]) => {
    const fan = layout.fans[number];
    const [before, behind] = [layout.neurons[fan.before], layout.neurons[fan.after]];
    const [start, end] = [row3(fan.starts, column), row3(fan.ends, unit)];
    const xs = (line) => Array.from({ length: line.count }, (_, i) => line.point(i)[0]);
    const x = 0.5 * (Math.max(...xs(before)) + Math.min(...xs(behind)));
    const [first, last] = [start[0] + before.radius, end[0] - behind.radius];
    const part = (x - first) / (last - first);
    const y = start[1] + (end[1] - start[1]) * part * part * (3 - 2 * part);
    const origin = along3([x, y, 0], 1, cube.origin);
    return { ...cube, first: fan.row_of(unit, column), operation: fan.operation, origin };
  });
  return { ...given, plates, thread };
}
