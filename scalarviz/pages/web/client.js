// The page's end of a training: one that runs in a worker, and one that was recorded, behind the
// same interface.

import { TrainingClient, TrainingError } from "./player.js";
import { overTime } from "./over_time.js";
import { even_steps, last_known } from "./story/past_places.js";
import { HEALTH, SCALARS } from "./story/scales.js";
import { unpacked } from "./arrays.js";
import { maskOf, scaleModelArrays } from "./model_arrays.js";

const AGAIN = 3; // times that a worker is begun again before it has answered

/** A training run in a worker.
 *
 * `makeWorker` returns a new worker. If a worker fails, a new one continues from the last state.
 */
export class Client extends TrainingClient {
  constructor(makeWorker, { module, image, held, spec, resume = null }) {
    super();
    this.makeWorker = makeWorker;
    this.given = { module, image, held, spec: spec.engine };
    this.resume = resume; // where a worker continues
    this.failures = 0;
    this.opened.catch(() => {}); // an error only for those who wait
    this.begin();
  }

  /** Send a command; the promise is fulfilled when the resulting state has arrived. */
  ask(name, args = {}) {
    return new Promise((resolve, reject) => this.send(name, args, { resolve, reject }));
  }

  /** Stop the worker immediately. */
  end() {
    this.worker.terminate();
  }

  send(name, args, waiting) {
    this.numbers += 1;
    this.asked.set(this.numbers, waiting);
    this.worker.postMessage({ id: this.numbers, name, args });
  }

  begin() {
    this.worker = this.makeWorker();
    this.worker.onmessage = ({ data }) => this.receive(data);
    this.worker.onerror = (event) => {
      event?.preventDefault?.(); // else the page would take it for an error of its own
      this.fail(event?.message ?? "");
    };
    const ignore = () => {};
    this.send("open", { ...this.given, resume: this.resume }, { resolve: ignore, reject: ignore });
  }

  receive({ id, state, resume, fault, answers }) {
    if (fault !== undefined) return this.fail(fault);
    if (answers) return this.fulfil(id, answers);
    this.failures = 0;
    this.open();
    this.resume = { ...this.resume, ...resume }; // branches come when they have changed
    this.worker.postMessage({ taken: true });
    this.onstate(state);
    return this.fulfil(id, state);
  }

  /** Continue with a new worker, unless workers have failed too often. */
  fail(message) {
    this.worker.terminate();
    this.failures += 1;
    const lost = this.failures >= AGAIN;
    const error = new TrainingError(lost ? "page.fault.lost" : "page.fault.again", message);
    const asked = [...this.asked.values()];
    this.asked.clear();
    if (lost) this.giveUp(error);
    else this.begin();
    for (const { reject } of asked) reject(error);
    this.onfault(error);
  }
}

// A training that was recorded: it is shown, and not changed.
//
// The places are those between two steps, and those after each operation of the steps that were
// recorded by operation.

const KEPT = { small: 1, large: 2, whole: 3, same: 4, plain: 5 }; // as recording.py has them
const FASTEST = 60; // pictures a second
const DOES = ["state", "play", "pause", "advance", "back", "seek", "reset"]; // all else is a change

/** Reads the arrays of a recording in order, as written by `pieces` in recording.py. */
export class ArrayReader {
  constructor(bytes, { parts, tops }) {
    this.bytes = bytes;
    this.parts = parts;
    this.tops = tops;
    this.numbers = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.at = 0;
    this.lasts = {}; // by the name of a track, its last numbers in parts
    this.last = null; // the last array of no track
  }

  /** Return the next array, given its track if it belongs to one. */
  next(size, track = "") {
    const kept = this.bytes[this.at++];
    if (kept === KEPT.same) return this.last;
    let found;
    if (kept === KEPT.plain) {
      found = Float64Array.from({ length: size }, (_, i) =>
        this.numbers.getFloat32(this.at + 4 * i, true),
      );
      this.at += 4 * size;
      if (track) this.lasts[track] = new Int16Array(size);
    } else if (kept === KEPT.whole) {
      const top = this.numbers.getFloat64(this.at, true);
      const parts = this.numbers.getUint16(this.at + 8, true);
      this.at += 10;
      found = scaled(parts < 128 ? this.small(size) : this.planes(size), top, parts);
    } else {
      const now = kept === KEPT.small ? Int16Array.from(this.small(size)) : this.planes(size);
      const last = this.lasts[track];
      if (last) for (let i = 0; i < size; i++) now[i] += last[i];
      this.lasts[track] = now;
      found = scaled(now, this.tops[track], this.parts[track]);
    }
    if (!track) this.last = found;
    return found;
  }

  small(size) {
    const { buffer, byteOffset } = this.bytes;
    this.at += size;
    return new Int8Array(buffer, byteOffset + this.at - size, size);
  }

  planes(size) {
    const low = this.at;
    this.at += 2 * size;
    const number = (i) => this.bytes[low + i] | (this.bytes[low + size + i] << 8);
    return Int16Array.from({ length: size }, (_, i) => number(i));
  }
}

function scaled(numbers, top, parts) {
  return Float64Array.from(numbers, (number) => (number * top) / parts);
}

/** Return the recorded positions in order: {step, operation, ...fields of a State}. */
function placesOf(bytes, recording, engine) {
  const { steps, walked, weights, rows, batches, rates, count, probe, focus } = recording;
  const reader = new ArrayReader(bytes, recording);
  const { inputs, outputs } = engine.sizes;
  const sizes = new Map(engine.buffers.map(({ name, size }) => [name, size]));
  const first = engine.buffers[0].name;
  const isWalked = new Set(walked);
  const places = [];
  let frozen = recording.scales && new Uint8Array(count); // a mask of the moment
  const read = (names) =>
    Object.fromEntries(names.map((name) => [name, reader.next(sizes.get(name))]));
  steps.forEach((step, i) => {
    const value = reader.next(count, "value");
    if (recording.frozen?.[i]) frozen = maskOf(recording.frozen[i], recording.scales.sizes);
    const rest = {
      step, operation: 0, moment: -1, value, grad: reader.next(count), target: reader.next(outputs),
      values: read([...sizes.keys()]), gradients: {}, before: null,
      row: rows[i], batch: batches[i], focus: Math.min(focus, batches[i] - 1), rate: rates[i],
    }; // prettier-ignore
    rest.inputs = rest.values[first];
    rest.probe = Float32Array.from(probe ? reader.next(probe, "probe") : []);
    if (recording.scales) scaleModelArrays(rest, recording.scales);
    if (recording.scales) rest.frozen = frozen;
    places.push(rest);
    if (!isWalked.has(step)) return;
    const given = { [first]: reader.next(inputs) };
    const target = reader.next(outputs);
    const weight = weights[walked.indexOf(step)];
    const own = { inputs: given[first], target, weight };
    const shared = { ...rest, before: value, grad_before: rest.grad, ...own };
    let [values, gradients] = [given, {}];
    engine.moments.forEach((moment, k) => {
      const grad = reader.next(count);
      values = { ...values, ...read(moment.values) };
      gradients = { ...gradients, ...read(moment.gradients) };
      places.push({ ...shared, operation: k + 1, moment: k, grad, values, gradients });
    });
  });
  return places.map((place, i) => endOfStep(place, places[i + 1], engine.moments.length));
}

/** Return a position; after the last operation of a step, it gets the weights of the next step. */
function endOfStep(place, next, operations) {
  if (place.operation < operations) return place;
  const { step, value, probe } = next ?? { ...place, step: place.step + 1 };
  return { ...place, step, operation: 0, value, probe };
}

/** A recorded training run. */
export class RecordingClient extends TrainingClient {
  constructor(bytes, { engine, recording }) {
    super();
    this.places = placesOf(bytes, recording, engine);
    this.losses = Float64Array.from(unpacked(recording.losses));
    this.first = recording.first;
    this.end = recording.steps.at(-1);
    this.stopped = recording.stopped;
    this.walked = recording.walked;
    this.operations = engine.moments.length;
    this.lossMoment = engine.moments.findIndex(({ kind }) => kind === "loss");
    this.opensAtEnd = recording.at_end;
    this.place = recording.at_end ? this.last : 0; // in places
    this.timer = 0;
    this.known = this.first; // losses that the page has
    this.hasEnded = false;
    this.jumps = 0;
  }

  /** Execute a command and return the resulting state; null if a reply was not recorded. */
  async ask(name, args = {}) {
    if (["evaluate", "survey", "moved"].includes(name)) return null;
    if (name === "past") return this.past(args);
    if (!DOES.includes(name)) {
      this.onrefused("page.recorded.refused");
      return this.answer();
    }
    this.pause();
    this.hasEnded = false;
    if (name === "reset" || name === "seek") this.jumps += 1;
    if (name === "advance") this.advance(args.count, args.unit);
    else if (name === "back") this.back(args.count, args.unit);
    else if (name === "seek") this.seek(args.step, args.operation ?? 0);
    else if (name === "reset") this.place = 0;
    else if (name === "play") this.play(args.speed ?? null);
    return this.answer();
  }

  /** Advance by operations of the recorded step, or by whole steps. */
  advance(count, unit) {
    if (unit === "operation") {
      for (let i = 0; i < count; i++) this.place = this.after(this.place);
    } else {
      const { step } = this.places[this.place];
      this.place = this.restFrom(step + count);
    }
    this.hasEnded = this.place === this.last && count > 0;
  }

  /** Return the next position; the last operation of a step and the next step are one position. */
  after(place) {
    const { moment } = this.places[place];
    const ended = moment === this.operations - 1; // go on from the rest at the same step
    return Math.min(place + (ended ? 2 : 1), this.last);
  }

  back(count, unit) {
    if (unit === "operation") {
      for (let i = 0; i < count; i++) this.place = this.earlier(this.place);
    } else {
      const { step, operation } = this.places[this.place];
      this.place = this.restUpTo(step + (operation > 0 ? 1 : 0) - count);
    }
  }

  earlier(place) {
    const { operation, moment } = this.places[place];
    const rests = operation === 0 && moment < 0;
    const before = this.places[place - 1];
    const walks = rests && before !== undefined && before.operation === 0 && before.moment >= 0;
    return Math.max(0, place - (walks ? 2 : 1));
  }

  /** Go to the recorded step that is nearest to `step`, or to an operation if it was recorded. */
  seek(step, operation) {
    if (operation > 0) {
      const found = this.places.findIndex(
        (each) => each.step === step && each.operation === operation,
      );
      if (found < 0) this.onrefused("page.recorded.whole", { steps: this.walked.join(", ") });
      else this.place = found;
    } else {
      const apart = (place) => Math.abs(this.places[place].step - step);
      const [before, after] = [this.restUpTo(step), this.restFrom(step)];
      this.place = apart(after) < apart(before) ? after : before;
    }
  }

  /** Return the first position between steps at or after a step, or else the last position. */
  restFrom(step) {
    const found = this.places.findIndex((each) => each.step >= step && isRest(each));
    return found < 0 ? this.last : found;
  }

  /** Return the last position between steps at or before a step, or else the first position. */
  restUpTo(step) {
    const last = this.places.findLastIndex((each) => each.step <= step && isRest(each));
    return Math.max(0, last);
  }

  get last() {
    return this.places.length - 1;
  }

  play(speed) {
    if (this.opensAtEnd && this.place === this.last) {
      this.place = 0;
      this.jumps += 1;
    }
    const began = performance.now();
    const from = this.places[this.place].step;
    const pause = 1000 / FASTEST;
    const tick = () => {
      const due = speed === null ? 0 : Math.floor(((performance.now() - began) / 1000) * speed);
      const { step } = this.places[this.place];
      if (speed === null) this.place = this.restFrom(step + 1);
      else if (from + due > step) this.place = Math.max(this.restUpTo(from + due), this.place);
      this.hasEnded = this.place === this.last;
      if (this.hasEnded) this.timer = 0;
      else this.timer = setTimeout(tick, pause);
      this.answer();
    };
    this.timer = setTimeout(tick, pause);
  }

  pause() {
    clearTimeout(this.timer);
    this.timer = 0;
  }

  end() {
    this.pause();
  }

  fail() {
    this.pause();
  }

  /** Return the history of all weights at the recorded positions. */
  past(args) {
    if ([SCALARS, HEALTH].includes(args.order)) return { more: false }; // the page has it
    const moments = this.places.filter(isRest);
    const steps = even_steps(this.first, this.end, args.moments);
    const found = last_known(steps, moments);
    return { ...overTime(found, args), more: false };
  }

  answer() {
    const state = this.state();
    this.onstate(state);
    return state;
  }

  /** Return the state at the present position; the first state contains all losses. */
  state() {
    const place = this.places[this.place];
    const from = this.known;
    this.known = this.end;
    const isLate = place.operation > 0 && place.moment >= this.lossMoment;
    const at = place.step - this.first - (isLate ? 0 : 1);
    return {
      ...place,
      loss: this.losses[at] ?? NaN,
      last: this.end,
      playing: this.timer !== 0,
      losses: { from, values: this.losses.slice(from - this.first) },
      slots: {},
      jumps: this.jumps,
      stopped: this.hasEnded ? { why: this.stopped || "end", row: -1 } : null,
    };
  }
}

function isRest({ operation, moment }) {
  return operation === 0 && moment < 0;
}
