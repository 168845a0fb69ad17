// The weights of a network after a change: those that fit stay, new ones say nothing at first.

import { sizes_of } from "./story/build_link.js";

/** Return the weights of the network of `next`, of which `drawn` are new ones: those of `old` stay.
 *
 * A new neuron has the inputs that are drawn for it, and outputs of 0; a new input has weights of 0.
 */
export function grown(old, next, weights, drawn) {
  const [before, after] = [old, next].map(sizes_of);
  const found = Float32Array.from(drawn);
  const ends = before.length - after.length; // layers that go
  let row = 0;
  for (let layer = 1; layer < after.length; layer++) {
    const isLast = layer === after.length - 1;
    const from = isLast ? before.length - 1 : layer;
    const [wide, high] = [after[layer - 1], after[layer]];
    const isNew = !isLast && from >= before.length - 1;
    const first = before.slice(1, from).reduce((sum, size, i) => sum + size * (before[i] + 1), 0);
    const [width, height] = [before[from - 1], before[from]];
    const sourceOf = (input) => (layer > 1 ? input : old.features.indexOf(next.features[input]));
    if (isNew && wide === high) {
      found.fill(0, row, row + high * (wide + 1));
      for (let unit = 0; unit < high; unit++) found[row + unit * (wide + 1)] = 1; // hands on
    }
    for (let unit = 0; unit < Math.min(high, height) && !isNew; unit++) {
      for (let input = 0; input < wide; input++) {
        const source = sourceOf(input);
        const isKnown = source >= 0 && source < width && (ends === 0 || !isLast || width === wide);
        found[row + unit * wide + input] = isKnown ? weights[first + unit * width + source] : 0;
      }
      found[row + high * wide + unit] = weights[first + height * width + unit];
    }
    row += high * (wide + 1);
  }
  return found;
}
