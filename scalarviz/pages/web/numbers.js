// Numbers on cubes: on all of a small network, else on large ones and those spoken of; as
// view/numbers.py.

import { readableOn, shortNumber } from "./colors.js";
import { MOVED } from "./lights.js";
import { halfSide } from "./scales.js";
import { dot3 } from "./space.js";

const NUMBERS = {
  few: 40, // weights; in smaller networks every cube has its number
  most: 64, // numbers of one sum, or of one plate
  large: 84, // pixels of a cell from which on its cube has a number
  searched: 100000, // cubes; larger plates are not searched for large ones
  touched: 0.4, // part of an operation from which on light has come to the cubes
  roomy: 40, // pixels of a cell from which on its cube has room for two short lines
  largest: 13, // sizes of letters
  smallest: 9,
};

/** Write numbers on the fronts of cubes. */
export function drawNumbers(view) {
  const { frame } = view;
  const plain = numberedRows(view);
  const marks = new Map([...movesOf(view), ...marksOf(frame)]);
  for (const row of [...new Set([...plain, ...marks.keys()])].sort((a, b) => a - b)) {
    const found = frame.layout.plateOf(row);
    if (!found) continue;
    const words = marks.get(row) ? [marks.get(row)] : [];
    if (plain.has(row)) words.push(shortNumber(frame.colors[row]));
    writeOnCube(view, found, row, words);
  }
}

/** The bank indices of the cubes that have a number, or arithmetic of the caption. */
export function numberedRows(view) {
  const { frame, scale } = view;
  const { layout } = frame;
  const rows = new Set(layout.size < NUMBERS.few ? frame.colors.keys() : []);
  for (const plate of layout.plates) for (const row of largeIn(view, plate, NUMBERS.large * scale)) rows.add(row);
  for (const pointed of [frame.hoverRow, frame.pinnedRow]) {
    const found = pointed >= 0 && layout.fanOf(pointed);
    if (!found || found.fan.inputs > NUMBERS.most) continue;
    const { fan, unit } = found;
    for (let i = 0; i < fan.inputs; i++) rows.add(fan.weights + unit * fan.inputs + i);
    if (fan.biases >= 0) rows.add(fan.biases + unit);
  }
  for (const row of marksOf(frame).keys()) rows.add(row);
  return rows;
}

/** What the caption of an operation writes on cubes, by bank index. */
export function marksOf(frame) {
  if (!frame.moment || !frame.caption || frame.part < NUMBERS.touched) return new Map();
  const told = frame.pieces.filter((piece) => (piece.row ?? -1) >= 0);
  return new Map(told.map((piece) => [piece.row, piece.mark ?? ""]));
}

/** The numbers of large cubes before and after a step, in two lines, by bank index. */
function movesOf(view) {
  const { frame, scale } = view;
  const found = new Map();
  if (!frame.before || frame.part < MOVED) return found;
  for (const plate of frame.layout.plates) {
    for (const row of largeIn(view, plate, NUMBERS.roomy * scale)) {
      found.set(row, oldAndNew(frame.before[row], frame.colors[row]));
    }
  }
  return found;
}

/** Two numbers in lines of their own, with as many digits as distinguish them. */
function oldAndNew(old, now) {
  const pairs = [2, 3, 4].map((digits) => [shortNumber(old, digits), shortNumber(now, digits)]);
  const [first, last] = pairs.find(([a, b]) => a !== b) ?? pairs.at(-1);
  return `${first}\n→ ${last}`;
}

/** The bank indices of the cubes of a plate whose cells are seen so large, if they are few. */
function largeIn({ see }, plate, least) {
  const ends = see.see(plate.corners(0)).unit;
  let largest = 0;
  for (const unit of ends) if (unit > largest) largest = unit;
  if (!(largest * plate.unit >= least) || plate.size > NUMBERS.searched) return [];
  const { indices } = plate.cells();
  const { x, y, unit } = see.see(plate.middles());
  const { box } = see;
  const found = [];
  for (let i = 0; i < plate.size && found.length < NUMBERS.most; i++) {
    const there = x[i] > box.x && x[i] < box.right && y[i] > box.y && y[i] < box.bottom;
    if (there && unit[i] * plate.unit >= least) found.push(indices[i]);
  }
  return found;
}

/** Write the first of some words for which there is room: on a cube's front, else its middle. */
function writeOnCube({ paper, see, frame, palette, scale }, { plate, row: i, column: j }, row, words) {
  if (dot3(plate.toward, see.camera.toward) <= 0.1) return;
  const half = halfSide(frame.sizes[row], frame.sizeScale, frame.scene.shader) * plate.unit;
  const [x, y] = [half / plate.cell[0], half / plate.cell[1]];
  const places = [[0, 0], [-x, 0], [x, 0], [0, -y], [0, y]].map(([a, b]) => plate.point(j + 0.5 + a, i + 0.5 + b, half));
  const seen = see.see([...places, plate.point(j + 0.5, i + 0.5, 0)].flat());
  if (!seen.x.every(Number.isFinite)) return;
  const near = see.see(plate.cornersOf(i, j, half)).depth.reduce((a, b) => Math.min(a, b));
  const wide = Math.max(Math.abs(seen.x[2] - seen.x[1]), Math.abs(seen.x[4] - seen.x[3]));
  const tall = Math.max(Math.abs(seen.y[2] - seen.y[1]), Math.abs(seen.y[4] - seen.y[3]));
  const whole = 2.4 * half * seen.unit[0];
  for (const some of words) {
    const lines = some.split("\n");
    const each = paper.measure(some, { size: 10, bold: true }) / 10;
    const onFront = wide > 11 * scale * each;
    const at = onFront ? 0 : 5;
    const size = Math.floor(Math.min(NUMBERS.largest * scale, (0.98 * (onFront ? wide : whole)) / each));
    const least = NUMBERS.smallest + (lines.length > 1 ? 1 : 0);
    if (!(size >= least * scale) || (lines.length > 1 && 2.2 * size >= 1.2 * tall)) continue;
    const ink = readableOn(palette.map(frame.colors[row], frame.scale));
    const outline = `${ink === "#ffffff" ? "#000000" : "#ffffff"}80`;
    const look = { size, bold: true, color: ink, anchor: "center", depth: Math.max(near - 1e-4, -1), outline };
    lines.forEach((line, number) => {
      const down = 0.36 + 1.1 * (number - 0.5 * (lines.length - 1));
      paper.text(seen.x[at], seen.y[at] + down * size, line, look);
    });
    return;
  }
}
