// Layouts that a page makes for its stage, by scene/layout/trays.py.

import { readyFacts } from "./facts.js";
import { along3 } from "./projection.js";
import { NONE } from "./story/facts.js";
import { trays_layout } from "./story/trays.js";

/** Return rows of points as an array of arrays.js; null for missing ones. */
function flat(points) {
  const shape = [points?.length, 3];
  return points && Object.assign(Float32Array.from(points.flat()), { shape });
}

/**
 * Return the layout of a network of dense layers, as `layout_data` in scene_data.py has it, with
 * typed arrays in place of packed ones.
 * @param {object} given - facts, with formulas as trees or as functions
 * @param {number} shape - aspect ratio of the stage
 * @param {boolean} isTied - whether inputs and outputs are colors
 */
export function layoutOf(given, shape, isTied = false) {
  const facts = readyFacts(given);
  const { inputs, outputs, buffers } = facts;
  const names = [inputs, outputs].filter((name) => buffers[name].names.length);
  const hidden = Object.keys(buffers).filter((name) => buffers[name].role !== "output");
  const made = trays_layout(
    programOf(facts), () => ["", ""],
    Object.fromEntries(names.map((name) => [name, buffers[name].names])),
    shape, isTied, facts.tint ? [] : hidden,
  ); // prettier-ignore
  return {
    plates: made.plates.map((each) => ({ ...each, levels: 0, room: [0, 0], is_full: undefined })), // they are small
    neurons: made.neurons.map((each) => ({
      ...each,
      points: flat(each.points),
      way: flat(each.way),
    })),
    wires: made.wires.map((each) => ({ ...each, start: flat(each.start), end: flat(each.end) })),
    labels: made.labels.map(({ place }) => place),
    fans: made.fans.map((each) => ({ ...each, ...pointsOf(each) })),
    signs: [],
    written: made.written.map(wordsOf),
    heads: made.heads.map(wordsOf),
    views: Object.fromEntries([...made.views].map(([name, view]) => [name, Object.values(view)])),
  };
}

function wordsOf({ words, least, middle, half }) {
  return { words, least, ends: [...along3(middle, -1, half), ...along3(middle, 1, half)] };
}

function pointsOf({ starts, columns, ends, rows }) {
  return { starts: flat(starts), columns: flat(columns), ends: flat(ends), rows: flat(rows) };
}

/** The operations of a network as Python's `Program` has them, by its facts. */
function programOf({ inputs, buffers, operations, activations }) {
  const buffer = (name) => ({ ...buffers[name], name });
  return {
    inputs: buffer(inputs),
    is_chain: false,
    operations: operations.map((each) => ({
      ...each,
      source: buffer(each.source),
      sources: each.sources.map(buffer),
      target: buffer(each.target),
      shape: each.weights === NONE ? [] : each.shape,
      parameters: each.count,
      curve: activations[each.formula]?.value,
    })),
  };
}
