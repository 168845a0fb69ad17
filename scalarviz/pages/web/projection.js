// The projection of points into the picture, of flat arrays of them; scene/layout/projection.py and
// points.py have arrays of numpy.

import { Projection as PlainProjection } from "./story/projection.js";

/** The projection of a camera into a box of a picture, in logical pixels. */
export class Projection extends PlainProjection {
  constructor(...given) {
    super(...given);
    this.matrix = Float64Array.from(this.rows.flat());
  }

  /** Project points (a flat array) to x, y, depth and pixels per cell; NaN behind the camera. */
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

  /** Project one point. */
  one(point) {
    const { x, y, depth, unit } = this.see(point);
    return { x: x[0], y: y[0], depth: depth[0], unit: unit[0] };
  }

  /** The matrix and its inverse as uniforms for shaders, in column-major order. */
  get uniforms() {
    const inverse = DOMMatrix.fromFloat64Array(this.matrix).inverse();
    return { u_transform: this.matrix, u_inverse: inverse.toFloat64Array() };
  }
}

/** Return the index of the first sphere that a ray hits, and its distance in ray lengths. */
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

/** Return the index of the square at a pixel, and its distance in ray lengths. */
export function square_on(see, points, radius, [across, down], start, way) {
  const { x, y, unit } = see.see(points);
  const far = (i) => Math.max(Math.abs(x[i] - across), Math.abs(y[i] - down));
  const place = unit.findIndex((each, i) => far(i) <= radius * each);
  const at = dot3(minus3(row3(points, place), start), way) / dot3(way, way);
  return [place, place < 0 ? Infinity : at];
}

/** Return a function for the largest extent of points, a flat array, along a vector. */
export function reach_of(points) {
  return (way) => {
    let most = -Infinity;
    for (let i = 0; i < points.length / 3; i++) most = Math.max(most, dot3(row3(points, i), way));
    return most;
  };
}

// Vectors of three numbers.

/** Return the inner product of two vectors. */
export function dot3(a, b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/** Return the cross product of two vectors. */
export function cross3(a, b) {
  return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
}

/** Return a + part * b. */
export function along3(a, part, b) {
  return [a[0] + part * b[0], a[1] + part * b[1], a[2] + part * b[2]];
}

/** Return a - b. */
export function minus3(a, b) {
  return [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
}

/** Return the vector with an index in a flat array of vectors. */
export function row3(points, i) {
  return [points[3 * i], points[3 * i + 1], points[3 * i + 2]];
}
