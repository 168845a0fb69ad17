// What metrics do with rows of numbers, one a sample; as core/formulas/metric_arrays.py.

import * as py from "./python.js";

export function mean(each) {
  const all = each.flat();
  return py.total(all) / all.length;
}

export function totals(rows) {
  return py.along(rows, 0, py.total);
}

export function centered(rows) {
  const means = totals(rows).map((total) => total / rows.length);
  return py.elementwise((a, b) => a - b, rows, means);
}

export function largest_of(rows) {
  return rows.map((row) => {
    const place = py.argmax(row);
    return Array.from(row, (_, k) => k === place);
  });
}

export function areas(p, there) {
  const isThere = py.transposed(there);
  const found = py.transposed(p).map((scores, k) => areaOf(scores, isThere[k]));
  return found.filter((area) => !Number.isNaN(area));
}

/** Return the area under the ROC curve of one output; NaN if there is only one class. */
function areaOf(scores, isThere) {
  const counts = new Map(); // by score: of samples that are not there, and of those that are
  scores.forEach((score, i) => {
    if (!counts.has(score)) counts.set(score, [0, 0]);
    counts.get(score)[Number(isThere[i])] += 1;
  });
  let [below, mine, sum] = [0, 0, 0];
  for (const score of Float64Array.from(counts.keys()).sort()) {
    const [others, own] = counts.get(score);
    sum += own * (below + others / 2);
    below += others;
    mine += own;
  }
  return sum / (below * mine);
}
