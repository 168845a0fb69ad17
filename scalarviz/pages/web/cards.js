// Cards of weights and neurons; as story/cards.py.

import { agreeing, pretty, said } from "./story/formats.js";
import { numberAt } from "./arrays.js";
import { onceOf } from "./captions.js";
import { NO_INDEX, errorOf, readAnswers } from "./formulas.js";
import {
  asSentence,
  neuronName,
  unraveled,
  weightTitle,
  weightsFrom,
  weightsInto,
} from "./names.js";
import { MOST_ROWS_WRITTEN, cardLine, equationLine, productTable } from "./equations.js";
import { text } from "./texts.js";
import { blocksAbout } from "./weight_card.js";
import { activationLine, lossTerm } from "./forward_captions.js";

const VALUE_DIGITS = 3; // fewest of a value

/**
 * Return the card of what is pinned: {row, name, facts, blocks}, as scene/frame_data.py; null for
 * a neuron that the picture does not have. It never fails.
 *
 * spec    of the page; `facts` of it is used
 * state   see the page; `card` is what Python says of the thing `about`, of a compiled function
 * target  {row} or {neuron: [buffer, place]}
 */
export function cardOf(spec, state, { row = null, neuron = null }) {
  const { facts } = spec;
  if (facts.is_graph || (state.light && !state.playing)) return toldCard(facts, state, row, neuron);
  return onceOf(state, "card", { row, neuron }, () => {
    const found = neuron && neuronCard(facts, state, neuron);
    if (neuron) return found && state.light ? { ...found, blocks: [] } : found;
    return {
      row,
      name: weightTitle(facts, row),
      facts: [],
      blocks: weightBlocks(facts, state, row),
    };
  });
}

/** Return the card of a weight with a line for each one that is pinned beside it. */
export function withBeside(facts, state, card, beside) {
  if (!beside.length || !card) return card;
  const lines = beside.map((row) => {
    const [name, value] = [
      weightTitle(facts, row),
      said(numberAt(state, row) ?? NaN, VALUE_DIGITS),
    ];
    if (!state.begun) return cardLine(text("card.beside.value", { name, value }));
    const since = state.value[row] - state.begun[row];
    const change = `${since > 0 ? "+" : ""}${said(since)}`;
    return cardLine(text("card.beside", { name, value, change }));
  });
  return { ...card, blocks: [...lines, ...card.blocks] };
}

/** Return the card that Python has sent for a thing; without it its name, and the value of a weight. */
function toldCard(facts, state, row, neuron) {
  const { card, about, light } = state;
  if (card && String(about) === String(neuron ?? row)) return card;
  const name = neuron ? neuronName(facts, neuron) : weightTitle(facts, row);
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
function weightBlocks(facts, state, row) {
  if (state.playing && !state.operation) return now(state, row);
  try {
    return blocksAbout(facts, state, row);
  } catch (error) {
    console.error(error); // a fault of the page, which trains and is drawn all the same
    return now(state, row);
  }
}

// Cards of neurons: the sum with all terms, the activation, delta, and what it sends on.

const CARD_DIGITS = 3; // fewest of a number
const FEW_TERMS = 12; // of a sum in the order of the picture; of more, the largest come first

/** What is known of a neuron of the focus sample; as story/cards.py. */
class NeuronNumbers {
  constructor(facts, state, line, place) {
    this.facts = facts;
    this.state = state;
    this.line = line;
    this.place = place;
    this.buffers = [line.sums, line.values, ...line.also].filter((name) => name);
    this.name = line.values || line.sums;
    this.values = this.known(state.values ?? {});
    this.flows = this.known(state.gradients ?? {});
  }

  /** Arrays by buffer, without those of its own line that have not come to it, see by_neuron.js. */
  known(arrays) {
    const least = Math.min(this.place, this.line.count - 1);
    const is = ([name, each]) => each.length > least || !this.buffers.includes(name);
    return Object.fromEntries(Object.entries(arrays).filter(is));
  }

  /** Whether it is the 1 of the biases. */
  get isOne() {
    return this.place >= this.line.count;
  }

  /** Its value; the sum while the activation is not computed; null before that. */
  get value() {
    if (this.isOne) return 1;
    const { values, also, sums } = this.line;
    const name = [values, ...also, sums].find((each) => each in this.values);
    return name === undefined ? null : this.values[name][this.place];
  }

  /** The gradient of the loss by its sum, or by its value if it has no sum. */
  get delta() {
    const flow = this.flows[this.line.sums || this.line.values];
    const isInput = this.line.values === this.facts.inputs;
    return !flow || this.isOne || isInput ? null : flow[this.place];
  }

  /** Its target, if it is an output that is computed. */
  get wanted() {
    const { outputs } = this.facts;
    const { target } = this.state;
    const isKnown = this.buffers.includes(outputs) && outputs in this.values && target;
    return isKnown && !this.isOne && target.length === this.line.count ? target[this.place] : null;
  }

  /** Its value as the loss reads it, if it has a target. */
  get answer() {
    if (this.wanted === null) return null;
    return readAnswers(this.values[this.facts.outputs], this.facts.loss.logits)[this.place];
  }

  /** The operations that make its value, from the first to the last. */
  get writers() {
    const found = [];
    let { name } = this;
    for (;;) {
      const operation = this.facts.operations.find((each) => each.target === name);
      if (!operation) return found;
      found.unshift(operation);
      name = operation.source;
      if (!this.buffers.includes(name)) return found;
    }
  }

  /** The operations that its value goes into. */
  get readers() {
    const isOwn = (name) => this.buffers.includes(name);
    return this.facts.operations.filter(
      ({ kind, sources, target }) => !isOwn(target) && sources.some(isOwn) && kind !== "branch",
    );
  }

  /** The name of a neuron in a table: of a pixel, its map, row and column. */
  inTable(name, place) {
    const { shape } = this.facts.buffers[name];
    if (!shape.length) return neuronName(this.facts, [name, place]);
    const [number, row, column] = unraveled(place, shape);
    return shape[0] === 1 ? `${row}, ${column}` : text("card.unit.cell", { number, row, column });
  }
}

/** Return the card of a neuron, a buffer and the place in it; null if no line of neurons has it. */
function neuronCard(facts, state, [name, place]) {
  const line = facts.lines.find((each) => (each.values || each.sums) === name);
  if (!line || place >= line.count + Number(line.one)) return null;
  const known = new NeuronNumbers(facts, state, line, place);
  const title = known.isOne
    ? text("card.neuron.one")
    : asSentence(neuronName(facts, [name, place]));
  return { row: NO_INDEX, name: title, facts: neuronFacts(known), blocks: neuronBlocks(known) };
}

function neuronBlocks(known) {
  const { facts, value, wanted, answer, delta, place } = known;
  const number = value === null ? text("card.neuron.empty") : said(value, CARD_DIGITS);
  const sample = known.state.focus ?? 0;
  const blocks = [cardLine(number, "large", text("card.neuron.sample", { number: sample }))];
  if (known.isOne) blocks.push(cardLine(text("card.neuron.one.about")));
  blocks.push(...known.writers.flatMap((operation) => madeBy(known, operation)));
  if (wanted !== null && answer !== null) {
    const ends = [answer, wanted];
    const [shown, off] = agreeing(ends, (v) => v[0] - v[1], answer - wanted, CARD_DIGITS);
    const key = `card.neuron.target.${facts.loss.logits || "value"}`;
    blocks.push(cardLine(text(key, { value: shown[0], target: shown[1], off })));
    if (facts.loss.scalar && facts.loss.error.tree !== null) {
      const p = known.values[facts.outputs][place];
      const [one, compute] = lossTerm(facts.loss, "error", p, wanted, null);
      const result = errorOf(facts.loss, p, wanted);
      blocks.push(lineOfPieces(equationLine([text("card.neuron.error"), one], compute, result)));
      const formula = facts.loss.error.text;
      if (formula.includes(" if ")) blocks.push(cardLine(pretty(formula), "quiet"));
    }
  }
  if (delta !== null) {
    const way = delta > 0 ? "up" : delta < 0 ? "down" : "none";
    blocks.push(cardLine(text(`card.neuron.delta.${way}`, { delta: said(delta) })));
  }
  return [...blocks, ...sentBy(known)];
}

/** Return value, sum, answer, target and delta of a neuron, as names and texts. */
function neuronFacts(known) {
  const { line, values, place, isOne, answer, wanted, delta } = known;
  const sums = values[line.sums];
  const { logits } = known.facts.loss;
  const numbers = [
    ["sum", sums && !isOne ? sums[place] : null],
    ["value", line.values in values || isOne ? known.value : null],
    [logits, logits ? answer : null],
    ["target", wanted],
    ["delta", delta],
  ];
  const found = numbers
    .filter(([, number]) => number !== null)
    .map(([name, number]) => [text(`card.neuron.fact.${name}`), said(number, CARD_DIGITS)]);
  return found.length ? found : [[text("card.neuron.fact.value"), text("card.neuron.empty")]];
}

/** Return a line of a caption as a line of a card. */
function lineOfPieces(pieces) {
  return cardLine(pieces.map((each) => each.words).join(""));
}

// What arrives.

/** Return how an operation makes the number of a neuron, as far as it is computed. */
function madeBy(known, operation) {
  const { values, place, facts } = known;
  const { kind, formula, source, target } = operation;
  const [, second] = operation.sources;
  const [x, y] = [values[source], values[target]];
  if (known.isOne || !x || !y) return [];
  if (operation.multiplies) return [sumTable(known, operation, x)];
  const row = facts.activations[formula];
  if (kind === "activation" && row.value !== null) {
    return [lineOfPieces(activationLine(formula, row, x[place], y[place], { least: CARD_DIGITS }))];
  }
  if (kind === "sum" && values[second]) {
    const pair = [values[second][place], x[place]];
    const [shown, found] = agreeing(pair, (v) => v[0] + v[1], y[place], CARD_DIGITS);
    return [cardLine(`${shown[0]} + ${shown[1]} = ${found}`.replaceAll("+ -", "- "))];
  }
  const name = (formula || kind).replaceAll("_", " ");
  return [cardLine(text("card.neuron.by", { name })), cardLine(operation.meaning, "quiet")];
}

/** Return weight times input of each term of a sum, and the sum. */
function sumTable(known, operation, x) {
  const { facts, state, place } = known;
  const { rows, read } = weightsInto(facts, operation, place);
  const weights = rows.map((row) => state.value[row]);
  const inputs = read.map((i) => x[i]);
  const terms = termsOf(weights, inputs, read, (i) => known.inTable(operation.source, i));
  if (operation.biases !== NO_INDEX) {
    const row = operation.biases + Math.floor(place / operation.each);
    const bias = { name: text("card.neuron.bias"), first: 1, second: state.value[row] };
    terms.splice(terms.length > FEW_TERMS ? 0 : terms.length, 0, bias);
  }
  const head = ["from", "x", "weight", "product"].map((name) => text(`card.neuron.head.${name}`));
  const least = terms.length <= FEW_TERMS ? CARD_DIGITS : 2;
  return productTable(head, terms, text("card.neuron.fact.sum"), { least });
}

// What it sends on.

function sentBy(known) {
  const isKnown = known.isOne || known.name in known.values;
  return known.readers.flatMap((operation) => {
    const { multiplies, biases, plain } = operation;
    if (multiplies) {
      const sends = isKnown && (biases !== NO_INDEX || !known.isOne);
      return sends ? [sentTable(known, operation)] : [];
    }
    if (known.isOne) return [];
    return [cardLine(text("card.neuron.into", { name: plain.replaceAll("_", " ") }))];
  });
}

/** Return what arrives at each neuron behind an operation with weights. */
function sentTable(known, operation) {
  const { facts, state, place, value } = known;
  const count = facts.buffers[operation.target].size / operation.each;
  const units = Array.from({ length: count }, (_, i) => i);
  const { rows, into } = known.isOne
    ? { rows: units.map((i) => operation.biases + i), into: units.map((i) => i * operation.each) }
    : weightsFrom(facts, operation, place);
  const weights = rows.map((row) => state.value[row]);
  const name = (i) => known.inTable(operation.target, i);
  const values = weights.map(() => value);
  const sent = termsOf(weights, values, into, name);
  const head = ["to", "sends", "weight", "arrives"];
  const names = head.map((each) => text(`card.neuron.head.${each}`));
  return productTable(names, sent, "", { least: CARD_DIGITS });
}

/** Return value times weight of each term: in order, of many the largest first. */
function termsOf(weights, values, places, name) {
  const order = [...weights.keys()];
  const size = (i) => Math.abs(weights[i] * values[i]);
  if (order.length > FEW_TERMS) order.sort((i, j) => size(j) - size(i));
  return order.map((i, at) => ({
    name: at < MOST_ROWS_WRITTEN ? name(places[i]) : "",
    first: values[i],
    second: weights[i],
  }));
}
