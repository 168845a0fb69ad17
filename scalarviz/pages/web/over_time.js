// The numbers of all weights at some moments of a training; as training/session/over_time.py.

import { NONE } from "./story/facts.js";
import { tiles_of } from "./story/past_places.js";

/** Return the layers that have weights, in order: [label, [[first row, count], ...]]. */
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
 * Return numbers of all weights at moments, {step, value, grad}: `steps`, `groups` of tiles, with
 * label, first tile and count; of each tile the number of its weights in `counts`, its first one in
 * `heads`, and its means in `tiles`, one row for each; or `norms` of layers.
 *
 * start  values with which the training began
 * order  "layer", "distance" or "norms"; `sorted` are all rows by distance, where that is kept
 */
export function overTime(moments, start, { kind, order, layers, most, sorted = null }) {
  const rowsOfLayers = layers.map(([, runs]) => rowsOfRuns(runs));
  const total = rowsOfLayers.reduce((sum, rows) => sum + rows.length, 0);
  const { value } = moments.at(-1);
  const byDistance = () =>
    rowsOfLayers.flat().sort((a, b) => distanceOf(b) - distanceOf(a) || a - b);
  const distanceOf = (row) => Math.abs(value[row] - start[row]);
  const isSorted = order === "distance";
  const all = isSorted ? (sorted ?? byDistance()) : rowsOfLayers.flat();
  const lengths = isSorted ? [["", total]] : layers.map(([label], k) => [label, rowsOfLayers[k].length]); // prettier-ignore
  const [heads, groups] = tiles_of(lengths, most);
  const counts = heads.map((head, i) => (heads[i + 1] ?? total) - head);
  const read = { value: (m) => m.value, gradient: (m) => m.grad, change: (m) => m.value }[kind];
  const from = kind === "change" ? start : null;
  const isNorms = order === "norms";
  const width = moments.length;
  const tiles = new Float64Array(isNorms ? 0 : heads.length * width);
  const norms = new Float64Array(isNorms ? layers.length * width : 0);
  moments.forEach((moment, j) => {
    const numbers = read(moment);
    const earlier = kind === "change" ? (moments[j - 1] ?? null) : null;
    for (let k = 0; isNorms && k < layers.length; k++) {
      let sum = kind === "change" && !earlier ? NaN : 0;
      for (const row of rowsOfLayers[k]) {
        const each = earlier ? (numbers[row] - earlier.value[row]) / (moment.step - earlier.step) : numbers[row]; // prettier-ignore
        sum += each * each;
      }
      norms[k * width + j] = Math.sqrt(sum);
    }
    for (let k = 0; !isNorms && k < heads.length; k++) {
      let sum = 0;
      for (let i = heads[k]; i < heads[k] + counts[k]; i++)
        sum += numbers[all[i]] - (from ? from[all[i]] : 0);
      tiles[k * width + j] = sum / counts[k];
    }
  });
  return {
    steps: Float64Array.from(moments, ({ step }) => step), groups, tiles, norms, sorted: isSorted ? all : null,
    heads: Int32Array.from(heads, (i) => all[i]), counts: Int32Array.from(counts),
  }; // prettier-ignore
}
