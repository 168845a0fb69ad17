// Cards of weights and neurons; as stage/narration.py.

import { said } from "./format.js";
import { numberAt } from "./link_data.js";
import { onceOf } from "./memo.js";
import { NO_INDEX } from "./lines.js";
import { neuronName, weightTitle } from "./names.js";
import { neuronCard } from "./neuron_card.js";
import { cardLine } from "./optimizer_rows.js";
import { text } from "./texts.js";
import { blocksAbout } from "./why.js";

const VALUE_DIGITS = 3; // fewest of a value

/**
 * Return the card of what is pinned: {row, name, facts, blocks}, as scene/frame_data.py; null for
 * a neuron that the picture does not have. It never fails.
 *
 * spec    of the page; `say` of it is used
 * state   see the page; `card` is what Python says of the thing `about`, of a compiled function
 * target  {row} or {neuron: [buffer, place]}
 */
export function cardOf(spec, state, { row = null, neuron = null }) {
  const { say } = spec;
  if (say.told || (state.light && !state.playing)) return toldCard(say, state, row, neuron);
  return onceOf(state, "card", { row, neuron }, () => {
    const found = neuron && neuronCard(say, state, neuron);
    if (neuron) return found && state.light ? { ...found, blocks: [] } : found;
    return { row, name: weightTitle(say, row), facts: [], blocks: weightBlocks(say, state, row) };
  });
}

/** Return the card of a weight with a line for each one that is pinned beside it. */
export function withBeside(say, state, card, beside) {
  if (!beside.length || !card) return card;
  const lines = beside.map((row) => {
    const [name, value] = [weightTitle(say, row), said(numberAt(state, row) ?? NaN, VALUE_DIGITS)];
    if (!state.begun) return cardLine(text("card.beside.value", { name, value }));
    const since = state.value[row] - state.begun[row];
    const change = `${since > 0 ? "+" : ""}${said(since)}`;
    return cardLine(text("card.beside", { name, value, change }));
  });
  return { ...card, blocks: [...lines, ...card.blocks] };
}

/** Return the card that Python has sent for a thing; without it its name, and the value of a weight. */
function toldCard(say, state, row, neuron) {
  const { card, about, light } = state;
  if (card && String(about) === String(neuron ?? row)) return card;
  const name = neuron ? neuronName(say, neuron) : weightTitle(say, row);
  return { row: row ?? NO_INDEX, name, facts: [], blocks: light && !neuron ? now(state, row) : [] };
}

function now(state, row) {
  const value = numberAt(state, row);
  const words = text("card.value_is", { value: said(value ?? NaN, VALUE_DIGITS) });
  return value === undefined ? [] : [cardLine(words, "large", text("card.now"))];
}

/** Return what is pinned for a thing: a neuron by the name of its line, null for one of no line. */
export function pinnedFor({ lines }, thing) {
  if (!thing?.neuron) return thing;
  const [name, place] = thing.neuron;
  const line = lines.find(({ sums, values, also }) => [values, sums, ...also].includes(name));
  if (!line || place >= line.count + Number(line.one)) return null;
  return { neuron: [line.values || line.sums, place] };
}

/** Return the lines and tables of a weight; while whole steps are taken, its value. */
function weightBlocks(say, state, row) {
  if (state.playing && !state.operation) return now(state, row);
  try {
    return blocksAbout(say, state, row);
  } catch (error) {
    console.error(error); // a fault of the page, which trains and is drawn all the same
    return now(state, row);
  }
}
