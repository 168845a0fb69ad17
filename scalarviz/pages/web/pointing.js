// Which cube or neuron is pointed at: by a pixel, as stage/pointing.py, or next to
// another one by the arrow keys.

import { along3, cross3, dot3, length3, minus3, row3 } from "./projection.js";
import { numberAt } from "./arrays.js";
import { name_of_row, neuron_name, sentence } from "./story/names.js";
import { said } from "./story/formats.js";
import { text } from "./texts.js";

/** What is seen at a logical pixel: {row}, {neuron: [buffer, place]}, or null. */
export function targetAt(frame, see, x, y) {
  const { start, way } = see.ray(x, y);
  const cube = cubeOnRay(frame, start, way);
  const found = neuronOnRay(frame.layout, see, [x, y], start, way);
  if (found && found.at < cube.at) return { neuron: found.neuron };
  return cube.row < 0 ? null : { row: cube.row };
}

/** The bank index of the first cube on a ray, or -1, and its distance in rays. */
function cubeOnRay(frame, start, way) {
  let best = { row: -1, at: Infinity };
  for (const plate of frame.layout.plates) {
    const found = walkPlate(frame, plate, start, way);
    if (found.at < best.at) best = found;
  }
  return best;
}

/** The first cube of a plate on a ray. */
function walkPlate(frame, plate, start, way) {
  const none = { row: -1, at: Infinity };
  const { steps } = frame.scene.shader;
  const bottom = plate.lowered(plate.half) - plate.half;
  const [wide, high] = plate.cell;
  const apart = minus3(start, plate.origin);
  // prettier-ignore
  const axes = [[plate.along, wide ** 2], [plate.across, high ** 2], [plate.toward, 1]];
  const place = axes.map(([axis, size]) => dot3(axis, apart) / size);
  const step = axes
    .map(([axis, size]) => dot3(axis, way) / size)
    .map((each) => (Math.abs(each) < 1e-12 ? 1e-12 : each));
  const low = [0, 0, bottom].map((each, k) => (each - place[k]) / step[k]);
  const ends = [plate.columns, plate.rows, bottom + 2 * plate.half];
  const top = ends.map((each, k) => (each - place[k]) / step[k]);
  const enter = Math.max(...low.map((each, k) => Math.min(each, top[k])), 0);
  const leave = Math.min(...low.map((each, k) => Math.max(each, top[k])));
  if (!(enter <= leave)) return none;
  const grid = [plate.columns, plate.rows];
  const cell = grid.map((count, k) =>
    Math.floor(Math.min(Math.max(place[k] + step[k] * enter, 0), count - 1e-9)),
  );
  const forward = [step[0] > 0, step[1] > 0];
  const next = cell.map((each, k) => (each + (forward[k] ? 1 : 0) - place[k]) / step[k]);
  for (let i = 0; i < 4 * steps; i++) {
    const row = plate.indexOf(cell[1], cell[0]);
    if (row >= 0) {
      const side = plate.halfOf(frame.sizes[row], frame.sizeScaleAt(row));
      const sides = [side / wide, side / high, side];
      const down = plate.lowered(side);
      const stands = [cell[0] + 0.5, cell[1] + 0.5 + down / high, down];
      const middle = stands.map((each, k) => each - place[k]);
      const at = (k, aside) => (middle[k] + aside) / step[k];
      const pairs = sides.map((each, k) => [at(k, -each), at(k, each)]);
      const first = Math.max(...pairs.map((pair) => Math.min(...pair)));
      const last = Math.min(...pairs.map((pair) => Math.max(...pair)));
      if (first <= last && first >= enter - 1e-9) return { row, at: first };
    }
    const axis = next[1] <= next[0] ? 1 : 0;
    if (next[axis] >= leave) break;
    cell[axis] += forward[axis] ? 1 : -1;
    next[axis] += Math.abs(1 / step[axis]);
    if (cell[axis] < 0 || cell[axis] >= grid[axis]) break;
  }
  return none;
}

/** The first sphere, square or pixel of an image on a ray, and its distance; null without. */
function neuronOnRay(layout, see, place, start, way) {
  let best = null;
  for (const line of layout.neurons) {
    let found = line.isImages ? pixelOnRay(line, start, way) : sphereOnRay(line, start, way);
    if (line.square) found ??= squareAt(line, see, place, start, way); // beside the circle in it
    if (found && (!best || found.at < best.at))
      best = { neuron: [line.values || line.sums, found.place], at: found.at };
  }
  return best;
}

function sphereOnRay(line, start, way) {
  let best = null;
  const size = dot3(way, way);
  for (let place = 0; place < line.count; place++) {
    const apart = minus3(line.point(place), start);
    const along = dot3(apart, way);
    const within = along ** 2 - size * (dot3(apart, apart) - line.radius ** 2);
    const at = (along - Math.sqrt(within)) / size;
    if (at > 0 && (!best || at < best.at)) best = { place, at };
  }
  return best;
}

function squareAt(line, see, [across, down], start, way) {
  const { x, y, unit } = see.see(line.points);
  const far = (_, i) => Math.max(Math.abs(x[i] - across), Math.abs(y[i] - down));
  const place = Array.from(x, far).findIndex((each, i) => each <= line.radius * unit[i]);
  if (place < 0) return null;
  return { place, at: dot3(minus3(line.point(place), start), way) / dot3(way, way) };
}

function pixelOnRay(line, start, way) {
  const [channels, height, width] = line.shape;
  const corners = line.corners();
  let best = null;
  for (let channel = 0; channel < channels; channel++) {
    const [corner, right, below] = [0, 1, 2].map((k) => row3(corners, 3 * channel + k));
    const [across, down] = [minus3(right, corner), minus3(below, corner)];
    const normal = cross3(across, down);
    const straight = dot3(normal, way);
    if (Math.abs(straight) < 1e-12 * length3(normal) * length3(way)) continue;
    const at = dot3(normal, minus3(corner, start)) / straight;
    const inside = minus3(along3(start, at, way), corner);
    const x = dot3(inside, across) / dot3(across, across);
    const y = dot3(inside, down) / dot3(down, down);
    if (!(x >= 0 && x < 1 && y >= 0 && y < 1 && at > 0) || (best && at >= best.at)) continue;
    const inImage = Math.floor(y * height) * width + Math.floor(x * width);
    best = { place: channel * height * width + inImage, at };
  }
  return best;
}

// Walking over cubes and neurons by the arrow keys, in the directions of the picture.

const ASIDE = 2; // how many pixels ahead a pixel aside counts
const AHEAD = 0.5; // pixels
const WALKS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** The way of an arrow key, [x, y]; undefined for other keys. */
export function wayOf(key) {
  return Object.hasOwn(WALKS, key) ? WALKS[key] : undefined;
}

/**
 * Return the nearest cube {row} or neuron {neuron} in a direction; `now` if there is none.
 *
 * layout, see  of the picture; `see.box` is the part of it in which the network is seen
 * now          where one is; null: in the middle of the box
 * way          of `wayOf`; null: the nearest one
 */
export function nextTarget(layout, see, now, way = null) {
  const { box } = see;
  const places = placesSeen(layout, see);
  if (!places.length) return now;
  const here = now && places.find((each) => isSameThing(each.thing, now));
  const [x, y] = here ? [here.x, here.y] : [box.x + box.width / 2, box.y + box.height / 2];
  const cost = (each) => {
    const [right, down] = [each.x - x, each.y - y];
    if (!here || !way) return Math.hypot(right, down);
    const ahead = right * way[0] + down * way[1];
    const aside = Math.abs(right * way[1] + down * way[0]);
    return ahead > AHEAD && aside <= ahead ? ahead + ASIDE * aside : Infinity;
  };
  const best = places.reduce((found, each) => (cost(each) < cost(found) ? each : found));
  return cost(best) < Infinity ? best.thing : now;
}

/** Return all cubes and neurons whose middle is seen in the box: {thing, x, y}. */
function placesSeen(layout, see) {
  const { box } = see;
  const found = [];
  const add = (points, thingOf) => {
    const { x, y } = see.see(points);
    for (let i = 0; i < x.length; i++) {
      const isIn = x[i] >= box.x && x[i] <= box.right && y[i] >= box.y && y[i] <= box.bottom;
      if (isIn) found.push({ thing: thingOf(i), x: x[i], y: y[i] });
    }
  };
  for (const plate of layout.plates) {
    const { indices } = plate.cells();
    add(plate.middles(), (i) => ({ row: indices[i] }));
  }
  for (const line of layout.neurons) {
    const places = placesOfLine(line);
    const points = Float64Array.from(places.flatMap((place) => [...line.point(place)]));
    add(points, (i) => ({ neuron: [line.values || line.sums, places[i]] }));
  }
  return found;
}

/** Return the places of a line to walk to: of an image, its middle. */
function placesOfLine(line) {
  if (!line.isImages) return Array.from({ length: line.count }, (_, i) => i);
  const [channels, height, width] = line.shape;
  const middle = Math.floor(height / 2) * width + Math.floor(width / 2);
  return Array.from({ length: channels }, (_, channel) => channel * height * width + middle);
}

export function isSameThing(one, other) {
  if (!one || !other) return one === other;
  return one.row === other.row && String(one.neuron) === String(other.neuron);
}

/** Return the name of a cube or neuron with its value, for screen readers. */
export function spokenOf(facts, layout, state, { row = -1, neuron = null }) {
  if (!neuron) {
    return spokenWith(sentence(name_of_row(facts, row)), numberAt(state, row));
  }
  const [name, place] = neuron;
  const line = layout.lineOf(neuron);
  const known = [line?.values, ...(line?.also ?? []), line?.sums].find(
    (each) => each && each in state.values,
  );
  const value = known === undefined ? undefined : state.values[known][place];
  return spokenWith(sentence(neuron_name(facts, [name, place])), value);
}

function spokenWith(name, value) {
  return value === undefined ? name : text("walking.at", { name, value: said(value) });
}
