// The loss curve with its axes, which is also the place to go to another step.

import { branchWords, lineAt } from "./branch_lines.js";
import { byId, fitted, styled, unitLength } from "./dom.js";
import { generalNumber, trueMinus } from "./formats.js";
import { isShown, lossScale } from "./loss_scale.js";
import { Measures, fillPast } from "./measures.js";
import { text } from "./texts.js";

const HEADING = 20; // logical pixels of the first row of the heading
const HEADING_ROW = 17; // and of each other one
const HEADING_GAP = 12; // between two of its parts
const TWO_ENDS = 24; // least height of the plot for words at both ends of the axis

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
    this.rows = 1; // of the heading, at this width: as many as it ever needed
    this.width = 0;
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
    const size = 13 * unit;
    const [ink, quiet] = [styled("--ink"), styled("--quiet")];
    context.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
    const written = (value) => trueMinus(generalNumber(value, 3));
    const heading = loss === null || Number.isNaN(loss) ? "" : ` ${written(loss)}`;
    const finite = extremes(losses, [loss, ...this.measures.losses], this.lines.range);
    this.last = Math.max(losses.end, step + (operation ? 1 : 0));
    this.end = Math.max(this.last, this.lines.last);
    const here = step + operation / operations;
    this.element.setAttribute("aria-valuemax", this.last);
    this.element.setAttribute("aria-valuenow", step);
    const said = [text("chart.step", { step }), ...this.measures.wordsAt(step)];
    this.element.setAttribute("aria-valuetext", said.join(", "));
    const scale = lossScale(finite);
    const ends = [scale.low, scale.high].map(written);
    const widths = [...ends.map((each) => context.measureText(each).width), this.least * unit];
    const axis = Math.max(...widths) + 8 * unit;
    const title = text("chart.title") + heading + this.nameShown();
    const head = this.headOf(context, title, step, width - axis, unit);
    this.makeRoom(head, width);
    const top = (HEADING + HEADING_ROW * (this.rows - 1)) * unit;
    const plot = { x: axis, y: top, width: width - axis - 6, height: height - top - 18 * unit };
    this.plot = plot;
    const bottom = plot.y + plot.height;
    for (const { words, color, x, row, room } of head) {
      context.fillStyle = styled(color);
      context.fillText(words, plot.x + x, (14 + HEADING_ROW * row) * unit, room);
    }
    context.strokeStyle = styled("--faint");
    // prettier-ignore
    line(context, [[plot.x, plot.y], [plot.x, bottom], [plot.x + plot.width, bottom]]);
    context.fillStyle = quiet;
    const { start } = this;
    this.own = this.others = [];
    if (this.end === start || !finite) {
      const middle = plot.y + plot.height / 2;
      context.fillText(text("chart.empty"), plot.x + 8, middle + 5, plot.width - 8);
      return;
    }
    const x = (place) => plot.x + ((place - start) / (this.end - start)) * plot.width;
    const begin = Math.max(start, 0);
    if (start === begin || x(begin) < plot.x + 0.8 * plot.width)
      context.fillText(begin.toLocaleString("en-US"), x(begin), height - 4 * unit);
    context.textAlign = "right";
    const isNamed = this.element.parentElement.querySelector(".place") !== null;
    const end = isNamed ? this.end.toLocaleString("en-US") : text("chart.step", { step: this.end });
    context.fillText(end, plot.x + plot.width, height - 4 * unit);
    if (plot.height > TWO_ENDS * unit) context.fillText(ends[1], plot.x - 5, plot.y + 10 * unit);
    context.fillText(ends[0], plot.x - 5, bottom);
    context.textAlign = "left";
    const y = (value) => bottom - scale.up(value) * plot.height;
    this.others = this.lines.drawn(x, y);
    this.drawOthers(context, plot, unit, quiet);
    context.strokeStyle = styled("--accent");
    context.lineWidth = 1.6 * unit;
    const wide = plot.width * ((this.last - start) / (this.end - start));
    this.own = thinned(losses, start, wide, x, y);
    line(context, this.own);
    context.lineWidth = 1.3 * unit;
    for (const each of this.measures.series) {
      context.strokeStyle = styled(each.share ? "--metric" : "--ink");
      line(
        context,
        Measures.points(each, x, y, (share) => bottom - share * plot.height),
      );
    }
    if (Number.isFinite(y(loss ?? NaN))) {
      context.fillStyle = ink;
      context.globalAlpha = 0.35;
      context.fillRect(x(here) - 0.5, plot.y, 1, plot.height);
      context.globalAlpha = 1;
      context.beginPath();
      context.arc(x(here), y(loss), 3.5 * unit, 0, 7);
      context.fill();
    }
  }

  /** Return the heading and each metric with its value: words, and where they stand in how many rows. */
  headOf(context, title, step, width, unit) {
    const beside = document.body.dataset.fit === "least" ? byId("place").offsetWidth : 0; // on phones
    const measures = this.measures.wordsAt(step);
    const part = ({ share }, k) => [measures[k], share ? "--metric" : "--ink"];
    const parts = this.measures.series.map(part);
    let [x, row] = [0, 0];
    return [[title, "--ink"], ...parts].map(([words, color]) => {
      const wide = context.measureText(words).width;
      if (x && x + wide > width - (row ? 0 : beside)) [x, row] = [0, row + 1];
      const place = { words, color, x, row, room: Math.max(1, width - x - (row ? 0 : beside)) };
      x += wide + HEADING_GAP * unit;
      return place;
    });
  }

  /** Let the curve be as high as its heading needs, which is not less high later on. */
  makeRoom(head, width) {
    const rows = Math.max(width === this.width ? this.rows : 1, head.at(-1).row + 1);
    this.width = width;
    if (rows === this.rows) return;
    this.rows = rows;
    this.element.style.setProperty("--rows", rows);
    requestAnimationFrame(() => this.redraw());
  }

  /** Return the name of the branch that is shown, if there are several. */
  nameShown() {
    const { list, shown } = this.lines;
    const { number } = list.find(({ key }) => key === shown) ?? {};
    return list.length > 1 ? ` · ${text("where.branch", { number })}` : "";
  }

  /** Draw the lines of the other branches, each with its number at its end. */
  drawOthers(context, plot, unit, color) {
    const taken = [];
    for (const { key, number, points } of this.others) {
      const isMeant = key === this.lines.hover;
      context.strokeStyle = context.fillStyle = color;
      context.lineWidth = (isMeant ? 2 : 1) * unit;
      context.globalAlpha = isMeant ? 1 : 0.7;
      line(context, points);
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

function line(context, points) {
  context.beginPath();
  points.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.stroke();
}
