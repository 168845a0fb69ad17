// Captions of operations on a whole sample: norms, pooling, softmax, waves; as captions/rows.py.

import { aboutOutput, standardized, standardizing } from "./captions_parts.js";
import { exactSum, said } from "./format.js";
// prettier-ignore
import {
  MOST_TERMS, captionWith, equationLine, joinedBy, listed, plainLines, termOf,
} from "./lines.js";
import { asSentence } from "./names.js";
import { frozenOf } from "./optimizer.js";
import { unraveled } from "./paths.js";
import { text } from "./texts.js";

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
export function isHeldNow({ say, state, operation }) {
  const [start, stop] = operation.held;
  const frozen = frozenOf(say, state);
  const rows = Array.from({ length: stop - start }, (_, i) => start + i);
  return rows.length > 0 && rows.every((row) => frozen.has(row));
}

/** One number of a row formula, with its arithmetic if it has some here. */
export function rowFormulaCaption(ctx) {
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
  return [equationLine(parts, (v) => exactSum(v) / pixels, y, { about: ctx.behind })];
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
