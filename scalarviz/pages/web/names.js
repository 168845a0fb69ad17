// Names of neurons and weights in captions, as story/names.py; and where
// weights are used.

import { NO_INDEX } from "./formulas.js";
import { text } from "./texts.js";

/** Return the name of a neuron: "input R", "neuron 3", "map 2 at 4, 4", "output 0". */
export function neuronName(facts, [name, place]) {
  const buffer = facts.buffers[name];
  if (buffer.role === "node") return buffer.names[0];
  if (buffer.role === "hidden") return hiddenName(buffer, place);
  const key = `captions.end.${buffer.role}`;
  if (place < buffer.names.length) return text(key, { name: buffer.names[place] });
  if (buffer.shape.length) return pixelName(buffer, place);
  return buffer.size === 1 ? text(`${key}.only`) : text(key, { name: place });
}

/** Return the name of an output, without the word if it has a name of its own. */
export function shortName(facts, place) {
  const { names } = facts.buffers[facts.outputs];
  return place < names.length ? names[place] : neuronName(facts, [facts.outputs, place]);
}

function hiddenName(buffer, place) {
  if (buffer.shape.length && buffer.shape[0] > 1) return pixelName(buffer, place);
  let name = text(`captions.unit.${buffer.wave ? "wave" : "neuron"}`, { number: place });
  if (buffer.shape.length) name = pixelName(buffer, place);
  else if (buffer.wave) return name;
  return buffer.layer ? text("captions.unit.of_layer", { unit: name, layer: buffer.layer }) : name;
}

/** Return the name of a pixel: with its map if there are several. */
function pixelName(buffer, place) {
  const [number, row, column] = unraveled(place, buffer.shape);
  if (buffer.shape[0] === 1) return text("captions.unit.only_pixel", { row, column });
  return text("captions.unit.pixel", { number, row, column });
}

/** Return the name of a weight: "the weight from input R to neuron 3". */
export function weightName(facts, operation, row) {
  const known = ["affine", "scale", "convolution"];
  if (!operation || !known.includes(operation.kind)) return facts.row_names[row] ?? String(row);
  const { weights, biases, each, kind, shape, label } = operation;
  const isBias = biases !== NO_INDEX && row >= biases;
  if (kind === "convolution") {
    if (isBias) return text("captions.unit.kernel_bias", { kernel: row - biases });
    const [kernel, ownChannel, line, column] = unraveled(row - weights, shape);
    const at = { kernel, row: line, column };
    if (shape[1] === 1) return text("captions.unit.kernel_weight", at);
    const channel = firstChannel(operation, kernel) + ownChannel;
    return text("captions.unit.map_weight", { channel, ...at });
  }
  const { written, read } = usesOf(facts, operation, row);
  let unit = neuronName(facts, [operation.target, written[0]]);
  if (each > 1) {
    unit = text("captions.unit.map", { number: Math.floor(written[0] / each) });
    unit = text("captions.unit.of_layer", { unit, layer: label });
  }
  if (kind === "scale") return text(`captions.unit.${isBias ? "shift" : "gain"}`, { unit });
  if (read === null) return text("captions.unit.bias", { unit });
  const before = neuronName(facts, [operation.source, read[0]]);
  return text("captions.unit.weight", { unit, before });
}

/** Return the title of the card of a weight: the neurons that it joins, else its name. */
export function weightTitle(facts, row) {
  const operation = facts.operations.find((each) => owns(each, row));
  if (operation?.kind === "convolution") return asSentence(weightName(facts, operation, row));
  if (operation?.kind !== "affine") return facts.row_names[row] ?? String(row);
  const { written, read } = usesOf(facts, operation, row);
  const unit = neuronName(facts, [operation.target, written[0]]);
  if (read === null) return text("card.title.bias", { unit });
  return text("card.title.weight", {
    before: neuronName(facts, [operation.source, read[0]]),
    unit,
  });
}

/** Return a sentence with a capital letter. */
export function asSentence(words) {
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}

// Where weights are used, and the path of a signal through all operations; as
// story/traced_weight.py.

const product = (numbers) => numbers.reduce((found, each) => found * each, 1);
const counted = (count) => [...Array(count).keys()];

/** Return whether a row of the bank is a parameter of an operation. */
export function owns(operation, row) {
  const first = operation.weights;
  return first !== NO_INDEX && first <= row && row < first + operation.count;
}

/** Return the indices along all sides of a place in an array of this shape. */
export function unraveled(place, shape) {
  const found = [];
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    found.unshift(place % shape[axis]);
    place = Math.floor(place / shape[axis]);
  }
  return found;
}

/** Return the outputs that a parameter adds to, and the inputs it multiplies; null for a bias. */
export function usesOf(facts, operation, row) {
  const { weights, biases, each, kind } = operation;
  if (!operation.multiplies) return { written: [], read: [] };
  if (biases !== NO_INDEX && row >= biases) {
    return { written: counted(each).map((i) => i + (row - biases) * each), read: null };
  }
  const place = row - weights;
  if (kind === "affine") {
    const size = facts.buffers[operation.source].size;
    return { written: [Math.floor(place / size)], read: [place % size] };
  }
  if (kind === "scale") {
    const numbers = counted(each).map((i) => place * each + i);
    return { written: numbers, read: numbers };
  }
  return convolved(operation, place);
}

/** Return the first channel of the picture that a kernel sees. */
function firstChannel({ settings, shape }, kernel) {
  const groups = settings[10];
  return Math.floor((kernel * groups) / shape[0]) * shape[1];
}

/** Return outputs and inputs of a weight of a kernel: one pair for each window. */
function convolved({ settings, shape }, place) {
  const [, height, width, high, wide, strideY, strideX, padding, gapY, gapX] = settings;
  const rows = Math.floor((height + 2 * padding - (high - 1) * gapY - 1) / strideY) + 1;
  const columns = Math.floor((width + 2 * padding - (wide - 1) * gapX - 1) / strideX) + 1;
  const [kernel, ownChannel, line, column] = unraveled(place, shape);
  const channel = firstChannel({ settings, shape }, kernel) + ownChannel;
  const written = [];
  const read = [];
  for (let i = 0; i < rows; i++) {
    const y = i * strideY - padding + line * gapY;
    if (y < 0 || y >= height) continue;
    for (let j = 0; j < columns; j++) {
      const x = j * strideX - padding + column * gapX;
      if (x < 0 || x >= width) continue;
      written.push(kernel * rows * columns + i * columns + j);
      read.push((channel * height + y) * width + x);
    }
  }
  return { written, read };
}

/** Return output and input of each operation that the signal of a weight passes. */
export function pathOfRow(facts, row) {
  const home = facts.operations.findIndex((each) => owns(each, row));
  if (home < 0) return pathThrough(facts, 0, [0, 0]);
  return pathThrough(facts, home, placeIn(facts, facts.operations[home], row));
}

/** Return output and input of each operation that the signal of a neuron passes. */
export function pathOfNeuron(facts, [name, place]) {
  const home = facts.operations.findIndex((each) => each.target === name);
  if (home < 0) return pathThrough(facts, 0, [outputFor(facts, facts.operations[0], place), place]);
  return pathThrough(facts, home, [place, inputFor(facts, facts.operations[home], place)]);
}

/** Return the path that passes an output and input of the operation `home`. */
function pathThrough(facts, home, place) {
  const { operations } = facts;
  const places = { [home]: place };
  const at = { [operations[home].target]: place[0] };
  for (let i = home; i >= 0; i--) {
    const output = at[operations[i].target];
    if (output === undefined) continue;
    places[i] ??= [output, inputFor(facts, operations[i], output)];
    for (const source of sourcesFor(facts, operations[i], output)) at[source] = places[i][1];
  }
  const behind = new Set([operations[home].target]);
  return operations.map((operation, i) => {
    const { sources, target } = operation;
    if (!places[i]) {
      const source = sources.find((each) => behind.has(each)) ?? sources[0];
      places[i] = [outputFor(facts, operation, at[source], source), at[source]];
      at[target] ??= places[i][0];
    }
    if (sources.some((each) => behind.has(each))) behind.add(target);
    return places[i];
  });
}

/** Return the buffers that an output depends on. */
export function sourcesFor(facts, { kind, sources }, output) {
  if (kind !== "concatenation") return sources;
  return [sources[output >= facts.buffers[sources[0]].size ? 1 : 0]];
}

/** Return the output and input of a parameter; those in the middle for a shared one. */
function placeIn(facts, operation, row) {
  if (!operation.multiplies) return [0, 0];
  const { written, read } = usesOf(facts, operation, row);
  if (!written.length) {
    const unit = Math.floor((row - operation.weights) / perUnit(operation));
    const output = unit * operation.each;
    return [output, inputFor(facts, operation, output)];
  }
  const at = middleUse(written.length);
  const output = written[at];
  if (read !== null) return [output, read[at]];
  if (operation.each > 1) return [output, inputFor(facts, operation, output)];
  return [output, operation.shape.length > 1 ? 0 : output];
}

/** Return the middle of `count` places; for a square, that of the middle row. */
function middleUse(count) {
  return Math.min(count - 1, Math.floor((count + Math.floor(Math.sqrt(count))) / 2));
}

/** Return the number of weights of a perceptron or kernel. */
export function perUnit(operation) {
  return product(operation.shape.slice(1));
}

/** Return an output that depends on an input. */
function outputFor(facts, operation, column, source) {
  if (operation.kind === "concatenation") {
    return column + (source === operation.sources[1] ? facts.buffers[operation.source].size : 0);
  }
  if (!operation.multiplies) return across(facts, operation.source, operation.target, column);
  const { into } = weightsFrom(facts, operation, column);
  if (!into.length) return column % facts.buffers[operation.target].size;
  const units = operation.shape.length > 1 ? unitsOn(operation, column).length : 1;
  const width = into.length / units;
  return into[(column % units) * width + middleUse(Math.floor(into.length / units))];
}

/** Return an input that an output depends on. */
function inputFor(facts, operation, output) {
  if (operation.kind === "concatenation") {
    const { size } = facts.buffers[operation.source];
    return output < size ? output : output - size;
  }
  if (!operation.multiplies) return across(facts, operation.target, operation.source, output);
  const { read } = weightsInto(facts, operation, output);
  const count = read.length;
  if (!count) return output % facts.buffers[operation.source].size;
  return read[operation.each === 1 ? output % count : Math.floor(count / 2)];
}

/** Return the corresponding index on the other side of an operation without weights. */
function across(facts, from, to, place) {
  const [here, there] = [facts.buffers[from], facts.buffers[to]];
  if (here.size === there.size || !here.shape.length || !there.shape.length) {
    return place % there.size;
  }
  const at = unraveled(place, here.shape);
  const moved = at.map((i, axis) => Math.floor((i * there.shape[axis]) / here.shape[axis]));
  return moved.reduce((found, i, axis) => found * there.shape[axis] + i, 0);
}

/** Return the weights that an output depends on, and the input of each. */
export function weightsInto(facts, operation, output) {
  const count = perUnit(operation);
  const first = operation.weights + Math.floor(output / operation.each) * count;
  const found = { rows: [], read: [] };
  for (let row = first; row < first + count; row++) {
    const { written, read } = usesOf(facts, operation, row);
    written.forEach((place, i) => {
      if (place !== output) return;
      found.rows.push(row);
      found.read.push(read[i]);
    });
  }
  return found;
}

/** Return the perceptrons that see an input, or the kernels of its group. */
function unitsOn({ kind, settings, shape }, column) {
  const units = counted(shape[0]);
  if (kind !== "convolution") return units;
  const [, height, width] = settings;
  const channel = Math.floor(column / (height * width));
  const group = Math.floor(channel / shape[1]);
  return units.filter((unit) => firstChannel({ settings, shape }, unit) === group * shape[1]);
}

/** Return the weights that multiply an input, and the output of each. */
export function weightsFrom(facts, operation, column) {
  const { shape, weights, each } = operation;
  if (shape.length === 1) return { rows: [weights + Math.floor(column / each)], into: [column] };
  const count = perUnit(operation);
  const units = unitsOn(operation, column);
  const first = weights + units[0] * count;
  const pairs = [];
  for (let row = first; row < first + count; row++) {
    const { written, read } = usesOf(facts, operation, row);
    read.forEach((place, i) => place === column && pairs.push([row, written[i]]));
  }
  pairs.sort((a, b) => a[1] - b[1]);
  const found = { rows: [], into: [] };
  for (let unit = 0; unit < units.length; unit++) {
    for (const [row, output] of pairs) {
      found.rows.push(row + unit * count);
      found.into.push(output + unit * each);
    }
  }
  return found;
}

/** Return the rows of the layer of a weight. */
export function rowsBeside(facts, row) {
  const { layer } = facts.operations.find((each) => owns(each, row)) ?? {};
  const all = facts.operations.filter((each) => each.count > 0 && each.layer === layer);
  return all.flatMap(({ weights, count }) => Array.from({ length: count }, (_, i) => weights + i));
}
