// What stands where, with what scene/layout/plates.py does with arrays of numpy: flat arrays here.

import { Camera } from "./story/camera.js";
import {
  Fan,
  Layout as PlainLayout,
  Neurons as PlainNeurons,
  Plate as PlainPlate,
  MOST,
  PIXEL,
  SCORED,
  THINNEST,
} from "./story/plates.js";
import { Board, Cells } from "./story/crossbar.js";
import { Crossbar, point } from "./story/crossbar_layout.js";
import { Dict } from "./python.js";
import { SequencePlan } from "./story/sequence_places.js";
import { NONE } from "./story/facts.js";
import { along3, row3 } from "./projection.js";

const CUBE_SIGNS = [0, 1, 2, 3, 4, 5, 6, 7].map((i) => [4, 2, 1].map((bit) => (i & bit ? 1 : -1)));

/** A grid of cubes, one for each number of the bank beginning at `first`. */
export class Plate extends PlainPlate {
  /** The bank index after the last one. */
  get stop() {
    return this.index_of(this.rows - 1, this.columns - 1) + 1;
  }

  /** Return the point in space for a position on the plate. */
  point(column, row, height = 0) {
    const { origin, along, across, toward } = this;
    const at = (k) => origin[k] + column * along[k] + row * across[k] + height * toward[k];
    return [0, 1, 2].map(at);
  }

  /** Return the center of a cube in space; `half` is half its side, by default the largest. */
  middle(row, column, half = this.half) {
    const [x, y, height] = this.standing(row, column, half);
    return this.point(x, y, height);
  }

  /** Return half the side of the cube for a number, or half the height of its bar, which is
   * negative for bars that hang; NaN gets the largest cube.
   */
  halves(size, top) {
    if (this.wide) {
      const half = (this.half * size) / top;
      const high = Math.min(Math.max(Math.abs(half), THINNEST), MOST * this.half);
      return Number.isNaN(half) ? this.half : half < 0 || Object.is(half, -0) ? -high : high;
    }
    const part = Math.cbrt(Math.abs(size) / top);
    return this.half * (Number.isNaN(part) ? 1 : Math.min(Math.max(part, this.least), MOST));
  }

  /** Return the rows, columns and bank indices of all cubes, as three arrays. */
  cells() {
    if (this.known) return this.known;
    const [rows, columns, indices] = [0, 1, 2].map(() => new Int32Array(this.size));
    let at = 0;
    for (let row = 0; row < this.rows; row++) {
      const first = this.first + row * this.stride;
      for (let column = 0; column < this.columns; column++) {
        const index = this.tiles ? this.index_of(row, column) : first + column;
        if (index === NONE) continue; // between tiles
        [rows[at], columns[at]] = [row, column];
        indices[at++] = index;
      }
    }
    this.known = { rows, columns, indices };
    return this.known;
  }

  /** Return the centers of all cubes, as a flat array. */
  middles() {
    if (!this.knownMiddles) {
      const { rows, columns } = this.cells();
      this.knownMiddles = new Float64Array(3 * this.size);
      rows.forEach((row, i) => this.knownMiddles.set(this.middle(row, columns[i]), 3 * i));
    }
    return this.knownMiddles;
  }

  /** Return the 8 corners of a box as a flat array, given its center and half its sides. */
  cornersAround(
    /** @type {number[]} */ [x, y, height],
    /** @type {number[]} */ [wide, high, deep],
  ) {
    const corner = (/** @type {number[]} */ [a, b, c]) =>
      this.point(x + a * wide, y + b * high, height + c * deep);
    return Float64Array.from(CUBE_SIGNS.flatMap(corner));
  }

  /** Return the corners of a cube, given half its side and a margin. */
  corners_of(row, column, half, margin = 0) {
    const [wide, high, deep] = this.sides(half, margin);
    const sides = [wide / this.cell[0], high / this.cell[1], deep];
    return this.cornersAround(this.standing(row, column, half), sides);
  }

  /** Return the corners of the box that contains all cubes of the plate. */
  corners(height = 0.5) {
    const [x, y] = [0.5 * this.columns, 0.5 * this.rows];
    return this.cornersAround([x, y, Number(this.lowered(this.half))], [x, y, height]);
  }
}

/** A row of neurons; `shape` is (channels, height, width) if they are pixels of images. */
export class Neurons extends PlainNeurons {
  get isImages() {
    return this.shape.length > 0;
  }

  /** Return the position of a neuron. */
  point(place) {
    return row3(this.points, place);
  }

  /** Return the upper left, upper right and lower left corners of each image: nine numbers each. */
  corners() {
    if (this.knownCorners) return this.knownCorners;
    const [channels, height, width] = this.shape;
    const [half, pixels] = [0.5 * this.side, height * width];
    const ends = [
      [0, half, -half],
      [width - 1, half, half],
      [pixels - width, -half, -half],
    ];
    const corner = (i) =>
      ends.flatMap(([j, up, far]) => {
        const [x, y, z] = along3(this.point(i + j), far, this.along);
        return [x, y + up, z];
      });
    const found = Array.from({ length: channels }, (_, i) => corner(i * pixels));
    this.knownCorners = Float64Array.from(found.flat());
    return this.knownCorners;
  }
}

/** The positions of everything in the scene. */
export class Layout extends PlainLayout {
  constructor(given) {
    super();
    const views = Object.entries(given.views).map(([name, each]) => [name, new Camera(...each)]);
    Object.assign(this, given, {
      plates: given.plates.map((each, place) => Object.assign(new Plate(), each, { place })),
      neurons: given.neurons.map((each, place) => Object.assign(new Neurons(), each, { place })),
      fans: given.fans.map((each) => Object.assign(new Fan(), each)),
      views: Object.fromEntries(views),
      crossbar: given.crossbar ? crossbarOf(given.crossbar) : null,
      sequence: given.sequence ? Object.assign(new SequencePlan(), given.sequence) : null,
    });
    this.size = this.plates.reduce((sum, plate) => sum + plate.size, 0);
    this.extent = this.points();
  }

  /** Return the points that a view of the complete network must include, as a flat array. */
  points() {
    if (this.crossbar) {
      const { corner, room, enlarged } = this.crossbar;
      const [wide, high] = room.map((side) => 0.5 * enlarged * side);
      const ends = [-1, 1].map((i) => point(this.crossbar, corner[0] + i * wide, corner[1] + i * high)); // prettier-ignore
      return Float64Array.from(ends.flat());
    }
    const parts = this.plates.map((plate) => plate.corners());
    for (const { points, radius, tied, way, scores, aside } of this.neurons) {
      const balls = [[points, 1.2 * radius], ...(tied ? [[tied, 0.6]] : [])];
      for (const [middles, far] of balls)
        for (const k of [0, 1, 2])
          for (const by of [-far, far])
            parts.push(Float64Array.from(middles, (x, i) => (i % 3 === k ? x + by : x)));
      if (way) parts.push(way);
      if (aside) parts.push(Float64Array.from(points, (x, i) => (i % 3 ? x : x - aside)));
      if (scores) parts.push(Float64Array.from(points, (x, i) => (i % 3 ? x : x + SCORED)));
    }
    parts.push(...this.labels, ...this.signs.map(({ room }) => room));
    parts.push(...this.written.map(({ ends }) => ends));
    for (const { kind, points } of this.marks) if (kind !== "text") parts.push(points.flat());
    parts.push(...(this.sequence?.corners ?? []).map((corner) => corner.map((x) => PIXEL * x)));
    return Float64Array.from(parts.flatMap((part) => [...part]));
  }

  /** Return the first layer, as a fan, that has a neuron among `places`, and its index. */
  _fan_at(neuron, places) {
    const [line, place] = this.line_of(neuron) ?? [];
    const at = line?.point(place);
    for (const fan of line ? this.fans : []) {
      const isThere = (i) => row3(places(fan), i).every((x, k) => Math.abs(x - at[k]) < 1e-4);
      for (let i = 0; i < places(fan).length / 3; i++) if (isThere(i)) return [fan, i];
    }
    return null;
  }
}

/** Return the lines of a crossbar from data, see `crossbar_data` in scene_data.py. */
function crossbarOf(data) {
  return Object.assign(new Crossbar(), data, {
    boards: data.boards.map((each) => Object.assign(new Board(), each)),
    cells: Object.assign(new Cells(), data.cells),
    free: new Dict(data.free),
  });
}

/** Return the position of the cube in a column of the row of a unit. */
export function cubeOf(fan, column, unit) {
  return along3(row3(fan.columns, column), 1, row3(fan.rows, unit));
}
