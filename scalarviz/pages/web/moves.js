// What moves cubes: the push of each gradient, and the old size beside the new one at the step; as
// scene/marks.py.

import { edgesOf } from "./marks.js";
import { numbersOnCubes } from "./numbers.js";
import { halfSide } from "./scales.js";
import { along3 } from "./space.js";

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
  const [wide, high] = plate.cell;
  // prettier-ignore
  const ways = [[1 / wide, 0], [-1 / wide, 0], [0, 1 / high], [0, -1 / high]];
  const places = chosen.map(({ row, column, index }) => {
    const half =
      halfSide(frame.sizes[index], frame.sizeScaleAt(index), frame.scene.shader) * plate.unit;
    const beside = numbered.has(index);
    const face = plate.point(column + 0.5, row + 0.5, half);
    const front = see.one(face);
    const [middle, level, deep] = [column + 0.5, row + 0.5, beside ? -half : half];
    const edge = (/** @type {number[]} */ [x, y]) =>
      see.one(plate.point(middle + half * x, level + half * y, deep));
    const edges = ways.map(edge);
    // Before the cubes beside its own, too.
    const near = along3(face, MOVES.nearer, see.camera.toward);
    return { beside, front, edges, near: see.one(near).depth };
  });
  const sums = ways.map((_, k) => places.reduce((sum, each) => sum + (each.edges[k].x || 0), 0));
  const right = sums.indexOf(Math.max(...sums));
  places.forEach(({ beside, front, edges, near }, i) => {
    const x = edges[right].x + (beside ? 3 * scale : 0);
    const { y } = edges[right];
    if (!Number.isFinite(x + y)) return;
    const { push } = chosen[i];
    const size = front.unit * plate.unit;
    const longer = (MOVES.longest - MOVES.shortest) * Math.sqrt(Math.abs(push));
    const length = (MOVES.shortest + longer) * size * Math.sign(push);
    const depth = Math.max(near - 1e-4, -1);
    const width = Math.max(1.6 * scale, 0.055 * size);
    const head = Math.min(Math.max(5 * scale, 0.2 * size), Math.abs(length));
    const rim = 1.2 * scale;
    const more = rim * Math.sign(length);
    const [start, end] = [y + 0.5 * length, y - 0.5 * length];
    const around = { width: width + 2 * rim, head: head + 2.6 * rim, depth };
    paper.arrow([x, start + more], [x, end - 1.6 * more], palette.ground, around);
    paper.arrow([x, start], [x, end], palette.push, { width, head, depth });
  });
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
        halfSide(all[indices[i]], sizeScaleAt(indices[i]), scene.shader),
      );
      if (!(2 * Math.abs(now - old) * unit[i] * plate.unit >= scene.ghost)) continue;
      const corners = plate.cornersOf(rows[i], columns[i], old * plate.unit);
      edgesOf(view, corners, `${palette.light}b0`, 1.2);
    }
  }
}
