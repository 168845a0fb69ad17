// Pictures sorted by what a network takes them for; the one in use, and a pad to draw another.

import { answersEach, classOf, readAnswers } from "./formulas.js";
import { Canvas2D } from "./canvas2d.js";
import { Box } from "./story/camera.js";
import { isNews, made, putImage, setWords, styled } from "./dom.js";
import { draw_columns, draw_reasons, learned_of, sure_words, why_of } from "./story/why.js";
import { followArrows, followPen, takesAlone } from "./events.js";
import { withDecimals } from "./numbers.js";
import { Result, rightOf } from "./result.js";
import { bytesOf, sameNumbers } from "./plane_exhibit.js";
import { mixedColor } from "./palette.js";
import { text } from "./texts.js";
import { inRows, unpacked } from "./arrays.js";

const REASONS = { lit: "chosen" }; // names of colors of a theme that are others here
const INKS = ["ink", "quiet", "soft", "worse", "panel", "rim", "lit", "ground"];
const REST = 150; // milliseconds until it is asked what an answer rests on
const MOST_WRONG = 12; // pictures that are taken for others
const MOST_ERASED = 1024; // pixels
const BRUSH = 0.055; // radius of the pen relative to the side of the pad
const LEAST_BRUSH = 0.75; // in pixels of the picture

/** A result plot for classes of pictures: the current sample on a pad to draw on, its outputs as
 * bars, the reasons for the answer, and misclassified pictures; a click shows all in columns.
 */
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
    this.result = new Result(element, () => made("div", "tile"), "unseen");
    element.append(made("div", "now-digit", this.pad.canvas, bars), this.sorted);
    this.whole = false; // whether all are in columns
    this.why = null;
    this.wait = 0;
    this.sorted.addEventListener("click", () => {
      this.whole = !this.whole;
      this.draw();
    });
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
    this.askWhy(state);
    this.draw();
    this.result.say(this.verdict(state), first && this.verdict({ probe: first }));
    if (first && !state.isHeld) this.result.split(this.learned(first));
    setWords(this.result.yet, answer.length ? sure_words(answer, goal).join("\n") : "");
    if (!state.playing) this.sorted.ariaLabel = this.verdict(state).words;
  }

  /** Request the reasons for the answer, when nothing changes. */
  askWhy({ inputs, value, playing }) {
    const isSame = sameNumbers(inputs, this.asked?.inputs) && sameNumbers(value, this.asked?.value);
    if (isSame && !playing) return;
    clearTimeout(this.wait);
    const asked = (this.asked = { inputs, value });
    if (!isSame) this.why = null;
    if (playing || inputs.length > MOST_ERASED) return;
    this.wait = setTimeout(async () => {
      const rows = new Float64Array(inputs.length * (inputs.length + 1));
      for (let i = 0; i <= inputs.length; i++) rows.set(inputs, i * inputs.length);
      for (let i = 0; i < inputs.length; i++) rows[(i + 1) * inputs.length + i] = 0;
      const found = await this.use.evaluate(rows);
      if (!found || asked !== this.asked) return;
      const outputs = inRows(found, this.data.names.length).map((each) => [...each]);
      this.why = why_of(outputs, this.data.shape[1]);
      this.draw();
    }, REST);
  }

  /** Draw the reasons for the answer, and some misclassified pictures. */
  drawReasons(paper, theme, box, tile) {
    const { kept, labels, names } = this.data;
    const wrong = kept.filter((sample) => this.taken[sample] !== labels[sample]);
    const shown = wrong.slice(0, MOST_WRONG);
    const [minus, zero, plus] = ["negative", "zero", "positive"].map((name) =>
      bytesOf(styled(`--${name}`)),
    );
    const drawMap = (shares, x, y, cell) =>
      shares.forEach((share, i) => {
        const color = mixedColor(zero, share < 0 ? minus : plus, Math.min(1, Math.abs(share)));
        const [right, down] = [i % this.why.across, Math.floor(i / this.why.across)];
        paper.box(x + right * cell, y + down * cell, cell + 0.5, cell + 0.5, `rgb(${color.map(Math.round)})`); // prettier-ignore
      });
    draw_reasons(
      paper,
      theme,
      box,
      this.why,
      names,
      shown.map((sample) => [labels[sample], this.taken[sample]]),
      this.taken.filter((kind, i) => kind !== labels[i]).length,
      drawMap,
      (i, ...at) => tile(shown[i], ...at),
    );
  }

  /** Return the counts of right answers for new and known classes, at the start and now. */
  learned(first) {
    const { labels, names } = this.data;
    const all = Array.from(labels.keys());
    const kinds = names.map((_, kind) => all.filter((i) => labels[i] === kind));
    const right = (taken) => kinds.map((own, kind) => own.filter((i) => taken[i] === kind).length);
    const counts = kinds.map((own) => own.length);
    return learned_of(names, counts, right(this.takenFor({ probe: first })), right(this.taken));
  }

  takenFor({ probe }) {
    const { reads, outputs, labels } = this.data;
    return answersEach(probe, reads, outputs).slice(0, labels.length).map(classOf);
  }

  /** Draw all pictures in columns, or the reasons for the answer. */
  draw() {
    const paper = new Canvas2D(this.sorted);
    const colors = INKS.map((name) => [name, styled(`--${REASONS[name] ?? name}`)]);
    const theme = Object.fromEntries(colors);
    const [tray, ink] = ["--raised", "--ink"].map(styled);
    const box = new Box(0, 0, paper.width, paper.height);
    const { shown, labels, names } = this.data;
    const tile = (sample, x, y, side) =>
      paper.context.drawImage(this.tile(sample, tray, ink), x, y, side, side);
    if (!this.whole) return this.drawReasons(paper, theme, box, tile);
    const samples = shown.map((sample) => [this.taken[sample], labels[sample]]);
    return draw_columns(paper, theme, box, names, samples, (i, ...at) => tile(shown[i], ...at));
  }

  /** Return the picture of a sample as a canvas in the colors of the theme. */
  tile(sample, paper, ink) {
    const k = this.data.kept.indexOf(sample);
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

/** Shows the current picture, and lets the user draw another one. */
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
    const middle = shape.map((side) => side >> 1).reverse();
    followArrows(this.canvas, (way) => {
      const inside = (place, k) => Math.min(shape[1 - k] - 1, Math.max(0, place + way[k]));
      this.cursor = (this.cursor ?? middle).map(inside);
      this.show(this.state);
    });
    this.canvas.addEventListener("keydown", (event) => {
      if (!["Enter", " "].includes(event.key) || !takesAlone(event)) return;
      this.cursor ??= middle;
      this.draw(this.cursor.map((place, k) => (place + 0.5) / shape[1 - k]));
    });
    this.canvas.addEventListener("blur", () => (this.cursor = null));
  }

  /** Add ink around a position, from 0 to 1 along both sides. */
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

  /** Show the inputs of a state; if they are a sample, forget what the user has drawn. */
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

/** Return a canvas with amounts of ink from 0 to `top`, drawn between two colors. */
function inked(amounts, [high, wide], top, paper, ink) {
  const canvas = made("canvas");
  const [none, full] = [paper, ink].map(bytesOf);
  putImage(canvas, wide, high, (i) => {
    const part = Math.min(1, Math.max(0, amounts[i] / top));
    return none.map((each, k) => each + part * (full[k] - each));
  });
  return canvas;
}
