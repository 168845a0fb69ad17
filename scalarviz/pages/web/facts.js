// Facts and states as story/facts.py has them: with functions of numbers in place of trees.

import { errorOf, lossOf, ready } from "./formulas.js";
import { Explained, MovingWeight, State } from "./story/facts.js";
import { optimizer_lines } from "./story/update.js";

const ROW_LOSSES = ["softmax_cross_entropy", "negative_log_likelihood"];

/** Return facts in which trees are replaced by functions, or by null if not computable here. */
export function readyFacts(facts) {
  if (facts.is_ready) return facts;
  const found = { ...ready(facts), is_ready: true, program: null };
  if (ROW_LOSSES.includes(facts.loss.name)) found.loss.of_row = (p, t) => errorOf(facts.loss, p, t);
  return found;
}

/** Return the optimizer and the rate with which the shown step was computed. */
function optimizerOf(facts, { made, rate }) {
  const found = facts.optimizers?.[made?.optimizer] ?? facts.optimizer;
  if (found.schedule && !made?.is_steady) return found;
  return { ...found, schedule: "", lr: made?.rate ?? rate ?? found.lr };
}

/** Return how a weight changes in the shown step, as `Explained` of story/facts.py. */
function explainedOf(facts, state, row) {
  const { operation, step, made, value, grad, frozen } = state;
  const slots = { ...state.slots_before, ...(operation ? state.slots : {}) }; // a step moves them
  const optimizer = optimizerOf(facts, state);
  const before = operation ? value : state.before;
  const decay = ownOf(optimizer.own_decays, row);
  const weight = new MovingWeight(
    (before ?? value)[row], value[row], grad[row], normScale(optimizer, grad, frozen),
    Object.fromEntries(optimizer.slots.map((name) => [name, slots[name]?.[row] ?? 0])),
    ownOf(optimizer.own_rates, row), decay === null ? {} : { decay },
    (made?.counted ?? facts.first) + step - (operation ? 0 : 1),
  ); // prettier-ignore
  const moves = before && state.explains !== false && !frozen[row];
  // clip_norm needs all gradients.
  const isClipped = optimizer.clip_norm === null || operation === 0 ||
    facts.moments.every((each, i) => each.kind !== "weight gradient" || i < operation); // prettier-ignore
  const isKnown = moves && isClipped && optimizer.slots.every((name) => slots[name]);
  return new Explained(
    row, weight.value, weight.grad, weight.kept, Object.keys(optimizer.settings), Boolean(frozen[row]),
    frozen.some(Boolean), isKnown ? optimizer_lines(optimizer, weight) : [], optimizer.clip_norm !== null,
  ); // prettier-ignore
}

/** Return the number of the span that contains a row, or null. */
function ownOf(spans, row) {
  return spans.find(([first, end]) => first <= row && row < end)?.[2] ?? null;
}

/** Return the factor, at most 1, by which `clip_norm` multiplies all gradients. */
function normScale({ clip_norm: most }, grads, frozen) {
  if (most === null) return 1;
  const moved = grads.filter((each, row) => Number.isFinite(each) && !frozen[row]);
  return Math.min(1, most / (Math.sqrt(moved.reduce((sum, x) => sum + x * x, 0)) + 1e-6));
}

const readied = new WeakMap(); // by state

/** Return a state with all fields from which texts are made; missing ones are null. */
export function readyState(facts, state) {
  if (readied.has(state)) return readied.get(state);
  const fixed = new Set(facts.frozen);
  const found = Object.assign(new State(), state, stepTaken(facts, state), afterStep(facts, state), {
    all: state.all ? { weights: null, ...state.all } : null, explained: (row) => explainedOf(facts, found, row),
    frozen: state.made?.frozen ?? state.frozen ?? Array.from({ length: facts.rows }, (_, row) => Number(fixed.has(row))),
  }); // prettier-ignore
  readied.set(state, found);
  return found;
}

/** After a step, return the values that it has computed for the sample in focus. */
function stepTaken({ buffers }, { operation, moment, all, focus = 0 }) {
  if (operation || !(moment >= 0) || !all) return {};
  const own = ([name, numbers]) => {
    const { size } = buffers[name];
    return [name, numbers.slice(focus * size, (focus + 1) * size)];
  };
  return { values: Object.fromEntries(Object.entries(all.values).map(own)) };
}

/** Return the loss of the same batch with the weights after the step, and the outputs for the
 * sample in focus, as far as they are known.
 */
function afterStep({ learning, loss, outputs, buffers }, state) {
  const { fresh, all, target, batch = 1, focus = 0 } = state;
  if (learning || !fresh) return {};
  const { size } = buffers[outputs];
  const answer = fresh.slice(focus * size, (focus + 1) * size);
  const targets = all?.targets ?? (batch === 1 ? target : null);
  const canCompute = targets && (loss.scalar ? loss.error.compute : loss.of_row);
  return { answer, again: canCompute ? lossOf(loss, fresh, targets, batch) : null };
}
