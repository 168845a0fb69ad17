// Answers of a network: its outputs as the loss reads them.

/** Return the answers that a loss reads in outputs, of which there are `count` for each sample. */
export function readAnswers(outputs, reads, count = outputs.length) {
  const found = Float64Array.from(outputs);
  if (reads === "sigmoid") return found.map((x) => 0.5 + 0.5 * Math.tanh(0.5 * x));
  if (reads !== "softmax") return found;
  for (let start = 0; start < found.length; start += count) {
    const own = found.subarray(start, start + count);
    const top = Math.max(...own);
    const sum = own.reduce((total, x) => total + Math.exp(x - top), 0);
    own.forEach((x, i) => (own[i] = Math.exp(x - top) / sum));
  }
  return found;
}

/** Return the answers to each of some samples. */
export function answersEach(outputs, reads, count) {
  const found = readAnswers(outputs, reads, count);
  return Array.from({ length: found.length / count }, (_, i) =>
    found.subarray(count * i, count * (i + 1)),
  );
}

/** Return the place of the first of the largest numbers. */
export function indexOfLargest(numbers) {
  return numbers.reduce((best, each, i) => (each > numbers[best] ? i : best), 0);
}

/** Return the place of the largest number; NaN if one of them is not a number. */
export function classOf(row) {
  return row.some(Number.isNaN) ? NaN : indexOfLargest(row);
}
