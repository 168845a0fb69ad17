// The result at the end of the flow: colours, answers of any kind, a map of the plane, or pictures.

import { answersEach, classOf, readAnswers } from "./formulas.js";
import { colorOf } from "./palette.js";
import { made, setShown, setWords } from "./dom.js";
import { short } from "./story/decimals.js";
import { Result, offBy, rightOf } from "./result.js";
import { LARGE_KINDS } from "./exhibit_kinds.js";
import { text } from "./texts.js";

/**
 * Create the result plot in an element from the data of `exhibit_data`; return it, or null.
 *
 * use  functions that it calls: `evaluate(inputs)` returns a promise of the outputs, `own(inputs,
 *      kind)` shows the output for a custom input, and `tell(words)` shows a message
 */
export function exhibitIn(element, data, use) {
  setShown(element, data !== null);
  if (data === null) return null;
  element.dataset.kind = data.kind;
  const kinds = { swatches: Swatches, answers: Answers, ...LARGE_KINDS };
  return new kinds[data.kind](element, data, use);
}

/** Return the outputs for the sample of a state after the function of the loss, or null. */
export function answersFor(state, data) {
  const outputs = data && state.values[data.output];
  return outputs ? readAnswers(outputs, data.reads) : null;
}

/** Return a color as text, such as "#ff8800". */
export function codeOf(color) {
  const byte = (x) => Math.round(255 * Math.min(1, Math.max(0, x || 0)));
  const digits = (x) => byte(x).toString(16).padStart(2, "0");
  return `#${Array.from(color, digits).join("")}`;
}

/** A result plot that compares an output color with its target, and other colors in a table. */
class Swatches {
  constructor(element, data, use) {
    this.data = data;
    this.result = new Result(element, () => made("i"), data.things, { doors: 3 });
    this.same = made("span");
    this.result.begun.prepend(this.same);
    const names = ["input", "output", "target"].map((name) => text(`exhibits.swatches.${name}`));
    const head = made("div", "names", ...names.map((name) => made("span", "", name)));
    this.rows = data.inputs.map(() =>
      made("div", "", made("i"), made("i", "", made("i", "was")), made("i")),
    );
    this.others = made("div", "others", text("exhibits.swatches.others"));
    element.append(made("div", "swatches", this.others, head, ...this.rows));
    data.inputs.forEach((input, i) => {
      fill(this.rows[i].children[0], input);
      fill(this.rows[i].children[2], data.targets[i]);
    });
    this.makePicker(this.result.whole, use);
    this.makeTable(element, names);
  }

  /** Create the input field for a custom color. */
  makePicker(element, use) {
    this.picker = made("input");
    this.picker.type = "color";
    this.picker.addEventListener("input", () => use.own(colorOf(this.picker.value), "color"));
    element.append(made("label", "picker", made("span", "", text("own.color")), this.picker));
  }

  /** Create a table that describes the colors to screen readers. */
  makeTable(element, names) {
    const cells = () => names.map(() => made("td"));
    this.lines = [null, ...this.data.inputs].map(() => made("tr", "", ...cells()));
    const head = made("tr", "", ...names.map((name) => made("th", "", name)));
    const table = made("table", "", made("thead", "", head), made("tbody", "", ...this.lines));
    element.append(made("div", "unseen", table));
  }

  /** Write the colors into the table; not during playback. */
  tell(state) {
    const { inputs, targets } = this.data;
    const outputs = this.outputs(state.probe);
    const now = [state.inputs, answersFor(state, this.data), state.target];
    [now, ...inputs.map((input, i) => [input, outputs[i], targets[i]])].forEach((colors, i) => {
      colors.forEach((color, k) => setWords(this.lines[i].children[k], color ? codeOf(color) : ""));
    });
  }

  outputs(probe) {
    return answersEach(probe, this.data.reads, 3).slice(0, this.rows.length);
  }

  show(state) {
    const { result } = this;
    const { former } = state; // what the step has computed, when it is over
    const first = result.firstOf(state);
    const answer = answersFor(state, this.data);
    fill(result.faces[0], result.answerTo(state, answer));
    fill(result.faces[1], state.target);
    const begun = former
      ? answersFor({ values: former }, this.data)
      : first && readAnswers(first.subarray(state.probe.length), this.data.reads, 3);
    const both = [begun, state.target].map((each) =>
      isColor(each) ? codeOf(each) : "transparent",
    );
    result.first.style.background = `linear-gradient(90deg, ${both[0]} 50%, ${both[1]} 0)`;
    const since = former ? "exhibits.former" : state.isHeld ? "headline.before" : "exhibits.same";
    setWords(this.same, text(since));
    result.whole.classList.toggle("stepped", Boolean(former));
    const was =
      state.isHeld && String(first.subarray(0, state.probe.length)) !== String(state.probe);
    const held = was ? this.outputs(first) : [];
    this.outputs(state.probe).forEach((output, i) => {
      const now = this.rows[i].children[1];
      fill(now, output);
      fill(now.firstChild, held[i]); // small: before
      setShown(now.firstChild, Boolean(was));
    });
    const isShown = (input) => state.inputs?.every((x, k) => Math.abs(x - input[k]) < 0.5 / 255);
    this.rows.forEach((row, i) => (row.className = isShown(this.data.inputs[i]) ? "now" : ""));
    setShown(this.others, !this.rows.some((row) => row.className)); // IN is none of them
    result.head(this.verdict(state), first && this.verdict({ probe: first }));
    const digits = former ? 3 : 2; // as the panel below
    setWords(result.yet, offOf(answer, state.target, digits));
    setShown(result.begun, isColor(begun));
    setWords(result.said, offOf(begun, state.target, digits));
    if (!state.playing) this.tell(state);
    if (document.activeElement !== this.picker || !state.own)
      this.picker.value = codeOf(state.inputs);
  }

  /** Return the mean error of the outputs for the samples in the table. */
  verdict({ probe }) {
    const found = this.outputs(probe).flatMap((output) => [...output]);
    return offBy(found, this.data.targets.flat());
  }
}

/** Set the background color of an element; null removes it. */
function fill(element, color) {
  element.style.backgroundColor = isColor(color) ? codeOf(color) : "";
}

function isColor(color) {
  return Boolean(color?.length) && !color.some(Number.isNaN);
}

/** Return a text with the error of an output; "" if output or target are unknown. */
function offOf(answer, goal, digits) {
  return isColor(answer) && isColor(goal) ? offBy(Array.from(answer), goal, digits).words : "";
}

/** A result plot that shows the outputs for one sample next to their targets, as texts. */
class Answers {
  constructor(element, data) {
    this.data = data;
    this.result = new Result(element, () => made("div", "tile"), data.things);
  }

  /** Return the text for outputs or targets; numbers come first, so that they are not cut off. */
  written(answer, isGoal = false) {
    const { names, sorts, sides = [] } = this.data;
    if (!answer?.length || answer.some(Number.isNaN)) return "";
    const [kind, apart] = [classOf(answer), names.length > 1 ? " " : "\n"];
    if (sides.length) {
      const side = sides[Number(answer[0] > 0)];
      return isGoal ? side : `${short(answer[0])}\n${side}`;
    }
    if (sorts) return isGoal ? names[kind] : `${short(answer[kind])}\n${names[kind]}`;
    return Array.from(answer, (x, i) => `${short(x)}${apart}${names[i]}`.trim()).join("\n");
  }

  show(state) {
    const { result } = this;
    const first = result.firstOf(state);
    const answer = result.answerTo(state, answersFor(state, this.data));
    setWords(result.faces[0], this.written(answer));
    setWords(result.faces[1], this.written(state.target, true));
    const begun = first && readAnswers(first.subarray(state.probe.length), this.data.reads);
    setWords(result.first, this.written(begun));
    result.say(this.verdict(state), first && this.verdict({ probe: first }));
  }

  verdict({ probe }) {
    const { reads, outputs, sorts, targets, sides = [] } = this.data;
    const found = answersEach(probe, reads, outputs).slice(0, targets.length);
    if (sorts) return rightOf(found.map((each, i) => classOf(each) === classOf(targets[i])));
    if (sides.length) return rightOf(found.map(([x], i) => x > 0 === targets[i][0] > 0));
    return offBy(found.flatMap((each) => [...each]), targets.flat()); // prettier-ignore
  }
}
