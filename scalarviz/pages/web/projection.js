// The projection of points into the picture, as scene/layout/division.py; with vectors of three numbers
// and matrices of 4 x 4.

/** A camera whose view fills a box of a picture of a width and height in logical pixels. */
export class Projection {
  constructor(camera, box, width, height, reach = 1e4) {
    Object.assign(this, { camera, box, width, height, reach });
    const fit = identity4();
    fit[0] = box.width / width;
    fit[5] = box.height / height;
    fit[3] = (2 * box.x + box.width) / width - 1;
    fit[7] = 1 - (2 * box.y + box.height) / height;
    this.matrix = product4(fit, camera.matrix(box.width / box.height, reach).flat());
    this.inverse = inverse4(this.matrix); // null in a picture without any size
  }

  /** Places of a flat array of points: x, y, depth, and pixels per cell there; NaN behind the eye. */
  see(points) {
    const count = points.length / 3;
    const [x, y, depth, unit] = [0, 1, 2, 3].map(() => new Float64Array(count));
    const m = this.matrix;
    for (let i = 0; i < count; i++) {
      const [a, b, c] = [points[3 * i], points[3 * i + 1], points[3 * i + 2]];
      let w = m[12] * a + m[13] * b + m[14] * c + m[15];
      if (!(w > 1e-3)) w = NaN;
      x[i] = ((0.5 * (m[0] * a + m[1] * b + m[2] * c + m[3])) / w + 0.5) * this.width;
      y[i] = ((-0.5 * (m[4] * a + m[5] * b + m[6] * c + m[7])) / w + 0.5) * this.height;
      depth[i] = (m[8] * a + m[9] * b + m[10] * c + m[11]) / w;
      unit[i] = this.box.height / this.camera.height / w;
    }
    return { x, y, depth, unit };
  }

  /** The place of one point. */
  one(point) {
    const { x, y, depth, unit } = this.see(point);
    return { x: x[0], y: y[0], depth: depth[0], unit: unit[0] };
  }

  /** The nearest point seen at a logical pixel, and the way from it to the farthest one. */
  ray(x, y) {
    const m = this.inverse;
    const [right, up] = [(2 * x) / this.width - 1, 1 - (2 * y) / this.height];
    const [start, end] = [-1, 1].map((z) => {
      const place = (i) => m[i] * right + m[i + 1] * up + m[i + 2] * z + m[i + 3];
      const [a, b, c, w] = [0, 4, 8, 12].map(place);
      return [a / w, b / w, c / w];
    });
    return { start, way: minus3(end, start) };
  }

  /** The matrix and its inverse for shaders. */
  get uniforms() {
    return { u_transform: this.matrix, u_inverse: this.inverse };
  }
}

// Vectors of three numbers, and matrices of 4 x 4 numbers, one row after the other.

/** The inner product of two vectors. */
export function dot3(a, b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/** The vector orthogonal to two others. */
export function cross3(a, b) {
  return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
}

/** The length of a vector. */
export function length3(a) {
  return Math.sqrt(dot3(a, a));
}

/** a + part * b. */
export function along3(a, part, b) {
  return [a[0] + part * b[0], a[1] + part * b[1], a[2] + part * b[2]];
}

/** a - b. */
export function minus3(a, b) {
  return [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
}

/** The vector at a place of a flat array of vectors. */
export function row3(points, i) {
  return [points[3 * i], points[3 * i + 1], points[3 * i + 2]];
}

/** The product of two matrices. */
function product4(a, b) {
  const sum = (row, column) =>
    [0, 4, 8, 12].reduce((all, k, i) => all + a[row + i] * b[k + column], 0);
  return Float64Array.from({ length: 16 }, (_, at) => sum(at & 12, at & 3));
}

/** The inverse of a matrix, by elimination; null for a flat one. */
function inverse4(m) {
  const unit = identity4();
  const rows = [0, 4, 8, 12].map((i) => [...m.slice(i, i + 4), ...unit.slice(i, i + 4)]);
  for (let column = 0; column < 4; column++) {
    const sizes = rows.slice(column).map((row) => Math.abs(row[column]));
    const most = Math.max(...sizes);
    if (!(most > 0 && most < Infinity)) return null;
    const best = column + sizes.indexOf(most);
    [rows[best], rows[column]] = [rows[column], rows[best]];
    const own = rows[column].map((each) => each / rows[column][column]);
    rows.forEach((row, i) => {
      rows[i] = i === column ? own : row.map((each, j) => each - row[column] * own[j]);
    });
  }
  return Float64Array.from(rows.flatMap((row) => row.slice(4)));
}

/** The matrix that changes nothing. */
function identity4() {
  const found = new Float64Array(16);
  for (let i = 0; i < 4; i++) found[5 * i] = 1;
  return found;
}
