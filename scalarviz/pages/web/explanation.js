// How one weight moves in one step, as data: the optimizer's lines; as training/session/explanation.py.

import { calledFormula, computedTree, scheduledRate } from "./formulas.js";
import { generalNumber } from "./numbers.js";
import * as py from "./python.js";

/**
 * Return how a weight moves in the step that a state shows.
 *
 * value    before the step
 * grad     its gradient
 * kept     the optimizer's own numbers for it before the step, by name
 * lines    of the optimizer, as caption_data.py describes them, each with its `value` and the
 *          numbers `known` to it; empty if it is frozen, or the numbers before the step are missing
 * follows  whether a page can follow the update, so that the lines are all there
 */
export function explained(facts, state, row) {
  const optimizer = optimizerOf(facts, state);
  const frozenRows = frozenOf(facts, state);
  const frozen = frozenRows.has(row);
  const value = (state.operation ? state.value : (state.before ?? state.value))[row];
  const grad = state.grad[row];
  const slots = (state.operation ? (state.slots_before ?? state.slots) : state.slots_before) ?? {};
  const kept = Object.fromEntries(optimizer.slots.map((name) => [name, slots[name]?.[row] ?? 0]));
  const found = { row, value, grad, kept, frozen, is_any_frozen: frozenRows.size > 0, lines: [] };
  const isKnown = state.operation || state.before;
  if (!frozen && isKnown && optimizer.slots.every((name) => slots[name])) {
    found.lines = optimizerLines(facts, state, found, frozenRows);
  }
  const { follows = true } = found.lines.at(-1) ?? { follows: false };
  return { ...found, follows };
}

/** Return the same as `Explained` of story/facts.py, whose formulas have functions. */
export function explainedOf(facts, state, row) {
  const { lines, ...found } = explained(facts, state, row);
  const { settings, clip_norm: clipNorm } = optimizerOf(facts, state);
  const about = { settings: Object.keys(settings), clips: clipNorm !== null };
  return { ...found, ...about, lines: lines.map(updateLine) };
}

function updateLine(line) {
  const { formula = "", words = formula, numbered, card, corrections = [] } = line;
  return {
    same: false, own_rate: false, follows: true, ...line, formula, words,
    numbered: computing(numbered), card: computing(card),
    corrections: corrections.map((each) => ({ ...each, card: computing(each.card) })),
  }; // prettier-ignore
}

/** Return a formula with a function of its names in place of its tree; null without. */
function computing(formula) {
  if (!formula) return null;
  return { ...formula, compute: (known) => computedTree(formula.tree, py.fields(known)) };
}

/** Return the optimizer of the step that a state shows, whichever is chosen since. */
function optimizerOf(facts, state) {
  const found = facts.optimizers?.[state.made?.optimizer] ?? facts.optimizer;
  return state.made?.is_steady ? { ...found, schedule: "constant" } : found;
}

/** Return the rows that do not move in the step that a state shows. */
export function frozenOf(facts, state) {
  const frozen = state.made?.frozen ?? state.frozen;
  if (!frozen) return new Set(facts.frozen);
  return new Set([...frozen.keys()].filter((row) => frozen[row]));
}

/** Return the number of steps taken before the step that a state shows. */
function stepShown(state) {
  return state.operation ? state.step : state.step - 1;
}

/** Return the optimizer's arithmetic for one weight, from its gradient to its new value. */
function optimizerLines(facts, state, { row, value: w, grad, kept }, frozen) {
  const optimizer = optimizerOf(facts, state);
  if (optimizer.refuses && !Number.isFinite(grad)) {
    const formula = "as it is: the step will be refused, since g is not finite";
    return [{ name: "w", formula, value: w, known: {} }];
  }
  const lines = conditionLines(optimizer, state.grad, frozen, w, grad);
  const g = lines.length ? lines.at(-1).value : grad;
  const step = (state.made?.counted ?? facts.first) + stepShown(state);
  const own = optimizer.own_rates.find(([first, end]) => first <= row && row < end)?.[2];
  const lr = own ?? optimizer.lr;
  const now = own ?? state.made?.rate ?? state.rate ?? lr;
  const rate = scheduledRate({ ...optimizer, lr }, now, step);
  const isOwn = own !== undefined;
  lines.push({ ...rateLine({ ...optimizer, lr }, rate), same: !isOwn, own_rate: isOwn });
  const known = { w, g, ...kept, lr: rate, ...optimizer.settings, step: step + 1 };
  for (const each of optimizer.constants) known[each.name] = computedTree(each.tree, known);
  const withValue = (each) => ({ ...each, value: known[each.name], known });
  const constants = optimizer.constants.map(withValue);
  const update = updateLines(optimizer, known);
  if (!update) return [...lines, { name: "w", value: state.value[row], known, follows: false }];
  return [...lines, ...constants, ...update];
}

/** Return the lines of an update that hold for these numbers; null if a page does not know them. */
function updateLines({ updates, whole, slots, settings, constants }, given) {
  const found = updates.map((lines) => {
    const known = { ...given };
    return lines.map((each) => {
      const line = { ...each, known: { ...known }, value: computedTree(each.tree, known) };
      known[each.name] = line.value;
      return line;
    });
  });
  if (found.length < 2) return found[0] ?? null;
  const constant = constants.map((each) => each.name);
  const names = ["w", "g", ...slots, "lr", ...Object.keys(settings), ...constant];
  const numbers = names.map((name) => given[name]);
  const result = calledFormula(whole, numbers);
  const isSame = (value) => Math.abs(value - result) <= 1e-12 * Math.abs(result);
  return found.find((lines) => isSame(lines.at(-1).value)) ?? null;
}

/** Return the line of the learning rate, including the schedule if there is one. */
function rateLine({ lr, schedule }, rate) {
  const found = { name: "lr", formula: generalNumber(rate, 6), value: rate, same: true, known: {} };
  if (schedule === "constant") return found;
  const known = { lr, [schedule]: lr ? rate / lr : 0 };
  const card = { words: `lr * ${schedule}`, tree: ["*", "lr", schedule], names: ["lr", schedule] };
  return { ...found, known, card };
}

/** Return the lines of clipping and regularisation, which come before the update. */
function conditionLines(optimizer, grads, frozen, w, grad) {
  const lines = [];
  let g = grad;
  if (!Number.isFinite(g)) {
    g = 0;
    lines.push({ name: "g", formula: "0, since it is not finite", value: g, known: {} });
  }
  const scale = normScale(optimizer, grads, frozen);
  if (scale !== 1 || optimizer.clip_value !== null) {
    lines.push(clipLine(optimizer.clip_value, g, scale));
    g = lines.at(-1).value;
  }
  if (optimizer.l1 || optimizer.l2) lines.push(penaltyLine(optimizer, g, w));
  return lines;
}

/** Return the line of a gradient that is scaled and limited; `limit` is null for none. */
function clipLine(limit, g, scale) {
  const [sign, leaf] = signed(g);
  const product = ["*", leaf, "_1_"];
  const numbers = [asWritten(g), asWritten(scale)];
  const known = { g, scale };
  if (limit === null) {
    const numbered = { words: `${sign}_0_ * _1_`, numbers, tree: product };
    const card = { words: "g * scale", tree: ["*", "g", "scale"], names: ["g", "scale"] };
    return { name: "g", formula: "", value: g * scale, known, numbered, card };
  }
  const numbered = {
    words: `clip(${sign}_0_ * _1_, -_2_, _3_)`,
    numbers: [...numbers, asWritten(limit), asWritten(limit)],
    tree: ["clip", product, ["neg", "_2_"], "_3_"],
  };
  const inner = scale === 1 ? "g" : ["*", "g", "scale"];
  const card = {
    words: `clip(${scale === 1 ? "g" : "g * scale"}, limit)`,
    tree: ["clip", inner, ["neg", "limit"], "limit"],
    names: scale === 1 ? ["g", "limit"] : ["g", "scale", "limit"],
  };
  const value = Math.max(-limit, Math.min(limit, g * scale));
  return { name: "g", formula: "", value, known: { ...known, limit }, numbered, card };
}

/** Return the line of a gradient to which those of the penalties are added. */
function penaltyLine({ l1, l2 }, g, w) {
  const [sign, leaf] = signed(g);
  /** @type {any} */
  const numbered = { words: `${sign}_0_`, numbers: [asWritten(g)], tree: leaf };
  /** @type {any} */
  const card = { words: "g", tree: "g", names: ["g"] };
  const add = (name, rate, factor, factorTree) => {
    const [i, j] = [numbered.numbers.length, numbered.numbers.length + 1].map((at) => `_${at}_`);
    numbered.words += ` + ${i} * ${factor(j)}`;
    numbered.numbers.push(asWritten(rate), "w");
    numbered.tree = ["+", numbered.tree, ["*", i, factorTree(j)]];
    card.words += ` + ${name} * ${factor("w")}`;
    card.tree = ["+", card.tree, ["*", name, factorTree("w")]];
    card.names.push(name, "w");
  };
  const sign1 = (of) => ["sign", of];
  const itself = (of) => of;
  if (l1) add("l1", l1, (of) => `sign(${of})`, sign1);
  if (l2) add("l2", l2, itself, itself);
  card.names = [...new Set(card.names)];
  const value = g + l2 * w + l1 * (Number(w > 0) - Number(w < 0));
  return { name: "g", formula: "", value, known: { g, w, l1, l2 }, numbered, card };
}

/** Return a number as formulas have it: its six digits, without its sign. */
function asWritten(value) {
  return Math.abs(Number(generalNumber(value, 6)));
}

/** Return the sign of a number as it is written, and the tree of _0_ with it. */
function signed(value) {
  return generalNumber(value, 6).startsWith("-") ? ["-", ["neg", "_0_"]] : ["", "_0_"];
}

/** Return the factor, at most 1, by which `clip_norm` multiplies all gradients. */
function normScale({ clip_norm: clipNorm }, grads, frozen) {
  if (clipNorm === null) return 1;
  let squares = 0;
  grads.forEach((each, row) => {
    if (Number.isFinite(each) && !frozen.has(row)) squares += each * each;
  });
  return Math.min(1, clipNorm / (Math.sqrt(squares) + 1e-6));
}
