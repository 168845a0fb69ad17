// Cards of what is pinned. Their words are made of story/cards.py and story/weight_card.py.

import { neuron_card } from "./story/cards.js";
import { neuron_name, owns, weight_title } from "./story/names.js";
import { blocks_about, line_beside, value_now } from "./story/weight_card.js";
import { numberAt } from "./arrays.js";
import { onceOf } from "./captions.js";
import { readyState } from "./facts.js";
import { NONE } from "./story/facts.js";

/**
 * Return the card of the pinned item, {row, name, facts, blocks} as in story/caption.py; null for a
 * neuron that the picture does not contain. This function never throws.
 *
 * spec    spec of the page, of which `facts` is used
 * state   state of the page; for a compiled function, `card` is Python's card of the item `about`
 * target  the pinned item: {row} or {neuron: [buffer, index]}
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

/** Return the card of a weight with a line for each weight that is pinned in addition. */
export function withBeside(facts, state, card, beside) {
  if (!beside.length || !card) return card;
  const lines = beside.map((row) => {
    const since = state.begun ? state.value[row] - state.begun[row] : null;
    return line_beside(facts, row, numberAt(state, row) ?? NaN, since);
  });
  return { ...card, blocks: [...lines, ...card.blocks] };
}

/** Return the card that Python has sent for an item; if missing, a card with name and value. */
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

/** Return an item in the form to pin; null for a neuron that is not in the picture. */
export function pinnedFor({ lines }, thing) {
  if (!thing?.neuron) return thing;
  const [name, place] = thing.neuron;
  const line = lines.find(({ sums, values, also }) => [values, sums, ...also].includes(name));
  if (!line || place >= line.count) return null;
  return { neuron: [line.values || line.sums, place] };
}

/** Return the bank indices of all weights in the layer of a weight. */
export function rowsBeside(facts, row) {
  const { layer } = facts.operations.find((each) => owns(each, row)) ?? {};
  const all = facts.operations.filter((each) => each.count > 0 && each.layer === layer);
  return all.flatMap(({ weights, count }) => Array.from({ length: count }, (_, i) => weights + i));
}

/** Return the lines and tables about a weight; its value only while playing whole steps. */
function weightBlocks(facts, state, row) {
  if (state.playing && !state.operation) return now(state, row);
  try {
    return blocks_about(facts, readyState(facts, state), row);
  } catch (error) {
    console.error(error); // a fault of the page, which trains and is drawn all the same
    return now(state, row);
  }
}
