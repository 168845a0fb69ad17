// Names of neurons and weights, as captions speak of them; as story/names.py.

import { NO_INDEX } from "./lines.js";
import { firstChannel, owns, unraveled, usesOf } from "./paths.js";
import { text } from "./texts.js";

/** Return the name of a neuron: "input R", "neuron 3", "map 2 at 4, 4", "output 0". */
export function neuronName(say, [name, place]) {
  const buffer = say.buffers[name];
  if (buffer.role === "node") return buffer.names[0];
  if (buffer.role === "hidden") return hiddenName(buffer, place);
  const key = `captions.end.${buffer.role}`;
  if (place < buffer.names.length) return text(key, { name: buffer.names[place] });
  if (buffer.shape.length) return pixelName(buffer, place);
  return buffer.size === 1 ? text(`${key}.only`) : text(key, { name: place });
}

/** Return the name of an output, without the word if it has a name of its own. */
export function shortName(say, place) {
  const { names } = say.buffers[say.outputs];
  return place < names.length ? names[place] : neuronName(say, [say.outputs, place]);
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
export function weightName(say, operation, row) {
  const known = ["affine", "scale", "convolution"];
  if (!operation || !known.includes(operation.kind)) return say.rowNames[row] ?? String(row);
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
  const { written, read } = usesOf(say, operation, row);
  let unit = neuronName(say, [operation.target, written[0]]);
  if (each > 1) {
    unit = text("captions.unit.map", { number: Math.floor(written[0] / each) });
    unit = text("captions.unit.of_layer", { unit, layer: label });
  }
  if (kind === "scale") return text(`captions.unit.${isBias ? "shift" : "gain"}`, { unit });
  if (read === null) return text("captions.unit.bias", { unit });
  const before = neuronName(say, [operation.source, read[0]]);
  return text("captions.unit.weight", { unit, before });
}

/** Return the title of the card of a weight: the neurons that it joins, else its name. */
export function weightTitle(say, row) {
  const operation = say.operations.find((each) => owns(each, row));
  if (operation?.kind === "convolution") return asSentence(weightName(say, operation, row));
  if (operation?.kind !== "affine") return say.rowNames[row] ?? String(row);
  const { written, read } = usesOf(say, operation, row);
  const unit = neuronName(say, [operation.target, written[0]]);
  if (read === null) return text("card.title.bias", { unit });
  return text("card.title.weight", { before: neuronName(say, [operation.source, read[0]]), unit });
}

/** Return a sentence with a capital letter. */
export function asSentence(words) {
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}
