// Marks on single cubes and neurons: chosen and frozen ones; what moves cubes; and guesses. As
// scene/marks.py.

import { Box } from "./story/camera.js";
import { along3 } from "./projection.js";
import { bracket } from "./story/annotations.js";
import { numbersOnCubes } from "./cube_numbers.js";

const MARKS = {
  frozen: 8, // least pixels of a frozen cube at which it is marked
  spoken: 3, // neurons and cubes of a caption that are marked
  most: 1500, // frozen cubes that are marked
};
// prettier-ignore
const CUBE_EDGES = [
  [0, 1], [2, 3], [4, 5], [6, 7], [0, 2], [1, 3], [4, 6], [5, 7], [0, 4], [1, 5], [2, 6], [3, 7],
];

/** Mark cubes and neurons that are chosen, and frozen cubes. */
export function drawMarks(view) {
  const { frame, paper, palette } = view;
  const { rows = [], neurons = [] } = (frame.moment && frame.caption) || {};
  const cubes = [frame.hoverRow, frame.pinnedRow, ...frame.beside, frame.pointed?.row ?? -1];
  const chosen = [frame.hoverNeuron, frame.pinnedNeuron, frame.pointed?.neuron];
  const boxes = [...chosen, ...neurons.slice(0, MARKS.spoken)].map((each) => neuronBox(view, each));
  for (const row of new Set([...cubes, ...rows.slice(0, MARKS.spoken)]))
    if (row >= 0) boxes.push(cubeBox(view, row, null));
  for (const box of boxes) if (box) bracket(paper, box, palette.lit);
  for (const row of frozenRows(frame.frozen)) holdCube(view, row);
}

/** The box around points; null if they are not all in front of the eye. */
function boxAround(x, y) {
  if (!x.length || ![...x, ...y].every(Number.isFinite)) return null;
  const [left, top] = [Math.min(...x), Math.min(...y)];
  return new Box(left, top, Math.max(...x) - left, Math.max(...y) - top);
}

/** The box around a cube of half a side; `half` null: as it is seen. */
export function cubeBox({ see, frame }, row, half) {
  const { x, y } = see.see(cornersOfCube(frame, row, half) ?? []);
  return boxAround(x, y);
}

/** The box around a sphere, or around the image of a pixel. */
export function neuronBox({ see, frame }, neuron) {
  const line = neuron && frame.layout.lineOf(neuron);
  if (!line) return null;
  const [, place] = neuron;
  if (line.isImages && place < line.count) {
    const image = Math.floor(place / (line.shape[1] * line.shape[2]));
    const { x, y } = see.see(line.corners().subarray(9 * image, 9 * image + 9));
    return boxAround([...x, x[1] + x[2] - x[0]], [...y, y[1] + y[2] - y[0]]);
  }
  const { x, y, unit } = see.one(line.point(place));
  const radius = line.radius * unit;
  return boxAround([x - radius, x + radius], [y - radius, y + radius]);
}

const KNOWN_FROZEN = new WeakMap();

/** The first bank indices of frozen parameters. */
function frozenRows(frozen) {
  if (!KNOWN_FROZEN.has(frozen)) {
    const found = [];
    for (let row = 0; row < frozen.length && found.length < MARKS.most; row++)
      if (frozen[row]) found.push(row);
    KNOWN_FROZEN.set(frozen, found);
  }
  return KNOWN_FROZEN.get(frozen);
}

/** Draw the edges of a box of 8 corners; `width` is that in a picture of 1280 x 800. */
function edgesOf({ paper, see, scale }, corners, color, width) {
  const { x, y, depth } = see.see(corners);
  if (!x.every(Number.isFinite)) return;
  const near = (k) => Math.max(depth[k] - 2e-3, -1);
  for (const [a, b] of CUBE_EDGES) {
    const depths = [near(a), near(b)];
    paper.segment([x[a], y[a]], [x[b], y[b]], color, { width: width * scale, depths });
  }
}

/** Draw a bar along each side of a frozen cube. */
function holdCube({ paper, see, frame, palette }, row) {
  const corners = cornersOfCube(frame, row, null, 0.05);
  if (!corners) return;
  const { x, y, depth } = see.see(corners);
  const [low, high] = [Math.min(...y), Math.max(...y)];
  if (!(high - low > MARKS.frozen) || !x.every(Number.isFinite)) return;
  const rest = 0.22 * (high - low);
  const near = Math.max(Math.min(...depth) - 1e-4, -1);
  for (const at of [Math.min(...x) + 0.5, Math.max(...x) - 0.5]) {
    const look = { width: 1.6, depths: [near, near] };
    paper.segment([at, low + rest], [at, high - rest], palette.ink, look);
  }
}

/**
 * The corners of the box around a cube; null if it is on no plate.
 *
 * half  half the side of the box, in a cell of at least 1; null: that of the cube and a margin
 */
function cornersOfCube(frame, row, half, margin = 0) {
  const found = frame.layout.plateOf(row);
  if (!found) return null;
  const { plate } = found;
  const own =
    half === null ? plate.halfOf(frame.sizes[row], frame.sizeScaleAt(row)) : half * plate.unit;
  return plate.cornersOf(found.row, found.column, own, margin * plate.unit);
}

// What moves cubes: the push of each gradient, and the old size beside the new one at the step.

const MOVES = {
  least: 11, // pixels of a cell from which on its cube has an arrow
  most: 1500, // arrows
  shortest: 0.3, // of an arrow, as shares of a cell
  longest: 0.95,
  none: 1e-5, // of the scale of the cubes: a gradient up to this has no arrow
  full: 10, // times that: the least gradient whose arrow has the full length
  nearer: 1.2, // how far before its cube an arrow is
};

/** Draw the way each cube is pushed: up if its number is to grow; say whether there are any. */
export function drawPushes(view) {
  const { frame, see } = view;
  const { pushes } = frame;
  if (!pushes) return false;
  const sizes = pushes.map(Math.abs).filter((each) => each < Infinity);
  const top = sizes.reduce((most, each) => (each > most ? each : most), 0);
  if (!top) return false;
  const numbered = numbersOnCubes(view);
  let left = MOVES.most;
  for (const plate of frame.layout.plates) {
    const { unit } = see.one(plate.point(plate.columns / 2, plate.rows / 2));
    if (!(unit * plate.unit >= MOVES.least) || left <= 0) continue;
    const { rows, columns, indices } = plate.cells();
    const scaleOfCubes = frame.sizeScaleAt(plate.first);
    const chosen = [];
    for (let i = 0; i < plate.size && chosen.length < left; i++) {
      const push = -shareOf(pushes[indices[i]], top, scaleOfCubes);
      const cube = { row: rows[i], column: columns[i], index: indices[i], push };
      if (push !== 0) chosen.push(cube);
    }
    left -= chosen.length;
    drawArrows(view, plate, chosen, numbered);
  }
  return left < MOVES.most;
}

/** Return a gradient as a share of the longest arrow's, -1 to 1; 0 if it has none. */
export function shareOf(push, top, scaleOfCubes) {
  const none = MOVES.none * scaleOfCubes;
  return Number.isFinite(push) && Math.abs(push) > none
    ? push / Math.max(top, MOVES.full * none)
    : 0;
}

/** Draw the arrows of some cubes of a plate at the right edges of their fronts, or beside them. */
function drawArrows({ paper, see, frame, palette, scale }, plate, chosen, numbered) {
  const ways = [plate.along, plate.across].flatMap((way, k) =>
    [1, -1].map((side) => way.map((each) => (side * each) / plate.cell[k])),
  );
  const places = chosen.map(({ row, column, index }) => {
    const half = plate.halfOf(frame.sizes[index], frame.sizeScaleAt(index));
    const beside = numbered.has(index);
    const middle = plate.middle(row, column, half);
    const face = along3(middle, half, plate.toward);
    const front = see.one(face);
    const level = along3(middle, beside ? -half : half, plate.toward);
    const edges = ways.map((way) => see.one(along3(level, half, way)));
    // Before the cubes beside its own, too.
    const near = along3(face, MOVES.nearer, see.camera.toward);
    return { beside, front, edges, near: see.one(near).depth };
  });
  const sums = ways.map((_, k) => places.reduce((sum, each) => sum + (each.edges[k].x || 0), 0));
  const right = sums.indexOf(Math.max(...sums));
  const arrows = places.map(({ beside, front, edges, near }, i) => {
    const { push } = chosen[i];
    const size = front.unit * plate.unit;
    const longer = (MOVES.longest - MOVES.shortest) * Math.sqrt(Math.abs(push));
    const length = (MOVES.shortest + longer) * size * Math.sign(push);
    const x = edges[right].x + (beside ? 3 * scale : 0);
    const width = Math.max(1.6 * scale, 0.055 * size);
    const head = Math.min(Math.max(5 * scale, 0.2 * size), Math.abs(length));
    return { x, y: edges[right].y, length, width, head, depth: Math.max(near - 1e-4, -1) };
  });
  const good = arrows.filter(({ x, y }) => Number.isFinite(x + y));
  const rim = 1.2 * scale;
  for (const { x, y, length, width, head, depth } of good) {
    const more = rim * Math.sign(length);
    const [start, end] = [y + 0.5 * length + more, y - 0.5 * length - 1.6 * more];
    const around = { width: width + 2 * rim, head: head + 2.6 * rim, depth };
    paper.arrow([x, start], [x, end], palette.ground, around);
  }
  for (const { x, y, length, ...look } of good)
    paper.arrow([x, y + 0.5 * length], [x, y - 0.5 * length], palette.push, look);
}

/** Draw the outline of each cube as it was before the step, where the difference is seen. */
export function drawGhosts(view) {
  const { frame, see, palette } = view;
  const { before, sizes, sizeScaleAt, scene } = frame;
  if (!before || before.length > MOVES.most) return;
  for (const plate of frame.layout.plates) {
    const { rows, columns, indices } = plate.cells();
    const { unit } = see.see(plate.middles());
    for (let i = 0; i < plate.size; i++) {
      const [old, now] = [before, sizes].map((all) =>
        plate.halfOf(all[indices[i]], sizeScaleAt(indices[i])),
      );
      if (!(2 * Math.abs(now - old) * unit[i] >= scene.ghost)) continue;
      const corners = plate.cornersOf(rows[i], columns[i], old);
      edgesOf(view, corners, `${palette.light}b0`, 1.2);
    }
  }
}

// What is asked about a cube: "?" over it and the arrow that is guessed, then beside it the true
// one.
// In place of arrows a gradient has signs.

const GUESS = { least: 11, long: 22, wide: 9, apart: 18 }; // pixels, from the middle of each

/**
 * Draw the mark of a question over its cube, which is seen at a place; return within how many pixels
 * of it its arrow is dragged.
 */
export function drawGuess({ paper, palette, scale, frame }, place) {
  const { guess } = frame;
  if (!guess?.place || !Number.isFinite(place?.x + place?.y)) return 0;
  const { x, y } = place;
  const [least, long, wide, apart] = Object.values(GUESS).map((each) => each * scale);
  const half = Math.max(least, 1.2 * place.half);
  const aside = half + apart;
  const arrow = (middle, way, color) => {
    paper.box(middle - wide, y - 1.2 * long, 2 * wide, 2.4 * long, palette.panel, { radius: wide });
    for (const end of way === null ? [1, -1] : [way]) {
      const start = y + (way === null ? -0.4 : 1) * end * long;
      const size = { width: 4 * scale, head: 13 * scale };
      const line = y + (way === null ? 0.3 - 0.6 * end : 0.3) * long;
      const sign = { ...look, size: long, color, anchor: "center" };
      if (guess.kind === "gradient") paper.text(middle, line, "0+−".at(end), sign);
      else if (end) paper.arrow([middle, start], [middle, y - end * long], color, size);
      else paper.segment([middle - 0.6 * wide, y], [middle + 0.6 * wide, y], color, size);
    }
  };
  const look = { size: 14 * scale, bold: true, color: palette.ink, outline: palette.ground };
  arrow(x - aside, guess.way, guess.way === null ? palette.quiet : palette.accent);
  if (guess.after === undefined) {
    const box = { radius: 0.3 * half, outline: palette.accent, line: 2 * scale };
    paper.box(x - half, y - half, 2 * half, 2 * half, palette.tray, box);
    paper.text(x, y + 0.5 * half, "?", { ...look, size: 1.4 * half, anchor: "center" });
  } else {
    arrow(x + aside, guess.truth, palette.light);
    const most = paper.width - paper.measure(guess.after, look) - 4 * scale;
    paper.text(Math.min(x + aside + 1.8 * wide, most), y + 5 * scale, guess.after, look);
  }
  return aside + 2 * long;
}
