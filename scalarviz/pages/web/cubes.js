// Cubes: the numbers of the bank as textures, a box for each plate; as
// scene/visuals/cubes.py.

import { GlCopies, GlProgram, GlTexture, copyNames } from "./gl.js";
import { colorTable } from "./palette.js";
import { EVERYWHERE } from "./lights.js";
import { cross3, dot3, row3 } from "./projection.js";
import { near_of } from "./story/nearness.js";
import { MOST } from "./story/plates.js";

const BOX_CORNERS = [0, 1, 2, 3, 4, 5, 6, 7].map((i) => [i >> 2, (i >> 1) & 1, i & 1]);
// The six sides of a box as triangles, each clockwise as seen from outside.
// prettier-ignore
const BOX_SIDES = [
  [0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
  [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3],
];
const BOX_TABLE = ["grid", "scales", "looks", "means", "tile", "strides", "focus", "bar"];
const BOX_FIELDS = [
  ...["origin", "along", "across", "toward"].map((name) => [`a_${name}`, 3]),
  ["a_size", 4],
  ...BOX_TABLE.map((name) => [`a_${name}`, 4]),
];
const FEW = 512; // cubes with a seat, or bars, of a plate that have a box each
const CELL = 12; // where a row has the cell of its box
const LARGEST_SCALE = 1e37; // whose inverse is a float32
const MANY_CUBES = 10000; // of which some are small at first

/** Draws the cubes of all plates of a layout. */
export class Cubes {
  constructor(gl, scene) {
    Object.assign(this, { gl, scene, given: null, sizes: null, turn: 0 });
    const { plates } = scene.layouts[0];
    const seated = !plates.length || plates.some(({ seat }) => seat) ? 1 : 0; // as in a thread
    const bars = plates.some(({ wide }) => wide) ? 1 : 0;
    const kept = scene.programs.cubes.map((text) =>
      text.replace("SEATED 1", `SEATED ${seated}`).replace("BARS 0", `BARS ${bars}`),
    );
    const withFar = (far) => kept.map((text) => text.replace("FAR 1", `FAR ${far}`));
    this.programs = [0, 1].map(withFar);
    this.made = [null, null]; // programs without and with small cubes, when they are needed
    this.program(scene.count > MANY_CUBES ? 1 : 0); // compiled while the network starts
    const { split } = scene.shader;
    this.height = Math.max(1, Math.ceil(scene.count / split));
    this.staging = new Float32Array(2 * this.height * split);
    this.numbers = new GlTexture(gl, "floats");
    this.numbers.set(split, 2 * this.height, this.staging);
    this.colors = new GlTexture(gl, "colors");
    this.means = new GlTexture(gl, "colors");
  }

  /** Set the color map of numbers and the color of the ground. */
  setPalette(palette) {
    this.palette = palette;
    const { colors } = this.scene.shader;
    this.colors.set(colors, 1, colorTable(palette, colors).subarray(0, 4 * colors));
    this.meant = []; // means are colors
  }

  /** Set the positions of the cubes. */
  setLayout(layout) {
    this.layout = layout;
    this.copies = null;
    this.sent = []; // for each plate, the turn of the numbers on the graphics card
    this.meant = []; // and what its means were made of
    let [top, width] = [0, 1];
    const hasMeans = layout.plates.some(({ levels }) => levels > 0);
    const largest = hasMeans ? this.gl.getParameter(this.gl.MAX_TEXTURE_SIZE) : 0; // waits for pictures
    this.levels = []; // of means; a plate for whose means there is no room is drawn cube by cube
    this.tops = layout.plates.map((plate) => {
      const [rows, columns] = plate.room;
      const at = top;
      this.levels.push(at + rows <= largest && 2 * columns <= largest ? plate.levels : 0);
      if (!this.levels.at(-1)) return 0;
      top += rows;
      width = Math.max(width, 2 * columns);
      return at;
    });
    this.meansBytes = new Uint8Array(4 * Math.max(top, 1) * width);
    this.means.set(width, Math.max(top, 1), this.meansBytes);
  }

  /** Set the numbers shown as colors and sizes; an identical array is taken as unchanged. */
  setNumbers({ colors, sizes, scaleAt, sizeScaleAt }) {
    if (colors !== this.given || sizes !== this.sizes) this.turn++;
    Object.assign(this, { given: colors, sizes, scaleAt, sizeScaleAt });
  }

  /** Return the inverse scales of the colors and sizes of a plate. */
  scalesOf({ first }) {
    return [inverseScale(this.scaleAt(first)), inverseScale(this.sizeScaleAt(first))];
  }

  /** Draw all cubes in a projection, with their brightness. */
  draw(see, lights, width, height) {
    if (!this.layout.plates.length || !this.given) return;
    const { gl, scene } = this;
    const { shader } = scene;
    const near = this.layout.plates.map((plate) => nearnessOf(plate, see, width, height, shader));
    const program = this.program(near.some((each) => each.most > shader.flatFrom) ? 1 : 0);
    if (!this.copies) this.place();
    this.upload(near);
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LESS);
    gl.depthMask(true);
    gl.disable(gl.BLEND);
    gl.enable(gl.CULL_FACE);
    program.use(
      {
        ...see.uniforms,
        u_numbers_size: [this.numbers.width, this.numbers.height],
        u_means_size: [this.means.width, this.means.height],
        u_ground: this.palette.groundColor,
        u_ids: 0,
      },
      { u_numbers: 0, u_means: 1, u_colors: 2 },
    );
    [this.numbers, this.means, this.colors].forEach((texture, unit) => texture.bind(unit));
    this.copies.forEach(([plates, copies], mirrored) => {
      if (!plates.length) return;
      copies.set(this.rows(plates, lights));
      gl.cullFace(mirrored ? gl.BACK : gl.FRONT);
      copies.draw();
    });
    gl.disable(gl.CULL_FACE);
  }

  program(far) {
    this.made[far] ??= new GlProgram(this.gl, this.programs[far], copyNames(BOX_FIELDS));
    return this.made[far];
  }

  /** Separate plates with right-handed axes from mirrored ones, whose boxes are inside out. */
  place() {
    const isMirrored = (plate) => dot3(cross3(plate.along, plate.across), plate.toward) < 0;
    this.copies = [false, true].map((mirrored) => {
      const plates = this.layout.plates.filter((plate) => isMirrored(plate) === mirrored);
      return [plates, new GlCopies(this.gl, BOX_CORNERS.flat(), 3, BOX_SIDES.flat(), BOX_FIELDS)];
    });
  }

  /** Return the vertex data of each box: a plate, or a single cube if a plate has few cubes. */
  rows(plates, lights) {
    const { split } = this.scene.shader;
    const found = plates.flatMap((plate) => {
      const i = plate.place;
      const pair = (number) => [Math.floor(number / split), number % split];
      const [rows, columns] = plate.room;
      // prettier-ignore
      const row = [
        ...plate.origin, ...plate.along, ...plate.across, ...plate.toward,
        -1, -1, plate.half, plate.standing_at,
        plate.columns, plate.rows, ...pair(plate.first),
        ...pair(plate.stride), ...this.scalesOf(plate),
        lights.plates[i], 0, this.levels[i], lights.outside[i],
        0, this.tops[i], columns, rows,
        ...plate.grid.size.toReversed(), ...plate.grid.pitch.toReversed(),
        ...plate.grid.stride.toReversed(), ...plate.cell,
        ...(lights.focus?.cells[i] ?? EVERYWHERE),
        plate.wide, plate.deep, ...plate.rise,
      ];
      if (!(plate.seat || plate.wide) || plate.size > FEW) return [row];
      const { rows: down, columns: right } = plate.cells();
      return Array.from(down, (y, k) => row.with(CELL, right[k]).with(CELL + 1, y));
    });
    return Float32Array.from(found.flat());
  }

  /** Upload the visible numbers; where cubes are tiny, their means. */
  upload(near) {
    const { shader } = this.scene;
    const { plates } = this.layout;
    const single = (plate) => near[plate.place].least < shader.cubesTo || !this.levels[plate.place];
    this.sendNumbers(
      plates.filter((plate) => single(plate) && this.sent[plate.place] !== this.turn),
    );
    for (const plate of plates) {
      const { most, fine } = near[plate.place];
      const levels = this.levels[plate.place];
      if (!levels || !(most > shader.meansFrom)) continue;
      const finest = Math.min(levels, Math.max(1, Math.floor(Math.log2(Math.max(fine, 1)) + 0.5)));
      const key = `${this.turn} ${finest} ${this.scalesOf(plate).join(" ")}`;
      if (this.meant[plate.place] === key) continue;
      this.meant[plate.place] = key;
      this.sendMeans(plate, finest);
    }
  }

  /** Upload the rows of the texture that contain the numbers of plates. */
  sendNumbers(plates) {
    if (!plates.length) return;
    const { split } = this.scene.shader;
    const first = Math.floor(Math.min(...plates.map((plate) => plate.first)) / split);
    const last = Math.ceil(Math.max(...plates.map((plate) => plate.stop)) / split);
    [this.given, this.sizes].forEach((numbers, half) => {
      const offset = half * this.height;
      const rows = this.staging.subarray((offset + first) * split, (offset + last) * split);
      rows.set(numbers.subarray(first * split, Math.min(last * split, numbers.length)));
      this.numbers.put(0, offset + first, split, last - first, rows);
    });
    for (const plate of plates) this.sent[plate.place] = this.turn;
  }

  sendMeans(plate, finest) {
    const { means, meansBytes } = this;
    const table = { bytes: meansBytes, width: means.width, top: this.tops[plate.place] };
    const { given, sizes, palette } = this;
    fillMeans(table, plate, given, sizes, this.scalesOf(plate), palette, finest);
    const start = 4 * table.width * table.top;
    const part = meansBytes.subarray(start, start + 4 * table.width * plate.room[0]);
    means.put(0, table.top, table.width, plate.room[0], part);
  }
}

function inverseScale(scale) {
  return 1 / Math.min(Math.max(scale, 1 / LARGEST_SCALE), LARGEST_SCALE);
}

// Plates with tiny cubes: how many cells a pixel covers, and means of blocks of cubes.

const MEANS = { spreads: 0.8, sample: 16384 };

/** Return how large the cells of a plate are in the picture, see scene/visuals/nearness.py. */
export function nearnessOf(plate, see, width, height, { oblique }) {
  const m = see.matrix;
  const clip = (/** @type {number[]} */ [a, b, c]) =>
    [0, 4, 12].map((i) => m[i] * a + m[i + 1] * b + m[i + 2] * c + m[i + 3]);
  const corners = plate.corners();
  const box = [0, 1, 2, 3, 4, 5, 6, 7].map((i) => clip(row3(corners, i)));
  const { columns, rows } = plate;
  // prettier-ignore
  const ends = [[0, 0], [columns, 0], [columns, rows], [0, rows]];
  const plane = ends.map(([c, r]) => clip(plate.point(c, r)));
  return near_of(columns, rows, box, plane, [0.5 * width, 0.5 * height], oblique);
}

/** Write the mip levels of a plate, beginning with level `finest`, into its table. */
export function fillMeans(table, plate, colors, sizes, scales, palette, finest) {
  const [allRows, allColumns] = plate.room;
  let [rows, columns] = [allRows >> (finest - 1), allColumns >> (finest - 1)];
  let means = blockMeans(plate, colors, sizes, scales, rows, columns, 1 << finest);
  const spread = spreadOf(colors, plate.first, plate.stop) * scales[0];
  const stronger = Math.max(1, MEANS.spreads / Math.max(spread, 1e-6));
  if (!KNOWN_SHADES.has(palette)) KNOWN_SHADES.set(palette, colorTable(palette, SHADES));
  const shades = KNOWN_SHADES.get(palette);
  for (let level = finest; level <= plate.levels; level++) {
    const left = level < 2 ? 0 : 2 * allColumns - (allColumns >> (level - 2));
    const usual = 0.5 * stronger ** Math.min(0.5 * level, 1);
    const strength = 2 ** level * (plate.is_full ? 1 : usual);
    writeMeans(table, means, rows, columns, left, strength, shades);
    if (level === plate.levels) break;
    means = halvedMeans(means, rows, columns);
    [rows, columns] = [rows >> 1, columns >> 1];
  }
}

const SHADES = 1025; // odd, so that 0 has an entry
const KNOWN_SHADES = new WeakMap(); // their colors, by palette

/** Write the colors and the coverage of a mip level. */
function writeMeans(table, means, rows, columns, left, strength, bytes) {
  const span = (SHADES - 1) / 2;
  const into = table.bytes;
  for (let i = 0; i < rows; i++) {
    let to = 4 * ((table.top + i) * table.width + left);
    for (let j = 0; j < columns; j++, to += 4) {
      const from = 2 * (i * columns + j);
      const cover = means[from + 1];
      const number = (means[from] / (cover > 1e-6 ? cover : 1e-6)) * strength;
      const place = number < -1 ? -1 : number > 1 ? 1 : number;
      const entry = 4 * (place === place ? Math.floor((place + 1) * span + 0.5) : SHADES); // NaN is the last
      into[to] = bytes[entry];
      into[to + 1] = bytes[entry + 1];
      into[to + 2] = bytes[entry + 2];
      into[to + 3] = Math.floor(cover * 255 + 0.5);
    }
  }
}

/** Return the mean of numbers times coverage, and of coverage, for each block of cells. */
function blockMeans(plate, colors, sizes, scales, rows, columns, side) {
  const found = new Float32Array(2 * rows * columns);
  const largest = (2 * plate.half) ** 2 / (plate.cell[0] * plate.cell[1]); // of a cell
  const least = plate.least ** 2;
  const { first, stride, tiles } = plate;
  const [colorScale, sizeScale] = scales;
  for (let i = 0; i < rows; i++) {
    const top = Math.min(i * side, plate.rows - 1);
    const bottom = Math.min(Math.max(i * side + side, top + 1), plate.rows);
    for (let j = 0; j < columns; j++) {
      const left = Math.min(j * side, plate.columns - 1);
      const right = Math.min(Math.max(j * side + side, left + 1), plate.columns);
      let total = 0;
      let cover = 0;
      for (let row = top; row < bottom; row++) {
        for (let column = left; column < right; column++) {
          const at = tiles ? plate.index_of(row, column) : first + row * stride + column;
          if (at < 0) continue;
          const number = colors[at] * colorScale;
          const part = Math.cbrt(Math.abs(sizes[at] * sizeScale)) ** 2;
          const covered = largest * (isNaN(part) ? 1 : Math.min(Math.max(part, least), MOST ** 2));
          total += covered * (number < -1 ? -1 : number > 1 ? 1 : number);
          cover += covered;
        }
      }
      const count = (bottom - top) * (right - left);
      found[2 * (i * columns + j)] = total / count;
      found[2 * (i * columns + j) + 1] = cover / count;
    }
  }
  return found;
}

/** Return the next mip level, with half the number of rows and columns. */
function halvedMeans(means, rows, columns) {
  const [high, wide] = [rows >> 1, columns >> 1];
  const found = new Float32Array(2 * high * wide);
  for (let i = 0; i < high; i++) {
    for (let j = 0; j < wide; j++) {
      for (let k = 0; k < 2; k++) {
        const at = 2 * (2 * i * columns + 2 * j) + k;
        const below = at + 2 * columns;
        found[2 * (i * wide + j) + k] =
          0.25 * (means[at] + means[at + 2] + means[below] + means[below + 2]);
      }
    }
  }
  return found;
}

const KNOWN_SPREADS = new WeakMap(); // by array: states have arrays of their own

/** Return the root mean square of the finite numbers from `first` to `stop`, or of a sample. */
export function spreadOf(numbers, first, stop) {
  const noted = numbers.noted?.spreads.find(([start, end]) => start === first && end === stop);
  if (noted) return noted[2];
  if (!KNOWN_SPREADS.has(numbers)) KNOWN_SPREADS.set(numbers, new Map());
  const known = KNOWN_SPREADS.get(numbers);
  const key = `${first} ${stop}`;
  if (!known.has(key)) known.set(key, spreadNow(numbers, first, stop));
  return known.get(key);
}

function spreadNow(numbers, first, stop) {
  const step = Math.max(1, Math.floor((stop - first) / MEANS.sample));
  let [sum, count] = [0, 0];
  for (let i = first; i < stop; i += step) {
    if (Number.isFinite(numbers[i])) {
      sum += numbers[i] ** 2;
      count++;
    }
  }
  return count ? Math.sqrt(sum / count) : 0;
}
