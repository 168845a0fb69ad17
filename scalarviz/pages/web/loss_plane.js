// A plane through the weights of a training, and the loss over it; as training/session/landscape.py.

const PLANE_POINTS = 41; // of the grid, in each direction
const COARSEST_GRID = 8; // points from one to the next in the first pass
const PLANE_MARGIN = 0.25; // of the width of the path, on each side of it
const FLATTEST_PLANE = 0.2; // the narrower width counts as at least this much of the wider one
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

/** Return the largest directions of a symmetric matrix, of rows, by repeated products. */
function mainOf(matrix, most) {
  const found = [];
  for (let k = 0; k < most; k++) {
    let now = matrix.map((_, i) => Math.sin(1 + i + k));
    for (let t = 0; t < POWER_STEPS; t++) {
      const next = matrix.map((row) => dot(row, now));
      for (const other of found) {
        const part = dot(next, other);
        other.forEach((each, i) => (next[i] -= part * each));
      }
      const length = Math.hypot(...next);
      if (!(length > 0)) return found;
      now = next.map((each) => each / length);
    }
    found.push(now);
  }
  return found;
}

/** Return two perpendicular unit directions, and the share of the path that each explains.
 *
 * moments  {value}, in order of their steps
 * rows     those that training moves; of others both directions have 0
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
    const size = Math.sqrt(dot(each, each));
    if (!(size > 1e-7 * Math.sqrt(total || 1))) continue;
    const rest = each.map((number) => number / size);
    for (const other of [...found, ...found]) {
      const part = dot(rest, other);
      other.forEach((number, i) => (rest[i] -= part * number));
    }
    const length = Math.sqrt(dot(rest, rest));
    if (!(length > NEW_DIRECTION)) continue;
    const sign = dot(way, rest) < 0 ? -length : length;
    found.push(rest.map((number) => number / sign));
  }
  const shares = found.map((direction) =>
    total > 0 ? moves.reduce((sum, move) => sum + dot(move, direction) ** 2, 0) / total : 0,
  );
  return { directions: found, shares };
}

/** Return row and column of each point of the grid, a coarse one first. */
function coarseToFine(points) {
  const isOn = (i, j, apart) => i % apart === 0 && j % apart === 0;
  const found = [];
  for (let apart = COARSEST_GRID; apart >= 1; apart /= 2)
    for (let i = 0; i < points; i++)
      for (let j = 0; j < points; j++)
        if (isOn(i, j, apart) && (apart === COARSEST_GRID || !isOn(i, j, 2 * apart)))
          found.push([i, j]);
  return found;
}

/** The plane of a training, whose losses a second engine computes in portions.
 *
 * moments  of the branch, {step, value, grad}
 * now      the present: {value, grad, frozen}
 * pins     two rows of chosen weights; empty: main directions
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
    const path = moments.map(({ value }) => this.placeOf(value));
    const ends = [0, 1].map((k) => path.map((place) => place[k]));
    const [low, high] = [ends.map((all) => Math.min(...all)), ends.map((all) => Math.max(...all))];
    const widest = Math.max(high[0] - low[0], high[1] - low[1]);
    this.span = [0, 1].flatMap((k) => {
      const width = Math.max(high[k] - low[k], FLATTEST_PLANE * widest || 1);
      const middle = (low[k] + high[k]) / 2;
      return [middle - (0.5 + PLANE_MARGIN) * width, middle + (0.5 + PLANE_MARGIN) * width];
    });
    this.losses = new Float64Array(PLANE_POINTS ** 2).fill(NaN);
    this.points = coarseToFine(PLANE_POINTS);
    this.count = 0;
    const { sizes, samples } = twin.spec;
    this.size = Math.max(1, Math.min(sizes.batch, samples || 1)); // of a batch
    this.batches = 0; // whose mean is the loss; 0: not known yet
  }

  /** @returns {[number, number]} x and y of the point of the plane that is nearest to some weights */
  placeOf(value) {
    const moved = this.center.map((each, row) => value[row] - each);
    const [across, up] = this.directions;
    return [dot(moved, across), dot(moved, up)];
  }

  /** Return the weights of a point. */
  valuesAt(x, y) {
    const [across, up] = this.directions;
    return this.center.map((each, row) => each + x * across[row] + y * up[row]);
  }

  /** Whether weights lie in the plane, up to rounding. */
  holds(value) {
    const near = this.valuesAt(...this.placeOf(value));
    return near.every((each, row) => Math.abs(each - value[row]) <= 1e-5 * (1 + Math.abs(each)));
  }

  /** Whether a place lies in the part of the plane that is shown. */
  shows([x, y]) {
    const [left, right, bottom, top] = this.span;
    return left <= x && x <= right && bottom <= y && y <= top;
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

  /** How many batches there is time for, of those of an epoch; of samples made anew, one. */
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

  /** Return the loss at some weights: the mean over the samples of the first batches of an epoch. */
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
