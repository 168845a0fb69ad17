// The past of a training that a page asks for: moments, the loss over a plane through them, samples
// that moved a weight. A second engine computes again what is between keyframes.

import { overTime } from "./over_time.js";
import { coarse_to_fine, even_steps, is_within, last_known, span_of } from "./story/past_places.js";

const OF_A_PLANE = 60; // milliseconds of computing a landscape for an answer
const WHILE_PLAYING = 15; // milliseconds of computing a landscape for an answer while it plays
const FILLING = 20; // milliseconds of training for an answer; the page asks again for the rest
const FILLED_BYTES = 2 ** 25; // bytes of numbers between keyframes

/** Computes the history of weights and loss planes; `openTwin` opens a second engine. */
export class PastMoments {
  constructor(clock, openTwin) {
    this.clock = clock;
    this.openTwin = openTwin;
    this.twin = null;
    this.filled = new Map(); // by the key of a branch, moments of its own by their steps
    this.standsIn = null; // key of the branch at whose last filled moment the second engine stands
    this.sorted = null;
    this.plane = null; // of the landscape
    this.made = ""; // what the plane was made of
    this.grown = 0; // the steps of the path then
    this.isHeld = false; // whether its ball is being dragged
  }

  /** Return the second engine, whose present step is arbitrary. */
  async openedTwin() {
    this.twin ??= await this.openTwin();
    this.standsIn = null;
    return this.twin;
  }

  /**
   * Return the history of the shown branch, see `overTime`, or a loss plane; `more` states whether
   * the result is incomplete.
   */
  async answer(args, isPlaying) {
    const found = await this.moments(args.moments, isPlaying);
    if (args.order === "landscape") return this.landscape(args.pins, found, isPlaying);
    const sorted = args.keeps ? this.sorted : null;
    const seen = overTime(found.moments, this.clock.begun, { ...args, sorted });
    this.sorted = seen.sorted ?? this.sorted;
    return { ...seen, sorted: null, more: found.more };
  }

  /** Return up to `most` known moments of the branch; `more` states whether some are missing. */
  async moments(most, isPlaying) {
    const { clock } = this;
    const { engine, branches } = clock;
    const count = Math.min(most, Math.max(2, Math.floor(FILLED_BYTES / (8 * engine.value.length))));
    const steps = even_steps(clock.first, clock.branch.end.step, count);
    const more = !isPlaying && (await this.fill(steps));
    const { value, grad } = engine;
    const known = [{ step: clock.step, value, grad }];
    let end = Infinity;
    for (const { key, frames, fork } of branches.now.lineage) {
      const own = [...frames, ...(this.filled.get(key)?.values() ?? [])];
      known.push(...own.filter((each) => each.step <= end));
      end = Math.min(end, fork.step);
    }
    known.sort((a, b) => a.step - b.step);
    const found = last_known(steps, known).map((each) => each.saved ? engine.numbersOf(each) : each); // prettier-ignore
    return { moments: found, more };
  }

  /** Return the losses computed so far on a plane, and the path of the branch in this plane. */
  async landscape(pins, { moments, more }, isPlaying) {
    const { clock } = this;
    const { engine, step } = clock;
    const { value, grad } = engine;
    const isAsked = this.plane?.pins.join() === pins.join();
    const path = () => moments.map((each) => this.plane.placeOf(each.value));
    const isLeft = () => !is_within(this.plane.span, path());
    const made = [clock.branch.key, clock.branch.end.step, pins.length ? step : ""].join();
    const steps = clock.branch.end.step - clock.first;
    // Directions are those of a path: one that is twice as long has others.
    const grows = !pins.length && steps > 2 * this.grown && !more;
    const rests = !isPlaying || (grows && !this.grown);
    const isDue = rests && made !== this.made && !this.isHeld && this.plane?.done === 1;
    const isOut = () => (pins.length ? !this.plane.holds(value) : grows) || isLeft();
    if (!isAsked && more) return { plane: null, heads: [], more };
    if (!isAsked || (isDue && isOut())) {
      Object.assign(this, { made, grown: steps });
      this.plane = new LossPlane(
        await this.openedTwin(),
        moments,
        { value, grad, frozen: engine.frozen },
        pins,
      );
    }
    const { plane } = this;
    this.standsIn = null; // the second engine computes losses
    plane.portion(isPlaying ? WHILE_PLAYING : OF_A_PLANE);
    return {
      plane: { span: plane.span, shares: plane.shares, rows: pins, losses: plane.losses.slice(), done: plane.done }, // prettier-ignore
      steps: Float64Array.from(moments, (each) => each.step), path: Float64Array.from(path().flat()),
      at: plane.placeOf(value), heads: [], more: plane.done < 1,
    }; // prettier-ignore
  }

  /** Compute missing numbers at some steps for a limited time; return whether some are left. */
  async fill(steps) {
    const { branches } = this.clock;
    const end = performance.now() + FILLING;
    for (const step of steps) {
      const { key } = branches.ownerOf(step);
      if (!this.filled.has(key)) this.filled.set(key, new Map());
      const known = this.filled.get(key);
      const frame = branches.before(step);
      const next = branches.now.journal[frame.applied];
      const isChanged = next !== undefined && next.step < step; // by the user, in between
      if (frame.step === step || known.has(step) || isChanged) continue;
      if (performance.now() > end) return true;
      const goesOn = this.standsIn === key && frame.step < this.twin.step && this.twin.step < step;
      const twin = goesOn ? this.twin : await this.openedTwin();
      if (!goesOn) twin.restore(frame.saved);
      twin.train(step - twin.step);
      this.standsIn = key;
      known.set(step, { step, value: twin.value.slice(), grad: twin.grad.slice() });
      if (known.size > 2 * steps.length)
        for (const each of known.keys()) if (!steps.includes(each)) known.delete(each);
    }
    return false;
  }
}

// A plane through the weights of a training, and the loss over it; as
// training/session/landscape.py.

const PLANE_POINTS = 41; // of the grid, in each direction
const MOST_OF_PATH = 100; // moments that the directions are found from
const POWER_STEPS = 300;
const PLANE_SECONDS = 4; // that all losses may take; of more samples the first ones are taken
const WARM_TRIES = 5; // of which the fastest one tells how long a batch takes
const NEW_DIRECTION = 1e-3; // of a direction, at least, is perpendicular to those before it

function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

/** Return the part of a vector that is orthogonal to unit vectors, and its length. */
function restOf(direction, others) {
  const rest = others.reduce((left, other) => {
    const part = dot(left, other);
    return left.map((each, i) => each - part * other[i]);
  }, direction);
  return [rest, Math.sqrt(dot(rest, rest))];
}

/** Return the main eigenvectors of a symmetric matrix, computed by power iteration. */
function mainOf(matrix, most) {
  const found = [];
  for (let k = 0; k < most; k++) {
    let now = matrix.map((_, i) => Math.sin(1 + i + k));
    for (let t = 0; t < POWER_STEPS; t++) {
      const product = matrix.map((row) => dot(row, now));
      const [rest, length] = restOf(product, found);
      if (!(length > 0)) return found;
      now = rest.map((each) => each / length);
    }
    found.push(now);
  }
  return found;
}

/** Return two orthogonal unit directions, and the share of the path that each explains.
 *
 * moments  moments {value} in the order of their steps
 * rows     rows that training changes; both directions are 0 for all other rows
 */
function mainDirections(moments, rows, grad) {
  const apart = Math.max(1, (moments.length - 1) / (MOST_OF_PATH - 1));
  const some = moments.filter((_, i) => Math.floor(i / apart) !== Math.floor((i - 1) / apart));
  if (some.at(-1) !== moments.at(-1)) some.push(moments.at(-1));
  const mean = rows.map(
    (row) => some.reduce((sum, { value }) => sum + value[row], 0) / some.length,
  );
  const moves = some.map(({ value }) => rows.map((row, i) => value[row] - mean[i]));
  const products = moves.map((one) => moves.map((other) => dot(one, other)));
  const total = products.reduce((sum, row, i) => sum + row[i], 0);
  const main = mainOf(products, 2).map((parts) =>
    rows.map((_, i) => moves.reduce((sum, move, k) => sum + parts[k] * move[i], 0)),
  );
  const way = moves.at(-1).map((each, i) => each - moves[0][i]);
  const pull = rows.map((row) => (Number.isFinite(grad[row]) ? grad[row] : 0));
  const others = [1, 2].map((k) => rows.map((row) => Math.sin(k + 12.9898 * row * k)));
  const found = [];
  for (const each of [...main, pull, ...others]) {
    if (found.length === 2) break;
    const [, size] = restOf(each, []);
    const [rest, length] = restOf(each, [...found, ...found]);
    if (!(size > 1e-7 * Math.sqrt(total || 1) && length > NEW_DIRECTION * size)) continue;
    const sign = dot(way, rest) < 0 ? -length : length;
    found.push(rest.map((number) => number / sign));
  }
  const shares = found.map((direction) =>
    total > 0 ? moves.reduce((sum, move) => sum + dot(move, direction) ** 2, 0) / total : 0,
  );
  return { directions: found, shares };
}

/** A plane through the weights, and its losses, which a second engine computes in portions.
 *
 * moments  moments of the branch, {step, value, grad}
 * now      the present moment: {value, grad, frozen}
 * pins     rows of the two weights that span the plane; if empty, the main directions of the path
 */
export class LossPlane {
  constructor(twin, moments, now, pins = []) {
    this.twin = twin;
    this.pins = pins;
    const count = now.value.length;
    this.center = Float64Array.from(now.value);
    const rows = Array.from({ length: count }, (_, row) => row).filter((row) => !now.frozen[row]);
    this.directions = [0, 1].map(() => new Float64Array(count));
    this.shares = [NaN, NaN];
    if (pins.length) pins.forEach((row, k) => (this.directions[k][row] = 1));
    else {
      const { directions, shares } = mainDirections(moments, rows, now.grad);
      directions.forEach((each, k) =>
        rows.forEach((row, i) => (this.directions[k][row] = each[i])),
      );
      this.shares = shares;
    }
    this.span = span_of(moments.map(({ value }) => this.placeOf(value)));
    this.losses = new Float64Array(PLANE_POINTS ** 2).fill(NaN);
    this.points = coarse_to_fine(PLANE_POINTS);
    this.count = 0;
    const { sizes, samples } = twin.spec;
    this.size = Math.max(1, Math.min(sizes.batch, samples || 1)); // of a batch
    this.batches = 0; // whose mean is the loss; 0: not known yet
  }

  /** @returns {[number, number]} the point of the plane that is nearest to some weights */
  placeOf(value) {
    const moved = this.center.map((each, row) => value[row] - each);
    const [across, up] = this.directions;
    return [dot(moved, across), dot(moved, up)];
  }

  /** Return the weights at a point of the plane. */
  valuesAt(x, y) {
    const [across, up] = this.directions;
    return this.center.map((each, row) => each + x * across[row] + y * up[row]);
  }

  /** Return whether weights are in the plane, up to rounding. */
  holds(value) {
    const near = this.valuesAt(...this.placeOf(value));
    return near.every((each, row) => Math.abs(each - value[row]) <= 1e-5 * (1 + Math.abs(each)));
  }

  get done() {
    return this.count / this.points.length;
  }

  /** Compute losses for some milliseconds. */
  portion(milliseconds) {
    const end = performance.now() + milliseconds;
    const [left, right, bottom, top] = this.span;
    this.batches ||= this.batchesInTime();
    for (; this.count < this.points.length && performance.now() < end; this.count++) {
      const [i, j] = this.points[this.count];
      const part = (k) => k / (PLANE_POINTS - 1);
      const values = this.valuesAt(left + part(j) * (right - left), bottom + part(i) * (top - bottom)); // prettier-ignore
      this.losses[i * PLANE_POINTS + j] = this.lossAt(values);
    }
  }

  /** Return how many batches of an epoch there is time for; 1 for generated samples. */
  batchesInTime() {
    const { samples } = this.twin.spec;
    const times = Array.from({ length: WARM_TRIES }, () => {
      const start = performance.now();
      this.lossAt(this.center, 1);
      return performance.now() - start;
    });
    const most = (1000 * PLANE_SECONDS) / (this.points.length * Math.max(Math.min(...times), 1e-3));
    return Math.max(1, Math.min(samples ? Math.ceil(samples / this.size) : 1, Math.floor(most)));
  }

  /** Return the loss for some weights, averaged over the first batches of an epoch. */
  lossAt(values, batches = this.batches) {
    const { twin } = this;
    const last = twin.spec.moments.findIndex(({ kind }) => kind === "loss");
    twin.size = this.size;
    let [sum, samples] = [0, 0];
    for (let k = 0; k < batches; k++) {
      twin.step = k;
      twin.value.set(values);
      twin.begin();
      for (let moment = 0; moment <= last; moment++) twin.perform(moment);
      sum += twin.loss * twin.batch;
      samples += twin.batch;
    }
    return sum / samples;
  }
}

// Which samples moved a weight most over the last steps; as training/session/replays.py.

const REPEATED_STEPS = 30; // steps that are repeated at most
const REPEATED_FOR = 50; // milliseconds for them

/**
 * Return how much each sample has moved a weight: {amounts, steps}; null if unknown.
 *
 * twin  second engine, in which the last steps are repeated
 * uses  uses of the weight: {source, target, written, read}; `read` is null for a bias
 */
export function samplesMoved(clock, twin, uses) {
  const { step, branches, journal } = clock;
  if (!twin.spec.table || step === clock.first || clock.operation > 0) return null;
  const end = performance.now() + REPEATED_FOR;
  const amounts = new Map();
  let first = step;
  while (first > clock.first && step - first < REPEATED_STEPS && performance.now() < end) {
    first -= 1;
    const frame = branches.before(first);
    const next = journal[frame.applied];
    if (next && next.step < step) break; // a change of the user
    twin.restore(frame.saved);
    twin.train(first - twin.step);
    addParts(twin, uses, amounts);
  }
  return { amounts: [...amounts], steps: step - first };
}

/** Add the contribution of each sample to the gradient in the next step to its amount. */
function addParts(twin, uses, amounts) {
  twin.begin();
  twin.spec.moments.slice(0, -1).forEach((_, k) => twin.perform(k));
  for (let i = 0; i < twin.batch; i++) {
    let part = 0;
    for (const { source, target, written, read } of uses) {
      const [x, g] = [twin.values(source, i), twin.gradients(target, i)];
      written.forEach((place, k) => (part += (read ? x[read[k]] : 1) * g[place]));
    }
    const { row } = twin.sample(i);
    amounts.set(row, (amounts.get(row) ?? 0) + Math.abs(part));
  }
}
