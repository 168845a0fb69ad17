// Pictures sorted by what a network takes them for; the one in use, and a pad to draw another.

import { answersEach, classOf, readAnswers } from "./formulas.js";
import { Canvas2D } from "./canvas2d.js";
import { isNews, made, putImage, setWords, styled } from "./dom.js";
import { followPen, takesAlone, wayOf } from "./events.js";
import { withDecimals } from "./numbers.js";
import { Result, rightOf } from "./result.js";
import { bytesOf } from "./plane_exhibit.js";
import { text } from "./texts.js";
import { unpacked } from "./arrays.js";

const ROOM = 1.12; // side of a place relative to its picture
const HEAD = 18; // pixels above the columns
const COLORS = ["--ground", "--ink", "--raised", "--positive", "--quiet"];
const BRUSH = 0.055; // radius of the pen relative to the side of the pad
const LEAST_BRUSH = 0.75; // in pixels of the picture

/** The sample in use as a pad to draw on, its answers as bars, and pictures in columns. */
export class Sorting {
  constructor(element, data, use) {
    this.data = data;
    this.use = use;
    this.pictures = unpacked(data.pictures);
    this.pad = new Pad(data.shape, (pixels) => use.own(pixels, "digit"));
    this.bars = data.names.map((name) => [made("span", "", name), made("i")]);
    const bars = made("div", "bars", ...this.bars.flat());
    bars.setAttribute("role", "img");
    this.barBox = bars;
    this.sorted = made("canvas", "sorted");
    this.sorted.setAttribute("role", "img");
    this.result = new Result(element, () => made("div", "tile"), data.things);
    element.append(made("div", "now-digit", this.pad.canvas, bars), this.sorted);
    new ResizeObserver(() => this.state && this.draw()).observe(this.sorted);
  }

  show(state) {
    this.state = state;
    this.pad.show(state);
    const outputs = state.values[this.data.output];
    const answers = outputs && readAnswers(outputs, this.data.reads);
    const goal = state.target ? classOf(Array.from(state.target)) : -1;
    this.bars.forEach(([name, bar], i) => {
      name.className = i === goal ? "target" : "";
      bar.style.width = `${100 * Math.min(1, Math.max(0, answers?.[i] || 0))}%`;
    });
    if (answers && !state.playing) {
      const said = this.data.names.map((name, i) => `${name}: ${withDecimals(answers[i], 2)}`);
      this.barBox.ariaLabel = said.join(", ");
    }
    const [name, first] = [(kind) => this.data.names[kind] ?? "", this.result.firstOf(state)];
    const answer = this.result.answerTo(state, answers);
    setWords(this.result.faces[0], answer.length ? name(classOf(answer)) : "");
    setWords(this.result.faces[1], name(goal));
    this.taken = this.takenFor(state);
    this.draw();
    this.result.say(this.verdict(state), first && this.verdict({ probe: first }));
    if (!state.playing) this.sorted.ariaLabel = this.verdict(state).words;
  }

  takenFor({ probe }) {
    const { reads, outputs, labels } = this.data;
    return answersEach(probe, reads, outputs).slice(0, labels.length).map(classOf);
  }

  /** Draw the pictures in the columns of what they are taken for, wrong ones first and framed. */
  draw() {
    const { shown, labels, names } = this.data;
    const paper = new Canvas2D(this.sorted);
    const { scale: unit, height } = paper;
    const head = HEAD * unit;
    const across = paper.width / names.length;
    const rows = Math.max(1, Math.floor((height - head) / across));
    const [ground, ink, tray, wrong, quiet] = COLORS.map(styled);
    const write = (x, y, words, color) =>
      paper.text(x, y, words, { size: 13 * unit, color, anchor: "center" });
    names.forEach((name, column) => {
      write((column + 0.5) * across, head - 5 * unit, name, ink);
      const isWrong = (k) => Number(labels[shown[k]] !== column);
      const own = shown.map((_, k) => k).filter((k) => this.taken[shown[k]] === column);
      own.sort((a, b) => isWrong(b) - isWrong(a) || a - b);
      const left = own.length > rows ? own.length - rows + 1 : 0;
      own.slice(0, own.length - left).forEach((k, row) => {
        const side = across / ROOM;
        const [x, y] = [column * across + (across - side) / 2, head + row * across];
        paper.context.drawImage(this.tile(k, tray, ink), x, y, side, side);
        if (!isWrong(k)) return;
        paper.box(x - 1, y - 1, side + 2, side + 2, null, { outline: wrong, line: 2 });
        if (side < 22 * unit) return;
        paper.box(x + side - 11 * unit, y + side - 14 * unit, 11 * unit, 14 * unit, wrong);
        write(x + side - 5.5 * unit, y + side - 3 * unit, names[labels[shown[k]]], ground);
      });
      if (!left) return;
      const fits = paper.measure(`+${left}`, { size: 13 * unit }) < across - 2;
      const y = head + (rows - 0.5) * across + 5 * unit;
      write((column + 0.5) * across, y, fits ? `+${left}` : "+", quiet);
    });
  }

  /** Return a picture as a canvas in the colors of the theme. */
  tile(k, paper, ink) {
    if (isNews(this.sorted, [paper, ink])) this.tiles = [];
    const [, high, wide] = this.pictures.shape;
    const size = high * wide;
    const bytes = this.pictures.subarray(k * size, (k + 1) * size);
    this.tiles[k] ??= inked(bytes, [high, wide], 255, paper, ink);
    return this.tiles[k];
  }

  verdict(state) {
    const taken = this.takenFor(state);
    return rightOf(this.data.labels.map((label, i) => taken[i] === label));
  }
}

/** Shows the picture in use, and takes another one that is drawn on it. */
class Pad {
  constructor(shape, own) {
    this.shape = shape;
    this.own = own;
    this.pixels = null; // that were drawn
    this.cursor = null; // for the keys
    this.canvas = made("canvas", "pad");
    Object.assign(this.canvas, { tabIndex: 0, ariaLabel: text("own.draw") });
    this.canvas.setAttribute("role", "application");
    followPen(this.canvas, (place) => {
      this.cursor = null;
      this.draw(place);
    });
    this.canvas.addEventListener("keydown", (event) => this.press(event));
    this.canvas.addEventListener("blur", () => (this.cursor = null));
  }

  /** Add ink around a place, from 0 to 1 along both sides. */
  draw(/** @type {number[]} */ [x, y]) {
    const [high, wide] = this.shape;
    this.pixels ??= new Float64Array(high * wide);
    const radius = Math.max(LEAST_BRUSH, BRUSH * wide);
    this.pixels.forEach((ink, i) => {
      const far = Math.hypot((i % wide) + 0.5 - x * wide, Math.floor(i / wide) + 0.5 - y * high);
      this.pixels[i] = Math.max(ink, Math.min(1, Math.max(0, 1.5 - far / radius)));
    });
    this.own([...this.pixels]);
  }

  press(event) {
    const way = wayOf(event.key);
    const draws = event.key === "Enter" || event.key === " ";
    if (!(way || draws) || !takesAlone(event)) return;
    const [high, wide] = this.shape;
    const [x, y] = this.cursor ?? [wide >> 1, high >> 1];
    if (way) {
      const within = (place, size) => Math.min(size - 1, Math.max(0, place));
      this.cursor = [within(x + way[0], wide), within(y + way[1], high)];
      this.show(this.state);
    } else {
      this.cursor = [x, y];
      this.draw([(x + 0.5) / wide, (y + 0.5) / high]);
    }
  }

  /** Draw the inputs of a state; at the samples what was drawn is forgotten. */
  show(state) {
    this.state = state;
    if (!state.own) this.pixels = null;
    const colors = ["--ground", "--ink"].map(styled);
    const picture = inked(state.inputs, this.shape, 1, ...colors);
    Object.assign(this.canvas, { width: picture.width, height: picture.height });
    const context = this.canvas.getContext("2d");
    context.drawImage(picture, 0, 0);
    if (!this.cursor) return;
    context.fillStyle = styled("--accent");
    context.globalAlpha = 0.6;
    context.fillRect(...this.cursor, 1, 1);
  }
}

/** Return a canvas with amounts of ink, of which `top` is the largest, between two colors. */
function inked(amounts, [high, wide], top, paper, ink) {
  const canvas = made("canvas");
  const [none, full] = [paper, ink].map(bytesOf);
  putImage(canvas, wide, high, (i) => {
    const part = Math.min(1, Math.max(0, amounts[i] / top));
    return none.map((each, k) => each + part * (full[k] - each));
  });
  return canvas;
}
