// Captions of operations backward: the slope, and the gradient that arrives; as
// story/backward_captions.py.

import {
  captionOfKey,
  factorOf,
  featureOf,
  isHeldNow,
  lossTerm,
  meanOf,
  parametersOf,
  poolWindow,
  productTerm,
  varianceOf,
} from "./forward_captions.js";
import { NO_INDEX, calledFormula, caseOf, computedTree, logSumExp } from "./formulas.js";
import { agreeing, exact_sum, fill, pretty, said } from "./story/formats.js";
import {
  asProduct,
  captionWith,
  equationLine,
  firstOnCube,
  inBrackets,
  isLong,
  joinedBy,
  listed,
  pieceOf,
  plainLines,
  sumLine,
  summedOf,
  termOf,
  wholeLine,
} from "./equations.js";
import { asSentence, weightsFrom } from "./names.js";
import { plural, text } from "./texts.js";

const LONGEST_SLOPE = 40; // letters of one with numbers; of a longer one there is only the number
const FLAT_SLOPE = 0.1; // shares of the largest slope of an activation, or of 1
const STEEP_SLOPE = 0.8;

/** Gradient of the sums: for the outputs from the loss, for others from what arrives. */
export function deltaCaption(ctx) {
  const { operation, moment, facts } = ctx;
  const row = facts.activations[operation.formula];
  const arrived = ctx.upstream[ctx.place[0]];
  const isActivation = Boolean(row) && moment.gradients.includes(operation.source);
  if (!ctx.isLast) {
    const [line, result, slope] = slopeLine(ctx, row, arrived);
    const own = row.back.replaceAll("{unit}", ctx.called(ctx.behind));
    const title = asSentence(own || slopeWords(ctx, row));
    const caption = captionWith(title, text("captions.delta.formula", { slope }), [line]);
    return aboutDelta(ctx, caption, result);
  }
  let [formula, first] = lossDerivative(ctx, arrived, isActivation ? "dL/dp" : "signal");
  const lines = [first];
  let result = arrived;
  if (isActivation) {
    const [line, delta, slope] = slopeLine(ctx, row, arrived);
    lines.push(line);
    result = delta;
    formula += ` × ${slope.replace(/\ba\b/g, "p")}`;
  }
  const caption = captionWith(outputWords(ctx, arrived), `signal = ${formula}`, lines);
  return aboutDelta(ctx, caption, result);
}

/** Return a caption whose subject is the output of the operation, with its delta. */
function aboutDelta(ctx, caption, delta) {
  const fields = { unit: ctx.called(ctx.behind), value: said(delta) };
  return { ...caption, neurons: [ctx.behind], callout: text("captions.callout.delta", fields) };
}

/** Return what arrives times the slope as a line, the delta, and the formula of the slope. */
function slopeLine(ctx, row, arrived) {
  const [place] = ctx.place;
  const [z, a] = [ctx.inputs[place], ctx.outputs[place]];
  const result = ctx.gradient[place];
  const name = ctx.operation.formula;
  const slope = pretty(row.slope) || text("captions.slope", { name });
  const own = caseOf(row.slope_cases, { z, a });
  const written = own ? own.text : row.slope_text;
  const derivative = (now) =>
    own ? computedTree(own.tree, now) : calledFormula(row.derivative, [now.z, now.a]);
  let second;
  let compute = (v) => v[0] * v[1];
  if (row.derivative === null) {
    second = termOf([result / arrived], { neuron: ctx.behind });
  } else if (written && written.length <= LONGEST_SLOPE) {
    const values = { z, a };
    const names = ["z", "a"].filter((each) => new RegExp(`\\b${each}\\b`).test(written));
    const given = (v) => Object.fromEntries(names.map((each, i) => [each, v[i]]));
    const words = (...shown) => fill(written, given(shown));
    const numbers = names.map((each) => values[each]);
    second = termOf(numbers, { words, neuron: ctx.behind });
    compute = (v) => v[0] * derivative({ ...values, ...given(v.slice(1)) });
  } else {
    second = termOf([calledFormula(row.derivative, [z, a])], { neuron: ctx.behind });
  }
  const parts = ["signal = ", termOf([arrived]), " × ", second];
  return [equationLine(parts, compute, result, { about: ctx.behind }), result, slope];
}

/** Return what the slope does to what arrives at a neuron, in its numbers. */
function slopeWords(ctx, row) {
  const [place] = ctx.place;
  const [z, a] = [ctx.inputs[place], ctx.outputs[place]];
  const slope = row.derivative
    ? calledFormula(row.derivative, [z, a])
    : ctx.gradient[place] / ctx.upstream[place];
  const { steepest } = row;
  const fields = { unit: ctx.called(ctx.behind), name: ctx.operation.formula, slope: said(slope) };
  fields.a = said(a);
  const isPart = 0 < slope && slope < 1;
  let key = "times";
  if (slope === 0) key = "zero";
  else if (fields.slope === "1") key = "one";
  else if (Math.abs(slope) < FLAT_SLOPE * steepest) key = "flat";
  else if (Math.abs(slope) >= STEEP_SLOPE * steepest && isPart) key = "steep";
  else if (isPart) key = "between";
  return text(`captions.delta.${key}`, fields);
}

/** Return in which direction an output must go for a smaller loss. */
function outputWords(ctx, derivative) {
  const unit = ctx.called(ctx.behind);
  if (derivative === 0 || !Number.isFinite(derivative)) {
    return asSentence(text("captions.last_delta.none", { unit }));
  }
  const way = text(`captions.way.${derivative > 0 ? "down" : "up"}`);
  const isLogit =
    ctx.facts.loss.logits || ["softmax", "log_softmax"].includes(ctx.operation.formula);
  const [p, t] = ctx.answers.map((each) => each[ctx.place[0]]);
  const off = p - t;
  if (isLogit || Math.sign(off) !== Math.sign(derivative)) {
    return asSentence(text("captions.last_delta.logit", { unit, way }));
  }
  const [, written] = agreeing([p, t], (v) => Math.abs(v[0] - v[1]), Math.abs(off));
  const which = text(`captions.last_delta.${off > 0 ? "high" : "low"}`, { off: written });
  return asSentence(text("captions.last_delta", { unit, way, off: which }));
}

/** Return the derivative of the loss by a prediction: as formula, and as a line. */
function lossDerivative(ctx, value, name) {
  const { loss } = ctx.facts;
  const [prediction, target] = ctx.answers;
  const [place] = ctx.place;
  const { samples } = ctx;
  const [p, t] = [prediction[place], target[place]];
  const { divisor } = loss;
  const count = samples * divisor;
  const counts = [];
  if (samples > 1) counts.push(plural("counts.samples", samples));
  if (divisor > 1) counts.push(plural("counts.outputs", divisor));
  const divided = counts.length > 1 ? ` / (${counts.join(" × ")})` : ` / ${counts[0]}`;
  const before = factorOf(loss);
  const formula = before + pretty(loss.slope.text) + (count > 1 ? divided : "");
  const after = count > 1 ? ` / ${count}` : "";
  const scale = loss.factor / (count || 1);
  const about = { about: ctx.behind };
  let one;
  let compute;
  if (loss.scalar && loss.slope.tree !== null) {
    const [found, slope] = lossTerm(loss, "slope", p, t, ctx.behind);
    one = found;
    compute = (v) => slope(v) * scale;
  } else if (loss.name === "softmax_cross_entropy") {
    const mass = target.reduce((sum, each) => sum + each, 0);
    const share = mass * Math.exp(prediction[place] - logSumExp([...prediction]));
    one = termOf([share, t], { words: (a, b) => `(${a} - ${b})`, neuron: ctx.behind });
    compute = (v) => (v[0] - v[1]) * scale;
  } else {
    const words = `${name} = ${formula} = ${said(value)}`;
    return [formula, [pieceOf(words, { neuron: ctx.behind })]];
  }
  return [formula, equationLine([`${name} = ${before}`, one, after], compute, value, about)];
}

/** What arrives at one input of the focus sample, over all paths. */
export function inputGradientCaption(ctx) {
  const { kind, formula } = ctx.operation;
  return (BACKWARD_CAPTIONS[kind === "row" ? formula : kind] ?? rowBack)(ctx);
}

/** Through weights: each weight times the delta behind it. */
function weightedBack(ctx) {
  const { operation, upstream } = ctx;
  const [output, column] = ctx.place;
  const arrived = ctx.gradient[column];
  const { rows, into } = weightsFrom(ctx.facts, operation, column);
  const terms = rows.map((row, i) => {
    const neuron = [operation.target, into[i]];
    const factors = [ctx.state.value[row], upstream[into[i]]];
    return termOf(factors, { words: asProduct, row, neuron, mark: firstOnCube });
  });
  const keep = ctx.chosen ? into.indexOf(output) : NO_INDEX;
  const options = { keep, about: ctx.before };
  const line = sumLine(terms, arrived, options);
  const kind = operation.shape.length === 1 ? "scale" : "sum";
  const fields = { unit: ctx.called(ctx.before) };
  const caption = captionOfKey(`weighted_back.${kind}`, [line], fields);
  if (isLong(terms)) caption.whole = [wholeLine(terms, arrived, options)];
  caption.summed = summedOf(terms, arrived, ctx.facts.terms, ctx.behind, true);
  return arriving(ctx, caption, arrived);
}

/** Return a caption whose subject is the input of the operation, with what arrives there. */
function arriving(ctx, caption, value) {
  const fields = { unit: ctx.called(ctx.before), value: said(value) };
  return { ...caption, neurons: [ctx.before], callout: text("captions.callout.arrives", fields) };
}

/** Through an operation on a whole sample or batch. */
function rowBack(ctx) {
  const formula = ctx.operation.formula || ctx.operation.kind;
  const line = plainLines(`${listed(ctx.upstream)} → ${listed(ctx.gradient)}`);
  const caption = captionOfKey("row_back", line, { name: formula.replaceAll("_", " "), formula });
  return arriving(ctx, caption, ctx.gradient[ctx.place[1]]);
}

/** Through a norm: what all numbers share is removed from what arrives. */
function normBack(ctx) {
  const place = ctx.place[1];
  const known = normOf(ctx);
  if (known === null) return rowBack(ctx);
  const { x, y, g, eps } = known;
  const centred = ctx.operation.formula !== "rms_norm";
  const shift = meanOf(g);
  const spread = centred ? varianceOf(x) : meanOf(x.map((each) => each * each));
  const stretch = meanOf(y.map((each, i) => g[i] * each));
  const own = termOf([ctx.outputs[place]], { words: inBrackets });
  const parts = ["(", termOf([ctx.upstream[place]]), ...(centred ? signedParts(shift) : [])];
  parts.push(...signedParts(stretch), " × ", own, ") / sqrt(", termOf([spread]), " + ");
  parts.push(termOf([eps], { exact: true }), ")");
  const signs = [-Math.sign(shift), -Math.sign(stretch)];
  const compute = (v) => {
    const shifted = v[0] + (centred ? signs[0] * v[1] : 0);
    const [found, ownNow, spreadNow, epsNow] = v.slice(-4);
    return (shifted + signs[1] * found * ownNow) / Math.sqrt(spreadNow + epsNow);
  };
  const result = ctx.gradient[place];
  const line = equationLine(parts, compute, result, { about: ctx.before });
  const fields = { unit: ctx.called(ctx.before) };
  return arriving(ctx, captionOfKey(centred ? "norm_back" : "rms_back", [line], fields), result);
}

/** Return what a norm is computed over: a sample, or a feature of the batch; null if unknown. */
function normOf(ctx) {
  const { kind, source, target, settings } = ctx.operation;
  if (kind !== "batch_norm") {
    const [x, y, g] = [ctx.inputs, ctx.outputs, ctx.upstream].map((each) => [...each]);
    return { x, y, g, eps: settings.at(-1) };
  }
  const [features, pixels, eps] = settings;
  const ends = [ctx.ofBatch("values", source), ctx.ofBatch("values", target)];
  const all = [...ends, ctx.ofBatch("gradients", target)];
  if (isHeldNow(ctx) || all.includes(null)) return null;
  const feature = Math.floor(ctx.place[1] / pixels);
  const [x, y, g] = all.map((each) => featureOf(each, feature, features * pixels, pixels));
  return { x, y, g, eps };
}

/** Return a number that is subtracted, with its sign before it. */
function signedParts(value) {
  return [value < 0 ? " + " : " - ", termOf([Math.abs(value)])];
}

function softmaxBack(ctx) {
  const place = ctx.place[1];
  const [g, y] = [ctx.upstream, ctx.outputs];
  const mean = [...y].reduce((sum, each, i) => sum + g[i] * each, 0);
  const sign = -Math.sign(mean);
  const own = termOf([y[place]], { neuron: ctx.behind });
  const parts = [own, " × (", termOf([g[place]]), ...signedParts(mean), ")"];
  const result = ctx.gradient[place];
  const compute = (v) => v[0] * (v[1] + sign * v[2]);
  const line = equationLine(parts, compute, result, { about: ctx.before });
  const fields = { unit: ctx.called(ctx.before) };
  return arriving(ctx, captionOfKey("softmax_back", [line], fields), result);
}

function logSoftmaxBack(ctx) {
  const place = ctx.place[1];
  const total = [...ctx.upstream].reduce((sum, each) => sum + each, 0);
  const sign = -Math.sign(total);
  const own = termOf([ctx.outputs[place]], { neuron: ctx.behind });
  const parts = [termOf([ctx.upstream[place]]), ...signedParts(total), " × exp(", own, ")"];
  const result = ctx.gradient[place];
  const compute = (v) => v[0] + sign * v[1] * Math.exp(v[2]);
  const line = equationLine(parts, compute, result, { about: ctx.before });
  const fields = { unit: ctx.called(ctx.before) };
  return arriving(ctx, captionOfKey("log_softmax_back", [line], fields), result);
}

function branchBack(ctx) {
  const column = ctx.place[1];
  const { around } = ctx.operation;
  const through = termOf([ctx.upstream[column]], { neuron: ctx.behind });
  const result = ctx.gradient[column];
  const rest = around
    ? termOf([ctx.state.gradients[around][column]], { neuron: [around, column] })
    : termOf([result - ctx.upstream[column]]);
  const line = sumLine([rest, through], result, { about: ctx.before });
  const fields = { unit: ctx.called(ctx.before) };
  return arriving(ctx, captionOfKey("branch_back", [line], fields), result);
}

function sumBack(ctx) {
  const found = ctx.upstream[ctx.place[0]];
  const words = text("captions.sum_back.number", { number: said(found) });
  const line = [pieceOf(words, { neuron: ctx.before })];
  return arriving(ctx, captionOfKey("sum_back", [line], { unit: ctx.called(ctx.behind) }), found);
}

/** What goes on to each factor: what arrives, times the other one. */
function productBack(ctx) {
  const { sources, target } = ctx.operation;
  const [place] = ctx.place;
  const found = ctx.upstream[place];
  const factors = sources.map((each) => ctx.state.values[each][place]).reverse();
  const lines = sources.map((source, i) => {
    const term = productTerm(ctx, [found, factors[i]], [target, sources[1 - i]]);
    return sumLine([term], found * factors[i], { about: [source, place] });
  });
  const fields = { unit: ctx.called(ctx.behind) };
  return arriving(ctx, captionOfKey("product_back", lines, fields), found * factors[0]);
}

function concatenationBack(ctx) {
  const found = ctx.upstream[ctx.place[0]];
  const line = [pieceOf(said(found), { neuron: ctx.before })];
  const fields = { unit: ctx.called(ctx.behind) };
  return arriving(ctx, captionOfKey("concatenation_back", [line], fields), found);
}

/** Through a formula with parameters: what arrives, times its slope. */
function parametricBack(ctx) {
  const { formula: name } = ctx.operation;
  const [place] = ctx.place;
  const { derivative } = ctx.facts.parametrics[name];
  if (derivative === null) return rowBack(ctx);
  const given = parametersOf(ctx, place).map((row) => ctx.state.value[row]);
  const slope = calledFormula(derivative, [ctx.inputs[place], ...given]);
  const term = termOf([ctx.upstream[place], slope], { words: asProduct });
  const line = sumLine([term], ctx.gradient[place], { about: ctx.before });
  const caption = captionOfKey("row_back", [line], { name, formula: name });
  return arriving(ctx, caption, ctx.gradient[place]);
}

function dropoutBack(ctx) {
  const [rate] = ctx.operation.settings;
  const [place] = ctx.place;
  const [arrived, result] = [ctx.upstream[place], ctx.gradient[place]];
  const fields = { unit: ctx.called(ctx.behind) };
  let line;
  if (result === 0 && arrived !== 0) {
    const words = text("captions.dropout_back.own", { arrived: said(arrived) });
    line = [pieceOf(words, { neuron: ctx.before })];
  } else {
    const parts = [termOf([arrived]), " / (1 - ", termOf([rate], { exact: true }), ")"];
    line = equationLine(parts, (v) => v[0] / (1 - v[1]), result, { about: ctx.before });
  }
  return arriving(ctx, captionOfKey("dropout_back", [line], fields), result);
}

/** Through the windows of a pooling: to the largest number of each, or to all. */
function poolBack(ctx) {
  const { operation, upstream } = ctx;
  const column = ctx.place[1];
  const result = ctx.gradient[column];
  const [x, y] = [ctx.inputs, ctx.outputs];
  const isAverage = operation.formula === "average_pool";
  const mine = [...upstream.keys()].filter((place) => {
    const inside = poolWindow(ctx, place);
    const largest = inside.find((i) => x[i] === y[place]) ?? NO_INDEX;
    return inside.includes(column) && (isAverage || largest === column);
  });
  const terms = mine.map((i) => termOf([upstream[i]], { neuron: [operation.target, i] }));
  const key = `captions.pool_back.${operation.formula}.${mine.length ? "reached" : "missed"}`;
  const title = asSentence(text(key, { unit: ctx.called(ctx.before) }));
  const start = text("captions.goes_on");
  let line = [pieceOf(start), pieceOf(said(result), { neuron: ctx.before })];
  if (isAverage && mine.length) {
    const pixels = operation.settings[3] ** 2;
    const parts = [`${start}(`, ...joinedBy(terms), `) / ${pixels}`];
    line = equationLine(parts, (v) => exact_sum(v) / pixels, result, { about: ctx.before });
  } else if (mine.length > 1) {
    line = sumLine(terms, result, { start, about: ctx.before });
  }
  const formula = text(`captions.pool_formula.${operation.formula}`);
  return arriving(ctx, captionWith(title, formula, [line]), result);
}

const BACKWARD_CAPTIONS = {
  affine: weightedBack,
  convolution: weightedBack,
  scale: weightedBack,
  branch: branchBack,
  sum: sumBack,
  product: productBack,
  concatenation: concatenationBack,
  dropout: dropoutBack,
  parametric: parametricBack,
  batch_norm: normBack,
  layer_norm: normBack,
  rms_norm: normBack,
  softmax: softmaxBack,
  log_softmax: logSoftmaxBack,
  max_pool: poolBack,
  average_pool: poolBack,
};
