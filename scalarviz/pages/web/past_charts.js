// The charts below the large loss curve: all weights over time, and the loss over a plane through
// them; drawn by scene/past_charts.py.

import * as py from "./python.js";
import { isNews, made, setShown } from "./dom.js";
import { count_up_to } from "./curve_points.js";
import { typeset } from "./story/decimals.js";
import {
  draw_past,
  draw_terrain,
  status_of_terrain,
  status_of_weights,
} from "./story/past_charts.js";
import { nearest_step, point_at } from "./story/past_places.js";
import { name_of_tile, names_of_directions, past_words, words_at } from "./story/past_words.js";
import { Box } from "./story/camera.js";
import { Canvas2D } from "./canvas2d.js";
import { themeOfPage } from "./loss_chart.js";
import { layersOf } from "./over_time.js";
import { madeButton } from "./events.js";
import { text } from "./texts.js";

const PAST_KINDS = ["value", "gradient", "change"];
const PAST_ORDERS = ["layer", "distance", "norms", "landscape"];
const ALONG = ["main", "two"]; // directions of a landscape
const TILES = 128; // tiles
const MOMENTS = 800;
const BETWEEN_QUESTIONS = 250; // milliseconds between two questions, at least
const BETWEEN_PARTS = 30; // milliseconds between two questions for more of an answer
const SUMMED = 20000; // weights that are looked at for a change
const CLICK_MOVES = 4; // pixels; a press that moves less is a click
const TOP = 3; // pixels above the norms, for the upper end of their scale

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
    this.images = {}; // of tiles or of the plane, once drawn
    this.shown = ""; // what was asked for last
    this.asking = false;
    this.due = 0;
    this.compared = null;
    this.pointed = null; // {step, tile} under the pointer
    this.redraw = () => {};
    this.along = "main";
    this.pins = []; // rows of the two weights that were pinned last
    this.chart = null; // the chart of the curve, with the last strip or map
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
    this.curve.isLarge = isOpen;
    this.curve.point(null); // it moves away from the pointer
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
      const holds = this.chart?.on_ball(x, y);
      pressed = { x, step: this.curve.stepAt(event), holds, moved: false };
      this.compared = null;
      this.point(event, true);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      this.point(event, pressed !== null);
      if (!pressed || Math.abs(event.offsetX - pressed.x) < CLICK_MOVES) return;
      pressed.moved = true;
      if (pressed.holds)
        this.roll({ x: this.pointed.spot[0], y: this.pointed.spot[1], held: true });
      else if (!this.isLandscape)
        this.compared = [pressed.step, this.curve.stepAt(event)].sort((one, other) => one - other);
    });
    this.canvas.addEventListener("pointerup", () => {
      const spot = this.pointed?.spot;
      const { plane, steps } = this.seen ?? {};
      const step = spot ? nearest_step(plane.span, steps, this.path, spot) : this.isLandscape ? null : pressed?.step; // prettier-ignore
      if (pressed?.holds) this.roll({ ends: true, held: false });
      else if (pressed && !pressed.moved && !this.compared && step !== null) this.seek(step);
      pressed = null;
    });
    this.canvas.addEventListener("pointerleave", () => {
      this.pointed = null;
      this.redraw();
    });
  }

  point(event, held) {
    const { offsetX: x, offsetY: y } = event;
    const [tile, spot] = [
      this.chart?.tile_at(x, y) ?? null,
      this.chart?.spot_at(x, y, held) ?? null,
    ];
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
    const images = seen.plane ? this.images : {}; // those of a plane know when they are old
    Object.assign(this, { seen, shown: mark, images, scale });
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
    const canvas = new Canvas2D(this.canvas);
    const theme = themeOfPage();
    const isSeen = this.seen && Boolean(this.seen.plane) === this.isLandscape && !this.lacksPins;
    const { chart } = this.curve;
    const top = this.seen?.norms?.length ? TOP : 0;
    const box = new Box(chart.plot.x, top, chart.plot.width, canvas.height - 2 * top);
    this.chart = null;
    let status = this.lacksPins ? [[text("past.pin_two"), theme.ink]] : [];
    if (isSeen && this.isLandscape) {
      const terrain = this.terrainOf(palette);
      status = status_of_terrain(terrain, theme);
      const ball = draw_terrain(canvas, box, terrain, theme, canvas.scale);
      this.chart = py.replace_fields(chart, { terrain: box, span: terrain.plane.span, ball });
    } else if (isSeen) {
      const past = this.weightsOf(palette);
      status = status_of_weights(past, theme);
      const curve = { span: [chart.first, chart.last], at: state.step, pointed: this.pointed?.step ?? null }; // prettier-ignore
      draw_past(canvas, box, past, curve, theme, canvas.scale);
      this.chart = py.replace_fields(chart, { strip: box, tiles: this.seen.heads.length });
    }
    this.reads.classList.toggle("scale", !this.pointed && !this.compared && !this.lacksPins);
    if (isNews(this.reads, status)) this.reads.replaceChildren(...status.map(inColor));
  }

  /** The numbers as `PastWeights` of scene/frame_data.py. */
  weightsOf(palette) {
    const { seen, pointed, compared, scale, images } = this;
    const { groups, heads, counts, tiles } = seen;
    const steps = [...seen.steps];
    const norms = Array.from({ length: seen.norms.length / steps.length }, (_, k) => [
      ...seen.norms.slice(k * steps.length, (k + 1) * steps.length),
    ]);
    const isPinned = (tile) => tile >= 0 && counts[tile] === 1; // a mean has no pin
    return {
      over_time: { steps, groups, norms, starts: heads },
      order: norms.length ? "norms" : this.order,
      names: groups.map(([label]) => (label ? text("plates.layer", { label }) : "")),
      pinned: this.pins.map((row) => heads.indexOf(row)).filter(isPinned),
      tile: pointed ? pointed.tile : null,
      says: this.said(),
      tiles, scale, compared, images, palette,
    }; // prettier-ignore
  }

  /** The plane as `Terrain` of scene/frame_data.py. */
  terrainOf(palette) {
    const { plane, at } = this.seen;
    const names = names_of_directions(this.facts, plane.shares, plane.rows);
    const { path } = this;
    return { plane, at, path, names, done: plane.done, says: this.said(), images: this.images, palette }; // prettier-ignore
  }

  /** The path of the training in the plane, [x, y] each. */
  get path() {
    const { steps, path } = this.seen;
    return Array.from(steps, (_, i) => [path[2 * i], path[2 * i + 1]]);
  }

  /** Return the loss at a point of the plane, in words; "" where it is not computed yet. */
  lossAt(spot) {
    const { steps, plane } = this.seen;
    const points = Math.sqrt(plane.losses.length);
    const [row, column] = point_at(plane.span, points, spot);
    return typeset(
      words_at(plane.losses[row * points + column], plane.span, steps, this.path, spot),
    );
  }

  /** Return what the pointer reads: a tile at a step, or between the two that are compared. */
  said() {
    const { seen, pointed, compared } = this;
    if (seen.plane) return pointed?.spot ? this.lossAt(pointed.spot) : "";
    if (seen.norms.length) return "";
    const { steps, tiles, heads, counts, groups } = seen;
    const at = (tile, step) => tiles[tile * steps.length + momentPlace(steps, step)];
    const stepAt = (step) => steps[momentPlace(steps, step)];
    const nameOf = (k) => name_of_tile(this.facts, groups, k, counts[k], heads[k]);
    const place = pointed && pointed.tile !== null ? [pointed.tile, pointed.step] : null;
    return typeset(past_words(place, compared, at, stepAt, nameOf, heads.length));
  }
}

/** Return the place of the last of some steps up to one, else the first. */
function momentPlace(steps, step) {
  return Math.max(0, count_up_to(steps, step) - 1);
}

/** Return the sum of some numbers, which differs when a weight was moved. */
function sumOfValues(values) {
  return values.subarray(0, SUMMED).reduce((sum, each) => sum + each, 0);
}

function largestOfTiles(numbers) {
  return numbers.reduce((top, each) => (Math.abs(each) > top ? Math.abs(each) : top), 0);
}

/** Return words in a color, as an element. */
function inColor(/** @type {string[]} */ [words, color]) {
  const element = made("span", "", typeset(words));
  element.style.color = color;
  return element;
}
