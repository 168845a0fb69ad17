// The camera and the projection of points into the picture, as scene/layout/camera.py; with
// vectors of three numbers and matrices of 4 x 4.

const STEEPEST_VIEW = 85; // degrees to each side; the scene has no back
const LEAST_FOV = 0.5; // degrees; smaller angles are drawn without perspective

/** Looks at `target`; azimuth and elevation are degrees, `height` is what is seen at the target. */
export class Camera {
  constructor({ target = [0, 0, 0], azimuth = 0, elevation = 0, height = 10, fov = 28 } = {}) {
    Object.assign(this, { target, azimuth, elevation, height, fov });
  }

  /** The same camera with some of its numbers changed. */
  with(changes) {
    return new Camera({ ...this, ...changes });
  }

  /** Unit vectors to the right, up and towards the eye. */
  get axes() {
    const a = (this.azimuth * Math.PI) / 180;
    const e = (this.elevation * Math.PI) / 180;
    return [
      [Math.cos(a), 0, -Math.sin(a)],
      [-Math.sin(a) * Math.sin(e), Math.cos(e), -Math.cos(a) * Math.sin(e)],
      [Math.sin(a) * Math.cos(e), Math.sin(e), Math.cos(a) * Math.cos(e)],
    ];
  }

  get toward() {
    return this.axes[2];
  }

  get hasPerspective() {
    return this.fov >= LEAST_FOV;
  }

  /** Distance from the eye to the target; large without perspective. */
  get distance() {
    return (0.5 * this.height) / Math.tan((Math.max(this.fov, LEAST_FOV) * Math.PI) / 360);
  }

  /** The matrix from space to clip coordinates; `reach`: farthest distance from the target. */
  matrix(aspect, reach = 1e4) {
    const view = identity4();
    this.axes.forEach((axis, i) => {
      view.set(axis, 4 * i);
      view[4 * i + 3] = -dot3(axis, this.target);
    });
    const half = 0.5 * this.height;
    const lens = new Float64Array(16);
    lens[0] = 1 / (half * aspect);
    lens[5] = 1 / half;
    if (!this.hasPerspective) {
      lens[10] = -1 / reach;
      lens[15] = 1;
      return product4(lens, view);
    }
    const distance = this.distance;
    lens[14] = -1 / distance;
    lens[15] = 1;
    const near = Math.max(distance - reach, 2e-3 * distance);
    const far = distance + reach;
    lens[10] = -(far + near) / (far - near) / distance;
    lens[11] = (far + near) / (far - near) - (2 * far * near) / (far - near) / distance;
    return product4(lens, view);
  }

  /** Points moved away from the eye: they are seen at the same places. */
  behind(points, far) {
    const found = new Float64Array(points.length);
    const eye = along3(this.target, this.distance, this.toward);
    for (let i = 0; i < points.length / 3; i++) {
      const point = row3(points, i);
      let way = this.toward.map((each) => -each);
      if (this.hasPerspective) {
        way = minus3(point, eye);
        const size = length3(way);
        way = way.map((each) => each / size);
      }
      found.set(along3(point, far, way), 3 * i);
    }
    return found;
  }

  /** The camera turned around its target by degrees. */
  orbited(right, up) {
    const kept = (angle) => Math.min(STEEPEST_VIEW, Math.max(-STEEPEST_VIEW, angle));
    return this.with({ azimuth: kept(this.azimuth + right), elevation: kept(this.elevation + up) });
  }

  /** The camera moved sideways by fractions of the height of the picture. */
  moved(right, up) {
    const axes = this.axes;
    const sideways = axes[0].map((each) => each * right);
    const way = along3(sideways, up, axes[1]);
    return this.with({ target: along3(this.target, this.height, way) });
  }

  /** The camera zoomed in; the point at (right, up) picture heights from the middle stays. */
  zoomed(factor, right = 0, up = 0) {
    const height = Math.min(1e6, Math.max(1e-2, this.height / factor));
    const kept = 1 - height / this.height;
    return this.moved(right * kept, up * kept).with({ height });
  }

  /** A camera of the same direction, so near that all points just fit into the picture. */
  framing(points, aspect, margin = 0.04) {
    const axes = this.axes;
    const room = 1 - 2 * margin;
    const slope = this.hasPerspective ? Math.tan((this.fov * Math.PI) / 360) : 0;
    const low = [Infinity, Infinity, Infinity];
    const high = [-Infinity, -Infinity, -Infinity];
    for (let i = 0; i < points.length / 3; i++) {
      const [x, y, z] = axes.map((axis) => dot3(axis, row3(points, i)));
      const sides = [room * aspect * slope * z, room * slope * z, 0];
      [x, y, z].forEach((place, k) => {
        low[k] = Math.min(low[k], place - sides[k]);
        high[k] = Math.max(high[k], place + sides[k]);
      });
    }
    const deep = (low[2] + high[2]) / 2;
    const highest = Math.max((high[0] - low[0]) / (room * aspect), (high[1] - low[1]) / room);
    const nearest = 1.02 * (high[2] - deep);
    const height = Math.max(highest - 2 * slope * deep, 2 * slope * nearest, 1e-2);
    const middle = [(low[0] + high[0]) / 2, (low[1] + high[1]) / 2, deep];
    const along = (k) => axes.reduce((sum, axis, i) => sum + middle[i] * axis[k], 0);
    const target = [0, 1, 2].map(along);
    return this.with({ target, height });
  }

  /** A camera between this one (part 0) and another one (1). */
  blended(other, part) {
    const eased = part * part * (3 - 2 * part);
    const mix = (a, b) => a + (b - a) * eased;
    return new Camera({
      target: this.target.map((each, i) => mix(each, other.target[i])),
      azimuth: mix(this.azimuth, other.azimuth),
      elevation: mix(this.elevation, other.elevation),
      height: Math.exp(mix(Math.log(this.height), Math.log(other.height))),
      fov: mix(this.fov, other.fov),
    });
  }
}

/** A rectangle of the picture in logical pixels. */
export class Box {
  constructor(x, y, width, height) {
    this.x = x;
    this.y = y;
    this.width = width;
    this.height = height;
  }

  get right() {
    return this.x + this.width;
  }

  get bottom() {
    return this.y + this.height;
  }

  /** Whether two boxes overlap. */
  meets(other) {
    const beside = this.right <= other.x || other.right <= this.x;
    return !(beside || this.bottom <= other.y || other.bottom <= this.y);
  }
}

/** A camera whose view fills a box of a picture of a width and height in logical pixels. */
export class Projection {
  constructor(camera, box, width, height, reach = 1e4) {
    Object.assign(this, { camera, box, width, height, reach });
    const fit = identity4();
    fit[0] = box.width / width;
    fit[5] = box.height / height;
    fit[3] = (2 * box.x + box.width) / width - 1;
    fit[7] = 1 - (2 * box.y + box.height) / height;
    this.matrix = product4(fit, camera.matrix(box.width / box.height, reach));
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

  /** Offset and slope of fog by depth before the division by w, so strong at the farthest point. */
  fog(points, most) {
    const m = this.matrix;
    let [near, far] = [Infinity, -Infinity];
    for (let i = 0; i < points.length; i += 3) {
      const deep = m[8] * points[i] + m[9] * points[i + 1] + m[10] * points[i + 2] + m[11];
      [near, far] = [Math.min(near, deep), Math.max(far, deep)];
    }
    const slope = far > near ? most / (far - near) : 0;
    return [-slope * near, slope];
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
