// The weights of a network after a change of its inputs, layers or neurons: existing ones stay, as in
// training/network/grown_networks.py. They are in the order of the bank: for each layer the
// weights of its neurons, one neuron after another, then the biases.

import { initialNumbers, philoxWords } from "./engine.js";
import { count_of, sizes_of, task_of } from "./story/build_link.js";

const WORD = 2 ** 32;
const STREAM = 9; // of the random generator, as in core/formulas/randomness.py
const NEW = -1; // the place of what was not there, whose weights begin at 0
const DRAWN = -2; // or are drawn
const BOUNDS = {
  pytorch: (wide) => Math.sqrt(1 / wide),
  xavier_uniform: (wide, count) => Math.sqrt(6 / (wide + count)),
  he_uniform: (wide) => Math.sqrt(6 / wide),
  zeros: () => 0,
};

/** How the weights of a network are drawn from a seed, as `initial_data` in engine_data.py. */
export function initialOf(settings, seed = settings.seed) {
  const draws = layersOf(settings).flatMap(({ first, wide, count }) => {
    const bound = BOUNDS[settings.init](wide, count);
    const own = settings.init === "pytorch" ? bound : 0; // of biases
    const weights = [first, wide * count, false, 0 - bound, bound];
    return settings.bias
      ? [weights, [first + wide * count, count, false, 0 - own, own]]
      : [weights];
  });
  return { seed, draws, fixed: [], state: [], seeds: [] };
}

/** The initial weights of a network. */
export function drawnWeights(settings, seed = settings.seed) {
  return Float32Array.from(
    initialNumbers(initialOf(settings, seed), seed, count_of(settings)).value,
  );
}

/** The seed of new weights, as `growth_seed` in core/formulas/randomness.py; it becomes the seed of
 * the network. */
export function growthSeed(seed, networkSeed, step) {
  const low = (number) => number % WORD;
  const high = (number) => Math.floor(number / WORD);
  const key = philoxWords(
    [low(networkSeed), high(networkSeed), 0, STREAM],
    [low(seed), high(seed)],
  );
  const words = philoxWords([low(step), high(step), 0, STREAM], key);
  return words[0] + (words[1] % 2 ** 20) * WORD;
}

/** The weights after a change of settings; all are drawn if more than one layer differs, or the new one
 * is not as wide as its input.
 *
 * value  Float32Array
 * rows   the row that each was before, -1 for a new one
 *
 * @param {any} old settings before the change
 * @param {any} now settings after it
 * @param {Float32Array} value the weights before it
 * @param {{seed: number, layer?: number}} how seed of new weights; place of the new or removed layer,
 *   by default before the output or the first that differs
 */
export function grownWeights(old, now, value, { seed, layer }) {
  const grown = drawnWeights(now, seed);
  const rows = new Int32Array(grown.length).fill(NEW);
  const more = now.hidden.length - old.hidden.length;
  const other = old.hidden.findIndex((size, i) => size !== now.hidden[i]);
  const at = layer ?? (more > 0 ? old.hidden.length : other);
  const [before, after] = [layersOf(old), layersOf(now)];
  const isAnew = Math.abs(more) > 1 || (more === 1 && after[at].wide !== after[at].count);
  let inputs = inputsOf(now).map((name) => inputsOf(old).indexOf(name)); // the place of each before
  for (const [i, { first, wide, count, end }] of isAnew ? [] : after.entries()) {
    if (more === 1 && i === at) {
      if (!passesOn(now.activation[i], now.activation[i - 1] ?? "linear")) continue;
      grown.fill(0, first, end);
      for (let k = 0; k < count; k++) grown[first + k * (wide + 1)] = 1;
      continue;
    }
    if (more === -1 && i === at) inputs = inputs.map((_, k) => (k < old.hidden[at] ? k : DRAWN));
    const last = before[i < at ? i : i - more];
    const outputs = Array.from({ length: count }, (_, k) => (k < last.count ? k : NEW));
    for (const [o, output] of outputs.entries()) {
      if (output === NEW) continue;
      for (const [k, input] of inputs.entries()) {
        const row = first + o * wide + k;
        if (input >= 0) rows[row] = last.first + output * last.wide + input;
        else if (input === NEW) grown[row] = 0;
      }
      const bias = first + wide * count + o;
      if (now.bias && old.bias) rows[bias] = last.first + last.wide * last.count + output;
      else if (now.bias) grown[bias] = 0;
    }
    inputs = outputs;
  }
  const all = grown.map((number, row) => (rows[row] >= 0 ? value[rows[row]] : number));
  return { value: all, rows };
}

/** Numbers of each weight, such as slots of an optimizer, after a change; 0 for new weights. */
export function grownNumbers(numbers, rows, count) {
  const length = (numbers.length / count) * rows.length;
  const from = (i) => Math.floor(i / rows.length) * count + rows[i % rows.length];
  const grownAt = (_, i) => (rows[i % rows.length] < 0 ? 0 : numbers[from(i)]);
  return numbers.constructor.from({ length }, grownAt);
}

/** The key of each input: its feature, or its place. */
function inputsOf(settings) {
  const isPlane = task_of(settings) === "sides" && !settings.names.length;
  return isPlane ? settings.features : [...Array(sizes_of(settings)[0]).keys()];
}

/** The inputs and neurons of each layer, its first row, and the end of its rows. */
function layersOf(settings) {
  const sizes = sizes_of(settings);
  let end = 0;
  return sizes.slice(1).map((count, i) => {
    const first = end;
    end += (sizes[i] + Number(settings.bias)) * count;
    return { wide: sizes[i], count, first, end };
  });
}

/** Whether a layer of an activation hands on the results of another one, as `keeps` in Python. */
function passesOn(name, before) {
  const isPositive = before === "relu" || before === "sigmoid";
  return ["linear", "tanh", "sin"].includes(name) || (isPositive && name.endsWith("relu"));
}
