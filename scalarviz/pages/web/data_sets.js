// The data sets of the plane, as data/plane.py makes them: the same points, bit for bit.

import { philoxWords } from "./engine.js";
import { SAMPLES, points_in } from "./story/build_link.js";

const PLACES = 16; // streams of the random generator
const NOISE = 17;
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
