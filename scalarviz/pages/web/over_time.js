// The numbers of all weights at some moments of a training; as training/session/over_time.py.

import { NONE } from "./story/facts.js";

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

/** Return the last known moment up to each of some steps, each once; `lists` are in order of steps. */
export function momentsUpTo(steps, lists) {
  const found = [];
  const places = lists.map(() => -1);
  for (const step of steps) {
    let newest = null;
    lists.forEach(({ moments, end }, k) => {
      const last = Math.min(step, end);
      while (moments[places[k] + 1]?.step <= last) places[k] += 1;
      const moment = moments[places[k]];
      if (moment && (newest === null || moment.step > newest.step)) newest = moment;
    });
    if (newest && newest.step !== found.at(-1)?.step) found.push(newest);
  }
  return found;
}

/** Return the steps of so many moments from a first to a last one. */
export function evenSteps(first, last, most) {
  const all = Array.from({ length: most }, (_, i) =>
    Math.floor(first + (i * (last - first)) / (most - 1)),
  );
  return [...new Set(all)];
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
  const groups = [];
  const [heads, counts] = [[], []];
  let first = 0;
  (isSorted ? [["", total]] : layers.map(([label], k) => [label, rowsOfLayers[k].length])).forEach(
    ([label, length]) => {
      const count = Math.min(length, Math.max(1, Math.round((most * length) / total)));
      groups.push([label, heads.length, count]);
      for (let i = 0; i < count; i++) {
        const begin = Math.floor((i * length) / count);
        heads.push(first + begin);
        counts.push(Math.floor(((i + 1) * length) / count) - begin);
      }
      first += length;
    },
  );
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
