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
  const sum = (row, column) =>
    [0, 4, 8, 12].reduce((all, k, i) => all + a[row + i] * b[k + column], 0);
  return Float64Array.from({ length: 16 }, (_, at) => sum(at & 12, at & 3));
}

/** The inverse of a matrix, by elimination; null for a flat one. */
export function inverse4(m) {
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
export function identity4() {
  const found = new Float64Array(16);
  for (let i = 0; i < 4; i++) found[5 * i] = 1;
  return found;
}
