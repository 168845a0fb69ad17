// Captions of operations forward, by their kind, of the prediction and of the loss; as
// story/forward_captions.py.

import { FEW, MOST, both, exact_sum, fill, pretty, said, written_apart } from "./story/formats.js";
import {
  NO_INDEX,
  calledFormula,
  caseOf,
  computedTree,
  errorsOf,
  indexOfLargest,
  isKnownLoss,
  logSumExp,
  partOfLoss,
} from "./formulas.js";
import {
  MOST_TERMS,
  SHOWN_TERMS,
  asProduct,
  captionWith,
  equationLine,
  isLong,
  joinedBy,
  listed,
  pieceOf,
  plainLines,
  secondOnCube,
  shortenedTerms,
  sumLine,
  sumOf,
  summedOf,
  termOf,
  wholeLine,
} from "./equations.js";
import { asSentence, shortName, unraveled, weightsInto } from "./names.js";
import { plural, text } from "./texts.js";
import { frozenOf } from "./explanation.js";

/** Return the caption of an operation forward; of the last one, with prediction and target. */
export function forwardCaption(ctx) {
  const plainly = (FORWARD_CAPTIONS[ctx.operation.kind] ?? plainForward)(ctx);
  return ctx.isLast ? predictedCaption(ctx, plainly) : plainly;
}

/** The weighted sum of one output. */
function weightedCaption(ctx) {
  const { operation } = ctx;
  const [output, column] = ctx.place;
  const y = ctx.outputs[output];
  const { value } = ctx.state;
  const { rows, read } = weightsInto(ctx.facts, operation, output);
  const terms = rows.map((row, i) => {
    const neuron = [operation.source, read[i]];
    const factors = [ctx.inputs[read[i]], value[row]];
    return termOf(factors, { words: asProduct, row, neuron, mark: secondOnCube });
  });
  const keep = ctx.chosen ? read.indexOf(column) : NO_INDEX;
  const hasBias = operation.biases !== NO_INDEX;
  const isScale = operation.kind === "scale";
  if (hasBias) {
    const row = operation.biases + Math.floor(output / operation.each);
    const word = text(isScale ? "plates.shift" : "plates.bias");
    const words = (shown) => `${word} ${shown}`;
    const mark = (shown) => `${shown}\n× 1`;
    terms.push(termOf([value[row]], { words, row, mark, stays: true }));
  }
  const options = { keep, about: ctx.behind };
  const line = sumLine(terms, y, options);
  const kind = isScale && hasBias ? "shifted" : operation.kind;
  const fields = { x: ctx.letter, unit: ctx.called(ctx.behind) };
  const caption = captionOfKey(`weighted.${kind}`, [line], fields);
  if (isLong(terms)) caption.whole = [wholeLine(terms, y, options)];
  if (hasBias && !isScale) caption.formula += text("captions.weighted.bias");
  const one = [operation.source, ctx.inputs.length];
  caption.summed = summedOf(terms, y, ctx.facts.terms, one);
  return aboutOutput(ctx, caption, y);
}

function activationCaption(ctx) {
  const name = ctx.operation.formula;
  const [place] = ctx.place;
  const [z, a] = [ctx.inputs[place], ctx.outputs[place]];
  const row = ctx.facts.activations[name];
  const words = row.zero && a === 0 ? row.zero : row.caption;
  const title = asSentence(words.replaceAll("{unit}", ctx.called(ctx.behind)));
  if (row.value === null) return { ...plainForward(ctx), title };
  const line = activationLine(name, row, z, a, { before: ctx.before, behind: ctx.behind });
  const formula = `a = ${name}(z)${row.alone && ` = ${pretty(row.alone)}`}`;
  return aboutOutput(ctx, captionWith(title, formula, [line]), a);
}

/** A formula with parameters, of one number. */
function parametricCaption(ctx) {
  const { formula } = ctx.operation;
  const [place] = ctx.place;
  const row = ctx.facts.parametrics[formula];
  const unit = ctx.called(ctx.behind);
  const title = asSentence(text("captions.parametric", { unit, name: formula }));
  if (row.value === null) return { ...plainForward(ctx), title };
  const parts = [`${formula}(`, termOf([ctx.inputs[place]], { neuron: ctx.before })];
  for (const own of parametersOf(ctx, place)) {
    parts.push(", ", termOf([ctx.state.value[own]], { row: own }));
  }
  const made = (v) => calledFormula(row.value, v);
  const line = equationLine([...parts, ")"], made, ctx.outputs[place], { about: ctx.behind });
  const written = `y = ${formula}(x, ${row.parameters.join(", ")})`;
  return aboutOutput(ctx, captionWith(title, written, [line]), ctx.outputs[place]);
}

/** Caption of a kind without one of its own: the meaning in its table row. */
function plainForward(ctx) {
  const name = (ctx.operation.formula || ctx.operation.kind).replaceAll("_", " ");
  const inputs = ctx.operation.sources.map((each) => listed(ctx.state.values[each])).join(", ");
  const lines = plainLines(`${inputs} → ${listed(ctx.outputs)}`);
  const title = text("captions.plain", { name });
  const caption = captionWith(title, pretty(ctx.operation.meaning), lines);
  return aboutOutput(ctx, caption, ctx.outputs[ctx.place[0]]);
}

function branchCaption(ctx) {
  const caption = captionOfKey("branch", plainLines(listed(ctx.inputs)));
  return aboutOutput(ctx, caption, ctx.inputs[ctx.place[0]]);
}

function joinedCaption(ctx) {
  const [place] = ctx.place;
  const [, second] = ctx.operation.sources;
  const straight = termOf([ctx.state.values[second][place]], { neuron: [second, place] });
  const through = termOf([ctx.inputs[place]], { neuron: ctx.before });
  const line = sumLine([straight, through], ctx.outputs[place], { about: ctx.behind });
  const caption = captionOfKey("sum", [line], { unit: ctx.called(ctx.behind) });
  return aboutOutput(ctx, caption, ctx.outputs[place]);
}

function productCaption(ctx) {
  const [place] = ctx.place;
  const { sources } = ctx.operation;
  const term = productTerm(
    ctx,
    sources.map((each) => ctx.state.values[each][place]),
    sources,
  );
  const line = sumLine([term], ctx.outputs[place], { about: ctx.behind });
  const caption = captionOfKey("product", [line], { unit: ctx.called(ctx.behind) });
  return aboutOutput(ctx, caption, ctx.outputs[place]);
}

/** Return the product of the numbers of two neurons, at the place of these buffers. */
export function productTerm(ctx, numbers, [first, second]) {
  const [place] = ctx.place;
  return termOf(numbers, { words: asProduct, neuron: [first, place], behind: [second, place] });
}

function concatenationCaption(ctx) {
  const caption = captionOfKey("concatenation", plainLines(listed(ctx.outputs)));
  return aboutOutput(ctx, caption, ctx.outputs[ctx.place[0]]);
}

/** Whether the traced number is dropped, and how many others are. */
function dropoutCaption(ctx) {
  const [rate] = ctx.operation.settings;
  const [place] = ctx.place;
  const [x, y] = [[...ctx.inputs], [...ctx.outputs]];
  const some = x.filter((each) => each !== 0).length;
  const leftOut = x.filter((each, i) => y[i] === 0 && each !== 0).length;
  let count = text("captions.dropout.count", { left_out: leftOut, some });
  if (some < x.length) count = text("captions.dropout.zeros", { count, others: x.length - some });
  const fields = { unit: ctx.called(ctx.behind) };
  if (y[place] === 0 && x[place] !== 0) {
    const words = text("captions.dropout.own", { x: said(x[place]) });
    const lines = [[pieceOf(words, { neuron: ctx.behind })], ...plainLines(count)];
    return aboutOutput(ctx, captionOfKey("dropout_out", lines, fields), y[place]);
  }
  const own = termOf([x[place]], { neuron: ctx.before });
  const parts = [own, " / (1 - ", termOf([rate], { exact: true }), ")"];
  const line = equationLine(parts, (v) => v[0] / (1 - v[1]), y[place], { about: ctx.behind });
  return aboutOutput(ctx, captionOfKey("dropout", [line, ...plainLines(count)], fields), y[place]);
}

/** Mean and variance of one feature over all samples and pixels. */
function batchNormCaption(ctx) {
  const { settings, state: first } = ctx.operation;
  const [place] = ctx.place;
  const [features, pixels, eps] = settings;
  const feature = Math.floor(place / pixels);
  const all = ctx.ofBatch("values", ctx.operation.source);
  const isHeld = isHeldNow(ctx);
  if (isHeld ? !ctx.state.bank_state : all === null) return plainForward(ctx);
  const own = isHeld ? [] : featureOf(all, feature, features * pixels, pixels);
  const mean = isHeld ? ctx.state.bank_state[first + feature] : meanOf(own);
  const variance = isHeld ? ctx.state.bank_state[first + features + feature] : varianceOf(own);
  const parts = standardizing(ctx.inputs[place], mean, variance, eps);
  const y = ctx.outputs[place];
  const line = equationLine(parts, standardized(mean), y, { about: ctx.behind });
  const over = isHeld
    ? text("captions.batch_norm.running")
    : text("captions.batch_norm.over", { count: own.length });
  const numbers = { mean: said(mean, 3), variance: said(variance, 3) };
  const words = text("captions.batch_norm.feature", { feature, over, ...numbers });
  const key = isHeld ? "frozen_batch_norm" : "batch_norm";
  const lines = [line, ...plainLines(words)];
  return aboutOutput(ctx, captionOfKey(key, lines, { unit: ctx.called(ctx.behind) }), y);
}

const FORWARD_CAPTIONS = {
  affine: weightedCaption,
  convolution: weightedCaption,
  scale: weightedCaption,
  activation: activationCaption,
  row: rowFormulaCaption,
  parametric: parametricCaption,
  branch: branchCaption,
  sum: joinedCaption,
  product: productCaption,
  concatenation: concatenationCaption,
  dropout: dropoutCaption,
  batch_norm: batchNormCaption,
};

// Operations on a whole sample: norms, pooling, softmax, waves.

/** Return the mean of numbers. */
export function meanOf(numbers) {
  return [...numbers].reduce((sum, each) => sum + each, 0) / numbers.length;
}

/** Return the variance of numbers. */
export function varianceOf(numbers) {
  const mean = meanOf(numbers);
  return meanOf([...numbers].map((each) => (each - mean) ** 2));
}

/** Return a feature of all samples: `size` numbers a sample, of which each feature has `pixels`. */
export function featureOf(all, feature, size, pixels) {
  return [...all].filter((_, i) => Math.floor((i % size) / pixels) === feature);
}

/** Return whether the layer of a batch norm is frozen as a whole, so that its statistics stop. */
export function isHeldNow({ facts, state, operation }) {
  const [start, stop] = operation.held;
  const frozen = frozenOf(facts, state);
  const rows = Array.from({ length: stop - start }, (_, i) => start + i);
  return rows.length > 0 && rows.every((row) => frozen.has(row));
}

/** One number of a row formula, with its arithmetic if it has some here. */
function rowFormulaCaption(ctx) {
  const { formula, caption: words, written } = ctx.operation;
  const own = ctx.outputs[ctx.place[0]];
  const make = ROW_LINES[formula];
  const lines = make
    ? make(ctx, [...ctx.inputs], own)
    : plainLines(`${listed(ctx.inputs)} → ${listed(ctx.outputs)}`);
  const title = asSentence(words.replaceAll("{unit}", ctx.called(ctx.behind)));
  return aboutOutput(ctx, captionWith(title, written, lines), own);
}

function layerNormLines(ctx, x, y) {
  const [mean, variance] = [meanOf(x), varianceOf(x)];
  const parts = standardizing(x[ctx.place[0]], mean, variance, ctx.operation.settings.at(-1));
  const line = equationLine(parts, standardized(mean), y, { about: ctx.behind });
  const fields = { mean: said(mean, 3), variance: said(variance, 3) };
  return [line, ...plainLines(text("captions.layer_norm.over", { count: x.length, ...fields }))];
}

function rmsNormLines(ctx, x, y) {
  const square = meanOf(x.map((each) => each * each));
  const eps = termOf([ctx.operation.settings.at(-1)], { exact: true });
  const own = termOf([x[ctx.place[0]]], { neuron: ctx.before });
  const parts = [own, " / sqrt(", termOf([square]), " + ", eps, ")"];
  const line = equationLine(parts, (v) => v[0] / Math.sqrt(v[1] + v[2]), y, { about: ctx.behind });
  const words = text("captions.rms_norm.over", { count: x.length, square: said(square, 3) });
  return [line, ...plainLines(words)];
}

function softmaxLines(ctx, x, y) {
  const top = Math.max(...x);
  const total = x.reduce((sum, each) => sum + Math.exp(each - top), 0);
  const own = termOf([x[ctx.place[0]]], { neuron: ctx.before });
  const parts = ["exp(", own, " - ", termOf([top]), ") / ", termOf([total])];
  const compute = (v) => Math.exp(v[0] - v[1]) / v[2];
  const line = equationLine(parts, compute, y, { about: ctx.behind });
  const words = text("captions.softmax.over", { count: x.length, top: said(top, 3) });
  return [line, ...plainLines(words)];
}

function spreadLines(ctx, x, y) {
  const channel = Math.floor(ctx.place[0] / ctx.operation.settings[0]);
  const number = termOf([x[channel]], { neuron: [ctx.operation.source, channel] });
  return [equationLine([number], (v) => v[0], y, { about: ctx.behind })];
}

function logSoftmaxLines(ctx, x, y) {
  const top = Math.max(...x);
  const total = x.reduce((sum, each) => sum + Math.exp(each - top), 0);
  const own = termOf([x[ctx.place[0]]], { neuron: ctx.before });
  const parts = [own, " - ", termOf([top]), " - log(", termOf([total]), ")"];
  const compute = (v) => v[0] - v[1] - Math.log(v[2]);
  const line = equationLine(parts, compute, y, { about: ctx.behind });
  const words = text("captions.log_softmax.over", { count: x.length, top: said(top, 3) });
  return [line, ...plainLines(words)];
}

function waveLines(ctx, x, y) {
  const [octaves] = ctx.operation.settings;
  const [place] = ctx.place;
  const which = Math.floor(place / (2 * octaves));
  const wave = place % (2 * octaves);
  const [name, wavy] = wave % 2 ? ["cos", Math.cos] : ["sin", Math.sin];
  const times = 2 ** Math.floor(wave / 2);
  const number = termOf([x[which]], { neuron: [ctx.operation.source, which] });
  const parts = [`${name}(${times > 1 ? `${times} × ` : ""}π × `, number, ")"];
  return [equationLine(parts, (v) => wavy(times * Math.PI * v[0]), y, { about: ctx.behind })];
}

/** Return the inputs in the window of an output of a pooling. */
export function poolWindow(ctx, place) {
  const [channels, height, width, kernel, stride, padding] = ctx.operation.settings;
  const side = (size) => Math.floor((size + 2 * padding - kernel) / stride) + 1;
  const [channel, line, column] = unraveled(place, [channels, side(height), side(width)]);
  const top = line * stride - padding;
  const left = column * stride - padding;
  const found = [];
  for (let i = Math.max(top, 0); i < Math.min(top + kernel, height); i++) {
    for (let j = Math.max(left, 0); j < Math.min(left + kernel, width); j++) {
      found.push((channel * height + i) * width + j);
    }
  }
  return found;
}

function windowTerms(ctx, x) {
  const places = poolWindow(ctx, ctx.place[0]).slice(0, MOST_TERMS);
  return places.map((i) => termOf([x[i]], { neuron: [ctx.operation.source, i] }));
}

function maxPoolLines(ctx, x, y) {
  const parts = [text("captions.max_pool.of"), ...joinedBy(windowTerms(ctx, x), ", "), ")"];
  return [equationLine(parts, (v) => Math.max(...v), y, { about: ctx.behind })];
}

function averagePoolLines(ctx, x, y) {
  const pixels = ctx.operation.settings[3] ** 2;
  const parts = ["(", ...joinedBy(windowTerms(ctx, x)), `) / ${pixels}`];
  return [equationLine(parts, (v) => exact_sum(v) / pixels, y, { about: ctx.behind })];
}

const ROW_LINES = {
  layer_norm: layerNormLines,
  rms_norm: rmsNormLines,
  softmax: softmaxLines,
  log_softmax: logSoftmaxLines,
  frequency_encoding: waveLines,
  spread: spreadLines,
  max_pool: maxPoolLines,
  average_pool: averagePoolLines,
};

// The predictions and the loss.

const ALL_SAMPLES = 4096; // most samples whose errors are computed one by one
const ALL_OUTPUTS = 65536; // and most outputs of all of them

/** Return the caption of the last operation: the prediction beside the target. */
function predictedCaption(ctx, plainly) {
  const [prediction, target] = ctx.answers;
  const [place] = ctx.place;
  const formula = plainly.formula.replace(/^\w+ =/, "p =");
  const name = ctx.operation.target;
  if (ctx.facts.loss.logits) {
    const places = target.length > 1 ? [indexOfLargest(prediction), indexOfLargest(target)] : [];
    const pieces = places.map((at, i) => {
      const words = text(`captions.${i ? "right" : "largest"}`, { unit: ctx.called([name, at]) });
      return pieceOf(words, { neuron: [name, at] });
    });
    return { ...plainly, formula, lines: withLine(plainly.lines, pieces) };
  }
  const [own, should] = both(prediction[place], target[place]);
  const fields = { unit: ctx.called(ctx.behind), prediction: own, target: should };
  const title = asSentence(text("captions.last", fields));
  const others = [...target.keys()].filter((i) => i !== place).slice(0, SHOWN_TERMS);
  const pieces = others.map((i) => {
    const [p, t] = both(prediction[i], target[i]);
    const unit = shortName(ctx.facts, i);
    const words = text("captions.should", { unit, prediction: p, target: t });
    return pieceOf(words, { neuron: [name, i] });
  });
  const left = target.length - 1 - others.length;
  if (left > 0) pieces.push(pieceOf(text("captions.others", { count: left })));
  return { ...plainly, title, formula, lines: withLine(plainly.lines, pieces) };
}

/** Return lines, and pieces with signs between them as one more if there are some. */
function withLine(lines, pieces) {
  if (!pieces.length) return lines;
  return [...lines, pieces.flatMap((each, i) => (i ? [pieceOf("; "), each] : [each]))];
}

/** The errors of the focus sample, and the loss of the batch. */
export function lossCaption(ctx) {
  const { loss, outputs: name } = ctx.facts;
  const outputs = ctx.answers[0].length;
  let mean = loss.mean === "none" ? "sum" : "mean";
  if (loss.mean === "samples" && loss.scalar && outputs > 1) mean = "mean_of_sums";
  const error = pretty(loss.error.text);
  const formula = `L = ${factorOf(loss)}${text(`captions.loss.formula.${mean}`, { error })}`;
  const whole = ctx.state.loss;
  const only = () => plainLines(text("captions.loss.only", { loss: said(whole, 3) }));
  const isKnown = isKnownLoss(loss);
  const [errors, line] = isKnown ? namedErrors(ctx) : [null, null];
  const [parts, total] = isKnown ? partLines(ctx, errors, whole) : [only(), null];
  const title = text("captions.loss.title", { loss: said(whole, 3) });
  const neurons = [...Array(Math.min(outputs, MOST_TERMS)).keys()].map((i) => [name, i]);
  const callout = text("captions.callout.loss", { loss: said(whole) });
  const lines = line ? [line, ...parts] : parts;
  const caption = captionWith(title, formula, lines, { neurons, callout });
  return total ? { ...caption, whole: [line, ...parts.slice(0, -1), total] } : caption;
}

/** Return the factor of a loss as formulas begin with it. */
export function factorOf(loss) {
  return loss.factor === 1 ? "" : `${said(loss.factor, MOST)} × `;
}

/** Return the errors of the focus sample, and a line with some of them. */
function namedErrors(ctx) {
  const { loss, outputs: name } = ctx.facts;
  const [p, t] = ctx.answers.map((each) => [...each]);
  if (!loss.scalar) return rowError(ctx, p, t);
  const errors = errorsOf(loss, p, t);
  const pieces = [];
  for (let i = 0; i < Math.min(p.length, SHOWN_TERMS); i++) {
    const [one, compute] = lossTerm(loss, "error", p[i], t[i], [name, i]);
    const start = p.length > 1 ? [`${shortName(ctx.facts, i)}: `] : [];
    if (i) pieces.push(pieceOf("; "));
    pieces.push(...equationLine([...start, one], compute, errors[i], { about: [name, i] }));
  }
  const left = p.length - SHOWN_TERMS;
  if (left > 0) pieces.push(pieceOf("; "), pieceOf(text("captions.others", { count: left })));
  return [errors, pieces];
}

/** Return the error of a sample whose loss takes all outputs together, and its line. */
function rowError(ctx, p, t) {
  const { loss, outputs: name } = ctx.facts;
  const [error] = errorsOf(loss, p, t);
  const right = indexOfLargest(t);
  const isOne = t[right] === 1 && t.reduce((sum, each) => sum + Math.abs(each), 0) === 1;
  if (!isOne) {
    return [[error], plainLines(text("captions.loss.error", { error: said(error, 3) }))[0]];
  }
  const share = Math.exp(p[right] - logSumExp(p));
  const start = text("captions.loss.share", { unit: ctx.called([name, right]) });
  const one = termOf([share], { words: (shown) => `-log(${shown})`, neuron: [name, right] });
  const compute = (v) => -Math.log(v[0]);
  return [[error], equationLine([`${start}: `, one], compute, error, { about: [name, right] })];
}

/**
 * Return how the errors of the focus sample, and then those of all samples, make the loss; and the
 * last line with all samples, if some are left out, else null.
 */
function partLines(ctx, errors, whole) {
  const { loss } = ctx.facts;
  const { samples, sample } = ctx;
  const outputs = ctx.answers[0].length;
  const divisor = loss.scalar ? loss.divisor || 1 : 1;
  const scale = loss.factor / divisor;
  const own = exact_sum(errors) * scale;
  const found = [];
  const last = samples === 1;
  if (errors.length > 1 || scale !== 1) {
    const all = errors.map((each) => termOf([each]));
    const terms = shortenedTerms(all, 0, SHOWN_TERMS);
    const before = factorOf(loss);
    const isSum = terms.length > 1 && (before || divisor > 1);
    const inner = isSum ? ["(", ...joinedBy(terms), ")"] : joinedBy(terms);
    const start = last ? "L = " : `${text("captions.sample", { sample })}: `;
    const end = divisor > 1 ? [` / ${divisor}`] : [];
    const add = sumOf(terms);
    const compute = (v) => add(v) * scale;
    found.push(equationLine([start + before, ...inner, ...end], compute, last ? whole : own));
  }
  if (last) {
    const only = () => plainLines(text("captions.loss.only", { loss: said(whole, 3) }));
    return [found.length ? found : only(), null];
  }
  if (samples > ALL_SAMPLES || samples * outputs > ALL_OUTPUTS) {
    const words = text("captions.loss.over", { loss: said(whole, 3), count: samples });
    return [[...found, ...plainLines(words)], null];
  }
  const each = errorsOfBatch(ctx)?.map((error) => termOf([error * scale])) ?? null;
  const count = loss.mean === "none" ? 1 : samples;
  const others = each
    ? exact_sum(each.flatMap(({ value }, i) => (i === sample ? [] : [value])))
    : whole * count - own;
  const more = plural("captions.more_samples", samples - 1, { rest: "{}" });
  const words = (number) => more.replace("{}", number);
  const terms = [termOf([own]), termOf([others], { words, opens: true })];
  if (!each) return [[...found, meanLine(terms, count, whole)], null];
  const every = shortenedTerms(each, sample, MOST_TERMS);
  const total = written_apart(() => meanLine(every, count, whole));
  return [[...found, meanLine(terms, count, whole)], total];
}

/** Return the loss as the mean, or the sum, of parts of samples. */
function meanLine(terms, count, whole) {
  const add = sumOf(terms);
  const parts =
    count > 1 ? ["L = (", ...joinedBy(terms), `) / ${count}`] : ["L = ", ...joinedBy(terms)];
  return equationLine(parts, (v) => add(v) / count, whole);
}

/** Return the error of each sample of the batch; null if the state does not have them. */
function errorsOfBatch(ctx) {
  const { loss, outputs: name } = ctx.facts;
  const [p, t] = [ctx.ofBatch("values", name), ctx.ofBatch("targets")];
  if (p === null || t === null) return null;
  const size = p.length / ctx.samples;
  return [...Array(ctx.samples).keys()].map((i) => {
    const [own, wanted] = [p, t].map((all) => [...all.slice(i * size, (i + 1) * size)]);
    const errors = errorsOf(loss, own, wanted);
    return loss.scalar ? exact_sum(errors) : errors[0];
  });
}

// What captions of several kinds have in common, also backward.

/** Return the caption with the texts of a key and these lines of numbers. */
export function captionOfKey(key, lines, fields = {}) {
  const [title, formula] = ["title", "formula"].map((part) =>
    text(`captions.${key}.${part}`, fields),
  );
  return captionWith(asSentence(title), formula, lines);
}

/** Return a caption whose subject is the output of the operation. */
function aboutOutput(ctx, caption, value) {
  const callout = text("captions.callout", { unit: ctx.called(ctx.behind), value: said(value) });
  return { ...caption, neurons: [ctx.behind], callout };
}

/** Return the rows of the parameters that a formula has for an output. */
export function parametersOf({ operation, outputs }, place) {
  let first = operation.weights;
  return operation.settings.map((each) => {
    const row = first + Math.floor(place / each);
    first += outputs.length / each;
    return row;
  });
}

/** Return the parts of (x - mean) / sqrt(variance + eps). */
export function standardizing(x, mean, variance, eps) {
  const minus = mean < 0 ? " + " : " - ";
  const parts = ["(", termOf([x]), minus, termOf([Math.abs(mean)]), ") / sqrt("];
  return [...parts, termOf([variance]), " + ", termOf([eps], { exact: true }), ")"];
}

/** Return what computes (x - mean) / sqrt(variance + eps) from x, |mean|, variance and eps. */
export function standardized(mean) {
  const sign = mean < 0 ? -1 : 1;
  return (v) => (v[0] - sign * v[1]) / Math.sqrt(v[2] + v[3]);
}

/** Return what an activation makes of a number, as a line. */
export function activationLine(name, row, z, a, more = {}) {
  const { before = null, behind = null, least = FEW } = more;
  const options = { about: behind, least };
  const given = termOf([z], { neuron: before });
  const own = caseOf(row.cases, { z });
  if (own === null) {
    return equationLine([`${name}(`, given, ")"], (v) => calledFormula(row.value, v), a, options);
  }
  const filled = termOf([z], { words: (shown) => fill(own.alone, { z: shown }) });
  const compute = (v) => computedTree(own.tree, { z: v[1] });
  return equationLine([`${name}(`, given, ") = ", filled], compute, a, options);
}

/** Return the "error" of a loss, or its "slope", as a term, and what computes it.
 *
 * @returns {any[]}
 */
export function lossTerm(loss, part, p, t, neuron) {
  const known = { p, t };
  const own = caseOf(loss[part].cases, known);
  const formula = own ? own.text : loss[part].text;
  const names = ["p", "t"].filter((each) => new RegExp(`\\b${each}\\b`).test(formula));
  const given = (v) => Object.fromEntries(names.map((each, i) => [each, v[i]]));
  const words = (...shown) => fill(formula, given(shown));
  const compute = (v) => {
    const now = { ...known, ...given(v) };
    return own ? computedTree(own.tree, now) : partOfLoss(loss, part, now.p, now.t);
  };
  const numbers = names.map((each) => known[each]);
  return [termOf(numbers, { words, neuron }), compute];
}
