// The map of one neuron on its card: its value over the plane, where that is what a network learns.

import { made, setShown, setSize, setWords } from "./dom.js";
import { said } from "./format.js";
import { text } from "./texts.js";

const NEURON = {
  cells: 24, // along a side of the map by which the largest value is found
  spare: 4, // times that the largest value may be smaller than what has the full color
  most: 1e30,
  nearly: 0.97, // of the largest value, which has the full color too
  strength: 0.8, // of the colors on the ground
  milliseconds: 20, // of a map while it trains
};
const BLACK = [0, 0, 0];
const WHITE = [1, 1, 1];

/** Draws the map of a neuron below its card; `names` are those of the two inputs. */
export class NeuronMap {
  constructor(card, names) {
    this.canvas = made("canvas", "map");
    this.canvas.setAttribute("role", "img");
    this.words = made("figcaption");
    this.names = names;
    this.figure = made("figure", "neuron-map", this.canvas, this.words);
    this.reaches = new Map(); // by neuron, the value that has the full color
    card.querySelector("header").after(this.figure);
  }

  /**
   * Draw the map of a neuron.
   *
   * map     a NetworkMap that has the numbers, or null: nothing is shown
   * look    of the map of the outputs
   * neuron  the number of its buffer and its place there
   * mark    where the sample in use stands, from 0 to 1, or null
   */
  show(map, look, neuron, mark) {
    const isShown = map !== null && neuron !== null && neuron[0] >= 0;
    setShown(this.figure, isShown);
    const ratio = window.devicePixelRatio || 1;
    const size = Math.round(this.canvas.clientWidth * ratio);
    if (!isShown || size < 1) return;
    const strength = [look.strength[0], NEURON.strength];
    const own = { ...look, kind: 1, squash: 0, neuron, strength };
    const reach = this.reachOf(map, own, neuron);
    const [side] = map.fit(size, size, NEURON.milliseconds);
    const line = Math.max(1, (1.5 * ratio * side) / size);
    map.draw({ ...own, range: [0, reach], line }, side, side);
    setSize(this.canvas, size, size);
    const context = this.canvas.getContext("2d");
    map.copy(context, side, side, [0, 0, size, size]);
    if (mark) {
      const half = 7 * ratio;
      const [x, y] = [mark[0], 1 - mark[1]].map((part) =>
        Math.min(size - half, Math.max(half, part * size)),
      );
      context.strokeStyle = `rgb(${look.colors[4].map((each) => 255 * each)})`;
      context.lineWidth = 2 * ratio;
      context.strokeRect(x - half, y - half, 2 * half, 2 * half);
    }
    const names = this.names.join(", ");
    const words = text("card.neuron.map", { names, low: said(-reach), high: said(reach) });
    setWords(this.words, words);
    if (this.canvas.ariaLabel !== words) this.canvas.ariaLabel = words;
  }

  /** Return the value that has the full color: a round one, which changes as rarely as possible. */
  reachOf(map, look, neuron) {
    const colors = [BLACK, WHITE, WHITE, BLACK, BLACK];
    const gauge = { ...look, colors, strength: [1, 1], line: 0 };
    const key = String(neuron);
    const known = this.reaches.get(key) ?? 1;
    let scale = known;
    let top;
    do {
      map.draw({ ...gauge, range: [0, scale] }, NEURON.cells, NEURON.cells);
      const bytes = map.bytes(NEURON.cells, NEURON.cells);
      top = bytes.reduce((most, each, i) => (i % 4 ? most : Math.max(most, each)), 0);
      if (top === 255) scale *= 16;
    } while (top === 255 && scale < NEURON.most);
    const largest = (top / 255) * scale * NEURON.nearly;
    const isFit = largest <= known && largest > known / NEURON.spare;
    this.reaches.set(key, isFit || !largest ? known : roundUp(largest));
    return this.reaches.get(key);
  }
}

/** Return the next of 1, 2, 5, 10, ... */
function roundUp(value) {
  const unit = 10 ** Math.floor(Math.log10(value));
  return unit * [1, 2, 5, 10].find((each) => each * unit >= value * (1 - 1e-9));
}
