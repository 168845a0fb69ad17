// OUT beside its goal, how right the answers are, and what came out at step 0: for each exhibit.

import { made, setShown, setWords } from "./dom.js";
import { short } from "./story/decimals.js";
import { text } from "./texts.js";

const FEW_RIGHT = 8; // samples up to which a headline has their number beside
const DOORS = 16; // logical pixels from one line that enters OUT to the next, at most

/** The parts of a result plot: `faces` show OUT and the target, `first` the output at step 0. */
export class Result {
  /**
   * Create the parts in an element.
   *
   * make    function that creates an element for an output
   * things  key of the text that names the samples
   * count   2 for OUT and the target, 1 for OUT only
   * among   elements between the text about errors and the output at step 0
   * doors   number of lines that enter OUT
   */
  constructor(element, make, things, { count = 2, among = [], doors = 1 } = {}) {
    this.entries = doors;
    this.entry = null; // where the line to a point enters, of the height
    this.things = things;
    const names = ["picture.out", "exhibits.swatches.target"].slice(0, count);
    this.names = names.map((name) => made("figcaption", "", text(name)));
    this.faces = names.map(() => make());
    this.figures = this.names.map((name, i) => made("figure", "", name, this.faces[i]));
    this.first = make();
    this.yet = made("p", "yet");
    this.said = made("span");
    this.begun = made("div", "begun", this.first, this.said);
    const says = made("div", "says", this.yet, ...among, this.begun);
    this.since = made("span");
    const numbers = [this.since, text("headline.now")].map((each) => [made("b"), each]);
    this.counted = made("span");
    this.numbers = numbers.map(([number]) => number);
    const pair = numbers.map((each) => made("span", "", ...each));
    const moved = made("div", "", pair[0], "\u2192", pair[1]);
    this.aside = made("span");
    this.headline = made("div", "headline", this.counted, moved, this.aside, made("em", "", text("headline.no_better"))); // prettier-ignore
    this.whole = made("div", "result", made("div", "pair", ...this.figures), says);
    element.append(this.headline, this.whole);
    this.known = null;
    this.asked = ""; // the inputs of the last answer
    this.last = [];
  }

  /** Return the outputs at step 0, for the probe and then for the sample; null if unknown. */
  firstOf({ step, operation, probe, first, isHeld = false }) {
    const since = text(isHeld ? "headline.before" : "headline.start");
    setWords(this.since, since);
    this.begins = since;
    if (first === undefined && !step && !operation) this.known = probe; // of a recording
    const found = first ?? this.known;
    this.isHeld = isHeld;
    this.isSame = !found || probe.every((x, i) => Object.is(x, found[i]));
    return found;
  }

  /** Return the output that OUT shows; if it is missing, the last output for the same sample.
   *
   * While a step has not computed its output yet, OUT is empty with a dashed border.
   */
  answerTo(state, answer) {
    const asked = String(state.inputs);
    this.awaits = isAwaited(state, answer);
    this.faces[0].classList.toggle("awaited", this.awaits);
    if (answer || this.awaits || asked !== this.asked)
      Object.assign(this, { asked, last: answer ?? [] });
    return this.last;
  }

  /** Show how right the outputs are, now and at step 0; `first` is null if unknown. */
  say(now, first) {
    this.head(now, first);
    setWords(this.yet, now.words);
    setShown(this.begun, first !== null);
    setWords(this.said, `${this.begins}\n${first?.words}`);
  }

  /** Show the headline: what is counted, its number at the start and now; null if unknown. */
  head(now, first) {
    setShown(this.headline, Boolean(first?.words && now.words));
    if (!first) return;
    const things = text(`things.${this.things}`);
    const isFew = now.count <= FEW_RIGHT;
    const kind = isFew ? "answers" : now.count ? "right" : "off";
    setWords(this.counted, text(`headline.${kind}`, { ...now, things }));
    const said = (each) => (isFew ? text("exhibits.right.short", each) : each.number);
    [first, now].forEach((each, i) => setWords(this.numbers[i], said(each)));
    const isEqual = now.right === first.right && (this.isHeld || this.isSame);
    const isWorse = !(now.right > first.right || isEqual);
    this.headline.classList.toggle("worse", isWorse);
    this.headline.classList.toggle("stuck", isWorse && !this.isHeld);
  }

  /** Show the counts of new classes in the headline, and of known classes below it. */
  split(/** @type {any[]} */ [fresh, old]) {
    setWords(this.aside, old ? text("headline.old", old) : "");
    if (!fresh) return;
    setWords(this.counted, text("headline.new", fresh));
    [fresh.before, fresh.after].forEach((each, i) => setWords(this.numbers[i], String(each)));
    const isWorse = fresh.after < fresh.before;
    ["worse", "stuck"].forEach((name) => this.headline.classList.toggle(name, isWorse));
  }

  /** Return the ends of lines at the left edge of OUT; none if OUT is not right of the canvas. */
  doors(canvas) {
    const [own, out] = [canvas, this.faces[0]].map((each) => each.getBoundingClientRect());
    if (!out.height || out.left < own.right - 1) return []; // a line would cross words
    if (this.entry !== null)
      return [[out.left - own.left, out.top - own.top + this.entry * out.height]];
    const apart = Math.min(DOORS, out.height / (this.entries + 1));
    const middle = out.top + out.height / 2 - own.top;
    return Array.from({ length: this.entries }, (_, i) => [
      out.left - own.left,
      middle + (i - (this.entries - 1) / 2) * apart,
    ]);
  }
}

/** Return whether the step of a state has not computed its output yet. */
export function isAwaited({ operation }, answer) {
  return operation > 0 && !answer;
}

// How right answers are: in words and as a number, and `right`, which is larger for better ones.

/** Return how many outputs are right, as a verdict. */
export function rightOf(flags) {
  const [right, count] = [flags.filter(Boolean).length, flags.length];
  return { words: text("exhibits.right", { right, count }), number: String(right), count, right };
}

/** Return the mean absolute error as a verdict; its text is empty if the error is unknown. */
export function offBy(outputs, targets, digits = 2) {
  const error = outputs.reduce((sum, x, i) => sum + Math.abs(x - targets[i]), 0) / outputs.length;
  const number = Number.isFinite(error) ? short(error, digits) : "";
  return { words: number && text("outputs.off", { error: number }), number, right: -error };
}
