// The metrics of the table in core/formulas/metric_formulas.py, measured by the worker at every some steps.

import { lossOf, readAnswers, ready } from "./formulas.js";
import { largest_place } from "./story/traced_weight.js";

/** The number between the two classes: 0 for targets -1 and 1, else 0.5. */
function cutOf(t) {
  return t.some((each) => each < 0) ? 0 : 0.5;
}

/** Return the mean of what a function gives for each prediction, its target and its place. */
function meanOver(p, t, value) {
  return p.reduce((sum, each, i) => sum + value(each, t[i], i), 0) / p.length;
}

function rowsOf(all, size) {
  return Array.from({ length: all.length / size }, (_, i) => all.slice(i * size, (i + 1) * size));
}

/** Return for each number whether it is the largest of its row. */
function largestOf(all, size) {
  return rowsOf(all, size).flatMap((row) => Array.from(row, (_, k) => k === largest_place(row)));
}

/** Return for each target whether it says that its class is there, as the function of the same name in the table. */
function thereIn(t, size) {
  const cut = cutOf(t);
  const isOne = (row) => {
    const half = Math.max(...row, 0) / 2;
    return [half, cut].some((above) => row.filter((each) => each > above).length === 1);
  };
  const isLargest = size > 1 && rowsOf(t, size).every(isOne);
  return isLargest ? largestOf(t, size) : Array.from(t, (each) => each > cut);
}

function binaryAccuracy(p, t, size) {
  const cut = cutOf(t);
  return meanOver(p, thereIn(t, size), (a, is) => Number(a > cut === is));
}

function accuracy(p, t, size) {
  if (size === 1) return binaryAccuracy(p, t, size);
  const [said, right] = [p, t].map((all) => rowsOf(all, size).map(largest_place));
  return meanOver(said, right, (a, b) => Number(a === b));
}

/** Return the share of samples of which each output is on the right side. */
function subsetAccuracy(p, t, size) {
  const [cut, is] = [cutOf(t), thereIn(t, size)];
  const right = rowsOf(p, size).map((row, i) =>
    row.every((each, k) => each > cut === is[i * size + k]),
  );
  return meanOver(right, right, Number);
}

/** Return for each class how often it was said, how often it is there, and how often both; of those that are. */
function counted(p, t, size) {
  const [cut, is] = [cutOf(t), thereIn(t, size)];
  const isOne = size > 1 && rowsOf(is, size).every((row) => row.filter(Boolean).length === 1);
  const says = isOne ? largestOf(p, size) : Array.from(p, (each) => each > cut);
  const count = (k, a, b = a) => a.filter((_, i) => i % size === k && a[i] && b[i]).length;
  const of = (_, k) => ({ said: count(k, says), there: count(k, is), both: count(k, says, is) });
  return Array.from({ length: size }, of).filter((each) => each.said + each.there > 0);
}

/** Return the mean over classes of how often both over what a function gives. */
function meanOfClasses(p, t, size, over) {
  const counts = counted(p, t, size);
  return (
    counts.reduce((sum, each) => sum + each.both / Math.max(over(each), 0.5), 0) /
    Math.max(counts.length, 1)
  );
}

/** Return how many of some sorted numbers are below a number. */
function countBelow(sorted, number, isAlso) {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < number || (isAlso && sorted[middle] === number)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The chance that a sample of a class gets a larger number than another; the mean of the classes. */
function areaUnderCurve(p, t, size) {
  const [there, areas] = [thereIn(t, size), []];
  for (let k = 0; k < size; k++) {
    const isHere = (_, i) => i % size === k;
    const own = there.filter(isHere);
    const scores = p.filter(isHere);
    const mine = scores.filter((_, i) => own[i]);
    const others = scores.filter((_, i) => !own[i]).sort();
    if (!mine.length || !others.length) continue;
    const below = (isAlso) => meanOver(mine, mine, (each) => countBelow(others, each, isAlso));
    areas.push((below(false) + below(true)) / 2 / others.length);
  }
  return areas.reduce((sum, each) => sum + each, 0) / areas.length;
}

function squares(p, t) {
  return meanOver(p, t, (a, b) => (a - b) ** 2);
}

/** The mean of the coefficients of determination of the outputs; NaN if targets do not vary. */
function determination(p, t, size) {
  let sum = 0;
  for (let k = 0; k < size; k++) {
    const own = (all) => all.filter((_, i) => i % size === k);
    const [a, b] = [own(p), own(t)];
    const middle = meanOver(b, b, (each) => each);
    const spread = meanOver(b, b, (each) => (each - middle) ** 2);
    sum += spread ? 1 - squares(a, b) / spread : NaN;
  }
  return sum / size;
}

/** Each metric by its name: of predictions and targets of samples of some size, one after the other. */
export const METRICS = {
  accuracy,
  binary_accuracy: binaryAccuracy,
  subset_accuracy: subsetAccuracy,
  precision: (p, t, size) => meanOfClasses(p, t, size, (each) => each.said),
  recall: (p, t, size) => meanOfClasses(p, t, size, (each) => each.there),
  f1: (p, t, size) => meanOfClasses(p, t, size, (each) => (each.said + each.there) / 2),
  auc: areaUnderCurve,
  mae: (p, t) => meanOver(p, t, (a, b) => Math.abs(a - b)),
  mse: squares,
  rmse: (p, t) => Math.sqrt(squares(p, t)),
  max_error: (p, t) => p.reduce((most, each, i) => Math.max(most, Math.abs(each - t[i])), 0),
  r2: determination,
};

/** What a page measures: `spec` and `held` are those of exhibit_data.py. */
export class Metrics {
  constructor(engine, spec, held) {
    this.engine = engine;
    this.names = spec.names;
    this.every = spec.every;
    this.loss = ready(spec.loss);
    this.held = spec.held ? samplesIn(engine, held, spec.held) : null;
  }

  /** Return the step at or after one that is measured next. */
  after(step) {
    return (Math.floor(step / this.every) + 1) * this.every;
  }

  /** Return the metrics of the present weights: of held-out samples, else of the batch that comes next. */
  measure() {
    const { engine, loss } = this;
    const { inputs, targets } = this.held ?? nextBatch(engine);
    const size = engine.spec.sizes.outputs;
    const outputs = Float64Array.from(engine.evaluate(inputs));
    const count = outputs.length / size;
    const p = readAnswers(outputs, loss.logits, size);
    const valueOf = (name) =>
      name === "loss" ? lossOf(loss, outputs, targets, count) : METRICS[name](p, targets, size);
    return this.names.map(valueOf);
  }
}

/** Return the samples that stand in some bytes, as {inputs, targets}. */
function samplesIn(engine, bytes, count) {
  const { inputs, outputs } = engine.spec.sizes;
  const own = bytes.slice().buffer; // from a place where numbers may stand
  const end = count * inputs * engine.value.BYTES_PER_ELEMENT;
  const numbers = new engine.value.constructor(own.slice(0, end));
  const targets = new Float64Array(own.slice(own.byteLength - 8 * count * outputs));
  return { inputs: numbers, targets };
}

/** Return the samples of the batch of the next step. */
function nextBatch(engine) {
  engine.draw(engine.step);
  const samples = Array.from({ length: engine.batch }, (_, i) => engine.sample(i));
  const joined = (kind, name) => kind.from(samples.flatMap((each) => Array.from(each[name])));
  const inputs = joined(engine.value.constructor, "inputs");
  return { inputs, targets: joined(Float64Array, "targets") };
}
