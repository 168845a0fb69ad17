// What stands where: plates of cubes, lines of neurons, fans of lines; as scene/layout/plates.py.

import { Camera } from "./story/camera.js";
import { along3, dot3, length3, row3 } from "./projection.js";

export const SIDE = 1.5; // of a color that neurons are tied to, in cells
const CUBE_SIGNS = [0, 1, 2, 3, 4, 5, 6, 7].map((i) => [4, 2, 1].map((bit) => (i & bit ? 1 : -1)));

/** A grid of cubes, one for each number of the bank from `first` on. */
export class Plate {
  constructor(given, place) {
    Object.assign(this, given, { place });
    this.cell = [length3(this.along), length3(this.across)];
    const whole = [this.rows, this.columns];
    const [high, wide, down, right, byRow, byColumn] = this.tiles ?? [...whole, ...whole, 0, 0];
    Object.assign(this, { high, wide, pitch: [down, right], strides: [byRow, byColumn] });
    const count = (all, size, step) => Math.floor((all - size) / step) + 1;
    this.count = [count(this.rows, high, down), count(this.columns, wide, right)];
    this.size = high * wide * this.count[0] * this.count[1];
    this.stop = this.indexOf(this.rows - 1, this.columns - 1) + 1;
  }

  /** A point in space for a place on the plate. */
  point(column, row, height = 0) {
    const { origin, along, across, toward } = this;
    const at = (k) => origin[k] + column * along[k] + row * across[k] + height * toward[k];
    return [0, 1, 2].map(at);
  }

  /** The middle of a cube; `half` is half its side, by default that of the largest. */
  middle(row, column, half = this.half) {
    const low = this.lowered(half);
    return this.point(column + 0.5, row + 0.5 + low / this.cell[1], low);
  }

  /** How far the middle of a cube is from that of its cell, forwards and downwards. */
  lowered(half) {
    return this.seat ? this.seat - half : 0;
  }

  /** Half the side of the cube of a number; NaN is drawn largest. */
  halfOf(size, top) {
    const part = Math.sqrt(Math.abs(size) / top);
    return this.half * (part < 1 ? Math.max(part, this.least) : 1);
  }

  /** Row, column and bank index of each cube, in three arrays. */
  cells() {
    if (this.known) return this.known;
    const [rows, columns, indices] = [0, 1, 2].map(() => new Int32Array(this.size));
    let at = 0;
    for (let i = 0; i < this.count[0]; i++) {
      for (let j = 0; j < this.high; j++) {
        for (let k = 0; k < this.count[1]; k++) {
          for (let m = 0; m < this.wide; m++) {
            rows[at] = i * this.pitch[0] + j;
            columns[at] = k * this.pitch[1] + m;
            indices[at++] =
              this.first + i * this.strides[0] + k * this.strides[1] + j * this.stride + m;
          }
        }
      }
    }
    this.known = { rows, columns, indices };
    return this.known;
  }

  /** The middles of all cubes, as a flat array. */
  middles() {
    if (!this.knownMiddles) {
      const { rows, columns } = this.cells();
      this.knownMiddles = new Float64Array(3 * this.size);
      for (let i = 0; i < this.size; i++) {
        this.knownMiddles.set(this.middle(rows[i], columns[i]), 3 * i);
      }
    }
    return this.knownMiddles;
  }

  /** Row and column of the cell of a bank index; null if it is not on this plate. */
  placeOf(index) {
    if (index < this.first || index >= this.stop) return null;
    let left = index - this.first;
    const at = [0, 0];
    const order = this.strides[1] > this.strides[0] ? [1, 0] : [0, 1];
    for (const axis of order) {
      if (this.strides[axis]) {
        at[axis] = Math.min(Math.floor(left / this.strides[axis]), this.count[axis] - 1);
        left -= at[axis] * this.strides[axis];
      }
    }
    const row = Math.floor(left / this.stride);
    const column = left - row * this.stride;
    if (row >= this.high || column >= this.wide) return null;
    return [at[0] * this.pitch[0] + row, at[1] * this.pitch[1] + column];
  }

  place_of(index) {
    return this.placeOf(index);
  }

  index_of(row, column) {
    return this.indexOf(row, column);
  }

  /** The bank index of the cube in a cell; -1 for an empty cell. */
  indexOf(row, column) {
    const i = Math.floor(row / this.pitch[0]);
    const k = Math.floor(column / this.pitch[1]);
    const [down, right] = [row - i * this.pitch[0], column - k * this.pitch[1]];
    if (down >= this.high || right >= this.wide) return -1;
    return this.first + i * this.strides[0] + k * this.strides[1] + down * this.stride + right;
  }

  /** The corners of a cube with this half side, and a margin, as a flat array of 8 points. */
  cornersOf(row, column, half, margin = 0) {
    const [wide, high] = this.cell;
    const [low, side] = [this.lowered(half), half + margin];
    const [x, y] = [column + 0.5, row + 0.5 + low / high];
    return Float64Array.from(
      CUBE_SIGNS.flatMap(([a, b, c]) =>
        this.point(x + (a * side) / wide, y + (b * side) / high, low + c * side),
      ),
    );
  }

  /** The corners of the box around its cubes. */
  corners(height = 0.5) {
    const low = this.lowered(this.half);
    return Float64Array.from(
      CUBE_SIGNS.flatMap(([a, b, c]) =>
        this.point(a > 0 ? this.columns : 0, b > 0 ? this.rows : 0, low + c * height),
      ),
    );
  }
}

/** A line of neurons; `shape` is (channels, height, width) if they are pixels of images. */
export class Line {
  constructor(given, place) {
    Object.assign(this, given, { place });
    this.count = this.points.length / 3;
    this.buffers = [this.sums, this.values, ...this.also].filter(Boolean);
    this.isImages = this.shape.length > 0;
    this.is_color = this.names.join() === "R,G,B"; // channels of a color
  }

  /** Where a neuron is. */
  point(place) {
    return row3(this.points, place);
  }

  /** Upper left, upper right and lower left corner of each image, nine numbers each. */
  corners() {
    if (this.knownCorners) return this.knownCorners;
    const [channels, height, width] = this.shape;
    const [half, found] = [0.5 * this.side, []];
    const [right, down] = [
      [0, 0, half],
      [0, -half, 0],
    ];
    const moved = (i, a, b) => along3(along3(row3(this.points, i), a, right), b, down);
    for (let c = 0; c < channels; c++) {
      const first = c * height * width;
      found.push(...moved(first, -1, -1), ...moved(first + width - 1, 1, -1));
      found.push(...moved(first + (height - 1) * width, -1, 1));
    }
    this.knownCorners = Float64Array.from(found);
    return this.knownCorners;
  }
}

/** Where the lines of the sums of a layer begin, and where they end. */
export class Fan {
  constructor(given) {
    Object.assign(this, given);
    this.units = this.ends.length / 3;
    this.all = this.columns.length / 3; // columns of the trays, that of the biases included
    this.count = this.all - (this.biases >= 0 ? 1 : 0); // units before it
    this.pixels = Math.max(1, Math.floor(this.inputs / Math.max(1, this.count)));
  }

  rows_of(unit) {
    const first = this.weights + unit * this.stride;
    return Array.from({ length: this.inputs }, (_, i) => first + i);
  }

  bias_of(unit) {
    return this.biasOf(unit);
  }

  row_of(unit, column) {
    return this.rowOf(unit, column);
  }

  ends_of(index, unit) {
    return this.endsOf(index, unit);
  }

  /** The unit whose sum a bank index belongs to; -1 if it is not of this layer. */
  unitOf(index) {
    if (index >= this.weights && index < this.weights + this.units * this.stride) {
      return Math.floor((index - this.weights) / this.stride);
    }
    return this.isBias(index) ? index - this.biases : -1;
  }

  /** The unit that a bank index multiplies; of a bias, the number of units. */
  unitBefore(index) {
    if (this.isBias(index)) return this.count;
    const each = Math.max(1, Math.floor(this.inputs / Math.max(1, this.count)));
    return Math.floor(((index - this.weights) % this.stride) / each);
  }

  /** Whether a bank index is one of biases that stand in the bank by themselves. */
  isBias(index) {
    const isApart = this.biases >= 0 && this.stride === this.inputs;
    return isApart && index >= this.biases && index < this.biases + this.units;
  }

  biasOf(unit) {
    return this.biases + unit * (this.stride === this.inputs ? 1 : this.stride);
  }

  /** The bank index of a cube, of a kernel the first one. */
  rowOf(unit, column) {
    if (column >= this.count) return this.biasOf(unit);
    const each = Math.floor(this.inputs / Math.max(1, this.count));
    return this.weights + unit * this.stride + column * each;
  }

  /** The places of the units that a bank index joins; of a bias, that of its sum. */
  endsOf(index, unit) {
    const column = this.unitBefore(index);
    const end = row3(this.ends, unit);
    return column < this.count ? [row3(this.starts, column), end] : [end];
  }

  /** Where the cube of a column and a unit is. */
  cube(column, unit) {
    return along3(row3(this.columns, column), 1, row3(this.rows, unit));
  }
}

/** Return what says how far points of a flat array reach along a vector. */
export function reach_of(points) {
  return (way) => {
    let most = -Infinity;
    for (let i = 0; i < points.length / 3; i++) most = Math.max(most, dot3(row3(points, i), way));
    return most;
  };
}

/** Everything placed in the scene. */
export class Layout {
  constructor(given) {
    this.plates = given.plates.map((each, i) => new Plate(each, i));
    this.neurons = given.neurons.map((each, i) => new Line(each, i));
    this.fans = given.fans.map((each) => new Fan(each));
    this.wires = given.wires;
    this.labels = given.labels;
    this.signs = given.signs;
    this.written = given.written;
    this.thread = given.thread ?? []; // of squares, see threads.js
    const viewsOf = ([name, each]) => [name, new Camera(...each)];
    this.views = Object.fromEntries(Object.entries(given.views).map(viewsOf));
    this.size = this.plates.reduce((sum, plate) => sum + plate.size, 0);
    this.extent = this.points();
  }

  /** Points that a picture of the whole should include, as a flat array. */
  points() {
    const found = [];
    const add = (points) => {
      for (const each of points) found.push(each);
    };
    for (const plate of this.plates) add(plate.corners());
    for (const line of this.neurons) {
      for (const side of [-1.2, 1.2]) {
        for (let i = 0; i < line.points.length; i++) {
          for (let k = 0; k < 3; k++)
            found.push(
              line.points[3 * Math.floor(i / 3) + k] + (i % 3 === k ? side * line.radius : 0),
            );
        }
      }
      for (const side of line.tied ? [-0.96, 0.96] : []) {
        for (let k = 0; k < 3; k++) add(line.tied.map((x, j) => x + (j === k ? side * SIDE : 0)));
      }
      if (line.way) add(line.way);
    }
    for (const place of this.labels) add(place);
    for (const sign of this.signs) add(sign.room);
    for (const { ends } of this.written) add(ends);
    return Float64Array.from(found);
  }

  /** The fan of a bank index and the unit whose sum it belongs to; null without. */
  fanOf(index) {
    for (const fan of this.fans) {
      const unit = fan.unitOf(index);
      if (unit >= 0) return { fan, unit };
    }
    return null;
  }

  fan_of(index) {
    const found = this.fanOf(index);
    return found && [found.fan, found.unit];
  }

  fan_into(neuron) {
    const found = this.fanInto(neuron);
    return found && [found.fan, found.unit];
  }

  fan_from(neuron) {
    const found = this.fanFrom(neuron);
    return found && [found.fan, found.unit];
  }

  plate_number(index) {
    return this.plates.findIndex((plate) => plate.placeOf(index));
  }

  /** The line of a neuron [buffer, place]; null without. */
  lineOf([buffer, place]) {
    const has = (line) => line.buffers.includes(buffer) && place < line.count;
    return this.neurons.find(has) ?? null;
  }

  /** The fan of lines that end at a neuron, and its unit there. */
  fanInto(neuron) {
    return this.fanAt(neuron, "ends");
  }

  /** The fan of lines that begin at a neuron, and its column there. */
  fanFrom(neuron) {
    return this.fanAt(neuron, "starts");
  }

  fanAt(neuron, end) {
    const line = this.lineOf(neuron);
    if (!line) return null;
    const at = line.point(neuron[1]);
    for (const fan of this.fans) {
      const points = fan[end];
      for (let i = 0; i < points.length / 3; i++) {
        const far = [0, 1, 2].map((k) => Math.abs(points[3 * i + k] - at[k]));
        if (Math.max(...far) < 1e-4) return { fan, unit: i };
      }
    }
    return null;
  }

  /** The plate, row and column of a bank index; null if it is on no plate. */
  plateOf(index) {
    for (const plate of this.plates) {
      const place = plate.placeOf(index);
      if (place) return { plate, row: place[0], column: place[1] };
    }
    return null;
  }
}
