// OUT beside its goal, how right the answers are, and what came out at step 0: for each exhibit.

import { made, setShown, setWords } from "./dom.js";
import { short } from "./story/decimals.js";
import { text } from "./texts.js";

const DOORS = 16; // logical pixels from one line that enters OUT to the next, at most

/** The parts of an exhibit: `faces` show OUT and its goal, `first` what came out at step 0. */
export class Result {
  /**
   * Put them into an element.
   *
   * make   makes an element that shows an answer
   * count  1: there is no goal beside OUT
   * among  elements between how right the answers are and step 0
   * doors  how many lines enter OUT
   */
  constructor(element, make, { count = 2, among = [], doors = 1 } = {}) {
    this.entries = doors;
    const names = ["picture.out", "exhibits.swatches.target"].slice(0, count);
    this.names = names.map((name) => made("figcaption", "", text(name)));
    this.faces = names.map(() => make());
    this.figures = this.names.map((name, i) => made("figure", "", name, this.faces[i]));
    this.first = make();
    this.yet = made("p", "yet");
    this.said = made("span");
    this.begun = made("div", "begun", this.first, this.said);
    const says = made("div", "says", this.yet, ...among, this.begun);
    this.whole = made("div", "result", made("div", "pair", ...this.figures), says);
    element.append(this.whole);
    this.known = null;
    this.asked = ""; // the inputs of the last answer
    this.last = [];
  }

  /** The answers of step 0: those to the probe, then that to the sample; null if unknown. */
  firstOf({ step, operation, probe, first }) {
    if (first === undefined && !step && !operation) this.known = probe; // of a recording
    return first ?? this.known;
  }

  /** What OUT shows: the answer; until it is there, the last one to the same sample, else []. */
  answerTo({ inputs }, answer) {
    const asked = String(inputs);
    if (answer || asked !== this.asked) Object.assign(this, { asked, last: answer ?? [] });
    return this.last;
  }

  /** Say how right the answers are, and those of step 0; null: these are unknown. */
  say(verdict, first) {
    setWords(this.yet, verdict);
    setShown(this.begun, first !== null);
    setWords(this.said, `${text("exhibits.step_0")}\n${first}`);
  }

  /** Where lines end in a canvas at the left of OUT: at its edge; none if it stands elsewhere. */
  doors(canvas) {
    const [own, out] = [canvas, this.faces[0]].map((each) => each.getBoundingClientRect());
    if (!out.height || out.left < own.right - 1) return []; // a line would cross words
    const apart = Math.min(DOORS, out.height / (this.entries + 1));
    const middle = out.top + out.height / 2 - own.top;
    return Array.from({ length: this.entries }, (_, i) => [
      out.left - own.left,
      middle + (i - (this.entries - 1) / 2) * apart,
    ]);
  }
}

/** Say how many answers are right. */
export function rightOf(right) {
  return text("exhibits.right", { right: right.filter(Boolean).length, count: right.length });
}

/** Say the mean absolute error of some numbers; "" if it is unknown. */
export function offBy(outputs, targets) {
  const error = outputs.reduce((sum, x, i) => sum + Math.abs(x - targets[i]), 0) / outputs.length;
  return Number.isFinite(error) ? text("outputs.off", { error: short(error) }) : "";
}
