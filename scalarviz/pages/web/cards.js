// Cards of what is pinned. Their words are made of story/cards.py and story/weight_card.py.

import { neuron_card } from "./story/cards.js";
import { neuron_name, owns, weight_title } from "./story/names.js";
import { blocks_about, line_beside, value_now } from "./story/weight_card.js";
import { numberAt } from "./arrays.js";
import { onceOf } from "./captions.js";
import { readyState } from "./facts.js";
import { NONE } from "./story/facts.js";

/**
 * Return the card of what is pinned: {row, name, facts, blocks}, as story/caption.py; null for a
 * neuron that the picture does not have. It never fails.
 *
 * spec    of the page; `facts` of it is used
 * state   see the page; `card` is what Python says of the thing `about`, of a compiled function
 * target  {row} or {neuron: [buffer, place]}
 */
export function cardOf({ facts }, state, { row = null, neuron = null }) {
  if (facts.is_graph || (state.light && !state.playing)) {
    return cardOfPython(facts, state, row, neuron);
  }
  return onceOf(state, "card", { row, neuron }, () => {
    if (!neuron) {
      return { row, name: weight_title(facts, row), facts: [], blocks: weightBlocks(facts, state, row) }; // prettier-ignore
    }
    const found = neuron_card(facts, readyState(facts, state), neuron);
    return found && state.light ? { ...found, blocks: [] } : found;
  });
}

/** Return the card of a weight with a line for each one that is pinned beside it. */
export function withBeside(facts, state, card, beside) {
  if (!beside.length || !card) return card;
  const lines = beside.map((row) => {
    const since = state.begun ? state.value[row] - state.begun[row] : null;
    return line_beside(facts, row, numberAt(state, row) ?? NaN, since);
  });
  return { ...card, blocks: [...lines, ...card.blocks] };
}

/** Return the card that Python has sent for a thing; without it its name, and the value of a weight. */
function cardOfPython(facts, state, row, neuron) {
  const { card, about, light } = state;
  if (card && String(about) === String(neuron ?? row)) return card;
  const name = neuron ? neuron_name(facts, neuron) : weight_title(facts, row);
  return { row: row ?? NONE, name, facts: [], blocks: light && !neuron ? now(state, row) : [] };
}

function now(state, row) {
  const value = numberAt(state, row);
  return value === undefined ? [] : [value_now(value)];
}

/** Return what is pinned for a thing: a neuron by the name of its line, null for one of no line. */
export function pinnedFor({ lines }, thing) {
  if (!thing?.neuron) return thing;
  const [name, place] = thing.neuron;
  const line = lines.find(({ sums, values, also }) => [values, sums, ...also].includes(name));
  if (!line || place >= line.count) return null;
  return { neuron: [line.values || line.sums, place] };
}

/** Return the rows of the layer of a weight. */
export function rowsBeside(facts, row) {
  const { layer } = facts.operations.find((each) => owns(each, row)) ?? {};
  const all = facts.operations.filter((each) => each.count > 0 && each.layer === layer);
  return all.flatMap(({ weights, count }) => Array.from({ length: count }, (_, i) => weights + i));
}

/** Return the lines and tables of a weight; while whole steps are taken, its value. */
function weightBlocks(facts, state, row) {
  if (state.playing && !state.operation) return now(state, row);
  try {
    return blocks_about(facts, readyState(facts, state), row);
  } catch (error) {
    console.error(error); // a fault of the page, which trains and is drawn all the same
    return now(state, row);
  }
}
