// Captions of the moments of a step, with their numbers, and of a training that plays; as
// story/captions.py.

import { inputGradientCaption, deltaCaption } from "./backward_captions.js";
import { forwardCaption, lossCaption } from "./forward_captions.js";
import { generalNumber } from "./numbers.js";
import {
  FEW,
  both,
  digits_between,
  exact_sum,
  figures,
  fill,
  pretty,
  said,
  written_alike,
} from "./story/formats.js";
import { NO_INDEX, computedTree, isKnownLoss, lossOf } from "./formulas.js";
import {
  LONGEST_LINE,
  asProduct,
  captionWith,
  endingOn,
  equationLine,
  firstOnCube,
  inBrackets,
  isExactLine,
  isLong,
  pieceOf,
  plainLines,
  sumLine,
  termOf,
  wholeLine,
} from "./equations.js";
import { asSentence } from "./names.js";
import { plural, text } from "./texts.js";
import { TracedWeight, rowBeside, toldNeuron, toldRow } from "./traced_weight.js";
import { explained, optimizerOf } from "./explanation.js";

/**
 * Return the caption of a state: of its last operation, if there is one.
 *
 * spec   of the page; `facts` of it is used
 * state  see the page; `all` has numbers of the whole batch: {values, gradients, targets}, the first
 *        two by buffer, each sample by sample; without it some lines are shorter
 * row    bank index of the weight whose numbers are shown, or null
 * neuron the neuron whose numbers are shown instead, as buffer and place, or null
 *
 * It never fails: what cannot be said in numbers is the name of the operation.
 */
export function captionOf(spec, state, { row = null, neuron = null } = {}) {
  return onceOf(state, "caption", { row, neuron }, () => {
    const { facts } = spec;
    const moment = facts.moments[state.moment ?? -1];
    if (!moment) return withPieces(captionWith(text("captions.before")));
    if (facts.is_graph || state.light)
      return withPieces({ ...plainCaption(moment), ...state.caption }); // by Python
    try {
      return withPieces(momentCaption(facts, state, moment, row, neuron));
    } catch (error) {
      console.error(error); // a fault of the page, which trains and is drawn all the same
      return withPieces(plainCaption(moment));
    }
  });
}

/** Return a caption with its pieces about weights and neurons, those of its whole lines too. */
export function withPieces(caption) {
  const isAbout = (each) => each.row !== NO_INDEX || each.neuron !== null;
  const key = ({ row, neuron }) => JSON.stringify([row, neuron]);
  const told = caption.lines.flat().filter(isAbout);
  const known = new Set(told.map(key));
  const rest = caption.whole.flat().filter((each) => isAbout(each) && !known.has(key(each)));
  const pieces = new Map([...told, ...rest].map((each) => [JSON.stringify(each), each]));
  return { ...caption, pieces: [...pieces.values()] };
}

/** Return the plain sentence of a moment. */
function plainCaption({ name }) {
  return captionWith(`${asSentence(name)}.`);
}

/** Return how far the training has come; the loss is that before weights were changed by hand. */
export function restWords({ step, loss, value, edited = {} }) {
  const isEdited = Object.keys(edited).some((row) => edited[row] !== value[row]);
  const fields = { loss: generalNumber(loss, 3) };
  return isEdited
    ? plural("captions.rest.edited", step, fields)
    : plural("captions.rest", step, fields);
}

function momentCaption(facts, state, moment, row, neuron) {
  const tell = MOMENT_CAPTIONS[moment.kind];
  if (!tell) return plainCaption(moment);
  const chosen = row !== null || neuron !== null;
  if (neuron !== null && neuron[1] >= facts.buffers[neuron[0]].size) {
    row = biasBehind(facts, neuron);
    neuron = null;
  }
  if (row !== null) neuron = null;
  else neuron ??= toldNeuron(facts, state, moment);
  if (neuron !== null)
    row = chosen ? rowBeside(facts, neuron) : toldRow(facts, state, moment, neuron);
  const learns = (state.frozen ?? []).indexOf(0);
  row ??= learns < 0 ? facts.first_row : learns;
  const traced = new TracedWeight(facts, state, moment, row, neuron, chosen);
  return written_alike(() => tell(traced));
}

/** Return the first bias that a 1 is multiplied by. */
function biasBehind(facts, [name]) {
  const found = facts.operations.find((each) => each.source === name && each.biases !== NO_INDEX);
  return found ? found.biases : facts.operations[0].weights;
}

function zeroGradCaption(ctx) {
  const caption = (lines, more) => {
    const [title, formula] = ["title", "formula"].map((part) => text(`captions.zero_grad.${part}`));
    return captionWith(title, formula, lines, more);
  };
  if (ctx.row === NO_INDEX) return caption([]);
  const old = ctx.state.grad_before?.[ctx.row] ?? 0;
  const isFirst = old === 0 && ctx.state.step === 0;
  const words = isFirst || !ctx.state.grad_before ? "0" : `${said(old)} → 0`;
  const start = asSentence(text("captions.zero_grad.of", { name: ctx.nameOf(ctx.row) }));
  const line = [pieceOf(`${start} `), pieceOf(words, { row: ctx.row, mark: "gradient\n0" })];
  const callout = text("captions.callout.grad", { grad: words });
  const found = caption([line], { rows: [ctx.row], callout });
  return isFirst ? { ...found, title: text("captions.zero_grad.first") } : found;
}

/** Input times delta: of the focus sample, over its places, and added up over the batch. */
function weightGradientCaption(ctx) {
  const row = ctx.ownRow;
  if (!ctx.operation.multiplies) return slopeTimesSignal(ctx, row);
  const { written, read } = ctx.uses(row);
  const name = ctx.nameOf(row);
  let formula = read === null ? "gradient = signal" : `gradient = ${ctx.letter} × signal`;
  if (!written.length) {
    const title = asSentence(text("captions.weight_gradient.none", { name }));
    return captionWith(title, formula, plainLines(text("explanation.beyond")), {
      rows: [row],
    });
  }
  const known = productsOf(ctx, written, read);
  const total = known.all ? known.all.total : ctx.state.grad[row];
  let kind = read === null ? "bias_title" : "title";
  if (total === 0) {
    const { deltas, inputs } = known.all ?? { deltas: true, inputs: true };
    kind = !deltas ? "no_delta" : !inputs ? "no_input" : "none";
  } else if (Number.isNaN(total)) {
    kind = "nan";
  }
  const way = text(`captions.way.${total > 0 ? "down" : "up"}`);
  const title = asSentence(text(`captions.weight_gradient.${kind}`, { name, way }));
  const { lines, whole } = gradientLines(ctx, row, known, written, read);
  if (written.length > 1) {
    formula = plural("captions.weight_gradient.used", written.length, { formula });
  }
  const neurons = [];
  if (written.length === 1) {
    neurons.push([ctx.operation.target, written[0]]);
    if (read !== null) neurons.push([ctx.operation.source, read[0]]);
  }
  const callout = text("captions.callout.grad", { grad: lines.at(-1).at(-1).words });
  return captionWith(title, formula, lines, { whole, rows: [row], neurons, callout });
}

/** The gradient of a parameter that is no factor of an input. */
function slopeTimesSignal(ctx, row) {
  const grad = ctx.state.grad[row];
  const kind = grad === 0 ? "none" : Number.isNaN(grad) ? "nan" : "slope";
  const way = text(`captions.way.${grad > 0 ? "down" : "up"}`);
  const title = asSentence(
    text(`captions.weight_gradient.${kind}`, { name: ctx.nameOf(row), way }),
  );
  const line = [pieceOf("gradient = "), pieceOf(said(grad), { row })];
  const callout = text("captions.callout.grad", { grad: said(grad) });
  const formula = text("captions.weight_gradient.by_slope");
  return captionWith(title, formula, [line], { rows: [row], callout });
}

/** Return the factors of the products of each sample; of the focus sample only if need be. */
function productsOf(ctx, written, read) {
  const { operation, facts } = ctx;
  const pairs = (x, delta, sample, sizes) =>
    written.map((place, i) => [
      read === null ? 1 : x[sample * sizes[0] + read[i]],
      delta[sample * sizes[1] + place],
    ]);
  const own = pairs(ctx.inputs, ctx.upstream, 0, [0, 0]);
  const x = ctx.ofBatch("values", operation.source);
  const delta = ctx.ofBatch("gradients", operation.target);
  if (x === null || delta === null) return { own, all: null };
  const sizes = [facts.buffers[operation.source].size, facts.buffers[operation.target].size];
  const samples = [...Array(ctx.samples).keys()].map((i) => pairs(x, delta, i, sizes));
  const sums = samples.map((each) => each.reduce((sum, [a, b]) => sum + a * b, 0));
  const some = (part) => samples.some((each) => each.some((pair) => pair[part] !== 0));
  const total = sums.reduce((sum, each) => sum + each, 0);
  return { own, all: { samples, sums, total, inputs: some(0), deltas: some(1) } };
}

/** Return the gradient of a weight in lines, and with all samples if some are left out. */
function gradientLines(ctx, row, { own: factors, all }, written, read) {
  const { operation, sample, samples } = ctx;
  const places = written.length;
  const own = factors.map((pair, i) => {
    const neuron = read === null ? null : [operation.source, read[i]];
    const behind = [operation.target, written[i]];
    return termOf(pair, { words: asProduct, neuron, behind });
  });
  const grad = ctx.homesOf(row).length > 1 && all ? all.total : ctx.state.grad[row];
  if (places === 1) own[0] = { ...own[0], row, mark: firstOnCube };
  const about = { start: "gradient = " };
  const ends = (line) => (places > 1 ? endingOn(line, row) : line);
  if (samples === 1) {
    const whole = wholeLine(own, grad, about);
    const line = ends(sumLine(own, grad, about));
    return { lines: [line], whole: isLong(own) ? [ends(whole)] : [] };
  }
  const mine = all ? all.sums[sample] : factors.reduce((sum, [a, b]) => sum + a * b, 0);
  const start = `${text("captions.sample", { sample })}: `;
  const line = sumLine(own, mine, { start });
  const rest = all ? exact_sum(all.sums.filter((_, i) => i !== sample)) : grad - mine;
  const more = plural("captions.more_samples", samples - 1, { rest: "{}" });
  const others = termOf([rest], { words: (number) => more.replace("{}", number), opens: true });
  const added = sumLine([termOf([mine]), others], grad, about);
  if (!all) return { lines: [line, ends(added)], whole: [] };
  const every = all.samples.map((pairs, i) => {
    if (places > 1) return termOf([all.sums[i]]);
    return i === sample ? own[0] : termOf(pairs[0], { words: asProduct });
  });
  const whole = wholeLine(every, grad, { keep: sample, ...about });
  return { lines: [line, ends(added)], whole: [ends(whole)] };
}

const MOMENT_CAPTIONS = {
  zero_grad: zeroGradCaption,
  forward: forwardCaption,
  loss: lossCaption,
  delta: deltaCaption,
  "weight gradient": weightGradientCaption,
  "input gradient": inputGradientCaption,
  step: stepCaption,
};

// The caption of the step: the optimizer's arithmetic for one weight.

const RATE_DIGITS = 6;

/** The optimizer's arithmetic, and the new loss. */
function stepCaption(ctx) {
  if (ctx.row === NO_INDEX) return captionWith(text("captions.step.empty"));
  const { facts, state, samples } = ctx;
  const found = explained(facts, state, ctx.row);
  const name = ctx.nameOf(ctx.row);
  const isKnown = found.lines.length || found.frozen;
  const caption = isKnown
    ? movedCaption(optimizerOf(facts, state), found, name)
    : changeCaption(found, state.value[ctx.row], name);
  if (caption.lines.length) {
    const who = text(`captions.step.${found.is_any_frozen ? "some" : "all"}`);
    addLine(caption, plural("captions.step.together", samples, { who }));
  }
  caption.title = asSentence(caption.title);
  const targets = state.all?.targets ?? (samples === 1 ? state.target : null);
  if (!facts.learning && state.fresh && targets && isKnownLoss(facts.loss)) {
    const again = lossOf(facts.loss, state.fresh, targets, samples);
    const [old, fresh] = both(state.loss, again);
    addLine(caption, plural("captions.step.loss", samples, { old, new: fresh }));
  }
  return caption;
}

/** Add a line to a caption. */
function addLine(caption, words) {
  caption.lines.push(...plainLines(words));
  if (caption.whole.length) caption.whole.push(...plainLines(words));
}

/** Return how a weight moves: the optimizer's formula, and the same with its numbers. */
function movedCaption(optimizer, found, name) {
  const { row, value: old, lines } = found;
  if (!lines.length) {
    const key = `captions.stays.${found.frozen ? "frozen" : "still"}`;
    return captionWith(text(key, { name, value: said(old, 3) }), "", [], { rows: [row] });
  }
  const last = lines.at(-1);
  if (!found.follows) return changeCaption(found, last.value, name);
  const exactly = new Set(Object.keys(optimizer.settings));
  lines.filter(isExactLine).forEach((line) => exactly.add(line.name));
  const names = { g: "gradient", w: "w" };
  const before = [];
  for (const line of lines.slice(0, -1)) {
    if (line.same) continue;
    if (line.own_rate) {
      const rate = said(line.value, RATE_DIGITS);
      before.push(...plainLines(text("captions.step.own_rate", { rate })));
      continue;
    }
    const key = { g: "clipped", w: "decayed" }[line.name];
    const now = key ? text(`captions.computed.${key}`) : line.name;
    before.push(formulaLine(line, { exactly, start: `${now} = ` }));
    names[line.name] = now;
  }
  const digits = digits_between(old, last.value);
  let [ended, shown] = endingLine(found, exactly, digits);
  if (figures(shown) > digits) [ended, shown] = endingLine(found, exactly, figures(shown));
  const fresh = ended.at(-1).words;
  const title = text("captions.step.title", { name, old: shown, new: fresh });
  const mark = `${shown}\n→ ${fresh}`;
  ended = ended.map((each) => (each.row === row ? { ...each, mark } : each));
  if (!ended.some((each) => each.row === row))
    ended[ended.length - 1] = { ...ended.at(-1), row, mark };
  const words = last.words ?? last.formula;
  const formula = text("captions.step.formula", { formula: pretty(fill(words, names)) });
  const all = [ended, ...before];
  const short = all.map(foldedLine);
  const whole = short.some((line, i) => line !== all[i]) ? all : [];
  return captionWith(title, formula, short, { whole, rows: [row] });
}

/** Return the caption of a step whose arithmetic a page does not know. */
function changeCaption({ row, value }, now, name) {
  const [old, fresh] = both(value, now);
  const title = text("captions.step.title", { name, old, new: fresh });
  const line = [pieceOf(old, { row, mark: `${old}\n→ ${fresh}` }), pieceOf(` → ${fresh}`)];
  return captionWith(title, "", [line], { rows: [row] });
}

/** Return the last line of an optimizer, and the old number as it is written. */
function endingLine(found, exactly, digits) {
  const line = formulaLine(found.lines.at(-1), { exactly, row: found.row, least: digits });
  const decays = found.lines.slice(0, -1).some((each) => each.name === "w");
  const own = decays ? null : line.find((each) => each.row === found.row);
  return [line, own?.words ?? said(found.value, digits)];
}

/** Return a line that is short enough: of a long one the weight, "..." and the result. */
function foldedLine(line) {
  const length = line.reduce((sum, each) => sum + each.words.length, 0);
  if (length <= LONGEST_LINE) return line;
  const own = line.slice(0, -1).find((each) => each.row !== NO_INDEX);
  const start = /^.*? = /s.exec(line[0].words);
  return [
    ...(start ? [pieceOf(start[0])] : []),
    ...(own ? [{ ...own, words: `${own.words} ` }] : []),
    pieceOf("...", { opens: true }),
    ...line.slice(-2),
  ];
}

/** Return a line of the optimizer with numbers in place of its names. */
function formulaLine(line, { exactly, start = "", row = NO_INDEX, least = FEW }) {
  if (!line.numbered) return plainLines(start + line.formula)[0];
  const { words, numbers, tree } = line.numbered;
  /** @type {any[]} */
  const parts = start ? [start] : [];
  const order = [];
  const pieces = words.split(/_(\d+)_/);
  pieces.forEach((each, i) => {
    if (i % 2 === 0) {
      if (each) parts.push(pretty(each));
      return;
    }
    const number = numbers[each];
    const value = typeof number === "string" ? line.known[number] : number;
    const holds = pieces[i - 1].trimEnd().endsWith("-") || pieces[i + 1].startsWith("^");
    const own = { row: number === "w" ? row : NO_INDEX, exact: exactly.has(number) };
    parts.push(termOf([value], holds ? { ...own, words: inBrackets } : own));
    order.push(`_${each}_`);
  });
  if (order.length < numbers.length) return plainLines(start + said(line.value))[0];
  const given = (v) => Object.fromEntries(order.map((name, i) => [name, v[i]]));
  return equationLine(parts, (v) => computedTree(tree, given(v)), line.value, { least });
}

// The sentence of a training that plays.

/** Return how many samples are right, else the loss, and how the loss has changed.
 *
 * changed  of the state: the first step whose loss is computed after the last change of a user
 */
export function progressOf({ mean, changes }, { step, loss, changed = 0 }, losses, verdict) {
  if (!step && !verdict) return text("captions.before");
  let words = verdict || text("captions.playing.loss", { loss: generalNumber(loss, 3) });
  const half = Math.floor(Math.max(0, step - changed) / 2);
  const unit = 10 ** (String(half).length - 1);
  const since = changed + Math.floor(half / unit) * unit; // of one digit: it stays for a while
  const count = Math.min(mean, since - changed);
  const [earlier, now] = [since, step].map((end) => {
    let sum = 0;
    for (let i = end - count; i < end; i++) sum += losses.at(i);
    return sum / count;
  });
  if (count && Number.isFinite(now) && earlier > 0) {
    const way = Object.keys(changes).find((name) => now <= changes[name] * earlier) ?? "more";
    const it = text(`captions.playing.it.${verdict ? "verdict" : "loss"}`);
    words = text(`captions.playing.since.${way}`, { said: words, it, since });
  }
  return text("captions.playing", { step, said: words });
}

// What is made of a state once, however often a frame asks for it.

const madeOf = new WeakMap(); // by state

/** Return what `make` makes of a state, or has made of it for the same words and target. */
export function onceOf(state, words, { row = null, neuron = null }, make) {
  const key = `${words} ${row} ${neuron}`;
  if (!madeOf.has(state)) madeOf.set(state, new Map());
  const known = madeOf.get(state);
  if (!known.has(key)) known.set(key, make());
  return known.get(key);
}
