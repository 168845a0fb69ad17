// A map of the answers over the plane of two inputs, with the samples on it.

import { colorBetween } from "./palette.js";
import { Canvas2D } from "./canvas2d.js";
import { answersEach, calledFormula, classOf } from "./formulas.js";
import { isNews, made, putImage, setShown, setWords, styled } from "./dom.js";
import { followArrows, followPen } from "./events.js";
import { Result, isAwaited, offBy, rightOf } from "./result.js";
import { said } from "./story/formats.js";
import { near_border, typeset } from "./story/decimals.js";
import { Border, ON_MAP, draw_to_shown, way_on_map } from "./story/annotations.js";
import { Box } from "./story/camera.js";
import { shortened, text } from "./texts.js";

const FAINT = 0.72; // strength of the map, as in scene/exhibits/plots.py
const LONGEST_NAME = 9; // letters of the name of an input above the map
const QUESTIONS = 4; // most samples that are a table
const LIGHT = 0.76; // share of their color that is not ink
const SHOWN = 1.6; // radius of the sample in use, relative to others
const INNER = 0.8; // and that of its mark
const RIM = "#080b10"; // around dots and marks
const WHITE = "#f0f4fa"; // the one in use
const POWER = 0.7; // of strengths
const FINE = 96; // cells along the map at rest
const REST = 120; // milliseconds without a change until it is drawn finely
const FEW = 8; // samples that are drawn large
const EDGE = 0.06; // part of the canvas at each side of a map with samples at its edge
const SAME = 1e-4; // difference of features below which they belong to one point
const MOVE = 0.02; // part of the map that an arrow key moves

/** A result plot that shows the output over the plane of two inputs, and the samples. */
export class PlaneMap {
  constructor(element, data, use) {
    Object.assign(this, { data, use });
    this.title = data.title;
    this.key = made("div", "keys-of-map");
    const look = { count: 1, among: [this.key] };
    this.isTable = data.sorts && !data.classes && data.held <= QUESTIONS;
    this.result = new Result(element, () => made("canvas", "map"), data.things, look);
    this.canvas = this.result.faces[0];
    this.result.first.className = "";
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.cells = made("canvas");
    this.fine = null; // answers of a finer grid, and the probe that they belong to
    this.wait = 0;
    this.point = null; // of the user's own, from 0 to 1
    this.hidesTest = false; // whether held-out samples are left out
    this.drawn = null; // fields of `data` with points in place of the samples, or null
    const atEdge = data.dots.some((dot) => dot.some((x) => Math.abs(x - 0.5) > 0.46));
    this.margin = atEdge ? EDGE : 0; // so that samples at the edge are whole
    this.isCurve = data.axes.length === 1; // of the answers over one input
    if (this.isTable) this.makeTable(element);
    setShown(this.key, !this.isTable);
    const [across, up] = data.names.map((name) => shortened(name, LONGEST_NAME));
    const head = text("exhibits.plane.head", { x: across, y: up });
    const dots = this.isTable ? "" : text("exhibits.plane.dots");
    if (!this.isCurve) setWords(this.result.names[0], head + dots);
    setShown(this.result.first, !this.isCurve);
    const part = (x) => (x - this.margin) / (1 - 2 * this.margin);
    followPen(this.canvas, ([right, down]) => this.ask([part(right), 1 - part(down)]));
    followArrows(this.canvas, ([right, down]) => {
      const [x, y] = this.point ?? [0.5, 0.5];
      this.ask([x + MOVE * right, y - MOVE * down]);
    });
    new ResizeObserver(() => this.state && this.draw()).observe(this.canvas);
  }

  // A point of the user's own.

  ask(place) {
    this.point = place.map((x) => Math.min(1, Math.max(0, x)));
    if (this.use.place?.(this.point)) return;
    this.use.own(inputsAt(this.data, this.point), "point");
  }

  // Colours.

  /** Return the color of an output as three bytes. */
  color(value) {
    const { classes, middle, reach } = this.data;
    if (Number.isNaN(value)) return [255, 0, 255];
    if (classes) return this.known[value % this.known.length];
    const part = Math.min(1, Math.max(-1, (value - middle) / reach));
    return colorBetween(...this.stops, part);
  }

  /** Return the color of a number from -1 to 1. */
  mixed(part) {
    const [zero, end] = [this.zero, part < 0 ? this.negative : this.positive];
    return zero.map((each, i) => each + Math.abs(part) ** POWER * (end[i] - each));
  }

  /** Return the color of a sample for its target, chosen to contrast with the map. */
  sampleColor(target) {
    const { classes, middle } = this.data;
    if (!classes) return bytesOf(styled("--sides").split(" ")[Number(target > middle)]);
    const ink = bytesOf(styled("--ink"));
    return this.color(target).map((each, k) => ink[k] + LIGHT * (each - ink[k]));
  }

  /** The names of the outputs below and above the middle, or their numbers. */
  get answerNames() {
    const { sides, middle, reach } = this.data;
    const named = (x) => `${Number(x.toPrecision(3))}`;
    return sides.length ? sides : [named(middle - reach), named(middle + reach)];
  }

  /** The border between two classes; null if there are not two classes. */
  get border() {
    const { sorts, classes, middle, reach } = this.data;
    return sorts && !classes ? new Border(middle, reach, this.answerNames) : null;
  }

  /** The map of the outputs; null for a curve. */
  get plane() {
    return this.isCurve ? null : this;
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

  /** Return the outputs of the map, in rows from the top, and the outputs for the samples. */
  parts(probe) {
    const { side, dots } = this.data;
    const [answers, count] = [this.answersOf(probe), side * side];
    return [answers.slice(0, count), answers.slice(count, count + dots.length)];
  }

  show(state) {
    this.state = state;
    if (!sameNumbers(state.probe, this.probe)) {
      this.probe = state.probe;
      [this.coarse, this.answers] = this.parts(state.probe);
      this.fine = null;
      clearTimeout(this.wait);
      this.wait = 0;
    }
    if (!state.playing && !this.fine && !this.wait)
      this.wait = setTimeout(() => this.refine(state.probe), REST);
    this.draw();
    const first = this.result.firstOf(state);
    const begun = this.isCurve || !first ? "" : [...first.subarray(0, 99), this.ground];
    if (begun && isNews(this.result.first, begun)) {
      const [coarse] = this.parts(first);
      putImage(this.result.first, this.data.side, this.data.side, (i) => this.faded(coarse[i]));
    }
    this.result.say(this.verdict(), first && this.verdict({ probe: first }));
    setShown(this.result.yet, !this.isTable && (this.isCurve || !first)); // else the headline says it
    if (this.isTable) this.fillTable(first);
    if (!state.playing) this.describe();
  }

  // A few samples are the questions of a table.

  makeTable(element) {
    const heads = [...this.data.names, ...["headline.start", "headline.now", "telling.goal"].map(text)]; // prettier-ignore
    this.rows = this.data.dots.slice(0, this.data.held).map((dot) => {
      const inputs = dot.map((x, k) => typeset(said(numberAt(this.data, k, x))));
      return made("tr", "", ...inputs.map((x) => made("td", "", x)), made("td"), made("td"), made("td")); // prettier-ignore
    });
    const head = made(
      "tr",
      "",
      ...heads.map((title) => Object.assign(made("th", "", title), { title })),
    );
    element.append(
      made("table", "questions", made("thead", "", head), made("tbody", "", ...this.rows)),
    );
  }

  fillTable(first) {
    setShown(this.result.begun, false);
    const { middle, targets } = this.data;
    const begun = first ? this.parts(first)[1] : [];
    const here = this.place();
    this.rows.forEach((row, i) => {
      row.className = here && isAt(this.data.dots[i], here) ? "here" : "";
      [begun[i], this.answers[i], targets[i]].forEach((number, k) => {
        const cell = row.children[2 + k];
        const isKnown = Number.isFinite(number);
        const sign = k > 1 || !isKnown ? "" : this.isWrong(number, targets[i]) ? "wrong" : "right";
        if (!isNews(cell, [number, this.ground])) return;
        cell.className = sign;
        const chip = made("span", "", "?");
        if (isKnown) {
          chip.textContent = k < 2 ? near_border(number, middle) : typeset(said(number));
          const color = this.color(number);
          chip.style.background = `rgb(${color})`;
          chip.style.color = inkOn(color);
        }
        cell.replaceChildren(chip);
      });
    });
  }

  /** Request more outputs, for a finer map while paused. */
  async refine(probe) {
    this.wait = 0;
    if (this.isCurve) return;
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
    const stops = styled("--answers").split(" ");
    this.stops = [stops.map(parseFloat), stops.map((each) => bytesOf(each.slice(-7)))];
    const paper = new Canvas2D(this.canvas);
    const edge = this.margin * paper.width;
    const size = paper.width - 2 * edge;
    const isBeside = this.canvas.getBoundingClientRect().left > 0.5 * innerWidth;
    const here = this.isCurve || !isBeside ? null : this.place();
    /** @type {number[][] | null} */
    const way = here && way_on_map(new Box(0, 0, size, size), ...here);
    if (way) paper.box(0, edge + way[0][1] - 1.3, edge, 2.6, styled("--ink")); // it begins beside the map
    this.result.entry = way ? (edge + way[0][1]) / paper.width : null;
    paper.context.translate(edge, edge);
    const answers = this.fine ?? this.coarse;
    if (!this.isCurve) {
      const side = Math.sqrt(answers.length);
      putImage(this.cells, side, side, (i) => this.faded(answers[i]));
      paper.context.drawImage(this.cells, 0, 0, size, size);
    }
    this.drawSamples(paper, size);
    this.writeGuess(paper, size);
    this.writeKey();
  }

  /** Return the color of an output on the map as three bytes. */
  faded(answer) {
    if (!this.data.classes) return this.color(answer);
    return this.color(answer).map((each, k) => this.ground[k] + FAINT * (each - this.ground[k]));
  }

  /** Draw the map of a neuron, [buffer, index], onto its card; null removes it. */
  showNeuron(card, maps, neuron) {
    if (!this.state || (!maps && !this.neuronMap)) return;
    this.neuronMap ??= new NeuronMap(card, this.data.names);
    const colors = { ground: this.ground, ink: styled("--ink"), color: (part) => this.mixed(part) };
    this.neuronMap.show(maps, neuron, colors, this.place());
  }

  drawSamples(paper, size) {
    const { dots, targets, held, sorts, classes } = { ...this.data, ...this.drawn };
    const few = dots.length <= FEW;
    const radius = Math.min(few ? 7 : 4.5, (few ? 0.04 : 0.0136) * size);
    const at = (part) => part.map((x, k) => Math.abs(k - Math.min(1, Math.max(0, x))) * size);
    const draw = (i, half) => {
      const color = this.isCurve ? styled("--quiet") : `rgb(${this.sampleColor(targets[i])})`;
      const isWrong = sorts && this.isWrong(this.answers[i], targets[i]);
      if (isWrong) crossAt(paper, at(dots[i]), half, color);
      else shapeAt(paper, at(dots[i]), half, i >= held, color);
    };
    const here = this.drawn ? null : this.place();
    const awaits = isAwaited(this.state, this.state.values[this.data.output]);
    const hasWay = here && !classes && !this.isCurve && this.result.entry !== null && !awaits;
    const way = hasWay ? way_on_map(new Box(0, 0, size, size), ...here) : [];
    if (way.length) draw_to_shown(paper, way, RIM, WHITE, ON_MAP);
    dots.slice(0, this.hidesTest ? held : dots.length).forEach((_, i) => draw(i, radius));
    if (this.isCurve) this.drawCurve(paper, size);
    if (!here) return;
    shapeAt(paper, at(here), SHOWN * radius, false, WHITE);
    const own = dots.findIndex((dot) => isAt(dot, here));
    if (own >= 0) draw(own, INNER * radius);
  }

  /** Draw the outputs over one input, and write the limits of both axes. */
  drawCurve(paper, size) {
    const { low, high, names } = this.data;
    const up = (answer) => Math.min(1, Math.max(0, (answer - low[1]) / (high[1] - low[1])));
    const last = this.coarse.length - 1;
    const points = this.coarse.map((each, i) => [(i / last) * size, (1 - up(each)) * size]);
    paper.line(points, styled("--accent"), { width: 2 });
    paper.box(0, 0, size, size, null, { outline: styled("--faint") });
    const look = { size: 12 * paper.scale, color: styled("--quiet") };
    const ends = (k) => `${names[k]} ${said(low[k])} \u2026 ${said(high[k])}`;
    paper.text(look.size / 2, 1.3 * look.size, ends(1), look);
    paper.text(look.size / 2, size - look.size / 2, ends(0), look);
  }

  /** Write in a corner without samples, if there is room, that the network only guesses there. */
  writeGuess(paper, size) {
    const { corner, part } = this.data;
    const [words, letters] = [text("exhibits.guesses"), 12 * paper.scale];
    if (!corner || paper.measure(words, { size: letters }) + letters > part * size) return;
    const [right, up] = corner;
    const look = { size: letters, color: styled("--ink"), outline: styled("--ground") };
    const [x, y] = [right ? size - letters : letters, up ? 1.8 * letters : size - letters];
    paper.text(x, y, words, { ...look, anchor: right ? "right" : "left" });
  }

  /** Return the position of the current sample or custom point on the map, or null. */
  place() {
    const { axes, features, low, high, dots } = this.data;
    const { inputs } = this.state;
    if (!inputs) return null;
    if (!features.length) {
      const place = axes.map((axis, k) => (inputs[axis] - low[k]) / (high[k] - low[k]));
      const at = Math.round(place[0] * (this.coarse.length - 1));
      if (this.isCurve) place.push((this.coarse[at] - low[1]) / (high[1] - low[1]));
      return place;
    }
    // Of features, coordinates are not known: it is one of the points that have these.
    const known = [...(this.point ? [this.point] : []), ...dots];
    this.places ??= new Map(dots.map((dot) => [dot, inputsAt(this.data, dot)]));
    const isHere = (x, i) => Math.abs(x - inputs[i]) < SAME;
    const has = (place) => (this.places.get(place) ?? inputsAt(this.data, place)).every(isHere);
    return known.find(has) ?? null;
  }

  writeKey() {
    const { classes, middle, reach, held, dots, sorts, classNames, sides } = this.data;
    const curve = [["picture.out", "accent"], ["exhibits.swatches.target", "quiet"]]; // prettier-ignore
    const kinds = this.isCurve
      ? curve.map(([key, name]) => [text(key), styled(`--${name}`)])
      : classes
        ? classNames.map((name, i) => [name, `rgb(${this.sampleColor(i)})`])
        : (sorts ? [1, 0, -1] : [1, -1]).map((sign) => {
            const value = middle + sign * reach;
            const [target, side] = [this.answerNames, sides].map((each) => each[(1 + sign) / 2]);
            const words = sign ? side : text("exhibits.unsure");
            return [
              words
                ? `${words}: ${typeset(said(value))}`
                : text("exhibits.plane.target", { target }),
              `rgb(${sign ? this.sampleColor(value) : this.color(value)})`,
            ];
          });
    const others = [];
    if (held < dots.length) others.push(["exhibits.plane.held_out", "held"]);
    if (sorts) others.push(["exhibits.wrong", "wrong"]); // always: the map keeps its size
    if (this.place() && this.state.own) others.push(["own.chip.point", "used"]);
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

  /** Update the description of the map for screen readers. */
  describe() {
    const words = text("own.map", { title: this.title, verdict: this.verdict().words });
    if (this.canvas.ariaLabel !== words) this.canvas.ariaLabel = words;
  }

  verdict(state) {
    const { targets, held, sorts } = this.data;
    const found = state ? this.parts(state.probe)[1] : this.answers;
    const own = targets.slice(0, held);
    if (!sorts) return offBy(found.slice(0, held), own);
    return rightOf(own.map((target, i) => !this.isWrong(found[i], target)));
  }
}

/** Return the number at a position on an axis, from 0 to 1. */
function numberAt({ low, high }, k, part) {
  return low[k] + part * (high[k] - low[k]);
}

/** Return whether a dot is at a position. */
function isAt(dot, at) {
  return dot.every((x, k) => Math.abs(x - at[k]) < 1e-6);
}

/** Return a readable color of letters on a background color of three bytes. */
function inkOn(color) {
  const [r, g, b] = color.map((x) => (x / 255 > 0.04045 ? ((x / 255 + 0.055) / 1.055) ** 2.4 : x / 3294.6)); // prettier-ignore
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.2 ? "#0d1117" : WHITE;
}

/** Return the inputs for a point with coordinates from 0 to 1, or its features. */
function inputsAt({ rest, axes, features, low, high }, place) {
  const point = place.map((x, k) => numberAt({ low, high }, k, x));
  if (features.length) return features.map((formula) => calledFormula(formula, point));
  const inputs = [...rest];
  axes.forEach((axis, k) => (inputs[axis] = point[k]));
  return inputs;
}

/** Return the inputs for all cells of a map, row by row from the top, or for points of a line. */
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

/** Draw a dot with a dark rim, or a diamond for a held-out sample. */
function shapeAt(paper, /** @type {number[]} */ [x, y], radius, isHeld, fill) {
  if (!isHeld) return paper.discs([x, y], radius, fill, { outline: RIM, line: 0.3 * radius });
  const far = 1.2 * radius;
  const { context } = paper;
  context.beginPath();
  for (const [right, down] of [
    [0, -far],
    [far, 0],
    [0, far],
    [-far, 0],
  ])
    // prettier-ignore
    context.lineTo(x + right, y + down);
  context.closePath();
  Object.assign(context, { fillStyle: fill, strokeStyle: RIM, lineWidth: 0.3 * radius });
  context.fill();
  return context.stroke();
}

/** Draw a cross with a dark rim. */
function crossAt(paper, /** @type {number[]} */ [x, y], half, color) {
  for (const [hue, wide] of [[RIM, 0.9], [color, 0.5]]) // prettier-ignore
    for (const up of [-half, half])
      paper.line([[x - half, y - up], [x + half, y + up]], hue, { width: wide * half }); // prettier-ignore
}

/** Return a color such as "#0a0b0c" as three bytes. */
export function bytesOf(color) {
  return [1, 3, 5].map((start) => parseInt(color.slice(start, start + 2), 16));
}

/** Return whether two arrays contain the same numbers. */
export function sameNumbers(a, b) {
  return a?.length === b?.length && a.every((x, i) => Object.is(x, b[i]));
}

// The map of one neuron on its card: its value over the plane.

const VIVID = 0.8; // of the colors on the ground
const MARK = 7; // pixels: half a side

/** Draws the map of a neuron below its card; `names` are the names of the two inputs. */
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
   * maps    maps of all neurons, see neuron_images.js; null hides the map
   * neuron  the neuron, [buffer, index], or null
   * colors  {ground, ink, color}: `color` returns the color of a number from -1 to 1
   * mark    position of the current sample, from 0 to 1, or null
   */
  show(maps, neuron, { ground, ink, color }, mark) {
    const [name, place] = neuron ?? [];
    const own = maps?.values[name]?.[place];
    setShown(this.figure, own !== undefined);
    if (own === undefined || !this.canvas.clientWidth) return;
    const side = Math.sqrt(own.length);
    const reach = own.reduce((top, x) => Math.max(top, Math.abs(x) || 0), 0) || 1;
    putImage(this.cells, side, side, (i) => {
      const part = Math.min(1, Math.max(-1, own[i] / reach));
      return color(part).map((each, k) => ground[k] + VIVID * (each - ground[k]));
    });
    const paper = new Canvas2D(this.canvas);
    const size = paper.width;
    paper.context.drawImage(this.cells, 0, 0, size, size);
    if (mark) {
      const inside = (part) => Math.min(size - MARK, Math.max(MARK, part * size)) - MARK;
      const [x, y] = [inside(mark[0]), inside(1 - mark[1])];
      paper.box(x, y, 2 * MARK, 2 * MARK, null, { outline: ink, line: 2 });
    }
    const [low, high] = [-reach, reach].map((each) => said(each));
    const words = text("card.neuron.map", { names: this.names.join(", "), low, high });
    setWords(this.words, words);
    if (this.canvas.ariaLabel !== words) this.canvas.ariaLabel = words;
  }
}
