// Facts and states as story/facts.py has them: with functions of numbers in place of trees.

import { errorsOf, isKnownLoss, lossOf, ready } from "./formulas.js";
import { optimizer_lines } from "./story/update.js";

/** Return facts with functions in place of trees; null for those that a page cannot compute. */
export function readyFacts(facts) {
  if (facts.is_ready) return facts;
  const found = { ...ready(facts), is_ready: true, program: null };
  if (facts.loss.name === "softmax_cross_entropy")
    found.loss.of_row = (p, t) => errorsOf(facts.loss, p, t)[0];
  return found;
}

/** Return the rows that do not move in the step that a state shows. */
function frozenOf(facts, state) {
  const frozen = state.made?.frozen ?? state.frozen;
  if (!frozen) return new Set(facts.frozen);
  return new Set([...frozen.keys()].filter((row) => frozen[row]));
}

/** Return the optimizer of the step that a state shows, whichever is chosen since, with its rate. */
function optimizerOf(facts, { made, rate }) {
  const found = facts.optimizers?.[made?.optimizer] ?? facts.optimizer;
  if (found.schedule && !made?.is_steady) return found;
  return { ...found, schedule: "", lr: made?.rate ?? rate ?? found.lr };
}

/** Return how a weight moves in the step that a state shows: `Explained` of story/facts.py. */
export function explainedOf(facts, state, row) {
  const optimizer = optimizerOf(facts, state);
  const frozenRows = frozenOf(facts, state);
  const value = (state.operation ? state.value : (state.before ?? state.value))[row];
  const grad = state.grad[row];
  const slots = (state.operation ? (state.slots_before ?? state.slots) : state.slots_before) ?? {};
  const kept = Object.fromEntries(optimizer.slots.map((name) => [name, slots[name]?.[row] ?? 0]));
  const hasBefore = (state.operation || state.before) && state.explains !== false;
  const isKnown = hasBefore && optimizer.slots.every((name) => slots[name]);
  const frozen = frozenRows.has(row);
  const clips = optimizer.clip_norm !== null;
  const weight = {
    value, grad, kept, new: state.value[row], scale: clips ? normScale(optimizer, state.grad, frozenRows) : 1,
    own_rate: ownOf(optimizer.own_rates, row),
    own: ownOf(optimizer.own_decays, row) === null ? {} : { decay: ownOf(optimizer.own_decays, row) },
    taken: (state.made?.counted ?? facts.first) + state.step - (state.operation ? 0 : 1),
  }; // prettier-ignore
  return {
    row, value, grad, kept, settings: Object.keys(optimizer.settings), frozen, clips,
    is_any_frozen: frozenRows.size > 0, lines: isKnown && !frozen ? optimizer_lines(optimizer, weight) : [],
  }; // prettier-ignore
}

/** Return the number of the span that has a row, or null. */
function ownOf(spans, row) {
  return spans.find(([first, end]) => first <= row && row < end)?.[2] ?? null;
}

/** Return the factor, at most 1, by which `clip_norm` multiplies all gradients. */
function normScale({ clip_norm: most }, grads, frozen) {
  let squares = 0;
  grads.forEach((each, row) => {
    if (Number.isFinite(each) && !frozen.has(row)) squares += each * each;
  });
  return Math.min(1, most / (Math.sqrt(squares) + 1e-6));
}

const readied = new WeakMap(); // by state

/** Return a state with all that words are made of; null for what it does not have. */
export function readyState(facts, state) {
  if (readied.has(state)) return readied.get(state);
  const { all = null, before = null, earlier = null, grad_before = null, target = null } = state;
  const { batch = 1, focus = 0, edited = {}, values = {}, gradients = {}, bank_state = [] } = state;
  const { weight = null } = state;
  const frozen = new Array(facts.rows).fill(0);
  frozenOf(facts, state).forEach((row) => (frozen[row] = 1));
  const found = {
    ...state, all: all && { weights: null, ...all }, weight, before, earlier, grad_before, target, batch, focus, edited, values, gradients,
    bank_state, frozen, again: lossAgain(facts, state), answer: answerOf(facts, state), run: null,
    explained: (row) => explainedOf(facts, state, row),
  }; // prettier-ignore
  readied.set(state, found);
  return found;
}

/** Return the outputs of the focus sample by the weights after the step; null if not known. */
function answerOf({ learning, buffers, outputs }, { fresh, focus = 0 }) {
  const { size } = buffers[outputs];
  return learning || !fresh ? null : fresh.slice(focus * size, (focus + 1) * size);
}

/** Return the loss of the same batch by the weights after the step; null where it is not known. */
function lossAgain({ learning, loss }, { fresh, all, target, batch = 1 }) {
  const targets = all?.targets ?? (batch === 1 ? target : null);
  if (learning || !fresh || !targets || !isKnownLoss(loss)) return null;
  return lossOf(loss, fresh, targets, batch, all?.weights);
}
