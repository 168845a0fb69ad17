// Faces of cubes as they are seen: where a number may stand on each, and what hides it; as
// scene/cube_faces.py.

import { BETWEEN, CELL, LEAST_LETTERS, ON_CUBES, around_ball } from "./story/annotations.js";
import { MOVED } from "./story/pace.js";
import { along3, dot3, minus3 } from "./projection.js";
import { spheres_in_sight } from "./silhouettes.js";

const PAIRS = [[1, 2], [0, 2], [0, 1]]; // prettier-ignore

/** The cubes that may get a number (the `first` ones, then the nearest), and what hides them. */
export class CubeFaces {
  constructor(see, frame, first, scale, least) {
    this.seen = facesSeen(see, frame, first, scale);
    this.spheres = spheres_in_sight(see, frame.layout);
    this.balls = this.spheres.map((each) => around_ball(each.slice(0, 3), scale));
    this.numbers = [];
    const rank = ({ row }) => first.get(row) ?? 2;
    const cell = see.camera.is_front && least < Infinity ? CELL * scale : Infinity;
    this.cubes = this.seen
      .filter(
        ({ row, rooms, order, above }) =>
          first.has(row) || rooms[order[0]][3] >= least || above >= cell,
      )
      .sort((a, b) => rank(a) - rank(b) || a.far - b.far)
      .slice(0, ON_CUBES.get("most"));
  }

  /** Record the box of a number that is written on a cube. */
  take(number) {
    this.numbers.push(number);
  }

  /** Return whether a number overlaps another one, or a neuron unless its cube is marked. */
  is_taken({ x, y, wide, high }, rank) {
    const isOn = (each) =>
      Math.abs(x - each.x) < wide + each.wide + ON_CUBES.get("apart") &&
      Math.abs(y - each.y) < high + each.high;
    return (rank > 0 && this.balls.some(isOn)) || this.numbers.some(isOn);
  }

  /** Return whether a nearer sphere or cube hides the middle of a face, or points next to it. */
  hides({ fronts, far }, face, aside) {
    const [x, y] = fronts[face];
    const points = [x, x - aside, x + aside].map((each) => [each, y]);
    const inSphere = ([a, b, radius, depth]) =>
      depth < far && points.some((point) => Math.hypot(point[0] - a, point[1] - b) < radius);
    const isBefore = ({ far: other, middle, reach }) =>
      other < far &&
      Math.abs(middle[0] - x) - aside < reach[0] &&
      Math.abs(middle[1] - y) < reach[1];
    const isOn = (cube) => isBefore(cube) && points.some((point) => isOnCube(cube, point));
    return this.spheres.some(inSphere) || this.seen.some(isOn);
  }
}

function isOnCube({ fronts, edges }, /** @type {number[]} */ [x, y]) {
  return PAIRS.some(([a, b], axis) => {
    const away = [x - fronts[axis][0], y - fronts[axis][1]];
    const area = Math.abs(cross2(edges[a], edges[b]));
    return Math.max(Math.abs(cross2(away, edges[b])), Math.abs(cross2(edges[a], away))) < area;
  });
}

/** Return the visible cubes that are large enough for a number, and the `first` ones. */
function facesSeen(see, frame, first, scale) {
  const eye = along3(see.camera.target, see.camera.distance, see.camera.toward);
  const found = [];
  for (const plate of frame.layout.plates) {
    const [width, height] = plate.cell;
    const axes = [
      plate.along.map((each) => each / width),
      plate.across.map((each) => each / height),
      plate.toward,
    ];
    const shares = axes.map((axis) => Math.abs(dot3(axis, see.camera.toward)));
    const order = [0, 1, 2].sort((a, b) => shares[b] - shares[a]);
    for (const [down, column, row] of cellsOf(see, plate, first, scale)) {
      const half = plate.halves(frame.sizes[row], frame.sizeScaleAt(row));
      const middle = plate.middle(down, column, half);
      const face = faceOf(see, plate, eye, axes, middle, half);
      const old = frame.before && frame.part >= MOVED ? frame.before[row] : null;
      const value = frame.numberAt(row) ?? null;
      const share = frame.colors[row] / frame.scaleAt(row);
      const room = face ? face.rooms[order[0]][1] / ON_CUBES.get("share") : 0;
      const above = room * plate.gap >= BETWEEN * scale ? room : 0;
      if (face) found.push({ row, order, value, share, before: old, above, ...face });
    }
  }
  return found;
}

/** Return the visible faces of a cube in pixels; null if the cube is not visible. */
function faceOf(see, plate, eye, axes, middle, half) {
  const ways = axes.map((axis) => {
    const sign = dot3(axis, minus3(eye, middle)) < 0 ? -1 : 1;
    return axis.map((each) => sign * each);
  });
  const corner = ways.reduce(
    (at, way) => along3(at, ON_CUBES.get("before") * plate.unit, way),
    middle,
  );
  const ends = [half, -half].flatMap((far) => ways.flatMap((way) => along3(middle, far, way)));
  const { x, y, depth } = see.see([...ends, ...middle, ...corner]);
  if (!isInBox(see.box, x[6], y[6]) || !x.every(Number.isFinite)) return null;
  const fronts = [0, 1, 2].map((k) => [x[k], y[k]]);
  const edges = [0, 1, 2].map((k) => [0.5 * (x[k] - x[k + 3]), 0.5 * (y[k] - y[k + 3])]);
  const reach = [0, 1].map((k) => edges.reduce((sum, edge) => sum + Math.abs(edge[k]), 0));
  const more = (0.5 * plate.unit) / half;
  const rooms = PAIRS.map(([a, b]) => {
    const area = 2 * Math.abs(cross2(edges[a], edges[b]));
    const [across, down] = [0, 1].map((k) =>
      Math.max(Math.abs(edges[a][k]), Math.abs(edges[b][k]), 1e-9),
    );
    const high = area / across;
    const wide = area / down;
    const own = (see.camera.is_front ? plate.is_numbered : plate.in_row) ? wide : 0;
    return [high, ON_CUBES.get("share") * more * wide, more * high, own];
  });
  const at = { fronts, edges, reach, rooms, middle: [x[6], y[6]], x: x[6] };
  return { ...at, far: depth[6], near: depth[7] };
}

/** Return row, column and bank index of the cubes of a plate that may get a number. */
function cellsOf(see, plate, first, scale) {
  const least = (LEAST_LETTERS * scale * ON_CUBES.get("shortest")) / ON_CUBES.get("share");
  if (plate.size <= ON_CUBES.get("searched") && largestCell(see, plate) >= least) {
    const { rows, columns, indices } = plate.cells();
    const { x, y } = see.see(plate.middles());
    const found = [];
    for (let i = 0; i < plate.size; i++)
      if (isInBox(see.box, x[i], y[i])) found.push([rows[i], columns[i], indices[i]]);
    return found;
  }
  const places = [...first.keys()].map((index) => [plate.place_of(index), index]);
  return places.filter(([place]) => place).map(([place, index]) => [...place, index]);
}

/** Return the size in pixels of a cell at the nearest corner of a plate. */
function largestCell(see, plate) {
  let largest = 0;
  for (const unit of see.see(plate.corners(0)).unit) if (unit > largest) largest = unit;
  return largest * plate.unit;
}

function isInBox(box, x, y) {
  return x > box.x && x < box.right && y > box.y && y < box.bottom;
}

function cross2(a, b) {
  return a[0] * b[1] - a[1] * b[0];
}
