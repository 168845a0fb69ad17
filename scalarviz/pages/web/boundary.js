// Where the answers over a grid change: lines between cells.

/**
 * Return line segments [[x, y], [x, y]], from 0 to 1, of the boundary in a square grid of answers.
 *
 * middle  the value that the boundary has; null: answers are classes, and it goes between cells
 */
export function boundaryOf(answers, side, middle) {
  return middle === null ? betweenClasses(answers, side) : atValue(answers, side, middle);
}

function betweenClasses(answers, side) {
  const lines = [];
  const at = (i, j) => answers[i * side + j];
  for (let i = 0; i < side; i++) {
    for (let j = 0; j < side; j++) {
      const corner = [(j + 1) / side, (i + 1) / side];
      const [right, below] = [[corner[0], i / side], [j / side, corner[1]]]; // prettier-ignore
      if (j + 1 < side && at(i, j) !== at(i, j + 1)) lines.push([right, corner]);
      if (i + 1 < side && at(i, j) !== at(i + 1, j)) lines.push([below, corner]);
    }
  }
  return lines;
}

/** Lines at a value between four middles of cells each. */
function atValue(answers, side, middle) {
  const lines = [];
  const over = (i, j) => answers[i * side + j] - middle;
  for (let i = 0; i + 1 < side; i++) {
    for (let j = 0; j + 1 < side; j++) {
      // prettier-ignore
      const corners = [[i, j], [i, j + 1], [i + 1, j + 1], [i + 1, j]];
      const found = [];
      corners.forEach((a, k) => {
        const b = corners[(k + 1) % 4];
        const [u, v] = [over(...a), over(...b)];
        if (u > 0 === v > 0 || Number.isNaN(u + v)) return;
        const part = u / (u - v);
        const mix = (axis) => (a[axis] + part * (b[axis] - a[axis]) + 0.5) / side;
        found.push([mix(1), mix(0)]);
      });
      for (let k = 0; k + 1 < found.length; k += 2) lines.push([found[k], found[k + 1]]);
    }
  }
  return lines;
}
