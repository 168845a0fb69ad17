// The initial numbers of a network for a seed, as core/formulas/initializers.py draws them.
//
// The random generator is Philox 4x32 with ten rounds, as in core/formulas/randomness.py.

const PHILOX = { rounds: 10, factors: [0xd2511f53, 0xcd9e8d57], steps: [0x9e3779b9, 0xbb67ae85] };
const HALF = 2 ** 16;
const WORD = 2 ** 32;

/** The high 32 bits of a product of two words. */
function highOf(a, b) {
  const [low, high] = [a & 0xffff, a >>> 16];
  const [other, top] = [b & 0xffff, b >>> 16];
  const first = high * other + Math.floor((low * other) / HALF);
  const second = low * top + (first % HALF);
  return (high * top + Math.floor(first / HALF) + Math.floor(second / HALF)) >>> 0;
}

/** Return two of the four random words of a counter of four words and a key of two. */
function philoxWords([c0, c1, c2, c3], /** @type {number[]} */ [k0, k1]) {
  const [one, two] = PHILOX.factors;
  for (let i = 0; i < PHILOX.rounds; i++) {
    const [high0, low0] = [highOf(c0, one), Math.imul(c0, one) >>> 0];
    const [high1, low1] = [highOf(c2, two), Math.imul(c2, two) >>> 0];
    [c0, c1, c2, c3] = [(high1 ^ c1 ^ k0) >>> 0, low1, (high0 ^ c3 ^ k1) >>> 0, low0];
    k0 = (k0 + PHILOX.steps[0]) >>> 0;
    k1 = (k1 + PHILOX.steps[1]) >>> 0;
  }
  return [c0, c1];
}

/** Return the numbers of `count` weights, and the state after the loss scale; see engine_data.py. */
export function initialNumbers({ draws, fixed, state, seeds }, seed, count) {
  const key = [seed % WORD, Math.floor(seed / WORD)];
  const value = new Float64Array(count);
  for (const [first, size, number] of fixed) value.fill(number, first, first + size);
  for (const [first, size, isNormal, a, b] of draws) {
    for (let row = first; row < first + size; row++) {
      const [u, v] = philoxWords([row, 0, 0, 0], key).map((word) => (word + 0.5) * (1 / WORD));
      const normal = () => a + b * Math.sqrt(-2 * Math.log(u)) * Math.cos(2 * Math.PI * v);
      value[row] = isNormal ? normal() : a + (b - a) * u;
    }
  }
  const own = Float64Array.from(state);
  for (const place of seeds) own.set(key, place);
  return { value, state: own };
}
