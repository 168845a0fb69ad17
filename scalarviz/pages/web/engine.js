// The kernels of the cpu engine in this page: a network, its data, and its training.

import { ARRAY_KINDS } from "./arrays.js";

const MEMORY = "__linear_memory";
const TABLE = "__indirect_function_table";
const POINTER = "__stack_pointer";
const NO_ROW = -1;
const OVERFLOW = -2;
const OVERFLOWN = { why: "overflow", row: NO_ROW };
const SURVEYED = 64; // samples of a survey that are evaluated at once
const HEAD = 56; // bytes of what is saved before the bank

/** Return a C function for kernels from Math; if its name ends in f, it rounds to float32. */
function mathOf(name) {
  if (name === "fmod") return (x, y) => x % y;
  if (name === "fmodf") return (x, y) => Math.fround(x % y);
  if (name in Math) return Math[name];
  const whole = Math[name.slice(0, -1)];
  return (...numbers) => Math.fround(whole(...numbers));
}

/** A network that trains in WebAssembly; created by `Engine.open(module, image, spec)`. */
export class Engine {
  /** Create an engine; `module` is a compiled module, or its bytes. */
  static async open(module, image, spec) {
    const compiled =
      module instanceof WebAssembly.Module ? module : await WebAssembly.compile(module);
    const imports = WebAssembly.Module.imports(compiled);
    const memory = new WebAssembly.Memory({ initial: spec.pages, maximum: spec.pages });
    const table = new WebAssembly.Table({ initial: spec.kernels, element: "anyfunc" });
    const env = { [MEMORY]: memory, [TABLE]: table };
    env[POINTER] = new WebAssembly.Global({ value: "i32", mutable: true }, spec.stack);
    for (const { name, kind } of imports) if (kind === "function") env[name] = mathOf(name);
    await WebAssembly.instantiate(compiled, { env });
    new Uint8Array(memory.buffer).set(image, spec.first);
    return new Engine(spec, memory, table);
  }

  constructor(spec, memory, table) {
    this.spec = spec;
    this.memory = memory;
    this.table = table;
    this.numbers = new DataView(memory.buffer);
    const { at, first, size } = spec.heap;
    this.numbers.setUint32(at, first, true);
    this.numbers.setUint32(at + 4, first + size, true);
    this.arrays = {};
    for (const [name, [start, length, kind]] of Object.entries(spec.arrays)) {
      this.arrays[name] = new ARRAY_KINDS[kind](memory.buffer, start, length);
    }
    this.value = this.arrays.value;
    this.grad = this.arrays.grad;
    this.frozen = this.arrays.frozen;
    this.state = this.arrays.state;
    this.ownUpdate = null; // the first optimizer's record, whose place is that of the one in use
    this.takeOptimizer(0);
    this.calls = {};
    for (const [name, place] of Object.entries(spec.calls)) this.calls[name] = table.get(place);
    this.jobs = {};
    for (const [name, job] of Object.entries(spec.jobs)) this.jobs[name] = BigInt(job);
    this.buffers = new Map(spec.buffers.map((buffer) => [buffer.name, buffer]));
    this.round = spec.dtype === "float32" ? Math.fround : Number;
    this.step = spec.step;
    this.count = spec.count;
    this.batch = 0;
    this.loss = NaN;
    this.lost = false; // whether a running statistic of this step was not finite
    this.statistics = null; // those before the step
  }

  // ---- fields of records ------------------------------------------------------------------------

  /** Write an unsigned integer to a field of a record. */
  put(record, field, number) {
    const at = this.spec.records[record][field];
    this.numbers.setUint32(at, number, true);
    this.numbers.setUint32(at + 4, Math.floor(number / 2 ** 32), true);
  }

  /** Read an unsigned integer from a field of a record. */
  take(record, field) {
    const at = this.spec.records[record][field];
    return this.numbers.getUint32(at, true) + 2 ** 32 * this.numbers.getUint32(at + 4, true);
  }

  /** The learning rate of the next step, including the schedule. Setting it ends the schedule. */
  get rate() {
    this.table.get(this.take("update", "factor_of_rate"))(this.jobs.train, BigInt(this.count));
    return this.base * this.numbers.getFloat64(this.spec.records.update.factor, true);
  }

  set rate(rate) {
    this.base = rate;
    this.endSchedule();
  }

  endSchedule() {
    this.isSteady = true;
    this.put("update", "factor_of_rate", this.spec.steady);
  }

  /** The learning rate before the schedule is applied. */
  get base() {
    return this.numbers.getFloat64(this.spec.optimizers[this.optimizer].how.rate, true);
  }

  set base(rate) {
    this.numbers.setFloat64(this.spec.optimizers[this.optimizer].how.rate, rate, true);
  }

  /** Use an optimizer of `spec.optimizers`, given its index; its slots are unchanged. */
  takeOptimizer(number) {
    const { optimizers } = this.spec;
    const [at, size] = this.spec.update;
    const bytes = new Uint8Array(this.memory.buffer);
    this.ownUpdate ??= bytes.slice(at, at + size);
    const { update } = optimizers[number];
    bytes.set(number ? bytes.subarray(update, update + size) : this.ownUpdate, at);
    this.optimizer = number;
    this.isSteady = false; // whether its schedule was ended
    this.slots = {};
    const rows = this.value.length;
    optimizers[number].slots.forEach((name, k) => {
      this.slots[name] = this.arrays.slots.subarray(k * rows, (k + 1) * rows);
    });
  }

  /** Switch to another optimizer, with its default learning rate and slots of 0. */
  setOptimizer(number) {
    this.takeOptimizer(number);
    this.base = this.spec.optimizers[number].rate;
    this.arrays.slots.fill(0);
    this.count = 0;
  }

  /** The batch size; the last batch of an epoch may be smaller. */
  get size() {
    return this.take("drawing", "size");
  }

  set size(size) {
    this.put("drawing", "size", size);
  }

  get stepsAnEpoch() {
    return Math.ceil(this.spec.samples / this.size);
  }

  /** Restart with the initial weights of another seed, and reset all other state. */
  setWeights(seed) {
    const { initial, scaling } = this.spec;
    const { value, state } = initialNumbers(initial, seed, this.value.length);
    this.value.set(value);
    this.grad.fill(0);
    this.arrays.slots.fill(0);
    this.state.set(state, scaling);
    this.count = 0;
    this.loss = NaN;
  }

  /** Freeze or unfreeze weights. */
  freeze(rows, on) {
    for (const row of rows) this.frozen[row] = on ? 1 : 0;
  }

  // ---- whole steps ------------------------------------------------------------------------------

  /** Train whole steps; return {taken, losses, stopped}; `stopped` is null or the reason. */
  train(count) {
    const losses = new Float64Array(count);
    let taken = 0;
    let stopped = null;
    while (taken < count && stopped === null) {
      const asked = Math.min(count - taken, this.arrays.losses.length);
      const before = this.save();
      this.put("progress", "first", this.step);
      this.put("progress", "steps", asked);
      this.put("progress", "count", this.count);
      this.put("progress", "taken", 0);
      this.result = NO_ROW;
      this.calls.train(this.jobs.train);
      const now = this.take("progress", "taken");
      this.count = this.take("progress", "count");
      losses.set(this.arrays.losses.subarray(0, now), taken);
      taken += now;
      this.step += now;
      if (now > 0) this.loss = losses[taken - 1];
      if (now < asked) {
        const { result } = this;
        stopped = result === OVERFLOW ? OVERFLOWN : { why: "gradient", row: result };
        if (result === OVERFLOW) this.restore(before);
        if (result === OVERFLOW && now > 0) this.train(now); // those before the one that is undone
      }
    }
    return { taken, losses: losses.subarray(0, taken), stopped };
  }

  /** The result of the last step: NO_ROW, OVERFLOW, or the row of a non-finite gradient. */
  get result() {
    return Number(this.numbers.getBigInt64(this.spec.records.progress.result, true));
  }

  set result(result) {
    this.numbers.setBigInt64(this.spec.records.progress.result, BigInt(result), true);
  }

  // ---- a step, moment by moment -----------------------------------------------------------------

  /** Choose the batch of the next step, and load it. */
  begin() {
    this.draw(this.step);
    this.statistics = this.state.slice(this.spec.scaling);
    this.lost = false;
    this.loss = NaN;
    this.run(this.spec.load);
  }

  /** Choose the batch of a step, for `sample`. */
  draw(step) {
    this.calls.drawRows(this.jobs.train, BigInt(step));
    this.batch = this.take("batch", "samples");
  }

  /** Execute moment k of a step; return null, or the reason why the step is invalid. */
  perform(k) {
    const moment = this.spec.moments[k];
    if (moment.kind === "step") return this.move();
    if (moment.kind === "zero_grad") this.grad.fill(0);
    else this.run(moment.pass);
    if (moment.kind === "loss")
      this.loss = this.arrays.errors.reduce((sum, error) => sum + error, 0) * this.meanFactor();
    if (moment.kind === "forward") this.checkStatistics();
    if (moment.kind === "weight gradient") {
      const first = moment.operation;
      this.calls.addChunks(this.jobs.moments, BigInt(first), BigInt(first + 1));
    }
    return null;
  }

  /** Run a pass of the program, [what, low, high, gathers]. */
  run([what, low, high, gathers]) {
    const { pass, batch } = this.spec.records;
    for (const [name, each] of Object.entries({ what, low, high, gathers }))
      this.numbers.setBigInt64(pass[name], BigInt(each), true);
    this.put("batch", "steps", this.count);
    const scale = this.round(this.spec.mixed ? this.state[0] : 1);
    this.numbers.setFloat64(batch.scale, this.round(this.round(this.meanFactor()) * scale), true);
    this.arrays.errors.fill(0);
    if (this.spec.mixed) this.calls.roundBank(this.jobs.moments);
    this.calls.runPasses(this.jobs.moments);
  }

  /** Return the normalization factor of the loss for the present batch. */
  meanFactor() {
    const { factor, meanOf } = this.spec.loss;
    return meanOf === 0 ? factor : factor / (this.batch * meanOf);
  }

  /** Restore running statistics if the forward pass has made one non-finite. */
  checkStatistics() {
    const now = this.state.subarray(this.spec.scaling);
    this.lost = this.lost || !now.every(Number.isFinite);
    if (this.lost) now.set(this.statistics);
  }

  /** Execute the update of a step; return null, or the reason why the step is invalid. */
  move() {
    const before = this.bank().slice();
    this.put("progress", "count", this.count);
    this.calls.move(this.jobs.train);
    const { result } = this;
    if (result >= 0) return { why: "gradient", row: result };
    const skipped = this.take("progress", "count") === this.count;
    if (skipped) {
      this.state.set(this.statistics, this.spec.scaling);
    } else if (this.lost || result === OVERFLOW) {
      this.bank().set(before);
      return OVERFLOWN;
    }
    if (!skipped) this.count += 1;
    this.step += 1;
    return null;
  }

  // ---- numbers of the step in progress ----------------------------------------------------------

  /** Return the values of a buffer for a sample of the batch, as far as they are computed. */
  values(buffer, sample) {
    const { row, size } = this.buffers.get(buffer);
    return this.column(this.arrays.spaces, row, size, sample);
  }

  /** Return the gradients of the loss with respect to a buffer, for a sample of the batch. */
  gradients(buffer, sample) {
    const { flow, size } = this.buffers.get(buffer);
    const found = this.column(this.arrays.flows, flow, size, sample);
    if (this.spec.mixed) for (let i = 0; i < size; i++) found[i] /= this.state[0];
    return found;
  }

  /** Copy `size` numbers of a sample from the workspaces of tiles. */
  column(spaces, row, size, sample) {
    const tiles = tilesOf(this.batch, this.spec.tile);
    const tile = tiles.starts.findLastIndex((start) => start <= sample);
    const room = spaces.length / this.spec.places;
    const first = tile * room + row * tiles.stride + sample - tiles.starts[tile];
    const found = new spaces.constructor(size);
    for (let i = 0; i < size; i++) found[i] = spaces[first + i * tiles.stride];
    return found;
  }

  /** Return sample i of the current batch: {row, inputs, targets}; row is its index in the data. */
  sample(i) {
    const { inputs, outputs } = this.spec.sizes;
    const from = Number(this.arrays.rows[i]);
    const row = Number(this.arrays.goalRows[i]);
    return {
      row,
      inputs: this.arrays.inputs.slice(from * inputs, (from + 1) * inputs),
      targets: this.arrays.targets.slice(row * outputs, (row + 1) * outputs),
    };
  }

  // ---- evaluation -------------------------------------------------------------------------------

  /** Return the outputs of the network for `count` samples. */
  evaluate(inputs, count = inputs.length / this.spec.sizes.inputs) {
    const { inputs: wide, outputs } = this.spec.sizes;
    const answers = new this.value.constructor(count * outputs);
    for (let first = 0; first < count; first += this.spec.atOnce) {
      const some = Math.min(count - first, this.spec.atOnce);
      this.answer(inputs.slice(first * wide, (first + some) * wide), some);
      answers.set(this.arrays.answers.subarray(0, some * outputs), first * outputs);
    }
    return answers;
  }

  /** Return the values of all neurons for many samples: buffer by buffer, neuron by neuron. */
  survey(inputs) {
    const { sizes, buffers, tile } = this.spec;
    const count = inputs.length / sizes.inputs;
    const all = count * buffers.reduce((sum, { size }) => sum + size, 0);
    const found = new this.value.constructor(all);
    const most = Math.min(SURVEYED, tile[0]);
    for (let first = 0; first < count; first += most) {
      const some = Math.min(count - first, most);
      this.answer(inputs.slice(first * sizes.inputs, (first + some) * sizes.inputs), some);
      const { stride } = tilesOf(some, tile);
      let at = first;
      for (const { row, size } of buffers) {
        for (let i = row; i < row + size; i++, at += count)
          found.set(this.arrays.seen.subarray(i * stride, i * stride + some), at);
      }
    }
    return found;
  }

  /** Return the values of all buffers for one sample: {buffer: values}. */
  look(inputs) {
    const found = this.survey(inputs);
    let at = 0;
    const own = ({ name, size }) => [name, found.slice(at, (at += size))];
    return Object.fromEntries(this.spec.buffers.map(own));
  }

  answer(inputs, count) {
    this.arrays.asked.set(inputs);
    this.put("asked", "samples", count);
    this.put("asked", "steps", this.count);
    if (this.spec.mixed) this.calls.roundBank(this.jobs.evaluate);
    this.calls.runPasses(this.jobs.evaluate);
  }

  // ---- all that determines the future -----------------------------------------------------------

  /** Return the memory of values, gradients, slots, state and frozen marks, which is contiguous. */
  bank() {
    const [at] = this.spec.arrays.value;
    const [last, length] = this.spec.arrays.frozen;
    return new Uint8Array(this.memory.buffer, at, last + length - at);
  }

  /** Return the bytes that determine all later steps; called between two steps. */
  save() {
    const bank = this.bank();
    const saved = new Uint8Array(HEAD + bank.length);
    const { step, count, base, loss, size, optimizer, isSteady } = this;
    const head = [step, count, base, loss, size, optimizer, isSteady];
    new Float64Array(saved.buffer, 0, HEAD / 8).set(head);
    saved.set(bank, HEAD);
    return saved;
  }

  /** Return step, values and gradients of a keyframe, {step, saved}. */
  numbersOf({ step, saved }) {
    const { value, grad } = this.spec.arrays;
    const read = ([at, length, kind]) =>
      new ARRAY_KINDS[kind](saved.buffer, saved.byteOffset + HEAD + at - value[0], length);
    return { step, value: read(value), grad: read(grad) };
  }

  /** Restore the bytes that `save` has returned. */
  restore(saved) {
    const head = new Float64Array(saved.buffer, saved.byteOffset, HEAD / 8);
    const [step, count, base, loss, size, optimizer, isSteady] = head;
    this.takeOptimizer(optimizer);
    Object.assign(this, { step, count, base, loss, size });
    if (isSteady) this.endSchedule();
    this.bank().set(saved.subarray(HEAD));
  }
}

/** Return how a batch is divided into tiles: their starts, and the stride of their rows. */
function tilesOf(samples, [longest, shortest, alone = 0]) {
  const chunks = Math.max(1, Math.min(8, Math.floor(samples / 64)));
  const starts = [];
  for (let chunk = 0; chunk < chunks; chunk++) {
    const first = Math.floor((chunk * samples) / chunks);
    const end = Math.floor(((chunk + 1) * samples) / chunks);
    for (let start = first; start < end; start += longest) starts.push(start);
  }
  const most = Math.min(longest, Math.ceil(samples / chunks));
  let lines = Math.max(1, Math.ceil(most / shortest));
  if (lines % 4 === 0) lines += 1;
  return { starts, stride: samples === 1 && alone ? alone : lines * shortest };
}

// The initial numbers of a network for a seed, as core/formulas/initializers.py draws them.
//
// The random generator is Philox 4x32 with ten rounds, as in core/formulas/randomness.py.

const PHILOX = { rounds: 10, factors: [0xd2511f53, 0xcd9e8d57], steps: [0x9e3779b9, 0xbb67ae85] };
const HALF = 2 ** 16;
const WORD = 2 ** 32;

/** Return the high 32 bits of the product of two 32-bit words. */
function highOf(a, b) {
  const [low, high] = [a & 0xffff, a >>> 16];
  const [other, top] = [b & 0xffff, b >>> 16];
  const first = high * other + Math.floor((low * other) / HALF);
  const second = low * top + (first % HALF);
  return (high * top + Math.floor(first / HALF) + Math.floor(second / HALF)) >>> 0;
}

/** Return the four random words of Philox for a counter of four words and a key of two. */
export function philoxWords([c0, c1, c2, c3], /** @type {number[]} */ [k0, k1]) {
  const [one, two] = PHILOX.factors;
  for (let i = 0; i < PHILOX.rounds; i++) {
    const [high0, low0] = [highOf(c0, one), Math.imul(c0, one) >>> 0];
    const [high1, low1] = [highOf(c2, two), Math.imul(c2, two) >>> 0];
    [c0, c1, c2, c3] = [(high1 ^ c1 ^ k0) >>> 0, low1, (high0 ^ c3 ^ k1) >>> 0, low0];
    k0 = (k0 + PHILOX.steps[0]) >>> 0;
    k1 = (k1 + PHILOX.steps[1]) >>> 0;
  }
  return [c0, c1, c2, c3];
}

/** Return `count` initial weights, and the state after the loss scale; see engine_data.py. */
export function initialNumbers({ draws, fixed, state, seeds }, seed, count) {
  const key = [seed % WORD, Math.floor(seed / WORD)];
  const value = new Float64Array(count);
  for (const [first, size, number] of fixed) value.fill(number, first, first + size);
  for (const [first, size, isNormal, a, b] of draws) {
    for (let row = first; row < first + size; row++) {
      const [u, v] = philoxWords([row, 0, 0, 0], key).map((word) => (word + 0.5) * (1 / WORD));
      const normal = () => a + b * Math.sqrt(-2 * Math.log(u)) * Math.cos(2 * Math.PI * v);
      value[row] = isNormal ? normal() : a + (b - a) * u;
    }
  }
  const own = Float64Array.from(state);
  for (const place of seeds) own.set(key, place);
  return { value, state: own };
}
