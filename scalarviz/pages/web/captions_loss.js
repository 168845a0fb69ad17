// Captions of the predictions and of the loss; as story/forward_captions.py.

import { indexOfLargest } from "./answers.js";
import { lossTerm } from "./captions_parts.js";
import { errorsOf, isKnownLoss, logSumExp } from "./formulas.js";
import { MOST_DIGITS, bothSaid, exactSum, pretty, said, writtenApart } from "./format.js";
import {
  MOST_TERMS,
  SHOWN_TERMS,
  captionWith,
  equationLine,
  joinedBy,
  pieceOf,
  plainLines,
  shortenedTerms,
  sumOf,
  termOf,
} from "./lines.js";
import { asSentence, shortName } from "./names.js";
import { plural, text } from "./texts.js";

const ALL_SAMPLES = 4096; // most samples whose errors are computed one by one
const ALL_OUTPUTS = 65536; // and most outputs of all of them

/** Return the caption of the last operation: the prediction beside the target. */
export function predictedCaption(ctx, plainly) {
  const [prediction, target] = ctx.answers;
  const [place] = ctx.place;
  const formula = plainly.formula.replace(/^\w+ =/, "p =");
  const name = ctx.operation.target;
  if (ctx.say.loss.logits) {
    const places = target.length > 1 ? [indexOfLargest(prediction), indexOfLargest(target)] : [];
    const pieces = places.map((at, i) => {
      const words = text(`captions.${i ? "right" : "largest"}`, { unit: ctx.called([name, at]) });
      return pieceOf(words, { neuron: [name, at] });
    });
    return { ...plainly, formula, lines: withLine(plainly.lines, pieces) };
  }
  const [own, should] = bothSaid(prediction[place], target[place]);
  const fields = { unit: ctx.called(ctx.behind), prediction: own, target: should };
  const title = asSentence(text("captions.last", fields));
  const others = [...target.keys()].filter((i) => i !== place).slice(0, SHOWN_TERMS);
  const pieces = others.map((i) => {
    const [p, t] = bothSaid(prediction[i], target[i]);
    const unit = shortName(ctx.say, i);
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
  const { loss, outputs: name } = ctx.say;
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
  return loss.factor === 1 ? "" : `${said(loss.factor, MOST_DIGITS)} × `;
}

/** Return the errors of the focus sample, and a line with some of them. */
function namedErrors(ctx) {
  const { loss, outputs: name } = ctx.say;
  const [p, t] = ctx.answers.map((each) => [...each]);
  if (!loss.scalar) return rowError(ctx, p, t);
  const errors = errorsOf(loss, p, t);
  const pieces = [];
  for (let i = 0; i < Math.min(p.length, SHOWN_TERMS); i++) {
    const [one, compute] = lossTerm(loss, "error", p[i], t[i], [name, i]);
    const start = p.length > 1 ? [`${shortName(ctx.say, i)}: `] : [];
    if (i) pieces.push(pieceOf("; "));
    pieces.push(...equationLine([...start, one], compute, errors[i], { about: [name, i] }));
  }
  const left = p.length - SHOWN_TERMS;
  if (left > 0) pieces.push(pieceOf("; "), pieceOf(text("captions.others", { count: left })));
  return [errors, pieces];
}

/** Return the error of a sample whose loss takes all outputs together, and its line. */
function rowError(ctx, p, t) {
  const { loss, outputs: name } = ctx.say;
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
  const { loss } = ctx.say;
  const { samples, sample } = ctx;
  const outputs = ctx.answers[0].length;
  const divisor = loss.scalar ? loss.divisor || 1 : 1;
  const scale = loss.factor / divisor;
  const own = exactSum(errors) * scale;
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
    ? exactSum(each.flatMap(({ value }, i) => (i === sample ? [] : [value])))
    : whole * count - own;
  const more = plural("captions.more_samples", samples - 1, { rest: "{}" });
  const words = (number) => more.replace("{}", number);
  const terms = [termOf([own]), termOf([others], { words, opens: true })];
  if (!each) return [[...found, meanLine(terms, count, whole)], null];
  const every = shortenedTerms(each, sample, MOST_TERMS);
  const total = writtenApart(() => meanLine(every, count, whole));
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
  const { loss, outputs: name } = ctx.say;
  const [p, t] = [ctx.ofBatch("values", name), ctx.ofBatch("targets")];
  if (p === null || t === null) return null;
  const size = p.length / ctx.samples;
  return [...Array(ctx.samples).keys()].map((i) => {
    const [own, wanted] = [p, t].map((all) => [...all.slice(i * size, (i + 1) * size)]);
    const errors = errorsOf(loss, own, wanted);
    return loss.scalar ? exactSum(errors) : errors[0];
  });
}
