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
 * Return the history of all weights for the moments {step, value}.
 *
 * The result contains `steps`; `groups` of tiles, each with label, first tile and count; for each
 * tile the number of its weights in `counts`, its first weight in `heads`, and its means in a row
 * of `tiles`.
 */
export function overTime(moments, { layers, most }) {
  const rowsOfLayers = layers.map(([, runs]) => rowsOfRuns(runs));
  const all = rowsOfLayers.flat();
  const lengths = layers.map(([label], k) => [label, rowsOfLayers[k].length]);
  const [heads, groups] = tiles_of(lengths, most);
  const tiles = heads.map((head, k) => all.slice(head, heads[k + 1]));
  const meanOf = (rows, { value }) => rows.reduce((sum, row) => sum + value[row], 0) / rows.length;
  return {
    steps: Float64Array.from(moments, ({ step }) => step),
    groups,
    tiles: Float64Array.from(
      tiles.flatMap((rows) => moments.map((moment) => meanOf(rows, moment))),
    ),
    heads: Int32Array.from(tiles, ([row]) => row),
    counts: Int32Array.from(tiles, ({ length }) => length),
  };
}
