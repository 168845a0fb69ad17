// The metrics of core/formulas/metric_functions.py, measured by the worker at every some steps.

import { answersEach, lossOf, ready } from "./formulas.js";
import { METRIC_ROWS } from "./story/metric_functions.js";

/** The metrics that a page measures; `spec` and `held` come from MetricData in exhibit_data.py. */
export class Metrics {
  constructor(engine, spec, held) {
    this.engine = engine;
    this.names = spec.names;
    this.every = spec.every;
    this.loss = ready(spec.loss);
    this.held = spec.held ? samplesIn(engine, held, spec.held) : null;
  }

  /** Return the next step, at or after `step`, at which metrics are measured. */
  after(step) {
    return (Math.floor(step / this.every) + 1) * this.every;
  }

  /** Return the metrics of the network for the held-out samples, or else for the next batch. */
  measure() {
    const { engine, loss } = this;
    const { inputs, targets } = this.held ?? nextBatch(engine);
    const size = engine.spec.sizes.outputs;
    const outputs = Float64Array.from(engine.evaluate(inputs));
    const p = answersEach(outputs, loss.logits, size);
    const t = answersEach(targets, null, size);
    return this.names.map((name) => {
      if (name === "loss") return lossOf(loss, outputs, targets, p.length);
      return METRIC_ROWS.find((row) => row.name === name).value(p, t);
    });
  }
}

/** Return the samples that are stored in bytes, as {inputs, targets}. */
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
