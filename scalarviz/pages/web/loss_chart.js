// The chart of the loss, which is also the place to go to another step; it is drawn by
// scene/loss_chart.py.

import { byId, setShown, setWords, styled } from "./dom.js";
import { Canvas2D } from "./canvas2d.js";
import { count_up_to } from "./curve_points.js";
import { Box } from "./story/camera.js";
import { typeset } from "./story/decimals.js";
import {
  AXIS,
  BELOW,
  Chart,
  Curve as CurveData,
  CurveView,
  NARROW,
  draw_chart,
  smoothed_of,
  words_beside,
  words_of,
} from "./story/loss_chart.js";
import { text } from "./texts.js";
import { unpacked } from "./arrays.js";
import { fillOptions } from "./events.js";

const HEADING = 20; // logical pixels of the row above the curve, a press on which makes it large
const RISE = 8; // from the curve up to the words in that row
const POINTS = 700; // of the curve
const FEW_POINTS = 250; // of the line of a branch
const FINGER = 18; // pixels of a finger from a line that is meant
export const LATER = "later"; // the key of what is undone
const COLORS = ["accent", "faint", "ghost", "ground", "ink", "loss", "metric", "panel", "quiet", "worse"]; // prettier-ignore

/** Return the colors of the page, in the form of a Theme.
 *
 * @returns {any}
 */
export function themeOfPage() {
  const signs = ["negative", "positive"].map((name) => styled(`--${name}`));
  return { ...Object.fromEntries(COLORS.map((name) => [name, styled(`--${name}`)])), signs };
}

/**
 * Draws the loss curve in front of the `lines` of other branches, and handles the mouse on it.
 *
 * use  callbacks: `seek` with a step, `choose` with the key of a branch and a step, `enlarge` for
 *      a press on the heading, `redraw` when another line is pointed at
 */
export class Curve {
  constructor(element, { engine, facts, page }, lines, use) {
    Object.assign(this, { element, lines, ...use });
    this.measure = facts.loss.name;
    this.level = page.level ?? NaN;
    const first = engine.step;
    this.first = this.last = first; // steps to which a press leads
    this.end = 0; // of what comes later than the training
    this.pointer = null; // that drags
    this.before = -(page.earlier?.from ?? first); // steps left of step 0
    this.measures = new Measures(page.measured);
    this.marks = (page.marks ?? []).map((step) => [step, text("build.new_data", { step })]);
    element.setAttribute("aria-valuemin", first);
    this.canvas = element.querySelector("canvas");
    const box = new Box(0, 0, 1, 1);
    this.isLarge = false;
    this.view = new CurveView();
    this.chart = new Chart(box, box, box, box, first, first, first); // as it was drawn last
    element.addEventListener("pointerdown", (event) => {
      const other = this.lineUnder(event);
      if (other) return this.choose(other.key, this.stepAt(event));
      if (this.isHeading(event)) return this.enlarge();
      this.hold(event.pointerId);
      return this.go(event);
    });
    element.addEventListener("lostpointercapture", () => (this.pointer = null));
    element.addEventListener("pointermove", (event) => {
      if (!(event.buttons & 1)) this.point(this.lineUnder(event), this.isHeading(event));
      else if (element.hasPointerCapture(event.pointerId)) this.go(event);
    });
    element.addEventListener("pointerleave", () => this.point(null));
    this.take({});
  }

  /** Let a pointer drag that is down. */
  hold(pointer) {
    this.element.setPointerCapture(pointer);
    this.pointer = pointer;
  }

  /** Lead also to the steps from `first`, and to the steps of a `later` training, {start, losses}. */
  widen({ first, later }) {
    this.first = first;
    this.element.setAttribute("aria-valuemin", first);
    this.end = later?.losses.end ?? 0;
    this.lines.later = later ?? null;
  }

  /** Add the metrics of a state. */
  take(state) {
    this.measures.take(state);
    document.body.classList.toggle("measured", this.measures.series.length > 0);
  }

  /** Return the position of the pointer in pixels of the chart. */
  placeOf({ clientX, clientY }) {
    const { left, top } = this.element.getBoundingClientRect();
    return [clientX - left, clientY - top];
  }

  /** Return the step under the pointer. */
  stepAt(event) {
    return Math.max(this.first, this.chart.step_at(this.placeOf(event)[0]));
  }

  /** Go to the step under the pointer. */
  go(event) {
    const last = Math.max(this.last, this.end);
    if (last > this.first) this.seek(Math.min(last, this.stepAt(event)));
  }

  /** Return the other branch whose line is under the pointer, or undefined. */
  lineUnder(event) {
    const reach = event.pointerType === "mouse" ? undefined : FINGER;
    const number = this.chart.branch_at(...this.placeOf(event), reach);
    return this.lines.list.find((each) => each.number === number);
  }

  /** Return whether the pointer is on the heading. */
  isHeading(event) {
    return this.chart.title.has(...this.placeOf(event));
  }

  /** Highlight the branch or the heading that is pointed at. */
  point(other, isHeading = false) {
    this.element.classList.toggle("heading", isHeading);
    const key = other ? other.key : null;
    if (key === this.lines.hover) return;
    this.lines.hover = key;
    this.element.title = other ? branchWords(other) : "";
    this.element.classList.toggle("on", Boolean(other));
    this.redraw();
  }

  /** Draw the losses, each at the end of its step, and the present step.
   *
   * place  state that the picture shows
   * told   losses before and after an explained step
   * count  number of operations in a step
   */
  draw(losses, { step, loss, operation }, place, told, count) {
    const canvas = new Canvas2D(this.canvas);
    const { width, height, scale } = canvas;
    const theme = themeOfPage();
    const { meant } = this.lines;
    this.last = Math.max(losses.end, step + (operation ? 1 : 0));
    this.element.setAttribute("aria-valuemax", Math.max(this.last, this.end));
    this.element.setAttribute("aria-valuenow", step);
    const said = [placeWords({ step }), ...this.measures.wordsAt(step)];
    this.element.setAttribute("aria-valuetext", said.join(", "));
    const own = curveOf(losses, -this.before, this.marks, !Number.isNaN(this.level));
    const curve = Object.assign(new CurveData(), own, {
      at: step,
      loss: this.marks.at(-1)?.[0] === step ? NaN : (loss ?? NaN), // of other points
      others: this.lines.drawn,
      metrics: this.measures.named(step),
      marks: this.marks,
      before: this.before,
      end: Math.max(this.last, this.end, 1 - this.before),
      start: losses.at(losses.first),
      told,
      measure: this.measure,
      level: this.level,
      settings: this.view.settings,
      ...(this.view.smooth ? {} : { smoothed: [] }),
      meant: meant ? meant.number : null,
      name: meant ? text("chart.branch", meant) : "",
    });
    const narrow = innerWidth < NARROW && !this.isLarge; // as in page.css
    const [left, below] = narrow ? [4, BELOW] : [AXIS * scale, 8 * scale];
    const top = HEADING * scale;
    const [box, title] = [new Box(0, 0, width, height), new Box(0, 0, width, top)];
    const plot = new Box(left, top, width - 6 - left, height - top - below);
    this.chart = draw_chart(canvas, [box, title, box, plot], curve, theme, scale, 0, RISE, narrow);
    const words = words_beside(curve);
    if (place.operation)
      words[2] = text("page.place", { ...place, step: placeWords(place), count });
    else if (told?.length !== 2) words[2] = placeWords(place);
    ["loss", "better", "place"].forEach((name, i) => setWords(byId(name), typeset(words[i])));
  }
}

/** Return the losses beginning at a step, and their moving average; both restart at each mark.
 *
 * single  whether a single loss says little
 */
function curveOf(record, first, marks, single) {
  const found = { steps: [], losses: [], smoothed: [] };
  let isSmooth = false;
  const starts = [first, ...marks.map(([step]) => step).filter((step) => step < record.end)];
  for (const [i, from] of starts.entries()) {
    const last = starts[i + 1] ?? record.end;
    const parts = Math.ceil((POINTS * (last - from)) / (record.end - first));
    const { steps, losses } = pointsOf(record, from, parts, last);
    const smoothed = smoothed_of(losses, single);
    const gap = i ? [NaN] : [];
    found.steps.push(...gap, ...steps);
    found.losses.push(...gap, ...losses);
    found.smoothed.push(...gap, ...(smoothed.length ? smoothed : losses));
    isSmooth ||= smoothed.length > 0;
  }
  return { ...found, smoothed: isSmooth ? found.smoothed : [] };
}

function placeWords({ step }) {
  return text("chart.step", { step });
}

/** Return the mean losses of equal parts of the steps from `from` to `last`, at most `parts` of them. */
function pointsOf(record, from, parts, last = record.end) {
  const each = Math.max(1, Math.ceil((last - from) / parts));
  const found = { steps: [], losses: [] };
  for (let start = from; start < last; start += each) {
    const end = Math.min(start + each, last);
    const loss = record.mean(start, end);
    if (!Number.isFinite(loss)) continue;
    found.steps.push((start + end + 1) / 2); // the first loss stands at step 1, where it ends
    found.losses.push(loss);
  }
  return found;
}

// The metrics in the chart: those from before the page, and those that the worker measures.

/** The metrics of a page; `given` is the entry `measured` of its spec, or undefined. */
export class Measures {
  constructor(given) {
    const numbers = (packed) => [...(packed.dtype ? unpacked(packed) : packed)];
    this.series = (given?.series ?? []).map(({ name, share, steps, values }) => ({
      name, share, steps: numbers(steps), values: numbers(values),
    })); // prettier-ignore
    /** @type {(each: any) => number} returns the present value of a series */
    this.now = () => NaN;
  }

  /** Return the series, with their present values at a step if these are known. */
  at(step) {
    return this.series.map((each) => {
      const now = this.now(each);
      if (!Number.isFinite(now)) return each;
      const [before, upTo] = [step - 1, step].map((end) => count_up_to(each.steps, end));
      const put = (all, one) => [...all.slice(0, before), one, ...all.slice(upTo)];
      return { ...each, steps: put(each.steps, step), values: put(each.values, now) };
    });
  }

  /** Return the series as drawn: only the names of lines whose values of now are next to the chart. */
  named(step) {
    const drawn = this.at(step).filter(({ steps }) => steps.length > 1);
    return drawn.map((each) =>
      Number.isFinite(this.now(each))
        ? { ...each, steps: [...each.steps, step], values: [...each.values, NaN] }
        : each,
    );
  }

  /** Add the metrics of a state; they replace all values after their first step.
   *
   * A worker sends the values of all series at the same `steps`; Python sends separate `series`.
   */
  take({ measured }) {
    if (!measured) return;
    const { from, steps, values, series } = measured;
    const news = series ?? this.series.map((each, k) => ({ ...each, steps, values: values[k] }));
    this.series = news.map((each) => {
      const old = this.series.find(({ name }) => name === each.name) ?? { steps: [], values: [] };
      const end = count_up_to(old.steps, from);
      const added = (name) => [...old[name].slice(0, end), ...each[name]];
      return { ...each, steps: added("steps"), values: added("values") };
    });
  }

  /** Return a text for each series: name, last value up to a step, and its step if earlier. */
  wordsAt(step) {
    return this.at(step).map((each) => words_of(each, step));
  }
}

// The losses of branches that are not shown, as thin lines behind that of the one that is.

/** The loss curves of the branches that are not shown; `list` contains the data of all branches. */
export class BranchLines {
  constructor() {
    this.later = null; // {start, losses} of a training that is undone, and continues this one
    this.lines = new Map(); // by key, points of its own steps
    this.shown = null;
    this.list = [];
    this.hover = null; // key of the branch whose line is pointed at
  }

  /** Update the branches from a state, before `losses` are updated. */
  take({ branch = null, branches = [] }, losses) {
    const last = this.list.find(({ key }) => key === this.shown);
    if (branch !== this.shown && last) // a line begins where it left the other
      this.lines.set(last.key, pointsOf(losses, Math.max(0, last.start - 1), FEW_POINTS)); // prettier-ignore
    const list = this.later ? [...branches, this.laterAs(branches)] : branches;
    Object.assign(this, { shown: branch, list });
    for (const key of this.lines.keys()) {
      if (key === branch || !list.some((each) => each.key === key)) this.lines.delete(key);
    }
  }

  /** What comes later, as another branch, whose line is drawn. */
  laterAs(branches) {
    const { start, losses } = this.later;
    const number = 1 + Math.max(...branches.map((each) => each.number));
    if (!this.lines.has(LATER)) this.lines.set(LATER, pointsOf(losses, start, FEW_POINTS));
    return { key: LATER, number, name: text("build.later"), start, end: losses.end, loss: NaN };
  }

  /** The data of the branch whose line is pointed at, or undefined. */
  get meant() {
    return this.list.find(({ key }) => key === this.hover && key !== this.shown);
  }

  /** The lines, in the form of `BranchLine` in scene/loss_chart.py. */
  get drawn() {
    const drawn = this.list.filter(({ key }) => this.lines.has(key));
    return drawn.map(({ key, number }) => ({ number, ...this.lines.get(key) }));
  }
}

/** Return the entry for a branch in the list. */
function branchWords({ number, name, end, loss }) {
  const words = text("branches.listed", { number, name, end });
  return Number.isFinite(loss) ? `${words}, ${text("where.loss", { loss })}` : words;
}

// The list of branches behind "…", and what is said when one begins or is dropped.

/** The list of branches. */
export class BranchList {
  constructor() {
    this.element = byId("branch");
    this.keys = new Set();
  }

  /** Show the branches of a state; return a message about a new or dropped branch, or "". */
  take({ branch, branches = [], dropped = [], playing }) {
    const news = this.newsOf(branch, branches, dropped);
    for (const { key } of branches) this.keys.add(key);
    setShown(byId("branches"), branches.length > 1);
    const isInUse = playing && document.activeElement === this.element;
    const options = branches.map((each) => [each.key, branchWords(each)]);
    if (!isInUse) fillOptions(this.element, branch, options);
    return news;
  }

  newsOf(branch, branches, dropped) {
    if (dropped.length) return text("page.branch.dropped", { numbers: dropped.join(", ") });
    const now = branches.find(({ key }) => key === branch);
    const isNew = this.keys.size > 0 && now && !this.keys.has(now.key);
    return isNew ? text("notices.branch", { step: now.start }) : "";
  }
}
