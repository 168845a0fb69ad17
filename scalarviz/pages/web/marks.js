// Marks on single cubes and neurons: chosen and frozen ones; what moves cubes; and guesses. As
// scene/marks.py.

import { Box } from "./story/camera.js";
import { bracket, draw_before, draw_push, draw_question } from "./story/annotations.js";
import { numbers_on_cubes } from "./story/cube_numbers.js";
import { chosen_neurons, chosen_rows, rows_of_sum, rows_walked } from "./story/focus.js";

const MARKS = {
  frozen: 8, // least pixels of a frozen cube at which it is marked
  spoken: 3, // neurons and cubes of a caption that are marked
  most: 1500, // frozen cubes that are marked
};
/** Mark cubes and neurons that are chosen, and frozen cubes. */
export function drawMarks(view) {
  const { frame, paper, palette, see } = view;
  const { rows = [], neurons = [] } = (frame.moment && !frame.guess && frame.words.caption) || {};
  const cubes = [...frame.beside, ...chosen_rows(frame), ...rows.slice(0, MARKS.spoken)];
  const balls = [...chosen_neurons(frame), ...neurons.slice(0, MARKS.spoken)];
  const named = [...balls, frame.pointed?.neuron].map((each) => [String(each), each]);
  const boxes = Object.values(Object.fromEntries(named)).map((each) => neuronBox(view, each));
  const marked = [...cubes, frame.pointed?.row ?? -1].filter((row) => row >= 0);
  const written = marked.length && numbers_on_cubes(paper, see, frame);
  for (const row of new Set(marked))
    boxes.push(cubeBox(view, row, null)?.around(written.get(row)?.box ?? null));
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
  const [line, place] = (neuron && frame.layout.line_of(neuron)) ?? [];
  if (!line) return null;
  if (line.isImages) {
    const image = Math.floor(place / (line.shape[1] * line.shape[2]));
    const corners = line.corners().subarray(9 * image, 9 * image + 9);
    const last = [0, 1, 2].map((k) => corners[3 + k] + corners[6 + k] - corners[k]);
    const { x, y } = see.see([...corners, ...last]);
    return boxAround(x, y);
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
  const found = frame.layout.plate_of(row);
  if (!found) return null;
  const [plate, at, column] = found;
  const own =
    half === null ? plate.halves(frame.sizes[row], frame.sizeScaleAt(row)) : half * plate.unit;
  return plate.corners_of(at, column, own, margin * plate.unit);
}

// What moves cubes: what each gradient asks of one, and the old size beside the new one at the step.

const MOVES = {
  pushed: 64, // cubes of a row that have their mark
  none: 1e-5, // of the scale of the cubes: a gradient up to this has no mark
  full: 10, // times that: the least gradient whose mark has the full length
};

/** Mark what the cubes of the row that is spoken of shall become; say whether there are any. */
export function drawPushes(view) {
  const { frame, paper, palette } = view;
  const top = (frame.pushes ?? []).reduce(
    (most, each) => (Math.abs(each) < Infinity ? Math.max(most, Math.abs(each)) : most),
    0,
  );
  let found = 0;
  for (const row of top ? pushedRows(frame) : []) {
    const share = shareOf(frame.pushes[row], top, frame.sizeScaleAt(row));
    const box = share ? cubeBox(view, row, null) : null;
    if (!box) continue;
    draw_push(paper, palette, box, -share);
    found += 1;
  }
  return found > 0;
}

/** The bank indices of the row that gradients of weights are explained for. */
function pushedRows(frame) {
  const { moment, layout } = frame;
  const { caption } = frame.words;
  if (!caption || moment?.kind !== "weight gradient") return [];
  const told = [...rows_walked(frame), ...caption.rows, ...caption.pieces.map(({ row }) => row)];
  const stands = (row) => row >= 0 && layout.plate_of(row);
  const first = told.find(stands);
  if (first === undefined) return [];
  const fan = layout.fan_of(first);
  return (fan ? rows_of_sum(...fan) : [first]).slice(0, MOVES.pushed).filter(stands);
}

/** Return a gradient as a share of the longest mark's, -1 to 1; 0 if it has none. */
export function shareOf(push, top, scaleOfCubes) {
  const none = MOVES.none * scaleOfCubes;
  return Number.isFinite(push) && Math.abs(push) > none
    ? push / Math.max(top, MOVES.full * none)
    : 0;
}

/** Draw the dashed outline of what a step moves most as it was before, where one sees it. */
export function drawGhosts({ frame, see, paper, palette }) {
  const { before, sizes, cubes, layout, scene } = frame;
  for (const row of before ? cubes.moved[0] : []) {
    const found = layout.plate_of(row);
    if (!found) continue;
    const [plate, at, column] = found;
    const [old, now] = [before, sizes].map((all) => plate.halves(all[row], frame.sizeScaleAt(row)));
    const { x, y, unit } = see.see(plate.corners_of(at, column, old, 0));
    if (2 * Math.abs(now - old) * unit[0] >= scene.ghost)
      draw_before(
        paper,
        palette,
        Array.from(x, (each, i) => [each, y[i]]),
      );
  }
}

// What is asked about a cube, see `draw_question`.

const GUESS = { least: 15, held: 64 }; // pixels: least half of a cube, from there to where it is held

/**
 * Draw what is asked about a cube, which is seen at a place; return within how many pixels of it
 * the guess is dragged.
 */
export function drawGuess({ paper, palette, scale, frame }, place) {
  const { guess } = frame;
  if (!guess?.place || !Number.isFinite(place?.x + place?.y)) return 0;
  const half = Math.max(GUESS.least * scale, place.half);
  const knows = guess.kind === "gradient" ? 0 : 1;
  const ways = [guess.way, guess.truth].map((way) => knows * (way ?? 0));
  const cube = [place.x, place.y, half];
  draw_question(paper, palette, cube, guess.label ?? "⇅", guess.after ?? null, ways);
  return half + GUESS.held * scale;
}
