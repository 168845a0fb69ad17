// The loss curve with its axes, which is also the place to go to another step.

import { fitted, styled, unitLength } from "./dom.js";
import { general, text } from "./texts.js";

const BLOCK = 256; // losses whose smallest and largest are kept together

/** The losses of all steps so far. */
export class Losses {
  constructor() {
    this.values = new Float64Array(1024);
    this.blocks = []; // [smallest, largest] of each BLOCK of losses above 0
    this.count = 0;
  }

  /** Take up the losses of a state: those from a step on; later ones than its last are forgotten. */
  take({ losses, last }) {
    const end = losses.from + losses.values.length;
    const before = this.count;
    if (losses.from > before) this.values.fill(NaN, before, losses.from);
    while (this.values.length < end) {
      const larger = new Float64Array(2 * this.values.length);
      larger.set(this.values);
      this.values = larger;
    }
    this.values.set(losses.values, losses.from);
    this.count = Math.min(last, losses.values.length ? Math.max(end, before) : before);
    const changed = Math.min(before, losses.from, this.count);
    this.blocks.length = Math.min(this.blocks.length, Math.floor(changed / BLOCK));
    while ((this.blocks.length + 1) * BLOCK <= this.count) {
      const start = this.blocks.length * BLOCK;
      this.blocks.push(this.scan(start, start + BLOCK, [Infinity, 0]));
    }
  }

  /** Return the smallest and the largest loss above 0 of some steps; [Infinity, 0] for none. */
  range(start, end) {
    const found = [Infinity, 0];
    const [first, last] = [Math.ceil(start / BLOCK), Math.floor(end / BLOCK)];
    if (first >= last) return this.scan(start, end, found);
    this.scan(start, first * BLOCK, found);
    for (let i = first; i < last; i++) {
      found[0] = Math.min(found[0], this.blocks[i][0]);
      found[1] = Math.max(found[1], this.blocks[i][1]);
    }
    return this.scan(last * BLOCK, end, found);
  }

  scan(start, end, found) {
    for (let i = start; i < end; i++) {
      const value = this.values[i];
      if (!(value > 0 && value < Infinity)) continue;
      if (value < found[0]) found[0] = value;
      if (value > found[1]) found[1] = value;
    }
    return found;
  }
}

/**
 * Draws the losses from a first step on, on a logarithmic scale; `seek` is called with the step that
 * is wanted.
 */
export class Curve {
  constructor(element, first, seek) {
    this.element = element;
    this.first = this.last = first;
    element.setAttribute("aria-valuemin", first);
    this.canvas = element.querySelector("canvas");
    this.seek = seek;
    this.plot = { x: 0, width: 1 };
    element.addEventListener("pointerdown", (event) => {
      element.setPointerCapture(event.pointerId);
      this.go(event);
    });
    element.addEventListener("pointermove", (event) => {
      if (event.buttons & 1) this.go(event);
    });
  }

  /** Go to the step under the pointer. */
  go(event) {
    const x = event.clientX - this.element.getBoundingClientRect().left - this.plot.x;
    const part = Math.min(1, Math.max(0, x / this.plot.width));
    const { first, last } = this;
    if (last > first) this.seek(Math.round(first + part * (last - first)));
  }

  /** Draw the losses, each where its step ends, and the present place, in steps and parts of one. */
  draw(losses, { step, loss, operation }, operations) {
    const { context, width, height } = fitted(this.canvas);
    const unit = unitLength();
    const size = 13 * unit;
    const [ink, quiet] = [styled("--ink"), styled("--quiet")];
    context.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
    const heading = loss === null || Number.isNaN(loss) ? "" : ` ${general(loss, 3)}`;
    const finite = extremes(losses, loss);
    this.last = Math.max(losses.count, step + (operation ? 1 : 0));
    const here = step + operation / operations;
    this.element.setAttribute("aria-valuemax", this.last);
    this.element.setAttribute("aria-valuenow", step);
    this.element.setAttribute("aria-valuetext", text("chart.step", { step }));
    const [low, high] = finite ? decades(...finite) : [0.1, 1];
    const words = [low, high].map((value) => general(value, 3));
    const axis = Math.max(...words.map((each) => context.measureText(each).width)) + 8 * unit;
    const top = 20 * unit;
    const plot = { x: axis, y: top, width: width - axis - 6, height: height - top - 18 * unit };
    this.plot = plot;
    const bottom = plot.y + plot.height;
    context.fillStyle = ink;
    context.fillText(text("chart.title") + heading, plot.x, 14 * unit);
    context.strokeStyle = styled("--faint");
    line(context, [[plot.x, plot.y], [plot.x, bottom], [plot.x + plot.width, bottom]]);
    context.fillStyle = quiet;
    const { first } = this;
    if (this.last === first || !finite) {
      context.fillText(text("chart.empty"), plot.x + 8, plot.y + plot.height / 2 + 5, plot.width - 8);
      return;
    }
    context.fillText(first.toLocaleString("en-US"), plot.x, height - 4 * unit);
    context.textAlign = "right";
    context.fillText(text("chart.step", { step: this.last }), plot.x + plot.width, height - 4 * unit);
    if (plot.height > 34 * unit) context.fillText(words[1], plot.x - 5, plot.y + 10 * unit);
    context.fillText(words[0], plot.x - 5, bottom);
    context.textAlign = "left";
    const up = Math.log10(high / low);
    const y = (value) => bottom - (Math.log10(value / low) / up) * plot.height;
    const x = (place) => plot.x + ((place - first) / (this.last - first)) * plot.width;
    context.strokeStyle = styled("--accent");
    context.lineWidth = 1.6 * unit;
    line(context, thinned(losses, first, plot.width, x, y));
    if (loss > 0 && Number.isFinite(loss)) {
      context.fillStyle = ink;
      context.globalAlpha = 0.35;
      context.fillRect(x(here) - 0.5, plot.y, 1, plot.height);
      context.globalAlpha = 1;
      context.beginPath();
      context.arc(x(here), y(loss), 3.5 * unit, 0, 7);
      context.fill();
    }
  }
}

/** Return the smallest and the largest loss above 0, the present one included; null if none is. */
function extremes(losses, loss) {
  const [low, high] = losses.range(0, losses.count);
  const here = loss > 0 && loss < Infinity ? [loss] : [];
  return high > 0 || here.length ? [Math.min(low, ...here), Math.max(high, ...here)] : null;
}

/** Return round ends of a scale, 1, 2 or 5 times a power of ten, that are ten times apart or more. */
function decades(low, high) {
  const top = [1, 2, 5, 10].map((each) => each * 10 ** Math.floor(Math.log10(high)));
  const end = top.find((each) => each >= high * (1 - 1e-9));
  const start = [5, 2, 1].map((each) => each * 10 ** Math.floor(Math.log10(low)));
  return [Math.min(start.find((each) => each <= low * (1 + 1e-9)), end / 10), end];
}

/** Return points of the curve: two for each pixel column, its smallest and largest loss. */
function thinned(losses, from, width, x, y) {
  const each = Math.max(1, (losses.count - from) / Math.max(1, width));
  const points = [];
  for (let start = from; start < losses.count; start += each) {
    const first = Math.floor(start);
    const end = Math.min(losses.count, Math.max(first + 1, Math.floor(start + each)));
    const [low, high] = losses.range(first, end);
    if (low > high) continue;
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
