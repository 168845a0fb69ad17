// The scale of the losses in a chart: linear if there are losses below 0, else logarithmic; as
// scene/charts.py.

const LEAST = 1e-300; // loss on a logarithmic scale
const EQUAL = 1e-9; // relative difference of losses that are nearly the same

/** Whether a loss is shown: of a logarithm no 0. */
export function isShown(loss) {
  return Number.isFinite(loss) && loss !== 0;
}

/** Return the scale of losses with plain numbers at its ends: {low, high, up}.
 *
 * ends  the smallest and the largest loss; null: there is none
 * `up` returns how high a loss stands, from 0 at `low` to 1 at `high`.
 */
export function lossScale(ends) {
  const [least, most] = ends ?? [0.1, 1];
  if (least < 0) {
    const largest = Math.max(-least, most);
    const step = stepOf(most - least > EQUAL * largest ? most - least : largest);
    const first = Math.min(Math.floor(least / step), -1);
    const [low, high] = [step * first, step * Math.max(Math.ceil(most / step), first + 1)];
    return { low, high, up: (loss) => (loss - low) / (high - low) };
  }
  const [low, high] = decades(Math.max(least, LEAST), Math.max(most, LEAST));
  const up = Math.log10(high / low);
  return { low, high, up: (loss) => Math.log10(loss / low) / up };
}

/** Return 1, 2 or 5 times a power of ten: a fourth to a tenth of what is between two losses. */
function stepOf(between) {
  const power = 10 ** Math.floor(Math.log10(between));
  return power / (between < 2 * power ? 5 : between < 5 * power ? 2 : 1);
}

/** Return round ends of a scale, 1, 2 or 5 times a power of ten, that are ten times apart or more. */
function decades(low, high) {
  const top = [1, 2, 5, 10].map((each) => each * 10 ** Math.floor(Math.log10(high)));
  const end = top.find((each) => each >= high * (1 - 1e-9));
  const start = [5, 2, 1].map((each) => each * 10 ** Math.floor(Math.log10(low)));
  const lowest = start.find((each) => each <= low * (1 + 1e-9));
  return [Math.min(lowest, end / 10), end];
}
