// The memory of a page that trains a chain of dense layers, for any sizes, as
// engines/wasm/page_memory.py makes it. The layouts of records, the indices of kernels and all
// other constants come from Python: pages/playground_data.py.

import { ARRAY_KINDS } from "./arrays.js";

/** A part of the memory: an array, or records whose fields are numbers or addresses of parts. */
class Part {
  constructor(bytes, kind, { length = 0, isEmpty = false, rows = [] }) {
    this.bytes = bytes;
    this.kind = kind;
    this.length = length;
    this.isEmpty = isEmpty;
    this.rows = rows;
    this.place = 0;
  }
}

/** The parts of a memory in the order in which they are added; empty ones follow the others. */
class Image {
  constructor(tables, first) {
    this.tables = tables;
    this.first = first;
    this.parts = [];
    this.end = first;
  }

  add(...given) {
    this.parts.push(...given.filter((part) => part.bytes.length));
  }

  /** An array of numbers, or of `length` zeros that are not in the image. */
  array(kind, numbers) {
    const isEmpty = typeof numbers === "number";
    const array = isEmpty ? new ARRAY_KINDS[kind](numbers) : ARRAY_KINDS[kind].from(numbers);
    return new Part(new Uint8Array(array.buffer), kind, { length: array.length, isEmpty });
  }

  /** Records of a kind, with these fields; all others are 0. */
  records(kind, rows) {
    return new Part(new Uint8Array(this.tables.records[kind].size * rows.length), kind, { rows });
  }

  record(kind, fields) {
    return this.records(kind, [fields]);
  }

  /** Assign all addresses, and return the bytes of the parts that are not empty. */
  build() {
    const { alignment } = this.tables;
    const kept = this.parts.filter((part) => !part.isEmpty);
    let [end, filled] = [this.first, this.first];
    for (const part of [...kept, ...this.parts.filter(({ isEmpty }) => isEmpty)]) {
      part.place = Math.ceil(end / alignment) * alignment;
      end = part.place + part.bytes.length;
      if (!part.isEmpty) filled = end;
    }
    const image = new Uint8Array(filled - this.first);
    for (const part of kept) {
      this.write(part);
      image.set(part.bytes, part.place - this.first);
    }
    this.end = end;
    return image;
  }

  /** Write the fields of records; [part, bytes] is an address in a part. */
  write({ kind, rows, bytes }) {
    const view = new DataView(bytes.buffer);
    rows.forEach((fields, i) => {
      const { size, fields: known } = this.tables.records[kind];
      for (const [name, value] of Object.entries(fields)) {
        const [offset, isFloat] = known[name];
        const [part, more] = [value].flat();
        const number = part instanceof Part ? part.place + (more ?? 0) : part;
        const at = size * i + offset;
        if (isFloat) view.setFloat64(at, number, true);
        else view.setBigUint64(at, BigInt.asUintN(64, BigInt(number)), true);
      }
    });
  }

  /** The address of each field of a record, by field. */
  fields(part) {
    const known = Object.entries(this.tables.records[part.kind].fields);
    return Object.fromEntries(known.map(([name, [offset]]) => [name, part.place + offset]));
  }

  /** What `Engine` needs of an array: its address, its length and the kind of its numbers. */
  described({ place, length, kind }) {
    return [length ? place : 0, length, kind];
  }
}

/** The program of a chain of dense layers: buffers, operations and moments, as core/program.py.
 *
 * @param {any} tables
 * @param {{sizes: number[], activations: string[], biases: boolean, task: string}} net the sizes from
 *   the inputs to the outputs, the activation of each layer, and what it answers, see `task_of`
 */
export function denseProgram(tables, { sizes, activations, biases, task }) {
  const buffers = [{ name: "inputs", size: sizes[0], offset: 0 }];
  const operations = [];
  let row = 0;
  const added = (name, size) => {
    const { offset, size: wide } = buffers.at(-1);
    buffers.push({ name, size, offset: offset + wide });
    return buffers.at(-1);
  };
  activations.forEach((name, layer) => {
    const source = buffers.at(-1);
    const size = sizes[layer + 1];
    const [weights, count] = [row, size * source.size];
    const held = { layer, weights, biases: biases ? row + count : -1 };
    row += count + (biases ? size : 0);
    const target = added(`affine ${layer}`, size);
    const affine = { kind: "affine", kernel: "affine", formula: 0, ...held, rows: row - weights };
    operations.push({ ...affine, source, target });
    if (name === "linear") return;
    const none = { layer, weights: -1, biases: -1, rows: 0 };
    const bent = {
      kind: "activation",
      name,
      kernel: `activation_${name}`,
      formula: tables.activations[name],
    };
    operations.push({ ...bent, ...none, source: target, target: added(`${name} ${layer}`, size) });
  });
  const meanOf = task === "classes" ? 1 : sizes.at(-1); // numbers whose errors are averaged
  const loss = { ...tables.losses[task], mean_of: meanOf };
  return { buffers, operations, rows: row, moments: momentsOf(operations), loss, task };
}

/** The moments of a step: forward and back through all operations. */
function momentsOf(operations) {
  const whole = (kind) => ({ kind, phase: kind, name: kind, operation: -1, layer: -1 });
  const forward = operations.map(({ target, layer }, operation) => ({
    kind: "forward", phase: "forward", name: target.name, operation, layer, values: [target.name],
  })); // prettier-ignore
  const back = operations.flatMap(({ kind, source, target, layer }, operation) => {
    const moment = (what, gradients) => ({
      kind: what, phase: "backward", name: `${what} ${layer}`, operation, layer, gradients,
    }); // prettier-ignore
    const isLast = operation === operations.length - 1;
    if (kind === "activation")
      return [moment("delta", isLast ? [target.name, source.name] : [source.name])];
    const through = operation ? [moment("input gradient", [source.name])] : [];
    const end = isLast ? [moment("delta", [target.name])] : [];
    return [...through, moment("weight gradient", []), ...end];
  });
  const all = [whole("zero_grad"), ...forward, whole("loss"), ...back.reverse(), whole("step")];
  return all.map((moment) => ({ values: [], gradients: [], ...moment }));
}

/** The first row of each buffer's gradient, and the number of rows. */
function flowsOf({ buffers, operations }, apart) {
  const outputs = buffers.at(-1);
  const rows = { [outputs.name]: 0 };
  let size = outputs.size;
  for (const { kind, source, target } of [...operations].reverse()) {
    if (kind === "activation" && !apart) rows[source.name] = rows[target.name];
    if (source.name in rows) continue;
    rows[source.name] = size;
    size += source.size;
  }
  return { rows, size };
}

/** What a pass does at a moment, as `pass_of` in engines/cpu/job.py. */
function passOf({ kind, operation }, operations, flags) {
  const { aim, error, keep, learn, forward, weights, delta, flow } = flags;
  if (kind === "loss") return [aim | error | keep, 0, 0, 0];
  const isBent = operations[operation].kind === "activation";
  const what = {
    forward: learn | forward,
    "weight gradient": weights,
    "input gradient": flow,
    delta: operation === operations.length - 1 ? (isBent ? flow : 0) | delta : flow,
  }[kind];
  return [what | keep, operation, operation + 1, 0];
}

/** The memory image of a page that trains, and its description for `Engine`: {image, spec}.
 *
 * @param {any} tables
 * @param {any} net what `denseProgram` takes
 * @param {any} training {value, inputs, targets, probe}: arrays; {seed, batch, optimizers};
 *   of each optimizer {name, rate, l1, l2}, first the one in use
 */
export function denseEngine(tables, net, training) {
  const program = denseProgram(tables, net);
  const factor = tables.factors[net.task];
  const { value, inputs, targets, probe, batch, optimizers } = training;
  const [wide, high] = [program.buffers[0].size, program.buffers.at(-1).size];
  const [rows, samples] = [program.rows, targets.length / high];
  const most = Math.max(batch, Math.min(samples, tables.largestBatch));
  const image = new Image(tables, tables.first);
  const made = (kind, numbers) => image.array(kind, numbers);

  const whole = jobOf(image, program, { isTraining: true, todo: tables.passes.train });
  const kept = roomOf(image, whole, most);
  const orders = optimizers.map((each) => orderOf(image, each, rows));
  const slotCount = Math.max(...orders.map(({ slots }) => slots.length));
  const bank = {
    value: made("float32", value), grad: made("float32", new Float32Array(rows)),
    slots: made("float32", new Float32Array(slotCount * rows)), state: made("float64", tables.state),
    frozen: made("bool", new Uint8Array(rows)),
  }; // prettier-ignore
  image.add(...Object.values(bank), ...orders.slice(1).map(({ update }) => update));
  for (const { numbers, spaces } of orders) image.add(...numbers, ...spaces);
  const [first, goalFirst] = [made("uint64", most), made("uint64", most)];
  const [low, top] = [training.seed % 2 ** 32, Math.floor(training.seed / 2 ** 32)];
  const drawing = image.record("DRAWING", {
    draw: tables.draw, seed_low: low, seed_high: top, samples, size: batch,
  }); // prettier-ignore
  const [data, goals] = [made("float32", inputs), made("float32", targets)];
  const losses = made("float64", tables.mostLosses);
  image.add(first, goalFirst, drawing, data, goals, losses);
  const shared = {
    bank: image.record("BANK", {
      ...bank, seen: bank.value, rows, slot_count: slotCount, state_count: tables.state.length,
    }),
    samples: image.record("SAMPLES", { rows: first, goal_rows: goalFirst, size: most, drawing }),
    batch: image.record("BATCH", {
      data, columns: wide, rows: first, goals, goal_columns: high, goal_rows: goalFirst,
      errors: kept.errors,
    }),
    update: orders[0].update,
    progress: image.record("PROGRESS", { losses, factor }),
  }; // prettier-ignore
  image.add(...Object.values(shared));
  Object.assign(whole.record.rows[0], shared);

  const apart = jobOf(image, program, { isApart: true, isTraining: true, todo: [0, 0, 0, 0] });
  const seenApart = roomOf(image, apart, most);
  Object.assign(apart.record.rows[0], shared);

  const asks = jobOf(image, program, { todo: tables.passes.evaluate });
  const seen = roomOf(image, asks, tables.atOnce);
  const [asked, answers] = [wide, high].map((size) => made("float32", tables.atOnce * size));
  const counted = made(
    "uint64",
    Array.from({ length: tables.atOnce }, (_, i) => BigInt(i)),
  );
  const question = image.record("BATCH", {
    data: asked, columns: wide, outputs: answers, output_columns: high, rows: counted,
    goal_rows: counted, samples: 1, errors: seen.errors,
  }); // prettier-ignore
  Object.assign(asks.record.rows[0], { bank: shared.bank, batch: question });
  image.add(counted, question, asked, answers);

  const probed = made("float32", probe);
  const heap = made("uint8", tables.heap);
  image.add(probed, heap);
  const bytes = image.build();
  const arrays = {
    ...bank, losses, rows: first, goalRows: goalFirst, inputs: data, targets: goals, asked, answers,
    errors: kept.errors, spaces: seenApart.spaces, flows: seenApart.flows, seen: seen.spaces,
    probe: probed,
  }; // prettier-ignore
  const spec = {
    ...tables.spec,
    loss: { factor, meanOf: program.loss.mean_of },
    pages: Math.ceil(image.end / tables.page),
    heap: { at: tables.heapAt, first: heap.place, size: tables.heap },
    jobs: { train: whole.record.place, moments: apart.record.place, evaluate: asks.record.place },
    arrays: Object.fromEntries(
      Object.entries(arrays).map(([name, each]) => [name, image.described(each)]),
    ),
    records: {
      progress: image.fields(shared.progress), batch: image.fields(shared.batch),
      drawing: image.fields(drawing), pass: image.fields(apart.passes),
      asked: image.fields(question), update: image.fields(shared.update),
    },
    optimizers: orders.map(({ name, title, rate, slots, update, numbers }) => ({
      name, title, rate, slots, update: update.place, how: image.fields(numbers[0]),
    })),
    update: [shared.update.place, shared.update.bytes.length],
    batches: sizesTo(most, batch),
    sizes: { batch, inputs: wide, outputs: high },
    buffers: program.buffers.map(({ name, size, offset }) => ({
      name, size, row: offset, flow: apart.flows.rows[name],
    })),
    moments: program.moments.map((moment) =>
      ["zero_grad", "step"].includes(moment.kind)
        ? moment
        : { ...moment, pass: passOf(moment, program.operations, tables.flags) },
    ),
    samples,
  }; // prettier-ignore
  return { image: bytes, spec };
}

/** The sizes of batches on offer: powers of 2, the one in use, and the largest. */
function sizesTo(most, batch) {
  const powers = [0, 1, 2, 3, 4, 5, 6].map((k) => 2 ** k).filter((size) => size <= most);
  return [...new Set([...powers, batch, most])].sort((a, b) => a - b);
}

/** An optimizer, and the records and arrays of its update. */
function orderOf(image, { name, rate, l1 = 0, l2 = 0 }, rows) {
  const { kernels, optimizers, steady } = image.tables;
  const { title, slots, settings, count } = optimizers[name];
  const how = { rate, clip_norm: Infinity, clip_value: Infinity, l1, l2 };
  const span = { first: 0, end: rows, rate: NaN, decay: NaN }; // NaN: the optimizer's
  const numbers = [
    image.record("HOW", how), image.array("float64", settings), image.record("SPAN", span),
  ]; // prettier-ignore
  const [exact, values, scratch] = [
    image.array("float64", count), image.array("float32", count), image.array("float32", rows),
  ]; // prettier-ignore
  const update = image.record("UPDATE", {
    how: numbers[0], settings: numbers[1], setting_count: settings.length, exact,
    arguments: values, argument_count: count, scratch, rows, spans: numbers[2], span_count: 1,
    factor_of_rate: steady, constants: kernels[`cpu_${name}_constants`],
    move_rows: kernels[`cpu_${name}_rows`],
  }); // prettier-ignore
  return { name, title, rate, slots, update, numbers, spaces: [exact, values, scratch] };
}

/** Add the records of a job that runs a program in one pass; `todo` are the fields of the pass. */
function jobOf(image, program, { isApart = false, isTraining = false, todo }) {
  const { kernels, settings, patience } = image.tables;
  const { operations, buffers, loss } = program;
  const [inputs, outputs] = [buffers[0], buffers.at(-1)];
  const flows = flowsOf(program, isApart);
  const formulas = image.array("float32", new Float32Array(operations.length * settings));
  const goals = outputs.offset + outputs.size;
  const memo = goals + outputs.size + 1; // one more for the weight of a sample
  let gradients = 0;
  const rows = operations.map((each, i) => {
    const { kind, source, target, weights, biases, formula } = each;
    const fields = ["forward", "back", ...(kind === "affine" ? ["parameters"] : [])];
    const own = fields.map((field) => [field, kernels[`cpu_${each.kernel}_${field}`]]);
    const found = {
      ...Object.fromEntries(own), formula, settings: [formulas, 4 * settings * i],
      source: source.offset, inputs: source.size, flow_in: flows.rows[source.name],
      target: target.offset, outputs: target.size, flow_out: flows.rows[target.name],
      weights: Math.max(weights, 0), biases: Math.max(biases, 0), has_biases: Number(biases >= 0),
      each: 1, gradients, count: each.rows, memo,
    }; // prettier-ignore
    gradients += each.rows;
    return found;
  });
  const trains = isTraining ? { first_needed: 1, refuse: 1, ...loss } : {};
  const plan = image.record("PLAN", {
    out: outputs.offset, out_size: outputs.size, goals, flow_out: flows.rows[outputs.name],
    flow_in: flows.rows[inputs.name], patience, ...trains,
  }); // prettier-ignore
  const [what, low, high, gathers] = todo;
  const passes = image.record("PASS", { what, low, high: high && operations.length, gathers });
  const table = image.records("OPERATION", rows);
  const held = image.record("PROGRAM", {
    plan, passes, pass_count: 1, operations: table, operation_count: rows.length,
  }); // prettier-ignore
  const record = image.record("JOB", { program: held, ...image.tables.jobs });
  image.add(formulas, plan, table, passes, held, record);
  return { flows, passes, record, gradients, space: memo * image.tables.longest };
}

/** Add the workspaces of a job, which fit into one tile, for batches of at most `samples`. */
function roomOf(image, { flows, record, gradients, space }, samples) {
  const { longest, records, state } = image.tables;
  const [flow, chunks] = [flows.size * longest, Math.max(1, Math.floor(samples / 64))];
  const arrays = {
    spaces: image.array("float32", space), flows: image.array("float32", flow),
    partial: image.array("float32", chunks * gradients),
    tiles: image.array("uint8", chunks * records.TILE.size),
    before: image.array("float64", state.length),
  }; // prettier-ignore
  const errors = image.array("float64", chunks);
  const room = image.record("ROOM", { ...arrays, places: 1, space, flow, gradients, chunks });
  record.rows[0].room = room;
  image.add(room, ...Object.values(arrays), errors);
  return { ...arrays, errors };
}
