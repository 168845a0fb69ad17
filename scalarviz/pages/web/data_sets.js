// The data sets of the plane, as data/plane.py makes them: the same points, bit for bit.

import { philoxWords } from "./engine.js";
import {
  SAMPLES,
  colours_in,
  points_in,
  standardized,
  task_of,
  trained_of,
} from "./story/build_link.js";

const PLACES = 16; // streams of the random generator
const NOISE = 17;
const ORDER = 1;
const NEVER = 2 ** 32 - 1; // an epoch that is never trained: its order splits a table
const FEWEST = 10; // lines for each whole number if these are classes
const SCALE = 5;
const BITS = 2 ** 20; // coordinates are rounded, since machines differ in the last digits of sines
const FEATURES = {
  x: (x) => x, y: (_, y) => y, x2: (x) => x * x, y2: (_, y) => y * y, xy: (x, y) => x * y,
  sinx: (x) => rounded(Math.sin(x)), siny: (_, y) => rounded(Math.sin(y)),
}; // prettier-ignore

/** Points of a class, 0 or 1, from two random numbers between 0 and 1, by data set. */
const SHAPES = {
  circle: (kind, u, v) => around(kind ? 0.5 * u : 0.7 + 0.3 * u, v),
  gaussians: (kind, u, v) => normals(u, v).map((each) => 0.8 * kind - 0.4 + 0.14 * each),
  spiral: (kind, u) => around(u, 1.75 * u + 0.5 * kind),
  moons: (kind, u) => {
    const [x, y] = around(1, 0.5 * u);
    const [right, up] = kind ? [1 - x, 0.5 - y] : [x, y];
    return [(right - 0.5) / 1.5, (up - 0.25) / 1.5];
  },
  quadrants: (kind, u, v) => {
    const side = u < 0.5 ? -1 : 1;
    const far = 0.06 + 0.94 * Math.abs(2 * u - 1);
    return [side * far, side * (1 - 2 * kind) * (0.06 + 0.94 * v)];
  },
};

const LEVELS = 16; // of each channel
const HUES = [0.333333333333, -0.244016935856, 0.910683602523]; // mixed for a quarter turn of hues

/** What becomes of a colour, as in data/rgb.py. */
export const MAPS = {
  invert: (rgb) => rgb.map((x) => 1 - x),
  grey: (rgb) => blended(rgb, Array(3).fill([0.299, 0.587, 0.114])),
  sepia: (rgb) => blended(rgb, [[0.393, 0.769, 0.189], [0.349, 0.686, 0.168], [0.272, 0.534, 0.131]]), // prettier-ignore
  hue: (rgb) => blended(rgb, [0, 2, 1].map((row) => [0, 1, 2].map((k) => HUES[(row + k) % 3]))), // prettier-ignore
  swap: ([r, g, b]) => [b, r, g],
  copy: (rgb) => rgb,
};

function blended([r, g, b], matrix) {
  const channels = matrix.map((row) => row[0] * r + row[1] * g + row[2] * b);
  return channels.map((x) => Math.min(1, Math.max(0, x)));
}

function rounded(number) {
  const scaled = number * BITS;
  const whole = Math.round(scaled);
  const isTie = whole - scaled === 0.5 && whole % 2 !== 0; // halves go to the even neighbour
  return (isTie ? whole - 1 : whole) / BITS;
}

function around(radius, turns) {
  const angle = 2 * Math.PI * turns;
  return [radius * Math.cos(angle), radius * Math.sin(angle)];
}

function normals(u, v) {
  return around(Math.sqrt(-2 * Math.log(u)), v);
}

/** The inputs of points of the plane: [[x, y], ...] become [[...features], ...]. */
export function featuresOf(points, features) {
  return points.map(([x, y]) => features.map((name) => FEATURES[name](x, y)));
}

/** The points of a set, {points, targets, held}: [x, y] and -1 or 1 each, then the test points.
 * A visitor's own `points`, packed as in a link, are all trained on.
 *
 * @param {{shape: string, noise: number, share: number, seed: number, points?: string}} settings
 */
export function pointsOf({ shape, noise, share, seed, points: packed = "" }) {
  const own = points_in(packed);
  if (own.length) {
    const targets = own.map(([, , kind]) => kind);
    return { points: own.map(([x, y]) => [x, y]), targets, held: { points: [], targets: [] } };
  }
  const key = [seed % 2 ** 32, Math.floor(seed / 2 ** 32)];
  const pair = (stream, i) =>
    philoxWords([i, 0, 0, stream], key).map((word) => (word + 0.5) / 2 ** 32);
  const all = Array.from({ length: SAMPLES }, (_, i) => {
    const [u, v] = pair(PLACES, i);
    const place = SHAPES[shape](i % 2, u, v);
    const shift = normals(...pair(NOISE, i));
    return {
      point: place.map((each, k) => rounded(each + noise * shift[k]) * SCALE),
      target: 2 * (i % 2) - 1,
    };
  });
  const count = Math.max(1, Math.round(share * SAMPLES));
  const listed = (some) => ({
    points: some.map(({ point }) => point),
    targets: some.map(({ target }) => target),
  });
  return { ...listed(all.slice(0, count)), held: listed(all.slice(count)) };
}

/** The samples of settings: {inputs, targets, held: {inputs, targets}}, a row of numbers each; of
 * points of the plane also their places: {points, held: {points}}.
 *
 * @param {any} settings of all names in story/build_link.py; `table` is {lines}, or ""
 * @returns {any}
 */
export function samplesOf(settings) {
  if (settings.table) return tableSamples(settings);
  if (task_of(settings) === "colours") return colourSamples(settings);
  const { points, targets, held } = pointsOf(settings);
  const { features } = settings;
  const sampled = (places, goals) => ({
    points: places,
    inputs: featuresOf(places, features),
    targets: goals.map((each) => [each]),
  });
  return { ...sampled(points, targets), held: sampled(held.points, held.targets) };
}

/** Pairs of colours: the visitor's, or a grid of colours with what a map makes of each. */
function colourSamples({ shape, colours }) {
  const held = { inputs: [], targets: [] };
  const own = colours_in(colours);
  if (own.length) {
    const [inputs, targets] = [0, 3].map((first) =>
      own.map((pair) => pair.slice(first, first + 3)),
    );
    return { inputs, targets, held };
  }
  const levels = Array.from({ length: LEVELS }, (_, i) => i / (LEVELS - 1));
  const inputs = levels.flatMap((r) => levels.flatMap((g) => levels.map((b) => [r, g, b])));
  return { inputs, targets: inputs.map(MAPS[shape]), held };
}

/** The samples of a table, divided as `Arrays` in data/data_set.py, with standardized inputs. */
function tableSamples(settings) {
  const { table, classes, names } = settings;
  const task = task_of(settings);
  const { rows, trained } = splitOf(table.lines.map((line) => line.at(-1)), settings); // prettier-ignore
  const columns = names.length - Number(classes.length > 0);
  const lines = standardized(rows.map((row) => table.lines[row]), trained, columns); // prettier-ignore
  const goals = {
    sides: (kind) => [2 * kind - 1],
    classes: (kind) => classes.map((_, k) => Number(k === kind)),
    numbers: (number) => [number],
  }[task];
  const sampled = (some) => ({
    inputs: some.map((line) => line.slice(0, -1)),
    targets: some.map((line) => goals(line.at(-1))),
  });
  return { ...sampled(lines.slice(0, trained)), held: sampled(lines.slice(trained)) };
}

/** Lines in random order, for training first, and the number of these; of each class the same share
 * is held out. */
function splitOf(last, settings) {
  const count = last.length;
  const kinds = [...new Set(last)].sort((a, b) => a - b);
  const areWhole = last.every((each) => each >= 0 && Number.isInteger(each));
  const areKinds = settings.classes.length || (areWhole && FEWEST * kinds.length <= count);
  const kindOf = (row) => (areKinds ? kinds.indexOf(last[row]) : 0);
  const mixed = shuffledRows(settings.seed, count);
  const sizes = [];
  const ranks = mixed.map((row) => (sizes[kindOf(row)] = (sizes[kindOf(row)] ?? 0) + 1));
  const places = mixed.map((row, i) => {
    const size = sizes[kindOf(row)];
    return size > 1 && ranks[i] === size ? 1 : (ranks[i] - 0.5) / size; // one of each is held out
  });
  const trained = trained_of(settings, count);
  const order = mixed.map((_, i) => i).sort((a, b) => places[a] - places[b]);
  const isTrained = new Set(order.slice(0, trained));
  const parts = [true, false].map((is) => mixed.filter((_, i) => isTrained.has(i) === is));
  return { rows: parts.flat(), trained };
}

/** Whole numbers below a count in random order, as `shuffled` in core/formulas/randomness.py. */
function shuffledRows(seed, count) {
  const key = [seed % 2 ** 32, Math.floor(seed / 2 ** 32)];
  const [k0, k1, k2, k3] = philoxWords([0, 0, NEVER, ORDER], key);
  const bits = 32 - Math.clz32(count - 1);
  const [mask, shift] = [2 ** bits - 1, (bits + 1) >> 1];
  const mixed = (x, a, b) => Math.imul(x ^ (a & mask), b | 1) & mask;
  const folded = (x) => x ^ (x >> shift);
  const scrambled = (x) =>
    mixed(
      folded(mixed(folded(mixed(folded(mixed(x, k0, k1)), k2, k3)), k1 >>> 7, k2)),
      k3 >>> 7,
      k0,
    );
  return Array.from({ length: count }, (_, i) => {
    let x = scrambled(i);
    while (x >= count) x = scrambled(x);
    return x;
  });
}
