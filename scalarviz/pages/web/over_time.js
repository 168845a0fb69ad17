// The numbers of all weights at some moments of a training; as training/session/over_time.py.

import { NONE } from "./story/facts.js";
import { tiles_of } from "./story/past_places.js";

/** Return the layers with weights, in order: [label, [[first row, count], ...]]. */
export function layersOf({ operations, rows }) {
  const found = new Map();
  const known = new Set();
  for (const { label, layer, weights, biases, count } of operations) {
    const first = weights !== NONE ? weights : biases;
    if (!count || known.has(first)) continue; // what several layers share belongs to the first one
    known.add(first);
    const name = String(label || layer);
    found.set(name, [...(found.get(name) ?? []), [first, count]]);
  }
  return found.size ? [...found] : [["", [[0, rows]]]];
}

function rowsOfRuns(runs) {
  return runs.flatMap(([first, count]) => Array.from({ length: count }, (_, i) => first + i));
}

/**
 * Return the history of all weights for the moments {step, value, grad}.
 *
 * The result contains `steps`; `groups` of tiles, each with label, first tile and count; for each
 * tile the number of its weights in `counts`, its first weight in `heads`, and its means in a row
 * of `tiles`; or else `norms` of layers.
 *
 * start   initial values of the weights
 * order   "layer", "distance" or "norms"
 * sorted  all rows sorted by distance, if an earlier order should be kept, or null
 */
export function overTime(moments, start, { kind, order, layers, most, sorted = null }) {
  const rowsOfLayers = layers.map(([, runs]) => rowsOfRuns(runs));
  const { value } = moments.at(-1);
  const distanceOf = (row) => Math.abs(value[row] - start[row]);
  const [isSorted, isNorms] = [order === "distance", order === "norms"];
  let all = rowsOfLayers.flat();
  if (isSorted) all = sorted ?? all.sort((a, b) => distanceOf(b) - distanceOf(a) || a - b);
  const lengths = layers.map(([label], k) => [label, rowsOfLayers[k].length]);
  const [heads, groups] = tiles_of(isSorted ? [["", all.length]] : lengths, most);
  const moved = (j, row) => {
    const [earlier, now] = [moments[j - 1], moments[j]];
    return earlier ? (now.value[row] - earlier.value[row]) / (now.step - earlier.step) : NaN;
  };
  const numberAt = {
    value: (j, row) => moments[j].value[row],
    gradient: (j, row) => moments[j].grad[row],
    change: isNorms ? moved : (j, row) => moments[j].value[row] - start[row],
  }[kind];
  const tiles = heads.map((head, k) => all.slice(head, heads[k + 1]));
  const meanOf = (rows, j) => rows.reduce((sum, row) => sum + numberAt(j, row), 0) / rows.length;
  const normOf = (rows, j) => Math.sqrt(rows.reduce((sum, row) => sum + numberAt(j, row) ** 2, 0));
  const numbersOf = (parts, read) =>
    Float64Array.from(parts.flatMap((rows) => moments.map((_, j) => read(rows, j))));
  return {
    steps: Float64Array.from(moments, ({ step }) => step),
    groups,
    tiles: numbersOf(isNorms ? [] : tiles, meanOf),
    norms: numbersOf(isNorms ? rowsOfLayers : [], normOf),
    sorted: isSorted ? all : null,
    heads: Int32Array.from(tiles, ([row]) => row),
    counts: Int32Array.from(tiles, ({ length }) => length),
  };
}
