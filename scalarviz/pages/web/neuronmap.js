// The map of one neuron on its card: its value over the plane, where that is what a network learns.

import { made, putImage, setShown, setSize, setWords } from "./dom.js";
import { said } from "./formats.js";
import { text } from "./texts.js";

const VIVID = 0.8; // of the colors on the ground

/** Draws the map of a neuron below its card; `names` are those of the two inputs. */
export class NeuronMap {
  constructor(card, names) {
    this.canvas = made("canvas", "map");
    this.canvas.setAttribute("role", "img");
    this.cells = made("canvas");
    this.words = made("figcaption");
    this.names = names;
    this.figure = made("figure", "neuron-map", this.canvas, this.words);
    card.querySelector("header").after(this.figure);
  }

  /**
   * Draw the map of a neuron.
   *
   * maps    of all neurons, see spheremaps.js, or null: nothing is shown
   * neuron  its buffer and its place there, or null
   * colors  {ground, ink, color}: the last one returns that of a part from -1 to 1
   * mark    where the sample in use stands, from 0 to 1, or null
   */
  show(maps, neuron, { ground, ink, color }, mark) {
    const [name, place] = neuron ?? [];
    const [middle, reach] = maps?.scales[name]?.[place] ?? [];
    setShown(this.figure, reach !== undefined);
    const ratio = window.devicePixelRatio || 1;
    const size = Math.round(this.canvas.clientWidth * ratio);
    if (reach === undefined || size < 1) return;
    const { side, values } = maps;
    const own = values[name].subarray(place * side * side, (place + 1) * side * side);
    putImage(this.cells, side, side, (i) => {
      const part = Math.min(1, Math.max(-1, (own[i] - middle) / reach));
      return color(part).map((each, k) => ground[k] + VIVID * (each - ground[k]));
    });
    setSize(this.canvas, size, size);
    const context = this.canvas.getContext("2d");
    context.drawImage(this.cells, 0, 0, size, size);
    if (mark) {
      const half = 7 * ratio;
      const [x, y] = [mark[0], 1 - mark[1]].map((part) =>
        Math.min(size - half, Math.max(half, part * size)),
      );
      context.strokeStyle = ink;
      context.lineWidth = 2 * ratio;
      context.strokeRect(x - half, y - half, 2 * half, 2 * half);
    }
    const [low, high] = [middle - reach, middle + reach].map((each) => said(each));
    const words = text("card.neuron.map", { names: this.names.join(", "), low, high });
    setWords(this.words, words);
    if (this.canvas.ariaLabel !== words) this.canvas.ariaLabel = words;
  }
}
