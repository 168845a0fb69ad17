// The chart of the loss with its axes, which is also the place to go to another step; with metrics,
// and lines of branches.

import { byId, fitted, setShown, styled, unitLength } from "./dom.js";
import { generalNumber } from "./numbers.js";
import { typeset } from "./story/decimals.js";
import { isShown } from "./loss_record.js";
import { lossScale } from "./scales.js";
import { text } from "./texts.js";
import { unpacked } from "./arrays.js";
import { fillOptions } from "./events.js";

const HEADING = 20; // logical pixels of the row above the curve, a press on which makes it large
const HEADING_GAP = 12; // between two of its parts
const AXIS = 40; // left of the curve, for the ends of its scale
const MEANS = 200; // points of the mean, each over a part of the steps
const MEAN_OF = 40;
const READ = 50; // losses that each of them is the mean of, at most

/**
 * Draws the losses from a first step on, on their scale, before the `lines` of branches.
 *
 * `seek` is called with the step that is wanted, `choose` with the key of a branch and a step,
 * `enlarge` for a press on the heading.
 */
export class Curve {
  constructor(element, first, lines, { seek, choose, enlarge }) {
    this.element = element;
    this.lines = lines;
    this.seek = seek;
    this.choose = choose;
    this.first = this.last = this.end = first; // `end` is that of the axis
    this.start = first; // of the axis
    this.measures = new Measures();
    element.setAttribute("aria-valuemin", first);
    this.canvas = element.querySelector("canvas");
    this.plot = { x: 0, y: 0, width: 1 };
    this.own = []; // points of the curve, and of the lines of other branches
    this.others = [];
    this.redraw = () => {};
    this.least = 0; // width of the numbers of the axis
    element.addEventListener("pointerdown", (event) => {
      const other = this.lineUnder(event);
      if (other) return this.choose(other.key, this.stepAt(event));
      if (this.isHeading(event)) return enlarge();
      element.setPointerCapture(event.pointerId);
      return this.go(event);
    });
    element.addEventListener("pointermove", (event) => {
      if (!(event.buttons & 1)) this.point(this.lineUnder(event), this.isHeading(event));
      else if (element.hasPointerCapture(event.pointerId)) this.go(event);
    });
    element.addEventListener("pointerleave", () => this.point(null));
  }

  /** Begin with the metrics of a page, and with the losses beside them from before the page. */
  begin({ measured, earlier }, losses) {
    if (earlier) this.start = earlier.from;
    this.measures = new Measures(measured);
    this.take({});
    if (!this.measures.hasPast) return;
    this.start = 0;
    fillPast(losses, measured, this.first);
  }

  /** Take up what a state has measured. */
  take(state) {
    this.measures.take(state);
    document.body.classList.toggle("measured", this.measures.series.length > 0);
  }

  /** Return the step under the pointer, on the axis. */
  stepAt(event) {
    const x = event.clientX - this.element.getBoundingClientRect().left - this.plot.x;
    const part = Math.min(1, Math.max(0, x / this.plot.width));
    return Math.max(this.first, Math.round(this.start + part * (this.end - this.start)));
  }

  /** Go to the step under the pointer. */
  go(event) {
    const { first, last } = this;
    if (last > first) this.seek(Math.min(last, this.stepAt(event)));
  }

  /** Return the line of another branch under the pointer, or null. */
  lineUnder({ clientX, clientY, pointerType }) {
    if (!this.others.length) return null;
    const { left, top } = this.element.getBoundingClientRect();
    return lineAt(this.others, this.own, clientX - left, clientY - top, pointerType !== "mouse");
  }

  /** Whether the pointer is on the heading. */
  isHeading({ clientY }) {
    return clientY - this.element.getBoundingClientRect().top < this.plot.y;
  }

  /** Show which branch is meant, or that the heading is. */
  point(other, isHeading = false) {
    this.element.classList.toggle("heading", isHeading);
    const key = other ? other.key : null;
    if (key === this.lines.hover) return;
    this.lines.hover = key;
    const about = this.lines.list.find((each) => each.key === key);
    this.element.title = about ? branchWords(about) : "";
    this.element.classList.toggle("on", key !== null);
    this.redraw();
  }

  /** Draw the losses, each where its step ends, and the present place, in steps and parts of one. */
  draw(losses, { step, loss, operation }, operations) {
    const { context, width, height } = fitted(this.canvas);
    const unit = unitLength();
    const [quiet, own] = [styled("--quiet"), styled("--loss")];
    context.font = `${12 * unit}px ${getComputedStyle(document.body).fontFamily}`;
    const finite = extremes(losses, [loss, ...this.measures.losses], this.lines.range);
    this.last = Math.max(losses.end, step + (operation ? 1 : 0));
    this.end = Math.max(this.last, this.lines.last);
    const here = step + operation / operations;
    this.element.setAttribute("aria-valuemax", this.last);
    this.element.setAttribute("aria-valuenow", step);
    const said = [text("chart.step", { step }), ...this.measures.wordsAt(step)];
    this.element.setAttribute("aria-valuetext", said.join(", "));
    const scale = finite && lossScale(finite);
    const ends = finite ? [scale.high, scale.low].map((end) => typeset(generalNumber(end, 3))) : [];
    const widths = ends.map((words) => context.measureText(words).width + 8 * unit);
    const axis = Math.max(AXIS * unit, this.least * unit, ...widths);
    const top = HEADING * unit;
    const plot = { x: axis, y: top, width: width - axis - 6, height: height - top - 8 * unit };
    this.plot = plot;
    const bottom = plot.y + plot.height;
    const right = plot.x + plot.width;
    this.writeHeading(context, step, unit);
    context.strokeStyle = styled("--faint");
    drawLine(context, [[plot.x, bottom], [right, bottom]]); // prettier-ignore
    context.fillStyle = quiet;
    const { start } = this;
    this.own = this.others = [];
    if (this.end === start || !finite) {
      const middle = plot.y + plot.height / 2;
      context.fillText(text("chart.empty"), plot.x + 8, middle + 5, plot.width - 8);
      return;
    }
    const x = (place) => plot.x + ((place - start) / (this.end - start)) * plot.width;
    context.textAlign = "right";
    ends.forEach((words, k) => {
      context.fillText(words, plot.x - 6 * unit, k ? bottom : plot.y + 9 * unit);
    });
    context.textAlign = "left";
    const y = (value) => bottom - scale.up(value) * plot.height;
    this.others = this.lines.drawn(x, y);
    this.drawOthers(context, plot, unit, quiet);
    context.strokeStyle = own;
    context.lineWidth = unit;
    const wide = plot.width * ((this.last - start) / (this.end - start));
    this.own = thinned(losses, start, wide, x, y);
    const mean = meanOf(losses, scale.low < 0);
    context.globalAlpha = mean.length ? 0.34 : 1;
    drawLine(context, this.own);
    context.globalAlpha = 1;
    context.lineWidth = 2.6 * unit;
    drawLine(context, mean.map(([place, value]) => [x(place), y(value)])); // prettier-ignore
    context.lineWidth = 1.3 * unit;
    for (const each of this.measures.series) {
      context.strokeStyle = styled(each.share ? "--metric" : "--ink");
      const points = Measures.points(each, x, y, (share) => bottom - share * plot.height);
      drawLine(context, points);
    }
    context.fillStyle = quiet;
    if (scale.low >= 0) this.writeOver(context, text("chart.log"), plot.x + 8 * unit, unit);
    context.textAlign = "right";
    const end = step === this.end ? "" : this.end.toLocaleString("en-US");
    this.writeOver(context, end, right - 8 * unit, unit);
    context.textAlign = "left";
    if (Number.isFinite(y(loss ?? NaN))) {
      context.fillStyle = own;
      context.globalAlpha = 0.6;
      context.fillRect(x(here) - 0.5, plot.y, 1, plot.height);
      context.globalAlpha = 1;
      context.beginPath();
      context.arc(x(here), y(loss), 5 * unit, 0, 7);
      context.fill();
    }
  }

  /** Write words over the curve, at the end of the plot that it leaves free; as scene/charts.py. */
  writeOver(context, words, x, unit) {
    const { y, height } = this.plot;
    const near = this.own
      .filter((each) => Math.abs(each[0] - x) < 40 * unit)
      .map((each) => each[1]);
    const isLow = near.reduce((sum, each) => sum + each, 0) > near.length * (y + 0.5 * height);
    const low = isLow ? y + 12 * unit : y + height - 6 * unit;
    context.strokeStyle = styled("--ground");
    context.lineWidth = 3 * unit;
    context.strokeText(words, x, low);
    context.fillText(words, x, low);
  }

  /** Write metrics and the branch that is shown, from the right, else how to read the curve. */
  writeHeading(context, step, unit) {
    const { x, width } = this.plot;
    const measures = this.measures.wordsAt(step);
    const part = ({ share }, k) => [measures[k], share ? "--metric" : "--ink"];
    const parts = [[this.nameShown(), "--quiet"], ...this.measures.series.map(part)];
    const shown = parts.filter(([words]) => words);
    let right = x + width;
    context.textAlign = "right";
    for (const [words, color] of shown.length ? shown : [[text("chart.hint"), "--quiet"]]) {
      context.fillStyle = styled(color);
      const wide = context.measureText(words).width;
      if (right - x < wide) break;
      context.fillText(words, right, 12 * unit);
      right -= wide + HEADING_GAP * unit;
    }
    context.textAlign = "left";
  }

  /** Return the name of the branch that is shown, if there are several. */
  nameShown() {
    const { list, shown } = this.lines;
    const { number } = list.find(({ key }) => key === shown) ?? {};
    return list.length > 1 ? text("where.branch", { number }) : "";
  }

  /** Draw the lines of the other branches, each with its number at its end. */
  drawOthers(context, plot, unit, color) {
    const taken = [];
    for (const { key, number, points } of this.others) {
      const isMeant = key === this.lines.hover;
      context.strokeStyle = context.fillStyle = color;
      context.lineWidth = (isMeant ? 2 : 1) * unit;
      context.globalAlpha = isMeant ? 1 : 0.7;
      drawLine(context, points);
      context.globalAlpha = 1;
      if (!points.length) continue;
      const words = String(number);
      const wide = context.measureText(words).width;
      const [x, y] = points.at(-1);
      const left = Math.min(x + 3 * unit, plot.x + plot.width - wide);
      const base = Math.max(plot.y + 10 * unit, y - 3 * unit);
      if (taken.some((each) => Math.hypot(each[0] - left, each[1] - base) < 13 * unit)) continue;
      taken.push([left, base]);
      context.strokeStyle = styled("--ground");
      context.lineWidth = 4 * unit;
      context.strokeText(words, left, base);
      context.fillText(words, left, base);
    }
  }
}

/** Return the smallest and the largest loss, of `others` and some single ones too; null if none is. */
function extremes(losses, singles, others) {
  const range = losses.range(losses.first, losses.end);
  const [low, high] = [Math.min(range[0], others[0]), Math.max(range[1], others[1])];
  const all = singles.filter(isShown);
  const most = all.reduce((top, each) => Math.max(top, each), high);
  const least = all.reduce((found, each) => Math.min(found, each), low);
  return least <= most ? [least, most] : null;
}

/** Return points of the curve: two for each pixel column, its smallest and largest loss. */
function thinned(losses, from, width, x, y) {
  const each = Math.max(1, (losses.end - from) / Math.max(1, width));
  const points = [];
  for (let start = from; start < losses.end; start += each) {
    const first = Math.floor(start);
    const end = Math.min(losses.end, Math.max(first + 1, Math.floor(start + each)));
    const [low, high] = losses.range(first, end);
    if (low > high && !(high === 0 && Number.isFinite(y(0)))) continue; // none, or 0 alone
    points.push([x(first + 1), y(high)]);
    if (low < high) points.push([x(first + 1), y(low)]);
  }
  return points;
}

/** Return the mean at some steps, [step, loss] each, geometric on a scale that is; none of few. */
function meanOf(losses, isLinear) {
  const { start, end } = losses;
  const around = Math.floor((end - start) / (2 * MEAN_OF));
  const found = [];
  for (let i = 0; around && i <= MEANS; i++) {
    const middle = start + Math.round((i / MEANS) * (end - start - 1));
    const [first, last] = [Math.max(start, middle - around), Math.min(end - 1, middle + around)];
    let [sum, count] = [0, 0];
    for (let step = first; step <= last; step += Math.ceil((last - first) / READ) || 1) {
      const loss = isLinear ? losses.at(step) : Math.log(losses.at(step));
      if (Number.isFinite(loss)) [sum, count] = [sum + loss, count + 1];
    }
    if (count) found.push([middle + 1, isLinear ? sum / count : Math.exp(sum / count)]);
  }
  return found;
}

function drawLine(context, points) {
  context.beginPath();
  points.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.stroke();
}

// The metrics in the chart: those from before the page, and those that the worker measures.

/** The values of the metrics of a page; `given` is the part `measured` of its spec, or undefined. */
export class Measures {
  constructor(given) {
    this.series = (given?.series ?? []).map(({ name, share, steps, values }) => ({
      name, share, steps: [...unpacked(steps)], values: [...unpacked(values)],
    })); // prettier-ignore
    this.hasPast = Boolean(given?.apart);
  }

  /** Take up what a state has measured: values after a step, in place of those that were there.
   *
   * They are those of all series at the same `steps`, or what Python names: each `series` by itself.
   */
  take({ measured }) {
    if (!measured) return;
    const { from, steps, values, series } = measured;
    const news = series ?? this.series.map((each, k) => ({ ...each, steps, values: values[k] }));
    this.series = news.map((each) => {
      const old = this.series.find(({ name }) => name === each.name) ?? { steps: [], values: [] };
      const end = countUpTo(old.steps, from);
      const added = (name) => [...old[name].slice(0, end), ...each[name]];
      return { ...each, steps: added("steps"), values: added("values") };
    });
  }

  /** The values on the scale of the losses. */
  get losses() {
    return this.series.flatMap(({ share, values }) => (share ? [] : values.filter(isShown)));
  }

  /** Return the name of each series with its last value up to a step, and its step if earlier. */
  wordsAt(step) {
    return this.series.map(({ name, share, steps, values }) => {
      const known = countUpTo(steps, step);
      if (!known || Number.isNaN(values[known - 1])) return name;
      const value = values[known - 1];
      const said = `${name} ${share ? `${generalNumber(100 * value, 3)}%` : generalNumber(value, 3)}`;
      const long = text("chart.measured", { said, step: steps[known - 1] });
      return steps[known - 1] === step ? said : long;
    });
  }

  /** Return the points of a series for the scales of a plot; `up` is that of shares. */
  static points({ share, steps, values }, x, y, up) {
    const place = (value) => (share ? up : y)(value);
    return steps
      .map((step, i) => [x(step), place(values[i])])
      .filter(([, at]) => Number.isFinite(at));
  }
}

/** Fill losses from before the page into a record: those of some steps, and the last one. */
export function fillPast(record, given, end) {
  unpacked(given.losses).forEach((loss, i) =>
    record.write(Math.min((i + 1) * given.apart, end) - 1, [loss]),
  );
}

/** How many of some steps are at or before one. */
function countUpTo(steps, step) {
  return steps.findLastIndex((each) => each <= step) + 1;
}

// The losses of branches that are not shown, as thin lines behind that of the one that is.

const POINTS = 400; // of a line
const FINGER = 18; // pixels of a finger from a line that is meant
const MOUSE = 8; // of a mouse

/** The lines of all branches but one; `shown` is that one, `list` what the worker tells of all. */
export class BranchLines {
  constructor() {
    this.lines = new Map(); // by key: {steps, low, high, range} of its own steps
    this.shown = null;
    this.list = [];
    this.hover = null;
  }

  /** Take up a state before `losses` do, which still have the steps of the last one. */
  take({ branch = null, branches = [] }, losses) {
    const last = this.list.find(({ key }) => key === this.shown);
    if (branch !== this.shown && last) this.lines.set(last.key, lineOf(losses, last.start));
    Object.assign(this, { shown: branch, list: branches });
    for (const key of this.lines.keys()) {
      if (key === branch || !branches.some((each) => each.key === key)) this.lines.delete(key);
    }
  }

  /** The last step of any branch that has a line. */
  get last() {
    return Math.max(0, ...[...this.lines.values()].map(({ steps }) => steps.at(-1) ?? 0));
  }

  /** The smallest and the largest loss of all lines; [Infinity, -Infinity] without any. */
  get range() {
    const all = [...this.lines.values()].map(({ range }) => range);
    const [lows, highs] = [0, 1].map((k) => all.map((range) => range[k]));
    return [Math.min(Infinity, ...lows), Math.max(-Infinity, ...highs)];
  }

  /** Return the lines as {key, number, points}, for the scales of a plot. */
  drawn(x, y) {
    const shown = this.list.filter(({ key }) => this.lines.has(key));
    return shown.map(({ key, number }) => {
      const { steps, low, high } = this.lines.get(key);
      const points = steps.flatMap((step, i) => {
        const pair = [[x(step), y(high[i])], [x(step), y(low[i])]];
        return high[i] > low[i] ? pair : pair.slice(0, 1);
      }); // prettier-ignore
      return { key, number, points };
    });
  }
}

/** Return the losses of the steps from one on, in few points: {steps, low, high, range}. */
function lineOf(losses, start) {
  const first = Math.max(0, start - 1); // a line begins where it left the other
  const found = { steps: [], low: [], high: [], range: losses.range(first, losses.end) };
  const each = Math.max(1, Math.ceil((losses.end - first) / POINTS));
  for (let from = first; from < losses.end; from += each) {
    const end = Math.min(losses.end, from + each);
    const [low, high] = losses.range(from, end);
    if (low > high) continue;
    found.steps.push(end);
    found.low.push(low);
    found.high.push(high);
  }
  return found;
}

/** Return the line that is meant by a place, or null; one that is nearer to `own` points is none. */
function lineAt(lines, own, x, y, isFinger) {
  const reach = isFinger ? FINGER : MOUSE;
  let best = { line: null, apart: reach };
  for (const line of lines) {
    const apart = distance(line.points, x, y);
    if (apart < best.apart) best = { line, apart };
  }
  return distance(own, x, y) <= best.apart ? null : best.line;
}

/** Return how far a place is from a line through some points. */
function distance(points, x, y) {
  let best = Infinity;
  for (let i = 0; i < points.length; i++) {
    const [x1, y1] = points[Math.max(0, i - 1)];
    const [x2, y2] = points[i];
    const length = (x2 - x1) ** 2 + (y2 - y1) ** 2;
    const part = length ? ((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / length : 0;
    const inside = Math.min(1, Math.max(0, part));
    best = Math.min(best, Math.hypot(x1 + inside * (x2 - x1) - x, y1 + inside * (y2 - y1) - y));
  }
  return best;
}

/** Return the words for a branch in a list. */
function branchWords({ number, name, end, loss }) {
  const words = text("branches.listed", { number, name, end });
  return Number.isFinite(loss) ? `${words}, ${text("where.loss", { loss })}` : words;
}

// The list of branches behind "…", and what is said when one begins or is dropped.

/** The list; `choose` is called with the key of a branch. */
export class BranchList {
  constructor() {
    this.element = byId("branch");
    this.keys = new Set();
  }

  /** Show the branches of a state; return what is to be said of them, or "". */
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
