// Numbers on cubes: all cubes of a wall have them, or none; as pictures/view/numbers.py.
//
// A wall - the cubes of one operation, its biases too - has numbers if those of all of its cubes
// that are in sight fit side by side in letters of `smallest` logical pixels or more, with two
// digits after the point or with one. So do the cubes of the sum that is hovered or pinned, and
// those with arithmetic of the caption, whose digits are given. The hovered
// and the pinned cube have their number always.

import { dimmedColor, readableOn } from "./colors.js";
import { onCube, shortNumber } from "./format.js";
import { MOVED } from "./lights.js";
import { halfSide } from "./scales.js";
import { dot3 } from "./space.js";

const NUMBERS = {
  most: 256, // numbers of one wall in sight, or of one sum
  searched: 100000, // cubes; larger walls are not searched for those in sight
  touched: 0.4, // part of an operation from which on light has come to the cubes
  largest: 13, // sizes of letters in logical pixels
  smallest: 12,
  usual: { 2: 2.9, 1: 2.2 }, // width of a number such as "-1.25" or "-1.2", in sizes of letters
  gap: 0.25, // between two numbers, and from a line to the next
  line: 1.1,
  share: 1.25, // largest width of numbers, in cells: small cubes are narrower than theirs
  apart: 0.65, // least distance of two cubes as seen, in cells: else one hides the other
  facing: 0.1, // least cosine of the angle between the front of a wall and the way to the eye
  corners: 1.2, // from the middle of a cube to its outline as seen, in halves of its side
  shade: 0.83, // brightness of what is behind a number: fronts have 1, sides less
  before: 1.75, // halves of a cell from its middle to where a number stands: before cubes beside it
};

/** Write numbers on the cubes. */
export function drawNumbers(view) {
  const { frame } = view;
  const plain = numberedRows(view);
  const words = new Map();
  for (const [row, [digits, size]] of plain) {
    words.set(row, [shortNumber(frame.colors[row], digits), size]);
  }
  for (const [row, each] of [...movesOf(view), ...toldRows(view)]) words.set(row, each);
  const first = chosenRows(frame);
  for (const row of [...words.keys()].sort((a, b) => a - b)) {
    writeOnCube(view, row, ...words.get(row), first.includes(row));
  }
}

/** The digits and the sizes of the numbers on cubes, by bank index. */
export function numberedRows(view) {
  const { frame, scale } = view;
  const found = new Map();
  const add = (rows) => rows.forEach((each, row) => found.has(row) || found.set(row, each));
  for (const cells of wallsInSight(view)) add(numbered(cells, scale));
  for (const row of chosenRows(frame)) {
    add(numbered(numberCells(view, rowsOfSum(frame, row)), scale));
    for (const own of numberCells(view, [row]).keys())
      add(new Map([[own, [2, NUMBERS.smallest * scale]]]));
  }
  return found;
}

/** The digits and the size of numbers on some cubes; none if they have no room. */
function numbered(cells, scale) {
  for (const digits of [2, 1]) {
    const sizes = fittedLetters(cells, NUMBERS.usual[digits], 1, scale);
    if (sizes.size) return new Map([...sizes].map(([row, size]) => [row, [digits, size]]));
  }
  return new Map();
}

/** The bank indices of the hovered and the pinned cube. */
function chosenRows({ hoverRow, pinnedRow }) {
  return [hoverRow, pinnedRow].filter((row) => row >= 0);
}

/** The bank indices of the sum that a weight belongs to; none of a long one. */
function rowsOfSum({ layout }, row) {
  const found = layout.fanOf(row);
  if (!found || found.fan.inputs > NUMBERS.most) return [];
  const { fan, unit } = found;
  const rows = Array.from({ length: fan.inputs }, (_, i) => fan.weights + unit * fan.inputs + i);
  return fan.biases >= 0 ? [...rows, fan.biases + unit] : rows;
}

/** What the caption of an operation writes on cubes, by bank index. */
export function marksOf(frame) {
  if (!frame.moment || !frame.caption || frame.part < NUMBERS.touched) return new Map();
  const told = frame.pieces.filter((piece) => (piece.row ?? -1) >= 0);
  return new Map(told.map((piece) => [piece.row, onCube(piece.mark ?? "")]));
}

/** The arithmetic of the caption on the cubes it is about, if there is room for all. */
function toldRows(view) {
  const marks = new Map([...marksOf(view.frame)].filter(([, mark]) => mark));
  const cells = numberCells(view, marks.keys());
  return alike(view, new Map([...cells.keys()].map((row) => [row, marks.get(row)])), cells);
}

/** The numbers before and after a step, in two lines, of walls with room for them. */
function movesOf(view) {
  const { frame } = view;
  if (!frame.before || frame.part < MOVED) return new Map();
  const walls = wallsInSight(view).map((cells) => {
    const words = new Map();
    for (const row of cells.keys()) words.set(row, oldAndNew(frame.before[row], frame.colors[row]));
    return [...alike(view, words, cells)];
  });
  return new Map(walls.flat());
}

/** Words on cubes with the size of their letters, [words, size] by bank index; none unless all fit. */
function alike({ paper, scale }, words, cells) {
  const all = [...words.values()];
  if (!all.length) return new Map();
  const wide = Math.max(...all.map((each) => paper.measure(each, { size: 10, bold: true }))) / 10;
  const lines = Math.max(...all.map((each) => each.split("\n").length));
  const sizes = fittedLetters(cells, wide, lines, scale);
  return new Map([...sizes].map(([row, size]) => [row, [words.get(row), size]]));
}

/** Two numbers in lines of their own, with as many digits as distinguish them. */
function oldAndNew(old, now) {
  const pairs = [2, 3, 4].map((digits) => [shortNumber(old, digits), shortNumber(now, digits)]);
  const [first, last] = pairs.find(([a, b]) => a !== b) ?? pairs.at(-1);
  return `${first}\n→ ${last}`;
}

/** The cubes in sight of each wall whose cells are large enough for a number: {x, y, side} by bank index. */
function wallsInSight(view) {
  const walls = new Map();
  for (const plate of view.frame.layout.plates) {
    const own = plate.operation >= 0 ? plate.operation : plate;
    walls.set(own, [...(walls.get(own) ?? []), plate]);
  }
  const least = (NUMBERS.smallest * view.scale * NUMBERS.usual[1]) / NUMBERS.share;
  return [...walls.values()]
    .filter((plates) => plates.reduce((sum, { size }) => sum + size, 0) <= NUMBERS.searched)
    .filter((plates) => plates.every((plate) => largestCell(view, plate) >= least))
    .map((plates) => new Map(plates.flatMap((plate) => inSight(view, plate))));
}

/** The pixels of a cell at the corner of a plate that is nearest. */
function largestCell({ see }, plate) {
  let largest = 0;
  for (const unit of see.see(plate.corners(0)).unit) if (unit > largest) largest = unit;
  return largest * plate.unit;
}

/** The cubes of a plate that are in sight, if it faces the viewer. */
function inSight({ see }, plate) {
  if (!facesViewer(see, plate)) return [];
  const { indices } = plate.cells();
  const { x, y, unit } = see.see(plate.middles());
  const { box } = see;
  const found = [];
  for (let i = 0; i < plate.size; i++) {
    const there = x[i] > box.x && x[i] < box.right && y[i] > box.y && y[i] < box.bottom;
    if (there) found.push([indices[i], { x: x[i], y: y[i], side: unit[i] * plate.unit }]);
  }
  return found;
}

function facesViewer(see, plate) {
  return dot3(plate.toward, see.camera.toward) > NUMBERS.facing;
}

/** The cells of some bank indices whose plates face the viewer. */
function numberCells({ see, frame }, rows) {
  const found = new Map();
  for (const row of rows) {
    const place = frame.layout.plateOf(row);
    if (!place || !facesViewer(see, place.plate)) continue;
    const { x, y, unit } = see.one(place.plate.point(place.column + 0.5, place.row + 0.5));
    if (Number.isFinite(x + y)) found.set(row, { x, y, side: unit * place.plate.unit });
  }
  return found;
}

/** The size of the letters in which words on some cubes fit, for each; none if too small. */
function fittedLetters(cells, wide, lines, scale) {
  const all = [...cells.values()];
  if (!all.length || all.length > NUMBERS.most) return new Map();
  let size = NUMBERS.largest * scale;
  all.forEach((one, i) => {
    size = Math.min(size, (NUMBERS.share * one.side) / wide);
    for (let k = 0; k < i; k++) {
      const [across, down] = [Math.abs(one.x - all[k].x), Math.abs(one.y - all[k].y)];
      if (Math.max(across, down) < NUMBERS.apart * Math.min(one.side, all[k].side)) size = 0;
      const [wider, higher] = [wide + NUMBERS.gap, NUMBERS.line * lines + NUMBERS.gap];
      size = Math.min(size, Math.max(across / wider, down / higher));
    }
  });
  return size >= NUMBERS.smallest * scale
    ? new Map([...cells.keys()].map((row) => [row, size]))
    : new Map();
}

/** Write words over the middle of a cube, before the cubes beside it; `isFirst`: before all.
 *
 * Words that are wider than a cube that is marked, too, stand above it.
 */
function writeOnCube({ paper, see, frame, palette, lit }, row, words, size, isFirst) {
  const found = frame.layout.plateOf(row);
  if (!found) return;
  const { plate, row: i, column: j } = found;
  const half = halfSide(frame.sizes[row], frame.sizeScale, frame.scene.shader) * plate.unit;
  const { x, y, unit } = see.one(plate.point(j + 0.5, i + 0.5));
  const around = see.see(plate.cornersOf(i, j, NUMBERS.before * 0.5 * plate.unit));
  const near = around.depth.reduce((a, b) => Math.min(a, b));
  if (!Number.isFinite(x + y + near)) return;
  const wide = paper.measure(words, { size, bold: true });
  const { dim, contrast } = frame.scene.shader;
  let color = palette.map(frame.colors[row], frame.scale);
  if (lit.plates[plate.place] < 1) color = dimmedColor(color, palette.groundColor, dim, contrast);
  const reach = NUMBERS.corners * half * unit;
  const isInside = wide <= 2 * reach;
  const ink = isInside ? readableOn(color.map((each) => NUMBERS.shade * each)) : palette.ink;
  const halo = `${ink === "#ffffff" ? "#000000" : "#ffffff"}80`;
  const depth = isFirst ? -1 : Math.max(near, -1);
  const outline = isInside ? halo : palette.ground;
  const look = { size, bold: true, color: ink, anchor: "center", depth, outline };
  const lines = words.split("\n");
  const base = isFirst && !isInside ? y - reach - 0.6 * size * lines.length : y;
  lines.forEach((line, number) => {
    const below = NUMBERS.line * (number - 0.5 * (lines.length - 1));
    paper.text(x, base + (0.36 + below) * size, line, look);
  });
}
