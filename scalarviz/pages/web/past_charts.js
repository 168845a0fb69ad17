// The charts below the large loss curve: all weights over time, and the loss over a plane through
// them; as scene/past_charts.py.

import { fitted, made, setShown, setWords, styled, unitLength } from "./dom.js";
import { generalNumber } from "./numbers.js";
import { rounded, typeset } from "./story/decimals.js";
import { lossScale } from "./scales.js";
import { largest_first } from "./story/equations.js";
import { weight_title } from "./story/names.js";
import { name_of_tile, past_words } from "./story/past_words.js";
import { layersOf } from "./over_time.js";
import { madeButton } from "./events.js";
import { text } from "./texts.js";
import { mixedColor } from "./palette.js";

const PAST_KINDS = ["value", "gradient", "change"];
const PAST_ORDERS = ["layer", "distance", "norms", "landscape"];
const ALONG = ["main", "two"]; // directions of a landscape
const TILES = 128; // tiles
const MOMENTS = 800;
const BETWEEN_QUESTIONS = 250; // milliseconds between two questions, at least
const BETWEEN_PARTS = 30; // milliseconds between two questions for more of an answer
const SUMMED = 20000; // weights that are looked at for a change
const CLICK_MOVES = 4; // pixels; a press that moves less is a click
const MOVED_MOST = 3; // weights that moved most

/**
 * Shows the strip or a landscape; `ask` asks for numbers, `seek` goes to a step, `roll` to a point of
 * the plane, `curve` has the axis of steps.
 */
export class Past {
  constructor(element, facts, curve, { ask, seek, roll }) {
    this.element = element;
    this.facts = facts;
    this.curve = curve;
    this.ask = ask;
    this.seek = seek;
    this.roll = roll;
    this.scale = 1; // the number with the strongest color
    this.layers = facts.is_graph ? [] : layersOf(facts);
    this.kind = "value";
    this.order = "layer";
    this.seen = null;
    this.image = null;
    this.shown = ""; // what was asked for last
    this.asking = false;
    this.due = 0;
    this.compared = null;
    this.pointed = null; // {step, tile} under the pointer
    this.redraw = () => {};
    this.along = "main";
    this.pins = []; // rows of the two weights that were pinned last
    this.terrain = new TerrainMap();
    this.tabs = [...PAST_KINDS, ...ALONG, ...PAST_ORDERS].map((name) => {
      const tab = madeButton("tab", text(`past.tab.${name}`), (event) => {
        this.choose(name);
        if (event.detail) tab.blur(); // keys go to the page again after a click
      });
      tab.dataset.name = name;
      return tab;
    });
    this.reads = made("output");
    this.canvas = made("canvas");
    this.canvas.ariaLabel = text("past.about");
    this.canvas.role = "img";
    const bar = made("div", "tabs", ...this.tabs, this.reads);
    element.append(bar, this.canvas);
    this.listen();
  }

  get isOpen() {
    return !this.element.hidden;
  }

  /** Make the curve large, with the strip below it, or small again. */
  toggle() {
    const isOpen = !this.isOpen;
    setShown(this.element, isOpen);
    document.body.classList.toggle("long", isOpen);
    if (isOpen) this.element.prepend(this.curve.element);
    else document.querySelector(".now").before(this.curve.element);
    this.shown = "";
    this.compared = this.pointed = null;
  }

  /** End a comparison; return whether there was one. */
  rest() {
    const was = this.compared !== null;
    this.compared = null;
    return was;
  }

  choose(name) {
    if (PAST_KINDS.includes(name)) this.kind = name;
    else if (ALONG.includes(name)) this.along = name;
    else this.order = name;
    this.pointed = this.compared = null;
    this.shown = "";
    this.redraw();
  }

  /** Note that a weight was pinned. */
  pin(row) {
    this.pins = [...this.pins.filter((each) => each !== row), row].slice(-2);
  }

  get isLandscape() {
    return this.order === "landscape";
  }

  listen() {
    let pressed = null;
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      const { offsetX: x, offsetY: y } = event;
      const holds = this.isLandscape && this.terrain.seen && this.terrain.isOnBall(x, y);
      pressed = { x, step: this.curve.stepAt(event), holds, moved: false };
      this.compared = null;
      this.point(event);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      this.point(event);
      if (!pressed || Math.abs(event.offsetX - pressed.x) < CLICK_MOVES) return;
      pressed.moved = true;
      if (pressed.holds)
        this.roll({ x: this.pointed.spot[0], y: this.pointed.spot[1], held: true });
      else if (!this.isLandscape)
        this.compared = [pressed.step, this.curve.stepAt(event)].sort((one, other) => one - other);
    });
    this.canvas.addEventListener("pointerup", () => {
      const spot = this.pointed?.spot;
      const step = spot ? this.terrain.stepNear(spot) : this.isLandscape ? null : pressed?.step;
      if (pressed?.holds) this.roll({ ends: true, held: false });
      else if (pressed && !pressed.moved && !this.compared && step !== null) this.seek(step);
      pressed = null;
    });
    this.canvas.addEventListener("pointerleave", () => {
      this.pointed = null;
      this.redraw();
    });
  }

  point(event) {
    const part = event.offsetY / Math.max(1, this.canvas.clientHeight);
    const count = this.seen?.heads.length ?? 0;
    const tile = Math.min(Math.max(0, Math.floor(part * count)), count - 1);
    const spot = this.isLandscape && this.terrain.seen && this.terrain.spotAt(event.offsetX, event.offsetY); // prettier-ignore
    this.pointed = { step: this.curve.stepAt(event), tile, spot };
    this.redraw();
  }

  /** Ask for the numbers of a state if they are others than those shown, then draw again. */
  async follow(state) {
    const { kind, order, along } = this;
    const pins = along === "two" ? this.pins : [];
    const mark = JSON.stringify([kind, order, along, pins, sumOfValues(state.value), state.step, state.operation, state.branch, state.last, state.jumps]); // prettier-ignore
    const now = performance.now();
    if (!this.isOpen || this.asking || this.lacksPins || (mark === this.shown && !this.seen?.more))
      return;
    if (now < this.due && this.seen) {
      this.later ??= setTimeout(() => ((this.later = undefined), this.redraw()), this.due - now);
      return;
    }
    this.asking = true;
    const args = { kind, order, layers: this.layers, most: TILES, moments: MOMENTS, keeps: state.playing, along, pins }; // prettier-ignore
    const seen = await this.ask(args);
    this.asking = false;
    const took = performance.now() - now;
    const rest = state.playing
      ? Math.max(BETWEEN_QUESTIONS, 4 * took)
      : seen?.more
        ? BETWEEN_PARTS
        : 0;
    this.due = performance.now() + rest;
    if (!seen) {
      Object.assign(this, { seen: null, shown: mark }); // refused: not asked again for the same
      return;
    }
    const scale = seen.tiles ? largestOfTiles(seen.tiles) || 1 : 1;
    Object.assign(this, { seen, shown: mark, image: null, scale });
    this.redraw();
  }

  /** Whether a landscape along two weights is wanted, and fewer are pinned. */
  get lacksPins() {
    return this.isLandscape && this.along === "two" && this.pins.length < 2;
  }

  /** Draw the strip, the norms or the landscape, and what is read. */
  draw(state, palette) {
    if (!this.isOpen) return;
    void this.follow(state);
    const firsts = this.isLandscape ? ALONG : PAST_KINDS;
    const chosen = [this.order, this.isLandscape ? this.along : this.kind];
    for (const tab of this.tabs) {
      const { name } = tab.dataset;
      setShown(tab, firsts.includes(name) || PAST_ORDERS.includes(name));
      tab.ariaPressed = String(chosen.includes(name));
    }
    const { curve } = this;
    const { context, width, height } = fitted(this.canvas);
    const isSeen = this.seen && Boolean(this.seen.plane) === this.isLandscape && !this.lacksPins;
    const seen = isSeen ? this.seen : null;
    setWords(this.reads, this.lacksPins ? text("past.pin_two") : seen ? this.said() : "");
    this.reads.classList.toggle("scale", !this.pointed && !this.compared && !this.lacksPins);
    if (!seen) return;
    const unit = unitLength();
    const left = curve.chart.plot.x;
    const x = (step) =>
      left +
      ((step - curve.chart.first) / (curve.chart.last - curve.chart.first || 1)) *
        curve.chart.plot.width;
    context.font = `${12 * unit}px ${getComputedStyle(document.body).fontFamily}`;
    if (seen.plane) {
      const box = { x: left, y: 0, width: curve.chart.plot.width, height };
      return this.terrain.draw(context, box, seen, unit, palette, this.facts);
    }
    if (seen.norms.length) this.drawNorms(context, { x, left, width, height, unit });
    else this.drawTiles(context, { x, left, height, unit }, palette);
    const marks = (this.compared ?? []).map((step) => [step, styled("--accent"), 1]);
    marks.push([state.step, styled("--ink"), 0.4]);
    if (this.pointed) marks.push([this.pointed.step, styled("--accent"), 1]);
    for (const [step, color, alpha] of marks) {
      context.globalAlpha = alpha;
      context.fillStyle = color;
      context.fillRect(x(step) - 0.5, 0, 1, height);
    }
    context.globalAlpha = 1;
  }

  drawTiles(context, { x, left, height, unit }, palette) {
    const { seen, pointed } = this;
    const count = seen.heads.length;
    const end = seen.steps.at(-1);
    const wide = Math.max(1, Math.round(x(end) - x(seen.steps[0])));
    const mark = `${wide} ${palette.ground}`;
    if (this.image?.mark !== mark) this.image = { mark, canvas: stripImage(seen, this.scale, wide, palette) }; // prettier-ignore
    context.imageSmoothingEnabled = false;
    context.drawImage(this.image.canvas, x(seen.steps[0]), 0, wide, height);
    const high = height / count;
    context.textAlign = "right";
    for (const [label, first, tiles] of seen.groups) {
      const y = first * high;
      context.fillStyle = styled("--panel");
      if (first) context.fillRect(left, y - unit, wide, 2 * unit);
      context.fillStyle = styled("--quiet");
      const room = Math.max(1, left - 8);
      const words = label ? text("plates.layer", { label }) : "";
      if (tiles * high >= 12 * unit) context.fillText(words, left - 6, y + (tiles * high) / 2 + 4 * unit, room); // prettier-ignore
    }
    context.textAlign = "left";
    const marked = this.pins.map((row) => [seen.heads.indexOf(row), "--accent"]);
    if (pointed) marked.push([pointed.tile, "--ink"]);
    for (const [tile, color] of marked) {
      const least = Math.max(high, 3 * unit); // of one weight alone, since a mean has no pin
      if (tile < 0 || (color === "--accent" && seen.counts[tile] > 1)) continue;
      context.strokeStyle = styled(color);
      context.strokeRect(left, (tile + 0.5) * high - least / 2, x(end) - left, least);
    }
  }

  drawNorms(context, { x, left, width, height, unit }) {
    const { seen } = this;
    const shown = seen.norms.filter((norm) => Number.isFinite(norm) && norm > 0);
    if (!shown.length) return;
    const ends = shown.reduce(([a, b], n) => [Math.min(a, n), Math.max(b, n)], [Infinity, 0]);
    const scale = lossScale(ends);
    const [top, bottom] = [2, height - 2];
    context.fillStyle = styled("--quiet");
    context.textAlign = "right";
    for (const [value, y] of [
      [scale.high, top + 9 * unit],
      [scale.low, bottom],
    ])
      /* prettier-ignore */
      context.fillText(typeset(rounded(value, 3)), left - 5, y);
    const colors = styled("--classes").split(" ");
    let right = width - 6;
    const { length } = seen.steps;
    for (let k = seen.groups.length - 1; k >= 0; k--) {
      context.strokeStyle = context.fillStyle = colors[k % colors.length];
      context.lineWidth = 1.5 * unit;
      context.beginPath();
      for (let j = 0, on = false; j < length; j++) {
        const norm = seen.norms[k * length + j];
        const isShown = Number.isFinite(norm) && norm > 0;
        const at = [x(seen.steps[j]), bottom - scale.up(norm) * (bottom - top)];
        if (isShown && on) context.lineTo(at[0], at[1]);
        else if (isShown) context.moveTo(at[0], at[1]);
        on = isShown;
      }
      context.stroke();
      const words = seen.groups[k][0] ? text("plates.layer", { label: seen.groups[k][0] }) : "";
      if (right - context.measureText(words).width < left) continue;
      context.fillText(words, right, 12 * unit);
      right -= context.measureText(words).width + 14 * unit;
    }
    context.textAlign = "left";
  }

  /** Return what the pointer reads: a tile at a step, or between the two that are compared. */
  said() {
    const { seen, pointed, compared } = this;
    if (seen.plane) return this.terrain.seen ? this.terrain.said(pointed?.spot) : "";
    if (seen.norms.length) return "";
    if (!pointed && !compared) return text("past.scale", { most: typeset(rounded(this.scale, 3)) });
    const { steps, tiles, heads, counts, groups } = seen;
    const at = (tile, step) => tiles[tile * steps.length + momentPlace(steps, step)];
    const stepAt = (step) => steps[momentPlace(steps, step)];
    const nameOf = (k) => name_of_tile(this.facts, groups, k, counts[k], heads[k]);
    const movedMost = (first, last) => {
      const moves = Array.from(heads, (_, k) => at(k, last) - at(k, first));
      const order = largest_first(moves).slice(0, MOVED_MOST);
      return order.map((k) => [k, moves[k]]);
    };
    const place = pointed && [pointed.tile, pointed.step];
    return typeset(past_words(place, compared, at, stepAt, nameOf, movedMost));
  }
}

/** Return the place of the last of some steps up to one, else the first. */
function momentPlace(steps, step) {
  const found = steps.findLastIndex((/** @type {number} */ each) => each <= step);
  return Math.max(0, found);
}

/** Return the sum of some numbers, which differs when a weight was moved. */
function sumOfValues(values) {
  return values.subarray(0, SUMMED).reduce((sum, each) => sum + each, 0);
}

function largestOfTiles(numbers) {
  return numbers.reduce((top, each) => (Math.abs(each) > top ? Math.abs(each) : top), 0);
}

/** Return a canvas with a row of pixels for each tile. */
function stripImage(seen, scale, wide, palette) {
  const { length } = seen.steps;
  const [first, last] = [seen.steps[0], seen.steps.at(-1)];
  const canvas = made("canvas");
  Object.assign(canvas, { width: wide, height: seen.heads.length });
  const context = canvas.getContext("2d");
  const image = context.createImageData(wide, seen.heads.length);
  const pixels = new Uint32Array(image.data.buffer);
  const colors = Uint32Array.from(seen.tiles, (number) => {
    const [r, g, b] = palette.map(number, scale).map((each) => Math.round(255 * each));
    return r | (g << 8) | (b << 16) | (255 << 24);
  });
  let moment = 0;
  for (let i = 0; i < wide; i++) {
    const step = first + (i / Math.max(1, wide - 1)) * (last - first);
    while (seen.steps[moment + 1] <= step) moment += 1;
    for (let k = 0; k < seen.heads.length; k++) pixels[k * wide + i] = colors[k * length + moment];
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

// The loss over a plane through the weights, as a map.

const TERRAIN_BANDS = 16; // heights that are told apart
const TERRAIN_FINE = 16; // pixels of the map between two points of the grid
const UNKNOWN_BAND = 255; // where no loss is computed yet
const HIGHEST_BAND = 0.62; // of the way from the ground to the ink, for the largest loss
const BAND_EDGE = 0.12; // and how much further the line between two bands is
const DRAWN_EACH = 60; // losses after which the map is drawn again
const COARSEST_KNOWN = 8; // points from one to the next in the first pass
const NEAR_PATH = 0.03; // of the width of the plane: so near the path, its step is meant
const ON_BALL = 14; // pixels

/** Draws a landscape that was `seen` into a box of a canvas, and says what is where. */
class TerrainMap {
  constructor() {
    this.box = { x: 0, y: 0, width: 1, height: 1 };
    this.ball = [-1, -1]; // pixels
    this.image = null;
    this.seen = null;
  }

  draw(context, box, seen, unit, palette, facts) {
    Object.assign(this, { box, seen });
    const { plane, path } = seen;
    const known = plane.losses.reduce((count, each) => count + Number(!Number.isNaN(each)), 0);
    const mark = `${palette.ground} ${plane.span} ${Math.floor(known / DRAWN_EACH)}`;
    if (this.image?.mark !== mark) this.image = { mark, canvas: mapOf(plane.losses, palette) };
    context.imageSmoothingEnabled = true;
    context.drawImage(this.image.canvas, box.x, box.y, box.width, box.height);
    context.fillStyle = styled("--accent");
    if (plane.done < 1) context.fillRect(box.x, box.y, plane.done * box.width, 3 * unit);
    this.drawAxes(context, facts, unit);
    context.save();
    context.beginPath();
    context.rect(box.x, box.y, box.width, box.height);
    context.clip();
    context.lineJoin = "round";
    context.beginPath();
    for (let i = 0; i < path.length; i += 2) {
      const [x, y] = this.pixel(path[i], path[i + 1]);
      if (i) context.lineTo(x, y);
      else context.moveTo(x, y);
    }
    for (const name of ["--ground", "--accent"]) {
      context.strokeStyle = styled(name);
      context.lineWidth = (name === "--ground" ? 4.5 : 2) * unit;
      context.stroke();
    }
    const [x, y] = this.pixel(path[0], path[1]);
    disc(context, x, y, 5 * unit, styled("--accent"));
    disc(context, x, y, 3 * unit, styled("--ground"));
    context.restore();
    const [across, down] = this.pixel(...seen.at);
    this.ball = [
      Math.min(Math.max(across, box.x), box.x + box.width),
      Math.min(Math.max(down, box.y), box.y + box.height),
    ];
    disc(context, this.ball[0], this.ball[1], 8 * unit, styled("--ground"));
    disc(context, this.ball[0], this.ball[1], 6.5 * unit, styled("--ink"));
  }

  pixel(x, y) {
    const { box, seen } = this;
    const [left, right, bottom, top] = seen.plane.span;
    return [
      box.x + ((x - left) / (right - left)) * box.width,
      box.y + ((top - y) / (top - bottom)) * box.height,
    ];
  }

  /** Return the point of the plane at a pixel, at an edge if outside. */
  spotAt(x, y) {
    const { box, seen } = this;
    const [left, right, bottom, top] = seen.plane.span;
    const part = (at, length) => Math.min(1, Math.max(0, at / length));
    return [
      left + part(x - box.x, box.width) * (right - left),
      top - part(y - box.y, box.height) * (top - bottom),
    ];
  }

  isOnBall(x, y) {
    return Math.hypot(x - this.ball[0], y - this.ball[1]) < ON_BALL;
  }

  /** Return the step of the moment on the path that is near a point of the plane, or null. */
  stepNear([x, y]) {
    const { steps, path, plane } = this.seen;
    const [left, right, bottom, top] = plane.span;
    let [nearest, step] = [NEAR_PATH, null];
    steps.forEach((each, i) => {
      const apart = Math.hypot((path[2 * i] - x) / (right - left), (path[2 * i + 1] - y) / (top - bottom)); // prettier-ignore
      if (apart < nearest) [nearest, step] = [apart, each];
    });
    return step;
  }

  /** Return what is read at a point, or how the plane lies and how high it is. */
  said(spot) {
    const { plane } = this.seen;
    const { losses, span } = plane;
    const count = Math.sqrt(losses.length);
    const written = (value) => typeset(rounded(value, 3));
    if (spot) {
      const place = (at, low, high) => Math.round(((at - low) / (high - low)) * (count - 1));
      const [column, row] = [place(spot[0], span[0], span[1]), place(spot[1], span[2], span[3])];
      const found = losses[row * count + column];
      if (Number.isNaN(found)) return ""; // not computed yet
      const loss = written(found);
      const step = this.stepNear(spot);
      return step === null ? text("past.loss_here", { loss }) : text("past.loss_near", { loss, step }); // prettier-ignore
    }
    const known = Array.from(losses).filter(Number.isFinite);
    if (!known.length) return "";
    const ends = { least: written(Math.min(...known)), most: written(Math.max(...known)) };
    return text("past.range", ends);
  }

  /** Write what the directions are at the ends of both axes. */
  drawAxes(context, facts, unit) {
    const { box, seen } = this;
    const { shares, rows } = seen.plane;
    const [across, up] = rows.length
      ? rows.map((row) => weight_title(facts, row))
      : shares.map((share) => text("past.axis.main", { share: generalNumber(100 * share, 3) }));
    const margin = 6 * unit;
    context.strokeStyle = styled("--ground");
    context.lineWidth = 3 * unit;
    for (const [words, x, y, side] of [
      [
        text("past.axis.across", { name: across }),
        box.x + box.width - margin,
        box.height - margin,
        "right",
      ],
      [text("past.axis.up", { name: up }), box.x + margin, box.y + 12 * unit + margin, "left"],
    ]) {
      context.textAlign = side;
      context.fillStyle = styled("--ink");
      context.strokeText(words, x, y);
      context.fillText(words, x, y);
    }
    context.textAlign = "left";
  }
}

function disc(context, x, y, radius, color) {
  context.fillStyle = color;
  context.beginPath();
  context.arc(x, y, radius, 0, 7);
  context.fill();
}

/** Return heights from 0 to 1 of the finest grid that is wholly known, else of the coarsest. */
function heightsOf(losses) {
  const count = Math.sqrt(losses.length);
  const gridOf = (apart) => {
    const found = [];
    for (let i = 0; i < count; i += apart) {
      found.push([]);
      for (let j = 0; j < count; j += apart) found.at(-1).push(losses[i * count + j]);
    }
    return found;
  };
  let apart = COARSEST_KNOWN;
  while (
    apart > 1 &&
    gridOf(apart / 2)
      .flat()
      .every(Number.isFinite)
  )
    apart /= 2;
  const known = gridOf(apart);
  const finite = known.flat().filter(Number.isFinite);
  const read = finite.every((each) => each > 0) ? Math.log : (/** @type {number} */ each) => each;
  if (!finite.length) return known;
  const low = finite.reduce((least, each) => Math.min(least, read(each)), Infinity);
  const high = finite.reduce((most, each) => Math.max(most, read(each)), -Infinity);
  const height = (each) => (Number.isFinite(each) ? (read(each) - low) / (high - low || 1) : each);
  return known.map((row) => row.map(height));
}

/** Return a canvas with the map, from the ground where the loss is least, top row first. */
function mapOf(losses, palette) {
  const heights = heightsOf(losses);
  const size = TERRAIN_FINE * (heights.length - 1) + 1;
  const at = (i) => {
    const low = Math.min(Math.floor(i / TERRAIN_FINE), heights.length - 2);
    return [low, i / TERRAIN_FINE - low];
  };
  const bands = new Uint8Array(size * size);
  for (let i = 0; i < size; i++) {
    const [row, down] = at(i);
    for (let j = 0; j < size; j++) {
      const [column, across] = at(j);
      const mean = (line) => line[column] + across * (line[column + 1] - line[column]);
      const height = mean(heights[row]) + down * (mean(heights[row + 1]) - mean(heights[row]));
      const isHigh = !Number.isFinite(height) && !Number.isNaN(height);
      const part = isHigh ? 1 : Math.min(Math.max(height, 0), 1);
      bands[i * size + j] = Number.isNaN(height)
        ? UNKNOWN_BAND
        : Math.min(part * TERRAIN_BANDS, TERRAIN_BANDS - 1);
    }
  }
  const ink = palette.inkColor;
  const colors = Array.from({ length: 2 * TERRAIN_BANDS }, (_, i) => {
    const part = (HIGHEST_BAND * (i >> 1)) / (TERRAIN_BANDS - 1) + (i & 1) * BAND_EDGE;
    const color = mixedColor(palette.groundColor, ink, part);
    const [r, g, b] = color.map((each) => Math.round(255 * each));
    return r | (g << 8) | (b << 16) | (255 << 24);
  });
  const canvas = made("canvas");
  Object.assign(canvas, { width: size, height: size });
  const context = canvas.getContext("2d");
  const image = context.createImageData(size, size);
  const pixels = new Uint32Array(image.data.buffer);
  for (let i = 0; i < size; i++)
    for (let j = 0; j < size; j++) {
      const here = bands[i * size + j];
      const isEdge = (j > 0 && bands[i * size + j - 1] !== here) || (i > 0 && bands[(i - 1) * size + j] !== here); // prettier-ignore
      pixels[(size - 1 - i) * size + j] =
        here === UNKNOWN_BAND ? 0 : colors[2 * here + Number(isEdge)];
    }
  context.putImageData(image, 0, 0);
  return canvas;
}
