// Numbers on cubes, each on the face that is largest on the screen; as scene/cube_numbers.py.
//
// What is hovered, pinned or spoken of has its numbers, covered by nothing and at any size. If all
// cubes are to have theirs, a number is left out that would be wider than its cell, meet another
// one, or be covered by something nearer. Out of focus there are no numbers.

import { LEAST_LETTERS, around_ball, choices, fitted, write_number } from "./story/annotations.js";
import { MOVED } from "./story/pace.js";
import { rowsInFocus, rowsExplained } from "./lights.js";
import { along3, dot3, minus3 } from "./projection.js";

/** Write numbers on the cubes. */
export function drawNumbers(view) {
  const { paper, palette, lit } = view;
  for (const [index, number] of numbersOnCubes(view))
    if (!lit.isDim(index, number.plate.place))
      write_number(paper, number, palette.number, palette.halo);
}

/** What is written on cubes, by bank index. */
export function numbersOnCubes(view) {
  const { frame } = view;
  const { most, seen, apart } = frame.scene.numbers;
  const first = firstRows(frame);
  if (!first.size && !frame.look.numbers) return new Map();
  const cubes = facesSeen(view, first);
  const spheres = spheresSeen(view);
  const rank = ({ index }) => first.get(index) ?? 2;
  const shown = cubes.filter(({ index }) => frame.look.numbers || first.has(index));
  const sorted = shown.sort((a, b) => rank(a) - rank(b) || a.far - b.far);
  const found = new Map();
  const balls = spheres.map((each) => around_ball(each.slice(0, 3), view.scale));
  for (const cube of sorted.slice(0, most)) {
    const taken = [...(rank(cube) ? balls : []), ...found.values()]; // what is marked has its number
    const isBeside = (a, b) => Math.abs(a.x - b.x) < a.wide + b.wide + apart;
    const meets = (a) => taken.some((b) => isBeside(a, b) && Math.abs(a.y - b.y) < a.high + b.high);
    for (const [words, face, isOpen] of choicesOf(frame, cube, rank(cube))) {
      const number = numberOn(view.paper, cube, face, words, rank(cube));
      if (!number || meets(number)) continue;
      if (isOpen && isHidden(cube, face, 2 * seen * number.wide, cubes, spheres)) continue;
      found.set(cube.index, number);
      break;
    }
  }
  return found;
}

/** The bank indices that have their numbers always: 0 if it is marked itself, else 1. */
function firstRows(frame) {
  const { hoverRow, pinnedRow, beside, scene } = frame;
  const chosen = [hoverRow, pinnedRow, ...beside].filter((row) => row >= 0);
  const chain = frame.told?.chain ?? [];
  const linked = chain.map(({ row }) => row).filter((row) => row >= 0);
  const isMarked = frame.moved?.[0].length || chain.length; // these have outlines or hooks
  const focused = isMarked ? [] : rowsInFocus(frame);
  const spoken = [...rowsExplained(frame), ...linked, ...focused.slice(0, scene.numbers.most)];
  const found = new Map(spoken.map((row) => [row, 1]));
  for (const row of chosen) found.set(row, 0);
  return found;
}

/** What a cube may have written on it, on which face, and whether only if that is seen; the best first. */
function choicesOf(frame, { index, order }, rank) {
  const old = frame.before && frame.part >= MOVED ? frame.before[index] : null;
  return choices(old, frame.numberAt(index) ?? null, order, rank);
}

/** Words on a face of a cube in letters as large as fit; null if these would be small. */
function numberOn(paper, cube, face, words, rank) {
  const [high, wide, tall] = [cube.high, cube.wide, cube.tall].map((all) => all[face]);
  const front = cube.fronts[face];
  const aside = cube.middle[0] - front[0];
  const number = fitted(paper, words, rank, front, aside, cube.near, [high, wide, tall]);
  return number && Object.assign(number, { plate: cube.plate });
}

// Faces of cubes as they are seen: where a number may stand on each.

const FACE_PAIRS = [[1, 2], [0, 2], [0, 1]]; // prettier-ignore

/**
 * The cubes in sight that are large enough for a number, and the `first` ones, a Map by bank index.
 *
 * Each has `fronts`, the middles of three faces, `edges`, half an edge along each axis, `order`, the
 * faces by size, `far` and `near`, the depths of its middle and of its number, `high`, the heights of
 * the faces, and `wide` and `tall`, the room of a number on each.
 */
function facesSeen(view, first) {
  const { see, frame } = view;
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
    for (const [row, column, index] of cellsOf(view, plate, first)) {
      const half = plate.halves(frame.sizes[index], frame.sizeScaleAt(index));
      const middle = plate.middle(row, column, half);
      const face = faceOf(view, plate, eye, axes, middle, half);
      if (face) found.push({ index, plate, order, ...face });
    }
  }
  return found;
}

/** A cube as it is seen; null out of sight. */
function faceOf({ see, frame }, plate, eye, axes, middle, half) {
  const { numbers } = frame.scene;
  const ways = axes.map((axis) => {
    const sign = dot3(axis, minus3(eye, middle)) < 0 ? -1 : 1;
    return axis.map((each) => sign * each);
  });
  const corner = ways.reduce((at, way) => along3(at, numbers.before * plate.unit, way), middle);
  const points = [
    ...ways.flatMap((way) => along3(middle, half, way)),
    ...ways.flatMap((way) => along3(middle, -half, way)),
    ...middle,
    ...corner,
  ];
  const { x, y, depth } = see.see(points);
  if (!isInBox(see.box, x[6], y[6]) || !x.every(Number.isFinite)) return null;
  const fronts = [0, 1, 2].map((k) => [x[k], y[k]]);
  const edges = [0, 1, 2].map((k) => [0.5 * (x[k] - x[k + 3]), 0.5 * (y[k] - y[k + 3])]);
  const areas = FACE_PAIRS.map(([a, b]) => 2 * Math.abs(cross2(edges[a], edges[b])));
  const reach = (k) =>
    FACE_PAIRS.map(([a, b]) => Math.max(Math.abs(edges[a][k]), Math.abs(edges[b][k]), 1e-9));
  const [across, down] = [reach(0), reach(1)];
  const high = areas.map((area, k) => area / across[k]);
  const more = (0.5 * plate.unit) / half;
  const wide = areas.map((area, k) => (numbers.share * more * area) / down[k]);
  const tall = high.map((each) => more * each);
  const own = { fronts, edges, high, wide, tall, middle: [x[6], y[6]] };
  return { ...own, far: depth[6], near: depth[7] };
}

/** Row, column and bank index of the cubes of a plate that may have a number. */
function cellsOf({ see, frame, scale }, plate, first) {
  const { numbers } = frame.scene;
  const least = (LEAST_LETTERS * scale * numbers.shortest) / numbers.share;
  if (plate.size <= numbers.searched && largestCell(see, plate) >= least) {
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

/** The pixels of a cell at the corner of a plate that is nearest. */
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

/** The spheres of a picture: [x, y, radius, depth]. */
function spheresSeen({ see, frame }) {
  const found = [];
  for (const line of frame.layout.neurons) {
    if (line.isImages) continue;
    const { x, y, unit, depth } = see.see(line.points);
    for (let i = 0; i < x.length; i++) found.push([x[i], y[i], line.radius * unit[i], depth[i]]);
  }
  return found;
}

/** Whether a nearer sphere or cube is before the middle of a face, or so far left or right of it. */
export function isHidden(cube, face, aside, cubes, spheres) {
  const [x, y] = cube.fronts[face];
  const points = [x, x - aside, x + aside].map((each) => [each, y]);
  const inSphere = ([a, b, radius, depth]) =>
    depth < cube.far && points.some((point) => Math.hypot(point[0] - a, point[1] - b) < radius);
  if (spheres.some(inSphere)) return true;
  const isBefore = ({ far, middle, edges }) =>
    far < cube.far &&
    Math.abs(middle[0] - x) - aside < edges.reduce((sum, edge) => sum + Math.abs(edge[0]), 0) &&
    Math.abs(middle[1] - y) < edges.reduce((sum, edge) => sum + Math.abs(edge[1]), 0);
  return cubes.some((each) => isBefore(each) && points.some((point) => isOnCube(each, point)));
}

function isOnCube({ fronts, edges }, /** @type {number[]} */ [x, y]) {
  return FACE_PAIRS.some(([a, b], axis) => {
    const away = [x - fronts[axis][0], y - fronts[axis][1]];
    const area = Math.abs(cross2(edges[a], edges[b]));
    return Math.max(Math.abs(cross2(away, edges[b])), Math.abs(cross2(edges[a], away))) < area;
  });
}
