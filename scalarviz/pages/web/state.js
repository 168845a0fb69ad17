// What a page shows of a training at one moment: a plain object of numbers and copied arrays.

import { isSamePlace } from "./branches.js";

const FEW = 20000; // numbers of an optimizer that are sent while it plays
const MANY = 400000; // numbers of a batch or of an optimizer that are sent at rest
const SLOW = 12; // milliseconds from which the answers to the probe are computed less often

/** What is kept between states: the sample in focus, and the outputs for the probe.
 *
 * own  custom input that is evaluated between steps instead of the sample, or null
 */
export class Shown {
  constructor() {
    this.sample = null;
    this.at = undefined; // where the sample was taken, or to which whole steps have played
    this.own = null;
    this.probe = new Float32Array(0);
    this.begun = null; // the weights of step 0
    this.first = new Float32Array(0); // the answers by these to the probe, and to a sample
    this.firstKey = ""; // the inputs of that sample
    this.due = 0;
  }
}

/** Return the state of a clock, with the losses beginning at a step.
 *
 * playing  whether whole steps are being played, so that the sample stays the same
 */
export function stateOf(clock, from, { playing = false } = {}) {
  const { engine, operation, moment, before, branches, shown } = clock;
  const isLate = !Number.isNaN(engine.loss) && operation > 0;
  const room = playing ? FEW : MANY;
  const hasSlots = Object.keys(engine.slots).length * engine.value.length <= room;
  const state = {
    step: clock.step,
    operation,
    moment,
    last: clock.branch.end.step,
    playing,
    loss: isLate ? engine.loss : clock.loss,
    rate: engine.rate,
    losses: branches.since(from),
    value: engine.value.slice(),
    grad: engine.grad.slice(),
    bank_state: engine.state.slice(engine.spec.scaling),
    frozen: engine.frozen.slice(),
    before: before && before.value.slice(),
    slots: hasSlots ? copiedAll(engine.slots) : {},
    slots_before: hasSlots && before ? copiedAll(before.slots) : {},
    grad_before: before && before.grad.slice(),
    earlier: before?.earlier ? before.earlier.slice() : null,
    edited: clock.edited,
    ...batchOf(clock, playing),
    stopped: clock.stopped,
    ...sampleOf(clock, playing),
  };
  const own = shown.own && operation === 0 ? ownOf(engine, shown.own) : {};
  const found = { ...state, ...own };
  const first = firstOf(clock, found.inputs); // before the answers of now, which round the bank anew
  return { ...found, first, probe: answersOf(engine, shown, playing).slice() };
}

/** Return the outputs at step 0 for the probe and then a sample; null if step 0 is unknown. */
function firstOf(clock, inputs) {
  const { engine, shown, begun } = clock;
  const { probe } = engine.arrays;
  if (!clock.isNew || !probe.length) return null;
  const known = shown.begun === begun;
  const key = String(inputs);
  if (known && shown.firstKey === key) return shown.first.slice();
  const size = known ? shown.first.length - engine.spec.sizes.outputs : 0;
  const now = [engine.value.slice(), engine.state.slice()];
  engine.value.set(begun);
  engine.state.set(clock.startedState);
  const found = [known ? shown.first.subarray(0, size) : engine.evaluate(probe)];
  found.push(engine.evaluate(engine.value.constructor.from(inputs)));
  engine.value.set(now[0]);
  engine.state.set(now[1]);
  shown.first = Float32Array.from(found.flatMap((each) => [...each]));
  Object.assign(shown, { begun, firstKey: key });
  return shown.first.slice();
}

/** Return the outputs for a custom input, which has no target, as part of a state. */
function ownOf(engine, inputs) {
  const values = engine.look(inputs);
  const own = Float64Array.from(inputs);
  const none = { gradients: {}, left_out: {}, target: null, row: -1, moment: -1 };
  return { own: true, inputs: own, values, ...none };
}

/** Return the sample in focus, and its numbers computed so far in the shown step. */
function sampleOf(clock, playing) {
  const { engine, shown, operation, moment } = clock;
  const { spec } = engine;
  const rests = operation === 0;
  if (rests && moment < 0) engine.draw(Math.max(clock.first, clock.step - 1));
  const focus = Math.min(clock.focus, engine.batch - 1);
  const holds = playing || isSamePlace(shown.at, clock);
  const isFirst = rests && moment < 0 && clock.step <= 1 && focus === 0;
  if (!holds || shown.sample === null)
    shown.sample = (isFirst && firstShown(spec)) || engine.sample(focus);
  shown.at = clock.place();
  const { row, inputs, targets } = shown.sample;
  const { written, flows } = doneIn(spec, moment);
  const gradients = fromBuffers(flows, (name) => engine.gradients(name, focus));
  const values = rests
    ? engine.look(inputs)
    : fromBuffers(written, (name) => engine.values(name, focus));
  const leftOut = rests ? {} : leftOutOf(spec, values);
  const own = { inputs: inputs.slice(), target: targets.slice(), row };
  return { values, gradients, left_out: leftOut, ...own, batch: engine.batch, focus };
}

/** Return the sample to show first if it is not in a batch, or null. */
function firstShown({ shown }) {
  if (!shown) return null;
  const [inputs, targets] = shown.map((each) => Float64Array.from(each));
  return { row: -1, inputs, targets };
}

/** Return the numbers of the batch for captions and cards, if they are not too many: `all` with
 * values and gradients computed so far, sample by sample, and targets; and `fresh`, the outputs
 * with the weights after the step, unless a weight was edited since.
 */
function batchOf(clock, playing) {
  const { engine, operation, moment, edited } = clock;
  const { spec, batch } = engine;
  const size = spec.buffers.reduce((sum, each) => sum + each.size, 0);
  if (playing || moment < 0 || 2 * batch * size > MANY) return { all: null, fresh: null };
  const samples = Array.from({ length: batch }, (_, i) => engine.sample(i));
  const joined = (parts) => Float64Array.from(parts.flatMap((part) => Array.from(part)));
  const every = (kind) => (name) => joined(samples.map((_, i) => engine[kind](name, i)));
  const { written, flows } = doneIn(spec, moment);
  const isFresh = operation === 0 && !Object.keys(edited).length;
  const inputs = engine.value.constructor.from(joined(samples.map((each) => each.inputs)));
  return {
    all: {
      values: fromBuffers(written, every("values")),
      gradients: fromBuffers(flows, every("gradients")),
      targets: joined(samples.map((each) => each.targets)),
    },
    fresh: isFresh ? engine.evaluate(inputs) : null,
  };
}

/** Return the buffers whose values and gradients are computed up to a moment of a step. */
function doneIn({ moments, buffers }, moment) {
  const done = moments.slice(0, moment + 1);
  const written = [buffers[0].name, ...done.flatMap((each) => each.values)];
  return { written, flows: done.flatMap((each) => each.gradients) };
}

function fromBuffers(names, read) {
  return Object.fromEntries(names.map((name) => [name, read(name)]));
}

/** Return 1 for numbers dropped by dropout and 0 for others, by output buffer. */
function leftOutOf(spec, values) {
  const found = {};
  for (const [source, target] of spec.dropouts) {
    if (!(target in values)) continue;
    found[target] = values[target].map((y, i) => (y === 0 && values[source][i] !== 0 ? 1 : 0));
  }
  return found;
}

/** Return the outputs for the probe; during playback, they are updated less often if slow. */
function answersOf(engine, shown, playing) {
  const now = performance.now();
  if (!engine.arrays.probe.length || (playing && now < shown.due)) return shown.probe;
  shown.probe = Float32Array.from(engine.evaluate(engine.arrays.probe));
  const took = performance.now() - now;
  shown.due = now + took + (took > SLOW ? 8 * took : 0);
  return shown.probe;
}

/** Return copies of arrays, by name. */
export function copiedAll(arrays) {
  return Object.fromEntries(Object.entries(arrays).map(([name, array]) => [name, array.slice()]));
}
