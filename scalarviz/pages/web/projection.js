// The projection of points into the picture, of flat arrays of them; scene/layout/projection.py and
// points.py have arrays of numpy.

import { Projection as PlainProjection } from "./story/projection.js";

/** A camera whose view fills a box of a picture of a width and height in logical pixels. */
export class Projection extends PlainProjection {
  constructor(...given) {
    super(...given);
    this.matrix = Float64Array.from(this.rows.flat());
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

  /** The matrix and its inverse for shaders; browsers have columns of matrices. */
  get uniforms() {
    const inverse = DOMMatrix.fromFloat64Array(this.matrix).inverse();
    return { u_transform: this.matrix, u_inverse: inverse.toFloat64Array() };
  }
}

/** The place of the first sphere of a row on a ray, and its distance in rays. */
export function sphere_on(points, radius, start, way) {
  const size = dot3(way, way);
  let [best, least] = [0, Infinity];
  for (let place = 0; place < points.length / 3; place++) {
    const apart = minus3(row3(points, place), start);
    const along = dot3(apart, way);
    const within = along ** 2 - size * (dot3(apart, apart) - radius ** 2);
    const at = (along - Math.sqrt(within)) / size;
    if (at > 0 && at < least) [best, least] = [place, at];
  }
  return [best, least];
}

/** The place of the square of a row that is seen at a pixel, and its distance in rays. */
export function square_on(see, points, radius, [across, down], start, way) {
  const { x, y, unit } = see.see(points);
  const far = (i) => Math.max(Math.abs(x[i] - across), Math.abs(y[i] - down));
  const place = unit.findIndex((each, i) => far(i) <= radius * each);
  const at = dot3(minus3(row3(points, place), start), way) / dot3(way, way);
  return [place, place < 0 ? Infinity : at];
}

/** Return what says how far points of a flat array reach along a vector. */
export function reach_of(points) {
  return (way) => {
    let most = -Infinity;
    for (let i = 0; i < points.length / 3; i++) most = Math.max(most, dot3(row3(points, i), way));
    return most;
  };
}

/** Rows of three numbers, of points or of several such lists. */
export function points3(parts) {
  return Array.isArray(parts[0]?.[0]) ? parts.flat() : parts;
}

// Vectors of three numbers.

export const vector = (x, y, z) => [x, y, z];

/** The inner product of two vectors. */
export function dot3(a, b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/** The vector orthogonal to two others. */
export function cross3(a, b) {
  return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
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
