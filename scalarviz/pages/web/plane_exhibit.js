// A map of the answers over the plane of two inputs, with the samples on it.

import { answersEach, calledFormula, classOf } from "./formulas.js";
import { isNews, made, putImage, setShown, setSize, setWords, styled } from "./dom.js";
import { followPen, takesAlone } from "./events.js";
import { said } from "./story/formats.js";
import { text } from "./texts.js";
import { wayOf } from "./pointing.js";

const FAINT = 0.55; // strength of the map, as in scene/exhibits/plots.py
const STRONG = 0.8; // of the samples
const POWER = 0.7; // of strengths
const FINE = 96; // cells along the map at rest
const REST = 120; // milliseconds without a change until it is drawn finely
const FEW = 8; // samples that are drawn large
const BORDER = 1.5; // logical pixels of the boundary
const EDGE = 0.06; // part of the canvas at each side of a map with samples at its edge
const SAME = 1e-4; // difference of features below which they belong to one point
const MOVE = 0.02; // part of the map that an arrow key moves

/** The output over the plane of two inputs, and the samples on it. */
export class PlaneMap {
  constructor(element, data, use) {
    Object.assign(this, { data, use });
    this.title = data.title;
    this.canvas = made("canvas", "map");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.cells = made("canvas");
    this.fine = null; // answers of a finer grid, and the probe that they belong to
    this.wait = 0;
    this.point = null; // of the user's own, from 0 to 1
    const atEdge = data.dots.some((dot) => dot.some((x) => Math.abs(x - 0.5) > 0.46));
    this.margin = atEdge ? EDGE : 0; // so that samples at the edge are whole
    const ends = (k) => [said(data.low[k]), data.names[k], said(data.high[k])];
    this.names = made("p", "axes", ...ends(0).map((words) => made("span", "", words)));
    this.key = made("div", "keys-of-map");
    this.says = made("p");
    element.append(made("h2", "", `${this.title} (${data.names.join(", ")})`));
    element.append(this.canvas, this.names, this.key, this.says);
    const part = (x) => (x - this.margin) / (1 - 2 * this.margin);
    followPen(this.canvas, ([right, down]) => this.ask([part(right), 1 - part(down)]));
    this.canvas.addEventListener("keydown", (event) => this.press(event));
    new ResizeObserver(() => this.state && this.draw()).observe(this.canvas);
  }

  // A point of the user's own.

  press(event) {
    const way = wayOf(event.key);
    if (!way || !takesAlone(event)) return;
    const [x, y] = this.point ?? [0.5, 0.5];
    this.ask([x + MOVE * way[0], y - MOVE * way[1]]);
  }

  ask(place) {
    this.point = place.map((x) => Math.min(1, Math.max(0, x)));
    this.use.own(inputsAt(this.data, this.point), "point");
  }

  // Colours.

  /** Return the color of an answer as three bytes, with some strength. */
  color(value, strength = 1) {
    const { classes, middle, reach } = this.data;
    if (Number.isNaN(value)) return [255, 0, 255];
    if (classes) return this.known[value % this.known.length];
    return this.mixed(Math.min(1, Math.max(-1, (value - middle) / reach)) * strength);
  }

  /** Return the color of a part of the strongest ones, from -1 to 1. */
  mixed(part) {
    const [zero, end] = [this.zero, part < 0 ? this.negative : this.positive];
    return zero.map((each, i) => each + Math.abs(part) ** POWER * (end[i] - each));
  }

  /** Return the color of a sample by its target. */
  sampleColor(target) {
    const { classes, middle, reach } = this.data;
    return this.color(classes ? target : middle + (target > middle ? reach : -reach), STRONG);
  }

  /** The map of the answers. */
  get plane() {
    return this;
  }

  // Answers.

  answersOf(outputs) {
    const { reads, outputs: count, classes } = this.data;
    return answersEach(outputs, reads, count).map((own) => (classes ? classOf(own) : own[0]));
  }

  isWrong(found, target) {
    const { middle, classes } = this.data;
    return classes ? found !== target : !(found > middle === target > middle);
  }

  /** Return the answers of the map, in rows from the top, and those of the samples. */
  parts(probe) {
    const { side } = this.data;
    const answers = this.answersOf(probe);
    return [answers.slice(0, side * side), answers.slice(side * side)];
  }

  show(state) {
    this.state = state;
    if (!sameNumbers(state.probe, this.probe)) {
      this.probe = state.probe;
      [this.coarse, this.answers] = this.parts(state.probe);
      this.fine = null;
      clearTimeout(this.wait);
      if (!state.playing) this.wait = setTimeout(() => this.refine(state.probe), REST);
    } else if (!state.playing && !this.fine && !this.wait) {
      this.wait = setTimeout(() => this.refine(state.probe), REST);
    }
    this.draw();
    setWords(this.says, this.verdict());
    if (!state.playing) this.describe();
  }

  /** Ask for more answers, for a map at rest. */
  async refine(probe) {
    this.wait = 0;
    const outputs = await this.use.evaluate(inputsOn(this.data, FINE));
    if (!outputs || !sameNumbers(probe, this.probe)) return;
    this.fine = this.answersOf(outputs);
    this.draw();
  }

  // Drawing.

  draw() {
    for (const name of ["zero", "negative", "positive", "ground"])
      this[name] = bytesOf(styled(`--${name}`));
    this.known = styled("--classes").split(" ").map(bytesOf);
    const ratio = window.devicePixelRatio || 1;
    const size = Math.max(this.data.side, Math.round(this.canvas.clientWidth * ratio));
    setSize(this.canvas, size, size);
    const onto = this.canvas.getContext("2d");
    onto.setTransform(1, 0, 0, 1, 0, 0);
    onto.clearRect(0, 0, size, size);
    onto.translate(this.margin * size, this.margin * size);
    const inner = Math.round((1 - 2 * this.margin) * size);
    this.drawAnswers(onto, inner, ratio);
    this.drawSamples(onto, inner, ratio);
    this.writeKey();
  }

  /** Draw the answers as cells. */
  drawAnswers(onto, inner, ratio) {
    const answers = this.fine ?? this.coarse;
    const side = Math.sqrt(answers.length);
    putImage(this.cells, side, side, (i) => this.faded(answers[i]));
    onto.drawImage(this.cells, 0, 0, inner, inner);
    this.drawBoundary(onto, answers, side, inner, ratio);
  }

  /** Return the color of an answer on the map as three bytes. */
  faded(answer) {
    return this.color(answer).map((each, k) => this.ground[k] + FAINT * (each - this.ground[k]));
  }

  /** Draw the map of a neuron, [buffer, place], onto its card; null: none. */
  showNeuron(card, maps, neuron) {
    if (!this.state || (!maps && !this.neuronMap)) return;
    this.neuronMap ??= new NeuronMap(card, this.data.names);
    const colors = { ground: this.ground, ink: styled("--ink"), color: (part) => this.mixed(part) };
    this.neuronMap.show(maps, neuron, colors, this.place());
  }

  drawBoundary(onto, answers, side, size, ratio) {
    const { classes, middle, sorts } = this.data;
    if (!sorts) return;
    onto.strokeStyle = styled("--ink");
    onto.lineWidth = BORDER * ratio;
    onto.beginPath();
    for (const [a, b] of boundaryOf(answers, side, classes ? null : middle)) {
      onto.moveTo(a[0] * size, a[1] * size);
      onto.lineTo(b[0] * size, b[1] * size);
    }
    onto.stroke();
  }

  drawSamples(onto, size, ratio) {
    const { dots, targets, held, sorts } = this.data;
    const radius = Math.min(dots.length <= FEW ? 8 : 4, size / ratio / 40) * ratio;
    const [ground, ink] = [styled("--ground"), styled("--ink")];
    dots.forEach(([x, y], i) => {
      const place = [Math.min(1, Math.max(0, x)) * size, (1 - Math.min(1, Math.max(0, y))) * size];
      const wrong = sorts && this.isWrong(this.answers[i], targets[i]);
      if (wrong) shapeAt(onto, place, 1.35 * radius, i >= held, ground, ink, 0.28 * radius);
      shapeAt(onto, place, (wrong ? 0.8 : 1) * radius, i >= held, `rgb(${this.sampleColor(targets[i])})`,
        wrong ? null : ground, 0.2 * radius); // prettier-ignore
    });
    const here = this.place();
    if (!here) return;
    onto.strokeStyle = ink;
    onto.lineWidth = 2 * ratio;
    const half = 1.9 * Math.max(radius, 4 * ratio);
    onto.strokeRect(here[0] * size - half, (1 - here[1]) * size - half, 2 * half, 2 * half);
  }

  /** Return where the sample in use, or the user's own point, stands on the map; null if nowhere. */
  place() {
    const { axes, features, low, high, dots } = this.data;
    const { inputs } = this.state;
    if (!inputs) return null;
    if (!features.length)
      return axes.map((axis, k) => (inputs[axis] - low[k]) / (high[k] - low[k]));
    // Of features, coordinates are not known: it is one of the points that have these.
    const known = [...(this.point ? [this.point] : []), ...dots];
    this.places ??= new Map(dots.map((dot) => [dot, inputsAt(this.data, dot)]));
    const isHere = (x, i) => Math.abs(x - inputs[i]) < SAME;
    const has = (place) => (this.places.get(place) ?? inputsAt(this.data, place)).every(isHere);
    return known.find(has) ?? null;
  }

  /** Where that is in the window; null if nowhere. */
  spot() {
    const here = this.state && this.place();
    const { left, top, width } = this.canvas.getBoundingClientRect();
    const at = (part) => (this.margin + (1 - 2 * this.margin) * part) * width;
    return here && width ? [left + at(here[0]), top + at(1 - here[1])] : null;
  }

  writeKey() {
    const { classes, middle, reach, held, dots, sorts, classNames } = this.data;
    const kinds = classes
      ? classNames.map((name, i) => [name, `rgb(${this.color(i)})`])
      : [-1, 1].map((sign) => {
          const value = middle + sign * reach;
          const words = text("exhibits.plane.target", { target: Number(value.toPrecision(3)) });
          return [words, `rgb(${this.sampleColor(value)})`];
        });
    const others = [];
    if (held < dots.length) others.push(["exhibits.plane.held_out", "held"]);
    if (sorts && dots.some((_, i) => this.isWrong(this.answers[i], this.data.targets[i]))) {
      others.push(["exhibits.wrong", "wrong"]);
    }
    if (this.place()) others.push([this.state.own ? "own.chip.point" : "exhibits.in_use", "used"]);
    if (!isNews(this.key, [kinds, others])) return;
    this.key.replaceChildren(
      ...kinds.map(([name, color]) => {
        const item = made("span", "", name);
        item.style.setProperty("--dot", color);
        return item;
      }),
      ...others.map(([key, name]) => made("span", name, text(key))),
    );
  }

  /** Write what a screen reader says of the map. */
  describe() {
    const words = text("own.map", { title: this.title, verdict: this.verdict() || "" });
    if (this.canvas.ariaLabel !== words) this.canvas.ariaLabel = words;
  }

  verdict(state) {
    const { targets, held, sorts } = this.data;
    if (!sorts) return "";
    const found = state ? this.parts(state.probe)[1] : this.answers;
    const own = targets.slice(0, held);
    const right = own.filter((target, i) => !this.isWrong(found[i], target)).length;
    return text("exhibits.right", { right, count: own.length });
  }
}

/** Return the inputs of a point, from 0 to 1: two of them, or features of its coordinates. */
function inputsAt({ rest, axes, features, low, high }, place) {
  const point = place.map((x, k) => low[k] + x * (high[k] - low[k]));
  if (features.length) return features.map((formula) => calledFormula(formula, point));
  const inputs = [...rest];
  axes.forEach((axis, k) => (inputs[axis] = point[k]));
  return inputs;
}

/** Return the inputs of all cells of a map, row by row from the top, or of places of a line. */
export function inputsOn(data, side) {
  const across = (i) => ((i % side) + 0.5) / side;
  const places =
    data.axes.length === 1
      ? Array.from({ length: 2 * side }, (_, k) => [k / (2 * side - 1)])
      : Array.from({ length: side * side }, (_, i) => [
          across(i),
          1 - across(Math.floor(i / side)),
        ]);
  return Float64Array.from(places.flatMap((place) => inputsAt(data, place)));
}

function shapeAt(onto, /** @type {number[]} */ [x, y], radius, isHeld, fill, line, width) {
  onto.beginPath();
  if (isHeld) {
    // prettier-ignore
    const ways = [[0, -1], [1, 0], [0, 1], [-1, 0]];
    for (const [dx, dy] of ways) onto.lineTo(x + 1.2 * radius * dx, y + 1.2 * radius * dy);
    onto.closePath();
  } else {
    onto.arc(x, y, radius, 0, 7);
  }
  onto.fillStyle = fill;
  onto.fill();
  if (!line) return;
  onto.strokeStyle = line;
  onto.lineWidth = width;
  onto.stroke();
}

/** Return a color such as "#0a0b0c" as three bytes. */
export function bytesOf(color) {
  return [1, 3, 5].map((start) => parseInt(color.slice(start, start + 2), 16));
}

/** Whether two arrays have the same numbers. */
export function sameNumbers(a, b) {
  return a?.length === b?.length && a.every((x, i) => Object.is(x, b[i]));
}

// Where the answers over a grid change: lines between cells.

/**
 * Return line segments [[x, y], [x, y]], from 0 to 1, of the boundary in a square grid of answers.
 *
 * middle  the value that the boundary has; null: answers are classes, and it goes between cells
 */
export function boundaryOf(answers, side, middle) {
  return middle === null ? betweenClasses(answers, side) : atValue(answers, side, middle);
}

function betweenClasses(answers, side) {
  const lines = [];
  const at = (i, j) => answers[i * side + j];
  for (let i = 0; i < side; i++) {
    for (let j = 0; j < side; j++) {
      const corner = [(j + 1) / side, (i + 1) / side];
      const [right, below] = [[corner[0], i / side], [j / side, corner[1]]]; // prettier-ignore
      if (j + 1 < side && at(i, j) !== at(i, j + 1)) lines.push([right, corner]);
      if (i + 1 < side && at(i, j) !== at(i + 1, j)) lines.push([below, corner]);
    }
  }
  return lines;
}

/** Lines at a value between four middles of cells each. */
function atValue(answers, side, middle) {
  const lines = [];
  const over = (i, j) => answers[i * side + j] - middle;
  for (let i = 0; i + 1 < side; i++) {
    for (let j = 0; j + 1 < side; j++) {
      // prettier-ignore
      const corners = [[i, j], [i, j + 1], [i + 1, j + 1], [i + 1, j]];
      const found = [];
      corners.forEach((a, k) => {
        const b = corners[(k + 1) % 4];
        const [u, v] = [over(...a), over(...b)];
        if (u > 0 === v > 0 || Number.isNaN(u + v)) return;
        const part = u / (u - v);
        const mix = (axis) => (a[axis] + part * (b[axis] - a[axis]) + 0.5) / side;
        found.push([mix(1), mix(0)]);
      });
      for (let k = 0; k + 1 < found.length; k += 2) lines.push([found[k], found[k + 1]]);
    }
  }
  return lines;
}

// The map of one neuron on its card: its value over the plane.

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
   * maps    of all neurons, see neuron_images.js, or null: nothing is shown
   * neuron  its buffer and its place there, or null
   * colors  {ground, ink, color}: the last one returns that of a part from -1 to 1
   * mark    where the sample in use stands, from 0 to 1, or null
   */
  show(maps, neuron, { ground, ink, color }, mark) {
    const [name, place] = neuron ?? [];
    const own = maps?.values[name]?.[place];
    setShown(this.figure, own !== undefined);
    const ratio = window.devicePixelRatio || 1;
    const size = Math.round(this.canvas.clientWidth * ratio);
    if (own === undefined || size < 1) return;
    const side = Math.sqrt(own.length);
    const reach = own.reduce((top, x) => Math.max(top, Math.abs(x) || 0), 0) || 1;
    putImage(this.cells, side, side, (i) => {
      const part = Math.min(1, Math.max(-1, own[i] / reach));
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
    const [low, high] = [-reach, reach].map((each) => said(each));
    const words = text("card.neuron.map", { names: this.names.join(", "), low, high });
    setWords(this.words, words);
    if (this.canvas.ariaLabel !== words) this.canvas.ariaLabel = words;
  }
}
