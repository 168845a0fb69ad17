// The result at the end of the flow: colours, a table of answers, or a map of the plane.

import { answersEach, classOf, readAnswers } from "./formulas.js";
import { colorOf } from "./palette.js";
import { made, setShown, setWords } from "./dom.js";
import { withDecimals } from "./numbers.js";
import { LARGE_KINDS } from "./exhibit_kinds.js";
import { text } from "./texts.js";

const NEARLY = 0.1; // distance of each channel from its target below which a colour is nearly right

/**
 * Return an exhibit in an element by the data of `exhibit_data`; null for none.
 *
 * use  what it asks for: `evaluate(inputs)`, a promise of the outputs; `own(inputs, kind)`, which
 *      shows the network's answer to an input of the user's own; and `tell(words)`
 */
export function exhibitIn(element, data, use) {
  setShown(element, data !== null);
  if (data === null) return null;
  element.dataset.kind = data.kind;
  const kinds = { swatches: Swatches, answers: Answers, ...LARGE_KINDS };
  return new kinds[data.kind](element, data, use);
}

/** Return the outputs for the sample of a state as the loss reads them; null if not computed. */
export function answersFor(state, data) {
  const outputs = data && state.values[data.output];
  return outputs ? readAnswers(outputs, data.reads) : null;
}

/** Return a colour as six digits, "#ff8800". */
function codeOf(color) {
  const byte = (x) => Math.round(255 * Math.min(1, Math.max(0, x || 0)));
  const digits = (x) => byte(x).toString(16).padStart(2, "0");
  return `#${Array.from(color, digits).join("")}`;
}

/** Colours to compare with that in use: in, out and the goal. */
class Swatches {
  constructor(element, data, use) {
    this.data = data;
    const names = ["input", "output", "target"].map((name) => text(`exhibits.swatches.${name}`));
    const head = made("div", "names", ...names.map((name) => made("span", "", name)));
    this.rows = data.inputs.map(() => made("div", "", made("i"), made("i"), made("i")));
    element.append(made("div", "swatches", head, ...this.rows));
    data.inputs.forEach((input, i) => {
      this.paint(i, 0, input);
      this.paint(i, 2, data.targets[i]);
    });
    this.makePicker(element, use);
    this.makeTable(element, names);
  }

  /** Make the field for a colour of the user's own. */
  makePicker(element, use) {
    this.picker = made("input");
    this.picker.type = "color";
    this.picker.addEventListener("input", () => use.own(colorOf(this.picker.value), "color"));
    element.append(made("label", "picker", made("span", "", text("own.color")), this.picker));
  }

  /** Make the table that stands for the colours where they are not seen. */
  makeTable(element, names) {
    const cells = () => names.map(() => made("td"));
    this.lines = [null, ...this.data.inputs].map(() => made("tr", "", ...cells()));
    const head = made("tr", "", ...names.map((name) => made("th", "", name)));
    const table = made("table", "", made("thead", "", head), made("tbody", "", ...this.lines));
    element.append(made("div", "unseen", table));
  }

  /** Write the colours into the table; often only at rest. */
  tell(state) {
    const { inputs, targets } = this.data;
    const outputs = this.outputs(state);
    const now = [state.inputs, answersFor(state, this.data), state.target];
    [now, ...inputs.map((input, i) => [input, outputs[i], targets[i]])].forEach((colors, i) => {
      colors.forEach((color, k) => setWords(this.lines[i].children[k], color ? codeOf(color) : ""));
    });
  }

  paint(row, place, color) {
    const isKnown = color && !color.some(Number.isNaN);
    this.rows[row].children[place].style.backgroundColor = isKnown ? codeOf(color) : "";
  }

  outputs(state) {
    const found = readAnswers(state.probe, this.data.reads, 3);
    return this.data.inputs.map((_, i) => found.subarray(3 * i, 3 * i + 3));
  }

  show(state) {
    this.outputs(state).forEach((output, i) => this.paint(i, 1, output));
    if (!state.playing) this.tell(state);
    if (document.activeElement !== this.picker || !state.own)
      this.picker.value = codeOf(state.inputs);
  }

  verdict(state) {
    const { targets } = this.data;
    const isNear = (output, i) => output.every((x, k) => Math.abs(x - targets[i][k]) < NEARLY);
    const right = this.outputs(state).filter(isNear).length;
    return text("exhibits.nearly_right", { right, count: targets.length });
  }
}

/** A few samples: inputs, the answer, and the target; and a map, if there are two inputs. */
class Answers {
  constructor(element, data, use) {
    this.data = data;
    this.count = data.inputs.length * data.outputs; // of the probe; the others are of the map
    const [answer, goal] = ["output", "target"].map((name) => text(`exhibits.swatches.${name}`));
    const head = [...data.names, answer, goal];
    this.rows = data.inputs.map((input, i) => {
      const cells = [...input.map(short), "", data.targets[i].map(short).join(" ")];
      return made("tr", "", ...cells.map((cell) => made("td", "", cell)));
    });
    const titles = made("tr", "", ...head.map((name) => made("th", "", name)));
    element.append(made("table", "", made("thead", "", titles), made("tbody", "", ...this.rows)));
    this.says = made("p");
    element.append(this.says);
    this.map = data.map && new LARGE_KINDS.plane(element, data.map, use);
  }

  answers(state) {
    const { reads, targets } = this.data;
    return answersEach(state.probe.subarray(0, this.count), reads, targets[0].length);
  }

  right(state) {
    const { cut, targets } = this.data;
    return this.answers(state).map((answer, i) =>
      cut === null
        ? classOf(answer) === classOf(targets[i])
        : answer[0] > cut === targets[i][0] > cut,
    );
  }

  show(state) {
    const place = this.data.inputs[0].length;
    const right = this.right(state);
    this.answers(state).forEach((answer, i) => {
      const cell = this.rows[i].children[place];
      setWords(cell, Array.from(answer, (x) => withDecimals(x, 2)).join(" "));
      cell.className = right[i] ? "right" : "";
      this.rows[i].className = state.row === i ? "now" : "";
    });
    setWords(this.says, this.verdict(state));
    this.map?.show({ ...state, probe: state.probe.subarray(this.count) });
  }

  spot() {
    return this.map?.spot() ?? null;
  }

  /** The map of the answers, if there is one. */
  get plane() {
    return this.map;
  }

  verdict(state) {
    const right = this.right(state);
    return text("exhibits.right", { right: right.filter(Boolean).length, count: right.length });
  }
}

function short(value) {
  return String(Number(value.toPrecision(3)));
}

// The line from the outputs to the point in use on a map, over the picture and the result.

export class Thread {
  constructor(stage) {
    this.stage = stage;
    this.line = made("i", "thread");
    stage.append(this.line);
  }

  /** Lead it from an element of the picture, at {x, y, half}, to a place of the window; null for none. */
  show(canvas, start, end) {
    setShown(this.line, Boolean(start && end));
    if (!start || !end) return;
    const [own, whole] = [canvas, this.stage].map((each) => each.getBoundingClientRect());
    const [x, y] = [own.left + start.x, own.top + start.y];
    const [right, down] = [end[0] - x, end[1] - y];
    const far = Math.hypot(right, down);
    const part = Math.min(1, start.half / far);
    this.line.style.width = `${(1 - part) * far}px`;
    this.line.style.left = `${x + part * right - whole.left}px`;
    this.line.style.top = `${y + part * down - whole.top}px`;
    this.line.style.transform = `rotate(${Math.atan2(down, right)}rad)`;
  }
}
