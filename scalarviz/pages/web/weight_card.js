// Why a weight changed: a sentence, the sum that makes its gradient, and the optimizer's lines.

import { said } from "./story/formats.js";
import { NO_INDEX } from "./formulas.js";
import { asSentence, neuronName, owns, usesOf } from "./names.js";
import { explained, optimizerOf } from "./explanation.js";
import { cardLine, changeBetween, optimizerRows, productTable } from "./equations.js";
import { plural, text } from "./texts.js";

/** Return the lines and tables about a weight; as story/weight_card.py. */
export function blocksAbout(facts, state, row) {
  const { step, operation: done } = state;
  const change = changeOf(state, row);
  const isStart = step === 0 && done === 0;
  const found = isStart ? null : whyFound(facts, state, row);
  const known = { facts, state, row, change, done, found };
  const isEdit = change?.isEdit ?? false;
  /** @type {any[]} */
  const blocks = [changeLine(known)];
  if (isEdit) blocks.push(cardLine(text("card.edited"), "quiet"));
  if (found === null || (isEdit && !done)) return blocks;
  const why = text(found.frozen ? "card.why_not" : "card.why");
  const title = done ? text("card.so_far", { step: step + 1 }) : why;
  blocks.push(cardLine(title, "strong"));
  const tables = gradientTables(known);
  const grad = tables[0]?.total.length ? tables[0].total.at(-1) : said(found.total ?? 0);
  blocks.push(cardLine(whySentence(known, grad)), ...tables);
  if (found.isPushed && found.fresh !== null && found.follows) {
    const [old, fresh] = changeBetween(found.value, found.fresh);
    blocks.push(...optimizerRows(optimizerOf(facts, state), found, { old, fresh, grad }));
  }
  return blocks;
}

/** Return what changed a weight last: {step, isEdit, old, fresh}; null if that is not known. */
function changeOf(state, row) {
  const { step, operation, value, edited, before, earlier } = state;
  const now = value[row];
  const old = edited?.[row];
  if (old !== undefined && old !== now) return { step, isEdit: true, old, fresh: now };
  const last = operation ? earlier : before;
  return step && last ? { step, isEdit: false, old: last[row], fresh: now } : null;
}

/** Return the arithmetic of a weight in the step shown: its factors, gradient and new value. */
function whyFound(facts, state, row) {
  const homes = facts.operations.filter((each) => owns(each, row));
  const uses = homes.map((operation) => ({ operation, ...usesOf(facts, operation, row) }));
  const places = uses.reduce((sum, each) => sum + each.written.length, 0);
  const samples = state.batch ?? 1;
  const done = state.operation || facts.moments.length;
  const clips = optimizerOf(facts, state).clip_norm !== null;
  const isPushed = facts.moments.every(({ kind, operation }, i) => {
    const own =
      kind === "weight gradient" && (clips || homes.includes(facts.operations[operation]));
    return !own || i < done;
  });
  const pairs = uses.map((each) => factorsOf(facts, state, each, samples));
  const isKnown = pairs.every((each) => each.x !== null && each.g !== null);
  const found = explained(facts, state, row);
  const isReady = isPushed && (isKnown || state.grad);
  const lines = isReady ? found.lines : [];
  return {
    ...found,
    ...{ uses, places, samples, isPushed, lines },
    sample: Math.min(state.focus ?? 0, samples - 1),
    x: pairs.flatMap((each) => each.x ?? []),
    g: isKnown ? pairs.flatMap((each) => each.g) : null,
    own: pairs[0]?.own ?? null,
    total: isPushed ? found.grad : null,
    fresh: lines.length ? lines.at(-1).value : found.frozen && isPushed ? found.value : null,
  };
}

/** Return inputs and upstream gradients of a use, sample by sample; null where not known. */
function factorsOf(facts, state, { operation, written, read }, samples) {
  const { source, target } = operation;
  const isNow = state.operation > 0 || source === facts.inputs;
  const [x, g] = [state.values?.[source], state.gradients?.[target]];
  const at = (all, size, places) => {
    if (!all) return null;
    const count = all.length / size;
    return Array.from({ length: count }, (_, i) =>
      places.map((each) => all[i * size + each]),
    ).flat();
  };
  const single = samples === 1 && isNow;
  const every = state.all ?? {};
  const inputs = single ? x : every.values?.[source];
  const upstream = single ? g : every.gradients?.[target];
  const [wide, high] = [facts.buffers[source].size, facts.buffers[target].size];
  const one = (all, place) => (all ? all[place] : null);
  return {
    x: read === null ? Array(samples * written.length).fill(1) : at(inputs, wide, read),
    g: at(upstream, high, written),
    own: {
      x: read === null ? 1 : isNow ? one(x, read[0]) : null,
      g: one(g, written[0]),
    },
  };
}

/** Return the last change: the value before and after it, and when it was. */
function changeLine({ state, row, change, found }) {
  if (change === null) {
    const value = text("card.value_is", { value: said(state.value[row], 3) });
    return cardLine(value, "large", state.step ? "" : text("card.no_change"));
  }
  const [old, fresh] = changeBetween(change.old, change.fresh);
  if (change.isEdit) {
    const words = text("card.changed.edit", { old, new: fresh });
    return cardLine(words, "large", text("card.after", { step: change.step }));
  }
  const step = text("card.step", { step: change.step });
  if (found?.frozen) {
    return cardLine(text("card.frozen_at", { value: said(change.fresh, 3) }), "large", step);
  }
  return cardLine(text("card.changed.step", { old, new: fresh }), "large", step);
}

/** Return why the weight changed in this step, or what is known of that so far. */
function whySentence(known, grad) {
  const { facts, found } = known;
  const { uses, places, samples, sample, own } = found;
  const [use] = uses.filter((each) => each.written.length);
  const isSum = uses.every((each) => each.operation.multiplies);
  const byRule = () => `${text("card.chain_rule", { grad })} ${pushedSentence(known)}`.trimEnd();
  if (!isSum) return found.isPushed ? byRule() : waitsSentence(known, "grad");
  if (!use) return text("explanation.beyond");
  const unit = neuronName(facts, [use.operation.target, use.written[0]]);
  if (places > 1) return sharedSentence(known, grad);
  const x = found.x[sample] ?? own.x;
  const g = found.g?.[sample] ?? own.g;
  const isEarly = use.read !== null && x === null;
  if (found.isPushed && (isEarly || g === null)) {
    return byRule();
  }
  const sent = senderSentence(facts, use, x);
  if (g === null) return `${sent} ${waitsSentence(known, "delta")}`;
  const fields = { unit, delta: said(g) };
  if (!found.isPushed) {
    return `${text("card.off_now", { sent, ...fields })} ${waitsSentence(known, "product")}`;
  }
  let off = text("card.off", { sent: sent.replace(/\.+$/, ""), ...fields });
  if (samples > 1) off = text("card.off_in", { sample, off });
  return `${plural("card.product_is", samples, { off, grad })} ${pushedSentence(known)}`;
}

/** Return the sentence of a weight that is used at several places of each sample. */
function sharedSentence(known, grad) {
  const { places, samples, isPushed, g } = known.found;
  const start = text("card.shared", { count: places });
  if (!isPushed) return `${start} ${waitsSentence(known, g === null ? "delta" : "product")}`;
  return `${plural("card.shared_is", samples, { start, grad })} ${pushedSentence(known)}`;
}

/** Return which number is not computed yet, and at which operation it comes. */
function waitsSentence({ facts, found }, what) {
  const own = found.uses[0]?.operation;
  const moment = facts.moments.find(({ kind, operation, gradients }) => {
    if (what === "delta") return own && gradients.includes(own.target);
    return kind === "weight gradient" && facts.operations[operation] === own;
  });
  return text(`card.waits.${what}`, { when: moment?.title ?? text("card.later") });
}

/** Return what a weight multiplies, as a sentence. */
function senderSentence(facts, { operation, read }, x) {
  if (read === null) return text("card.sent_one");
  const name = asSentence(neuronName(facts, [operation.source, read[0]]));
  if (x === null || x === undefined) return text("card.sent_nothing", { name });
  return text("card.sent", { name, x: said(x) });
}

/** Return what a step makes of the gradient. */
function pushedSentence({ state, done, found }) {
  if (found.frozen) return text("card.push_frozen");
  if (found.fresh === null) return "";
  if (done) return text("card.push_coming", { when: text("strip.step") });
  const by = found.fresh - found.value;
  const way = by > 0 ? "up" : by < 0 ? "down" : "none";
  return text(`card.push.${way}`, { step: state.step, by: said(Math.abs(by)) });
}

/** Return input, delta and product of each sample: the focus sample first, or the largest. */
function gradientTables({ found }) {
  const { x, g, places, sample, samples, isPushed, uses } = found;
  if (g === null || !g.length || !isPushed) return [];
  const size = (i) => Math.abs(x[i] * g[i]);
  const all = [...g.keys()];
  const order =
    places > 1
      ? all.sort((i, j) => size(j) - size(i))
      : [sample, ...all.filter((i) => i !== sample)];
  const sampleOf = uses.flatMap(({ written }) =>
    Array.from({ length: samples * written.length }, (_, i) => Math.floor(i / written.length)),
  );
  const products = order.map((i) => ({ name: String(sampleOf[i]), first: x[i], second: g[i] }));
  const head = ["sample", "x", "delta", "product"].map((name) => text(`card.head.${name}`));
  const marked = places === 1 ? 0 : NO_INDEX;
  return [productTable(head, products, text("card.head.grad"), { marked })];
}
