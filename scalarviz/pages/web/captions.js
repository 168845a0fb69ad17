// Captions of the moments of a step, with their numbers; as story/captions.py.

import { inputGradientCaption, deltaCaption } from "./captions_back.js";
import { forwardCaption } from "./captions_forward.js";
import { lossCaption } from "./captions_loss.js";
import { stepCaption } from "./captions_step.js";
import { exactSum, generalNumber, said, writtenAlike } from "./format.js";
import {
  NO_INDEX,
  asProduct,
  captionWith,
  endingOn,
  firstOnCube,
  isLong,
  pieceOf,
  plainLines,
  sumLine,
  termOf,
  wholeLine,
} from "./lines.js";
import { onceOf } from "./memo.js";
import { asSentence } from "./names.js";
import { plural, text } from "./texts.js";
import { TracedWeight, rowBeside, toldNeuron, toldRow } from "./traced.js";

/**
 * Return the caption of a state: of its last operation, if there is one.
 *
 * spec   of the page; `say` of it is used
 * state  see the page; `all` has numbers of the whole batch: {values, gradients, targets}, the first
 *        two by buffer, each sample by sample; without it some lines are shorter
 * row    bank index of the weight whose numbers are shown, or null
 * neuron the neuron whose numbers are shown instead, as buffer and place, or null
 *
 * It never fails: what cannot be said in numbers is the name of the operation.
 */
export function captionOf(spec, state, { row = null, neuron = null } = {}) {
  return onceOf(state, "caption", { row, neuron }, () => {
    const { say } = spec;
    const moment = say.moments[state.moment ?? -1];
    if (!moment) return withPieces(captionWith(text("captions.before")));
    if (say.told || state.light) return withPieces({ ...plainCaption(moment), ...state.caption }); // by Python
    try {
      return withPieces(momentCaption(say, state, moment, row, neuron));
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

function momentCaption(say, state, moment, row, neuron) {
  const tell = MOMENT_CAPTIONS[moment.kind];
  if (!tell) return plainCaption(moment);
  const chosen = row !== null || neuron !== null;
  if (neuron !== null && neuron[1] >= say.buffers[neuron[0]].size) {
    row = biasBehind(say, neuron);
    neuron = null;
  }
  if (row !== null) neuron = null;
  else neuron ??= toldNeuron(say, state, moment);
  if (neuron !== null) row = chosen ? rowBeside(say, neuron) : toldRow(say, state, moment, neuron);
  const learns = (state.frozen ?? []).indexOf(0);
  row ??= learns < 0 ? say.firstRow : learns;
  const traced = new TracedWeight(say, state, moment, row, neuron, chosen);
  return writtenAlike(() => tell(traced));
}

/** Return the first bias that a 1 is multiplied by. */
function biasBehind(say, [name]) {
  const found = say.operations.find((each) => each.source === name && each.biases !== NO_INDEX);
  return found ? found.biases : say.operations[0].weights;
}

function zeroGradCaption(ctx) {
  const caption = (lines, more) => {
    const [title, formula] = ["title", "formula"].map((part) => text(`captions.zero_grad.${part}`));
    return captionWith(title, formula, lines, more);
  };
  if (ctx.row === NO_INDEX) return caption([]);
  const old = ctx.state.gradBefore?.[ctx.row] ?? 0;
  const isFirst = old === 0 && ctx.state.step === 0;
  const words = isFirst || !ctx.state.gradBefore ? "0" : `${said(old)} → 0`;
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
  const { operation, say } = ctx;
  const pairs = (x, delta, sample, sizes) =>
    written.map((place, i) => [
      read === null ? 1 : x[sample * sizes[0] + read[i]],
      delta[sample * sizes[1] + place],
    ]);
  const own = pairs(ctx.inputs, ctx.upstream, 0, [0, 0]);
  const x = ctx.ofBatch("values", operation.source);
  const delta = ctx.ofBatch("gradients", operation.target);
  if (x === null || delta === null) return { own, all: null };
  const sizes = [say.buffers[operation.source].size, say.buffers[operation.target].size];
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
  const rest = all ? exactSum(all.sums.filter((_, i) => i !== sample)) : grad - mine;
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
