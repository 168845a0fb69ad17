// Captions of operations forward, by their kind; as story/forward_captions.py.

import { predictedCaption } from "./captions_loss.js";
import {
  aboutOutput,
  activationLine,
  captionOfKey,
  parametersOf,
  standardized,
  standardizing,
} from "./captions_parts.js";
import { featureOf, isHeldNow, meanOf, rowFormulaCaption, varianceOf } from "./captions_rows.js";
import { pretty, said } from "./format.js";
import { calledFormula } from "./formulas.js";
import {
  NO_INDEX,
  asProduct,
  captionWith,
  equationLine,
  isLong,
  listed,
  pieceOf,
  plainLines,
  secondOnCube,
  sumLine,
  summedOf,
  termOf,
  wholeLine,
} from "./lines.js";
import { asSentence } from "./names.js";
import { weightsInto } from "./paths.js";
import { text } from "./texts.js";

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
  const { rows, read } = weightsInto(ctx.say, operation, output);
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
  caption.summed = summedOf(terms, y, ctx.say.terms, one);
  return aboutOutput(ctx, caption, y);
}

function activationCaption(ctx) {
  const name = ctx.operation.formula;
  const [place] = ctx.place;
  const [z, a] = [ctx.inputs[place], ctx.outputs[place]];
  const row = ctx.say.activations[name];
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
  const row = ctx.say.parametrics[formula];
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
  if (isHeld ? !ctx.state.state : all === null) return plainForward(ctx);
  const own = isHeld ? [] : featureOf(all, feature, features * pixels, pixels);
  const mean = isHeld ? ctx.state.state[first + feature] : meanOf(own);
  const variance = isHeld ? ctx.state.state[first + features + feature] : varianceOf(own);
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
