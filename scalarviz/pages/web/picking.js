// Which cube or neuron is under a pixel, by the ray walk of the shader; as scene/visuals/picking.py and
// stage/pointing.py.

import { halfSide } from "./scales.js";
import { along3, cross3, dot3, length3, minus3, row3 } from "./space.js";

/** What is seen at a logical pixel: {row}, {neuron: [buffer, place]}, or null. */
export function targetAt(frame, see, x, y) {
  const { start, way } = see.ray(x, y);
  const cube = cubeOnRay(frame, start, way);
  const found = neuronOnRay(frame.layout, start, way);
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
  const { half: most, steps } = frame.scene.shader;
  const [wide, high] = plate.cell;
  const apart = minus3(start, plate.origin);
  // prettier-ignore
  const axes = [[plate.along, wide ** 2], [plate.across, high ** 2], [plate.toward, 1]];
  const place = axes.map(([axis, size]) => dot3(axis, apart) / size);
  const step = axes
    .map(([axis, size]) => dot3(axis, way) / size)
    .map((each) => (Math.abs(each) < 1e-12 ? 1e-12 : each));
  const low = [0, 0, -most].map((each, k) => (each - place[k]) / step[k]);
  const top = [plate.columns, plate.rows, most].map((each, k) => (each - place[k]) / step[k]);
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
      const side =
        plate.unit * halfSide(frame.sizes[row], frame.sizeScaleAt(row), frame.scene.shader);
      const sides = [side / wide, side / high, side];
      const middle = [cell[0] + 0.5 - place[0], cell[1] + 0.5 - place[1], -place[2]];
      const at = (k, aside) => (middle[k] + aside) / step[k];
      const ends = sides.map((each, k) => [at(k, -each), at(k, each)]);
      const first = Math.max(...ends.map((pair) => Math.min(...pair)));
      const last = Math.min(...ends.map((pair) => Math.max(...pair)));
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

/** The first sphere or pixel of an image on a ray, and its distance; null without. */
function neuronOnRay(layout, start, way) {
  let best = null;
  for (const line of layout.neurons) {
    const found = line.isImages ? pixelOnRay(line, start, way) : sphereOnRay(line, start, way);
    if (found && (!best || found.at < best.at))
      best = { neuron: [line.values || line.sums, found.place], at: found.at };
  }
  return best;
}

function sphereOnRay(line, start, way) {
  let best = null;
  const size = dot3(way, way);
  for (let place = 0; place < line.count + (line.one ? 1 : 0); place++) {
    const apart = minus3(line.point(place), start);
    const along = dot3(apart, way);
    const within = along ** 2 - size * (dot3(apart, apart) - line.radius ** 2);
    const at = (along - Math.sqrt(within)) / size;
    if (at > 0 && (!best || at < best.at)) best = { place, at };
  }
  return best;
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
