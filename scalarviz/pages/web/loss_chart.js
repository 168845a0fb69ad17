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
const COLORS = ["accent", "faint", "ghost", "ground", "ink", "loss", "metric", "panel", "quiet"];

/** Return the colors of the page, in the form of a Theme. */
export function themeOfPage() {
  return Object.fromEntries(COLORS.map((name) => [name, styled(`--${name}`)]));
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
    const first = engine.step;
    this.first = this.last = first;
    this.before = -(page.earlier?.from ?? first); // steps left of step 0
    this.measures = new Measures(page.measured);
    element.setAttribute("aria-valuemin", first);
    this.canvas = element.querySelector("canvas");
    const box = new Box(0, 0, 1, 1);
    this.isLarge = false;
    this.chart = new Chart(box, box, box, box, first, first, first); // as it was drawn last
    element.addEventListener("pointerdown", (event) => {
      const other = this.lineUnder(event);
      if (other) return this.choose(other.key, this.stepAt(event));
      if (this.isHeading(event)) return this.enlarge();
      element.setPointerCapture(event.pointerId);
      return this.go(event);
    });
    element.addEventListener("pointermove", (event) => {
      if (!(event.buttons & 1)) this.point(this.lineUnder(event), this.isHeading(event));
      else if (element.hasPointerCapture(event.pointerId)) this.go(event);
    });
    element.addEventListener("pointerleave", () => this.point(null));
    this.take({});
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
    if (this.last > this.first) this.seek(Math.min(this.last, this.stepAt(event)));
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
    this.element.setAttribute("aria-valuemax", this.last);
    this.element.setAttribute("aria-valuenow", step);
    const said = [placeWords({ step }), ...this.measures.wordsAt(step)];
    this.element.setAttribute("aria-valuetext", said.join(", "));
    const points = pointsOf(losses, -this.before, POINTS);
    const curve = Object.assign(new CurveData(), points, {
      smoothed: smoothed_of(points.losses),
      at: step,
      loss: loss ?? NaN,
      others: this.lines.drawn,
      metrics: this.measures.series,
      before: this.before,
      end: Math.max(this.last, 1 - this.before),
      start: losses.at(losses.first),
      told,
      measure: this.measure,
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

function placeWords({ step }) {
  return text("chart.step", { step });
}

/** Return the mean losses of equal parts of the steps from `from`, at most `parts` of them. */
function pointsOf(record, from, parts) {
  const each = Math.max(1, Math.ceil((record.end - from) / parts));
  const found = { steps: [], losses: [] };
  for (let start = from; start < record.end; start += each) {
    const end = Math.min(start + each, record.end);
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
    this.series = (given?.series ?? []).map(({ name, share, steps, values }) => ({
      name, share, steps: [...unpacked(steps)], values: [...unpacked(values)],
    })); // prettier-ignore
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
    return this.series.map((each) => words_of(each, step));
  }
}

// The losses of branches that are not shown, as thin lines behind that of the one that is.

/** The loss curves of the branches that are not shown; `list` contains the data of all branches. */
export class BranchLines {
  constructor() {
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
    Object.assign(this, { shown: branch, list: branches });
    for (const key of this.lines.keys()) {
      if (key === branch || !branches.some((each) => each.key === key)) this.lines.delete(key);
    }
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
