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
export function product4(a, b) {
  const found = new Float64Array(16);
  for (let i = 0; i < 4; i++) {
    for (let j = 0; j < 4; j++) {
      let sum = 0;
      for (let k = 0; k < 4; k++) sum += a[4 * i + k] * b[4 * k + j];
      found[4 * i + j] = sum;
    }
  }
  return found;
}

/** A matrix times a vector of four numbers. */
export function applied4(m, v) {
  return [0, 4, 8, 12].map(
    (i) => m[i] * v[0] + m[i + 1] * v[1] + m[i + 2] * v[2] + m[i + 3] * v[3],
  );
}

/** The inverse of a matrix and its determinant, by elimination; the inverse of a flat one is null. */
export function inverse4(m) {
  const left = Float64Array.from(m);
  const right = identity4();
  let determinant = 1;
  for (let column = 0; column < 4; column++) {
    let best = column;
    for (let i = column + 1; i < 4; i++) {
      if (Math.abs(left[4 * i + column]) > Math.abs(left[4 * best + column])) best = i;
    }
    const pivot = left[4 * best + column];
    if (!pivot || !Number.isFinite(pivot)) return { inverse: null, determinant: 0 };
    if (best !== column) {
      determinant = -determinant;
      swapRows(left, best, column);
      swapRows(right, best, column);
    }
    determinant *= pivot;
    for (let j = 0; j < 4; j++) {
      left[4 * column + j] /= pivot;
      right[4 * column + j] /= pivot;
    }
    for (let i = 0; i < 4; i++) {
      const factor = left[4 * i + column];
      if (i === column || !factor) continue;
      for (let j = 0; j < 4; j++) {
        left[4 * i + j] -= factor * left[4 * column + j];
        right[4 * i + j] -= factor * right[4 * column + j];
      }
    }
  }
  return { inverse: right, determinant };
}

/** The matrix that changes nothing. */
export function identity4() {
  const found = new Float64Array(16);
  for (let i = 0; i < 4; i++) found[5 * i] = 1;
  return found;
}

function swapRows(m, a, b) {
  for (let j = 0; j < 4; j++) [m[4 * a + j], m[4 * b + j]] = [m[4 * b + j], m[4 * a + j]];
}

/** A matrix in the order of WebGL, one column after the other. */
export function columns4(m) {
  const found = new Float32Array(16);
  for (let i = 0; i < 4; i++) for (let j = 0; j < 4; j++) found[4 * j + i] = m[4 * i + j];
  return found;
}
