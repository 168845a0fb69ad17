// Marks on single cubes and neurons: pinned, hovered, spoken of, and frozen; as scene/marks.py.

import { WAY_BACK } from "./lights.js";
import { halfSide } from "./scales.js";
import { along3 } from "./space.js";

const MARKS = {
  frozen: 8, // least pixels of a frozen cube at which it is marked
  ringed: 3, // neurons of a caption that are marked
  marked: 64, // cubes of a caption that are marked
  most: 1500, // frozen cubes that are marked
};
// prettier-ignore
const CUBE_EDGES = [
  [0, 1], [2, 3], [4, 5], [6, 7], [0, 2], [1, 3], [4, 6], [5, 7], [0, 4], [1, 5], [2, 6], [3, 7],
];

/** Mark cubes and neurons that are hovered, pinned or spoken of, and frozen cubes. */
export function drawMarks(view) {
  const { frame, palette } = view;
  if (frame.moment && frame.caption) {
    const light = WAY_BACK.has(frame.moment.kind) ? palette.accent : palette.light;
    for (const neuron of (frame.caption.neurons ?? []).slice(0, MARKS.ringed))
      ringNeuron(view, neuron, light, 3);
    for (const row of (frame.caption.rows ?? []).slice(0, MARKS.marked))
      markCube(view, row, light, 2);
  }
  if (frame.hoverNeuron) ringNeuron(view, frame.hoverNeuron, palette.ink, 1.6);
  if (frame.pinnedNeuron) ringNeuron(view, frame.pinnedNeuron, palette.accent, 3);
  if ((frame.pointed?.row ?? -1) >= 0) markCube(view, frame.pointed.row, palette.light, 3);
  if (frame.pointed?.neuron) ringNeuron(view, frame.pointed.neuron, palette.light, 3);
  if (frame.hoverRow >= 0) markCube(view, frame.hoverRow, palette.ink, 1.2);
  for (const row of frame.beside) markCube(view, row, palette.accent, 1.4);
  if (frame.pinnedRow >= 0) markCube(view, frame.pinnedRow, palette.accent, 2.2);
  for (const row of frozenRows(frame.frozen)) holdCube(view, row);
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

/** Draw a ring around a neuron's sphere, or a frame around its image. */
function ringNeuron({ paper, see, frame, scale }, neuron, color, width) {
  const line = frame.layout.lineOf(neuron);
  if (!line) return;
  const [, place] = neuron;
  if (line.isImages && place < line.count) {
    const image = Math.floor(place / (line.shape[1] * line.shape[2]));
    const { x, y } = see.see(line.corners().subarray(9 * image, 9 * image + 9));
    const [left, right, low] = [0, 1, 2].map((k) => [x[k], y[k]]);
    const last = [right[0] + low[0] - left[0], right[1] + low[1] - left[1]];
    paper.path([left, right, last, low, left], [-1, -1, -1, -1, -1], color, width * scale);
    return;
  }
  const point = line.point(place);
  const { x, y, unit } = see.one(point);
  if (!Number.isFinite(x + y)) return;
  const wide = width * scale;
  const depth = Math.max(see.one(along3(point, line.radius, see.camera.toward)).depth, -1);
  const radius = line.radius * unit + scale + 0.5 * wide;
  paper.disc(x, y, radius, null, { outline: color, line: wide, depth });
}

function markCube(view, row, color, width) {
  const corners = cornersOfCube(view.frame, row, halfOfCube(view.frame, row) + 0.03);
  if (corners) edgesOf(view, corners, color, width);
}

/** Draw the edges of a box of 8 corners; `width` is that in a picture of 1280 x 800. */
export function edgesOf({ paper, see, scale }, corners, color, width) {
  const { x, y, depth } = see.see(corners);
  if (!x.every(Number.isFinite)) return;
  const near = (k) => Math.max(depth[k] - 2e-3, -1);
  for (const [a, b] of CUBE_EDGES) {
    const depths = [near(a), near(b)];
    paper.segment([x[a], y[a]], [x[b], y[b]], color, { width: width * scale, depths });
  }
}

function halfOfCube(frame, row) {
  return halfSide(frame.sizes[row], frame.sizeScaleAt(row), frame.scene.shader);
}

/** Draw a bar along each side of a frozen cube. */
function holdCube({ paper, see, frame, palette }, row) {
  const corners = cornersOfCube(frame, row, halfOfCube(frame, row) + 0.05);
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

/** The corners of the box around a cube; null if it is on no plate. */
export function cornersOfCube(frame, row, half) {
  const found = frame.layout.plateOf(row);
  return found ? found.plate.cornersOf(found.row, found.column, half * found.plate.unit) : null;
}
