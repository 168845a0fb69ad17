// One weight or neuron followed through a step, for captions; as story/traced_weight.py.

import { NO_INDEX, indexOfLargest } from "./formulas.js";
import {
  neuronName,
  owns,
  pathOfNeuron,
  pathOfRow,
  perUnit,
  sourcesFor,
  usesOf,
  weightName,
  weightsFrom,
  weightsInto,
} from "./names.js";

const PUSHING = ["weight gradient", "step"]; // moments at which gradients are known

/** A weight, by its bank index or NO_INDEX, at a moment of a state; or the neuron that is followed. */
export class TracedWeight {
  constructor(facts, state, moment, row, neuron, chosen) {
    Object.assign(this, { facts, state, moment, row, neuron, chosen });
    this.path = neuron === null ? pathOfRow(facts, row) : pathOfNeuron(facts, neuron);
  }

  get operation() {
    return this.facts.operations[this.moment.operation];
  }

  get isLast() {
    return this.moment.operation === this.facts.operations.length - 1;
  }

  /** The output and input of this operation that the signal passes. */
  get place() {
    return this.path[this.moment.operation];
  }

  /** What formulas call the inputs of this operation: x for those of the network, else a. */
  get letter() {
    return this.moment.operation === this.facts.first_parameters ? "x" : "a";
  }

  get before() {
    const [output, column] = this.place;
    return [sourcesFor(this.facts, this.operation, output)[0], column];
  }

  get behind() {
    return [this.operation.target, this.place[0]];
  }

  /** What the operation reads, writes, and the gradients of both, of the focus sample. */
  get inputs() {
    return this.state.values[this.operation.source];
  }

  get outputs() {
    return this.state.values[this.operation.target];
  }

  get upstream() {
    return this.state.gradients[this.operation.target];
  }

  get gradient() {
    return this.state.gradients[this.operation.source];
  }

  /** Predictions and targets of the focus sample. */
  get answers() {
    return [this.state.values[this.facts.outputs], this.state.target];
  }

  /** Number of samples of the batch, and which of them is the focus. */
  get samples() {
    return this.state.batch ?? 1;
  }

  get sample() {
    return Math.min(this.state.focus ?? 0, this.samples - 1);
  }

  called(neuron) {
    return neuronName(this.facts, neuron);
  }

  /** The weight, if this operation has it; else a weight that its signal passes. */
  get ownRow() {
    if (owns(this.operation, this.row)) return this.row;
    const [output, column] = this.place;
    const { rows, read } = weightsInto(this.facts, this.operation, output);
    const at = read.indexOf(column);
    return at >= 0 ? rows[at] : (rows[0] ?? this.operation.weights);
  }

  uses(row) {
    return usesOf(this.facts, this.operation, row);
  }

  /** Operations that a weight belongs to; layers can share it. */
  homesOf(row) {
    return this.facts.operations.filter((each) => owns(each, row));
  }

  nameOf(row) {
    const homes = this.homesOf(row);
    const home = homes.includes(this.operation) ? this.operation : homes[0];
    return weightName(this.facts, home, row);
  }

  /**
   * Numbers of a buffer for all samples, sample by sample; null if the state has them for the
   * focus sample only. `kind` is "values", "gradients" or "targets".
   */
  ofBatch(kind, name) {
    if (this.samples === 1) {
      return kind === "targets" ? this.state.target : this.state[kind][name];
    }
    const all = this.state.all?.[kind];
    return (kind === "targets" ? all : all?.[name]) ?? null;
  }
}

/** Return a weight of the neuron's sum, else one that it is multiplied by; NO_INDEX without. */
export function rowBeside(facts, neuron) {
  const path = pathOfNeuron(facts, neuron);
  const home = facts.operations.findIndex((each) => each.target === neuron[0]);
  for (let i = home; i >= 0; i--) {
    const operation = facts.operations[i];
    if (!operation.multiplies) continue;
    const { rows, read } = weightsInto(facts, operation, path[i][0]);
    const at = read.indexOf(path[i][1]);
    return at >= 0 ? rows[at] : operation.weights;
  }
  for (let i = home + 1; i < path.length; i++) {
    const operation = facts.operations[i];
    if (!operation.multiplies) continue;
    return weightsFrom(facts, operation, path[i][1]).rows[0] ?? operation.weights;
  }
  return NO_INDEX;
}

/** Return the weight of a neuron that is explained by default; as `explained_row` there. */
export function toldRow(facts, { grad }, moment, neuron) {
  const row = rowBeside(facts, neuron);
  const home = facts.operations.find((each) => owns(each, row));
  if (!PUSHING.includes(moment.kind) || !home || grad[row] !== 0 || home.shape.length < 2)
    return row;
  const count = perUnit(home);
  const first = row - ((row - home.weights) % count);
  return first + indexOfLargest(Array.from(grad.slice(first, first + count), magnitude));
}

/** The size of a number; what is no number is larger than any. */
function magnitude(number) {
  return Number.isNaN(number) ? Infinity : Math.abs(number);
}

/** Return the neuron that is explained by default, or null; as `explained_neuron` there. */
export function toldNeuron(facts, state, moment) {
  const all = facts.operations.flatMap((each, i) => (each.weights === NO_INDEX ? [] : [i]));
  const isOfAll = moment.operation === NO_INDEX;
  const end = moment.operation + (moment.kind === "input gradient" ? 0 : 1);
  const at = isOfAll ? all : all.filter((i) => i < end);
  const right = rightOutput(facts, state);
  if (right !== null && (isOfAll || at.length === all.length)) return right;
  if (["zero_grad", "step"].includes(moment.kind) || !at.length) return null;
  const { target } = facts.operations[at.at(-1)];
  const isBent = facts.operations.some((each) => each.source === target && each.formula === "relu");
  const goesOn = (sum) => magnitude(isBent ? Math.max(sum, 0) : sum);
  return [target, indexOfLargest(Array.from(state.values[target], goesOn))];
}

/** Return the output of the class of the focus sample; null if there are no classes. */
function rightOutput(facts, state) {
  if (facts.loss.logits !== "softmax" || facts.buffers[facts.outputs].size < 2) return null;
  return state.target ? [facts.outputs, indexOfLargest(state.target)] : null;
}
