// What is learned, at the end of the flow: colours, a table of answers, or a map of the plane.

import { made, setShown, setWords, styled } from "./dom.js";
import { text } from "./texts.js";

const NEARLY = 0.1; // distance of each channel from its target below which a colour is nearly right

/** Return the answers that a loss reads in outputs, of which there are `count` for each sample. */
export function readAnswers(outputs, reads, count) {
  if (reads === "sigmoid") return Float64Array.from(outputs, (x) => 1 / (1 + Math.exp(-x)));
  if (reads !== "softmax") return outputs;
  const found = Float64Array.from(outputs);
  for (let start = 0; start < found.length; start += count) {
    const own = found.subarray(start, start + count);
    const top = Math.max(...own);
    const sum = own.reduce((total, x) => total + Math.exp(x - top), 0);
    own.forEach((x, i) => (own[i] = Math.exp(x - top) / sum));
  }
  return found;
}

/** Return an exhibit in an element by the data of `exhibit_data`; null for none. */
export function exhibitIn(element, data) {
  setShown(element, data !== null);
  if (data === null) return null;
  element.dataset.kind = data.kind;
  return new { swatches: Swatches, answers: Answers, plane: PlaneMap }[data.kind](element, data);
}

/** Return the outputs for the sample of a state as the loss reads them; null if not computed. */
export function answersFor(state, data) {
  const outputs = data && state.values[data.output];
  return outputs ? readAnswers(outputs, data.reads, outputs.length) : null;
}

function hex(color) {
  const parts = Array.from(color, (x) => Math.round(255 * Math.min(1, Math.max(0, x))));
  return parts.some(Number.isNaN) ? "" : `rgb(${parts.join(",")})`;
}

/** Colours: in, out and the goal; the sample in use stands above the others, in a frame. */
class Swatches {
  constructor(element, data) {
    this.data = data;
    const names = ["input", "output", "target"].map((name) => text(`exhibits.swatches.${name}`));
    const head = made("div", "names", names.map((name) => made("span", "", name)));
    this.rows = [null, ...data.inputs].map((_, i) => {
      return made("div", i ? "" : "now", [made("i"), made("i"), made("i")]);
    });
    this.rows[0].title = text("exhibits.in_use");
    element.append(made("div", "swatches", [head, ...this.rows]));
    data.inputs.forEach((input, i) => {
      this.paint(i + 1, 0, input);
      this.paint(i + 1, 2, data.targets[i]);
    });
  }

  paint(row, place, color) {
    const words = color ? hex(color) : "";
    const style = this.rows[row].children[place].style;
    if (style.backgroundColor !== words) style.backgroundColor = words;
  }

  outputs(state) {
    const found = readAnswers(state.probe, this.data.reads, 3);
    return this.data.inputs.map((_, i) => found.subarray(3 * i, 3 * i + 3));
  }

  show(state) {
    this.paint(0, 0, state.inputs);
    this.paint(0, 1, answersFor(state, this.data));
    this.paint(0, 2, state.target);
    this.outputs(state).forEach((output, i) => this.paint(i + 1, 1, output));
  }

  verdict(state) {
    const { targets } = this.data;
    const isNear = (output, i) => output.every((x, k) => Math.abs(x - targets[i][k]) < NEARLY);
    const right = this.outputs(state).filter(isNear).length;
    return text("exhibits.nearly_right", { right, count: targets.length });
  }
}

/** A few samples: inputs, the answer, and the target. */
class Answers {
  constructor(element, data) {
    this.data = data;
    const head = [...data.names, text("exhibits.swatches.output"), text("exhibits.swatches.target")];
    this.rows = data.inputs.map((input, i) => {
      const cells = [...input.map(short), "", data.targets[i].map(short).join(" ")];
      return made("tr", "", cells.map((cell) => made("td", "", cell)));
    });
    const titles = made("tr", "", head.map((name) => made("th", "", name)));
    element.append(made("table", "", [made("thead", "", titles), made("tbody", "", this.rows)]));
    this.says = made("p");
    element.append(this.says);
  }

  answers(state) {
    const count = this.data.targets[0].length;
    const found = readAnswers(state.probe, this.data.reads, count);
    return this.data.targets.map((_, i) => found.subarray(count * i, count * (i + 1)));
  }

  right(state) {
    const { cut, targets } = this.data;
    const top = (row) => row.indexOf(Math.max(...row));
    return this.answers(state).map((answer, i) =>
      cut === null ? top(answer) === top(targets[i]) : answer[0] > cut === targets[i][0] > cut,
    );
  }

  show(state) {
    const place = this.data.inputs[0].length;
    const right = this.right(state);
    this.answers(state).forEach((answer, i) => {
      const cell = this.rows[i].children[place];
      setWords(cell, Array.from(answer, (x) => x.toFixed(2)).join(" "));
      cell.className = right[i] ? "right" : "";
      this.rows[i].className = state.row === i ? "now" : "";
    });
    setWords(this.says, this.verdict(state));
  }

  verdict(state) {
    const right = this.right(state);
    return text("exhibits.right", { right: right.filter(Boolean).length, count: right.length });
  }
}

function short(value) {
  return String(Number(value.toPrecision(3)));
}

/** The output over the plane of two inputs, and the samples on it. */
class PlaneMap {
  constructor(element, data) {
    this.data = data;
    this.canvas = made("canvas", "map");
    this.cells = made("canvas");
    Object.assign(this.cells, { width: data.side, height: data.side });
    const title = data.classes ? "exhibits.plane.classes" : "exhibits.plane.one";
    element.append(made("h2", "", text(title)), this.canvas);
    this.says = made("p");
    element.append(this.says);
  }

  /** Return the color of a value of the map as three bytes. */
  color(value) {
    const { classes, middle, reach } = this.data;
    if (classes) return this.known[value % this.known.length];
    const x = Math.min(1, Math.max(-1, (value - middle) / reach));
    const [zero, end] = [this.zero, x < 0 ? this.negative : this.positive];
    return zero.map((each, i) => each + Math.abs(x) ** 0.7 * (end[i] - each));
  }

  answers(state) {
    const { side, dots, classes } = this.data;
    const outputs = state.probe.length / (side * side + dots.length);
    const found = readAnswers(state.probe, this.data.reads, outputs);
    return Array.from({ length: side * side + dots.length }, (_, i) => {
      const own = found.subarray(outputs * i, outputs * (i + 1));
      return classes ? own.indexOf(Math.max(...own)) : own[0];
    });
  }

  show(state) {
    for (const name of ["zero", "negative", "positive"]) this[name] = bytesOf(styled(`--${name}`));
    this.known = styled("--classes").split(" ").map(bytesOf);
    const { side, dots, targets } = this.data;
    const answers = this.answers(state);
    const context = this.cells.getContext("2d");
    const image = context.createImageData(side, side);
    for (let i = 0; i < side * side; i++) image.data.set([...this.color(answers[i]), 255], 4 * i);
    context.putImageData(image, 0, 0);
    const ratio = window.devicePixelRatio || 1;
    const size = Math.max(side, Math.round(this.canvas.clientWidth * ratio));
    if (this.canvas.width !== size) Object.assign(this.canvas, { width: size, height: size });
    const onto = this.canvas.getContext("2d");
    onto.drawImage(this.cells, 0, 0, size, size);
    onto.strokeStyle = styled("--ground");
    dots.forEach(([x, y], i) => {
      onto.fillStyle = `rgb(${this.color(targets[i])})`;
      onto.beginPath();
      onto.arc(x * size, (1 - y) * size, Math.max(2 * ratio, size / 70), 0, 7);
      onto.fill();
      onto.stroke();
    });
    setWords(this.says, this.verdict(state));
  }

  verdict(state) {
    const { side, targets, middle, classes, sorts } = this.data;
    if (!sorts) return "";
    const found = this.answers(state).slice(side * side);
    const right = targets.filter((target, i) =>
      classes ? found[i] === target : found[i] > middle === target > middle,
    ).length;
    return text("exhibits.right", { right, count: targets.length });
  }
}

/** Return a color such as "#0a0b0c" as three bytes. */
function bytesOf(color) {
  return [1, 3, 5].map((start) => parseInt(color.slice(start, start + 2), 16));
}
