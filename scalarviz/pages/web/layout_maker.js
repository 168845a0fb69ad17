// Crossbars that a page makes for its stage, by scene/layout/crossbar_layout.py.

import { readyFacts } from "./facts.js";
import { NONE } from "./story/facts.js";
import { crossbar_layout } from "./story/crossbar_layout.js";

/** Return rows of points as an array of arrays.js; null for missing ones. */
function flat(points) {
  const shape = [points?.length, 3];
  return points && Object.assign(Float32Array.from(points.flat()), { shape });
}

/**
 * Return the layout of a chain of small dense layers, as `layout_data` in scene_data.py has it, with
 * typed arrays in place of packed ones.
 * @param {any} given - facts, with formulas as trees or as functions
 * @param {number[]} room - width and height of the stage, for text of 12 pixels
 * @param {boolean} isTied - whether inputs and outputs are colors
 * @param {boolean} isSquare - whether hidden neurons are squares
 * @param {any} followed - Dict, by layer, of the neurons whose products a crossbar writes
 */
export function layoutOf(given, room, isTied, isSquare, followed) {
  const facts = readyFacts(given);
  const { inputs, outputs, buffers } = facts;
  const names = [inputs, outputs].filter((name) => buffers[name].names.length);
  const hidden = Object.keys(buffers).filter((name) => buffers[name].role !== "output");
  const own = Object.fromEntries(names.map((name) => [name, buffers[name].names]));
  const squares = isSquare ? hidden : [];
  const program = programOf(facts);
  const made = crossbar_layout(program, () => ["", ""], own, room, isTied, squares, followed);
  return {
    plates: made.plates.map(plateOf),
    neurons: made.neurons.map((each) => ({ ...each, points: flat(each.points) })),
    wires: [],
    labels: made.labels.map(({ place }) => place),
    fans: made.fans.map((each) => ({ ...each, ...pointsOf(each) })),
    signs: [],
    written: [],
    heads: [],
    views: Object.fromEntries([...made.views].map(([name, view]) => [name, Object.values(view)])),
    crossbar: { ...made.crossbar, free: [...made.crossbar.free] },
  };
}

/** The data of a plate, as `plate_data`; it is small. */
function plateOf(plate) {
  return { ...plate, levels: 0, room: [0, 0], is_full: undefined };
}

/** Return a scene that makes its layouts if Python has left that to the page, see `scene_data`. */
export function withLayouts(scene, facts) {
  const { chain } = scene;
  const layoutAt = (room, followed) => layoutOf(facts, room, chain.tied, chain.square, followed);
  return chain ? { ...scene, layoutAt } : scene;
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
