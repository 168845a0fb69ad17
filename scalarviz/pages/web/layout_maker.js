// Layouts that a page makes for its stage, by scene/layout/crossbar_layout.py and trays.py.

import { readyFacts } from "./facts.js";
import { Dict } from "./python.js";
import { along3 } from "./projection.js";
import { NONE } from "./story/facts.js";
import { crossbar_layout } from "./story/crossbar_layout.js";
import { trays_layout } from "./story/trays.js";

const HIGH = 570; // pixels of a stage of which only the shape is known, as in network_layout.py

/** Return rows of points as an array of arrays.js; null for missing ones. */
function flat(points) {
  const shape = [points?.length, 3];
  return points && Object.assign(Float32Array.from(points.flat()), { shape });
}

/**
 * Return the layout of a network of dense layers, as `layout_data` in scene_data.py has it, with
 * typed arrays in place of packed ones.
 * @param {any} given - facts, with formulas as trees or as functions
 * @param {number} shape - aspect ratio of the stage
 * @param {boolean} isTied - whether inputs and outputs are colors
 * @param {boolean} isSquare - whether hidden neurons are squares
 * @param {number[]} room - width and height of the stage, for text of 12 pixels
 * @param {Dict} followed - by layer, neurons whose products a crossbar writes
 */
export function layoutOf(
  given,
  shape,
  isTied = false,
  isSquare = !given.tint,
  room = [shape * HIGH, HIGH],
  followed = new Dict(),
) {
  const facts = readyFacts(given);
  const { inputs, outputs, buffers } = facts;
  const names = [inputs, outputs].filter((name) => buffers[name].names.length);
  const hidden = Object.keys(buffers).filter((name) => buffers[name].role !== "output");
  const own = Object.fromEntries(names.map((name) => [name, buffers[name].names]));
  const shown = [programOf(facts), () => ["", ""], own];
  const look = [isTied, isSquare ? hidden : []];
  const made =
    crossbar_layout(...shown, room, ...look, followed) ?? trays_layout(...shown, shape, ...look);
  return {
    plates: made.plates.map(plateOf),
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
    ...(made.crossbar && {
      crossbar: { ...made.crossbar, free: [...made.crossbar.free] },
    }),
  };
}

/** The data of a plate, as `plate_data`; it is small. */
function plateOf(plate) {
  const none = undefined;
  const bars = plate.wide ? {} : { wide: none, deep: none, rise: none, free: none };
  return { ...plate, ...bars, levels: 0, room: [0, 0], is_full: undefined };
}

/** Return a scene that makes its layouts if Python has left that to the page, see `scene_data`. */
export function withLayouts(scene, facts) {
  const { chain } = scene;
  const layoutAt = (shape, room, followed) =>
    layoutOf(facts, shape, chain.tied, chain.square, room, followed);
  return chain ? { ...scene, layoutAt } : scene;
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
