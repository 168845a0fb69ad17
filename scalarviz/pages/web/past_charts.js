// The charts below the large loss curve: all weights over time; drawn by scene/past_charts.py.

import * as py from "./python.js";
import { isNews, made, setShown } from "./dom.js";
import { count_up_to } from "./curve_points.js";
import { typeset } from "./story/decimals.js";
import { smoothed_of } from "./story/loss_chart.js";
import { draw_past, status_of_weights } from "./story/past_charts.js";
import { NamesOfMoment, draw_names, words_of_names } from "./story/past_names.js";
import { draw_health } from "./story/health_strip.js";
import { draw_scalars, words_of_scalars } from "./story/scalar_charts.js";
import { HEALTH, NAMES, SCALARS, SETTINGS, WEIGHTS } from "./story/scales.js";
import { name_of_tile, past_words } from "./story/past_words.js";
import { Box } from "./story/camera.js";
import { Canvas2D } from "./canvas2d.js";
import { themeOfPage } from "./loss_chart.js";
import { layersOf } from "./over_time.js";
import { unpackedAll } from "./arrays.js";
import { madeButton } from "./events.js";
import { text } from "./texts.js";

const TILES = 128; // tiles
const MOMENTS = 800;
const BETWEEN_QUESTIONS = 250; // milliseconds between two questions, at least
const BETWEEN_PARTS = 30; // milliseconds between two questions for more of an answer
const SUMMED = 20000; // weights that are looked at for a change
const CLICK_MOVES = 4; // pixels; a press that moves less is a click

/**
 * Shows all weights over time as a strip of colors, the health of modules, or scalars.
 *
 * health  of a followed model, in the form of `HealthRows` in scene/frame_data.py, or null
 * scalars  of it: lists of steps and values by name
 * names  whether the network writes names
 * use  callbacks: `names` returns the names written last and their step, `ask` requests numbers, `seek` goes to a step,
 *      `redraw` requests a new picture
 */
export class Past {
  constructor(element, facts, curve, { health = null, scalars = {}, names = null }, use) {
    Object.assign(this, { element, facts, curve, ...use });
    this.layers = facts.is_graph ? [] : layersOf(facts);
    this.view = curve.view;
    this.health = health && unpackedAll(health);
    this.scalars = scalars;
    this.orders = [WEIGHTS, ...(health ? [SCALARS, HEALTH] : []), ...(names ? [NAMES] : [])];
    this.seen = null; // what was answered last
    this.images = {}; // of tiles, once drawn
    this.names = use.names;
    this.shown = ""; // what was asked for last
    this.asking = false;
    this.due = 0;
    this.pointed = null; // {step, tile} under the pointer
    this.chart = null; // the chart of the curve, with the last strip
    this.tabs = new Map();
    for (const name of [...SETTINGS, ...this.orders]) {
      const choose = (event) => {
        this.choose(name);
        if (event.detail) event.target.blur(); // keys go to the page again after a click
      };
      this.tabs.set(name, madeButton("tab", text(`past.tab.${name}`), choose));
    }
    this.reads = made("output");
    this.canvas = made("canvas");
    Object.assign(this.canvas, { ariaLabel: text("past.about"), role: "img" });
    element.append(made("div", "tabs", ...this.tabs.values(), this.reads), this.canvas);
    this.listen();
  }

  get isOpen() {
    return !this.element.hidden;
  }

  /** Enlarge the loss curve, with the strip below it, or make it small again. */
  toggle() {
    const isOpen = !this.isOpen;
    setShown(this.element, isOpen);
    document.body.classList.toggle("long", isOpen);
    if (isOpen) this.element.prepend(this.curve.element);
    else document.querySelector(".now").before(this.curve.element);
    this.curve.isLarge = isOpen;
    this.curve.point(null); // it moves away from the pointer
    this.begin();
  }

  choose(name) {
    this.view.choose(name);
    this.element.classList.toggle("tall", [SCALARS, HEALTH].includes(this.view.order));
    this.begin();
    this.redraw();
  }

  /** Request the numbers again, and reset the pointer. */
  begin() {
    this.pointed = this.view.compared = null;
    this.shown = "";
  }

  listen() {
    let pressed = null;
    const on = (name, act) => this.canvas.addEventListener(name, act);
    on("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      this.view.compared = null;
      this.point(event);
      pressed = { x: event.offsetX, step: this.pointed.step, moved: false };
    });
    on("pointermove", (event) => {
      this.point(event);
      if (!pressed || Math.abs(event.offsetX - pressed.x) < CLICK_MOVES) return;
      pressed.moved = true;
      this.view.compared = [pressed.step, this.pointed.step].sort((a, b) => a - b);
    });
    on("pointerup", () => {
      if (pressed && !pressed.moved) this.seek(pressed.step);
      pressed = null;
    });
    on("pointerleave", () => {
      this.pointed = null;
      this.redraw();
    });
  }

  point(event) {
    const tile = this.chart?.tile_at(event.offsetX, event.offsetY) ?? null;
    this.pointed = { step: this.curve.stepAt(event), tile };
    this.redraw();
  }

  /** Request the numbers for a state if they differ from the shown ones, then draw again. */
  async follow(state) {
    const { order } = this.view;
    const sum = state.value.subarray(0, SUMMED).reduce((all, each) => all + each, 0);
    const mark = JSON.stringify([order, sum, state.step, state.operation, state.branch, state.last, state.jumps]); // prettier-ignore
    const now = performance.now();
    if (!this.isOpen || this.asking || (mark === this.shown && !this.seen?.more)) return;
    if (now < this.due && this.seen) {
      this.later ??= setTimeout(() => ((this.later = undefined), this.redraw()), this.due - now);
      return;
    }
    this.asking = true;
    const args = { order, layers: this.layers, most: TILES, moments: MOMENTS };
    const seen = await this.ask(args);
    this.asking = false;
    const took = performance.now() - now;
    const between = seen?.more ? BETWEEN_PARTS : 0;
    this.due =
      performance.now() + (state.playing ? Math.max(BETWEEN_QUESTIONS, 4 * took) : between);
    Object.assign(this, { seen, shown: mark, images: {} });
    // A page in a file has these from the start.
    if (seen?.health) this.health = seen.health;
    if (seen?.scalars) this.scalars = seen.scalars;
    if (seen) this.redraw(); // else it is refused: not asked again for the same
  }

  /** Draw the contents, and the text about the pointer. */
  draw(state, palette) {
    if (!this.isOpen) return;
    if (this.view.order !== NAMES) void this.follow(state);
    const { view, seen, pointed } = this;
    const isHealth = view.order === HEALTH;
    const isScalars = view.order === SCALARS;
    const isNames = view.order === NAMES;
    const orders = this.orders.length > 1 ? this.orders : [];
    const names = [...(isScalars ? SETTINGS : []), ...orders];
    const chosen = [view.order, ...view.settings];
    for (const [name, tab] of this.tabs) {
      setShown(tab, names.includes(name));
      tab.ariaPressed = String(chosen.includes(name));
    }
    const canvas = new Canvas2D(this.canvas);
    const theme = themeOfPage();
    const { chart } = this.curve;
    const box = new Box(chart.plot.x, 0, chart.plot.width, canvas.height);
    let status = [];
    let more = null; // of the chart
    const curve = {
      span: [chart.first, chart.last],
      at: state.step,
      pointed: pointed?.step ?? null,
      settings: view.settings,
    };
    if (isHealth) {
      draw_health(canvas, box, this.health, curve, theme, canvas.scale);
      more = { strip: box };
    } else if (isNames) {
      const last = this.names() ?? { names: [], step: state.step };
      const written = new NamesOfMoment(last.names, last.step, last.heat);
      status = [[words_of_names(written), theme.quiet]];
      draw_names(canvas, box, written, theme, canvas.scale);
      more = {};
    } else if (isScalars) {
      status = [[words_of_scalars(box.height, this.scalarCharts, canvas.scale), theme.quiet]];
      draw_scalars(canvas, box, this.scalarCharts, curve, theme, canvas.scale);
      more = { strip: box };
    } else if (seen?.steps) {
      const past = this.weightsOf(palette);
      status = status_of_weights(past, theme);
      draw_past(canvas, box, past, curve, theme, canvas.scale);
      more = { strip: box, tiles: seen.heads.length };
    }
    this.chart = more && py.replace_fields(chart, more);
    this.reads.classList.toggle("scale", !pointed && !view.compared);
    if (isNews(this.reads, status)) this.reads.replaceChildren(...status.map(inColor));
  }

  /** Return the numbers in the form of `PastWeights` in scene/frame_data.py. */
  weightsOf(palette) {
    const { seen, pointed, images, view } = this;
    const { groups, heads, counts, tiles } = seen;
    const steps = [...seen.steps];
    const isPinned = (tile) => tile >= 0 && counts[tile] === 1; // a mean has no pin
    return {
      over_time: { steps, groups, starts: heads },
      names: groups.map(([label]) => (label ? text("plates.layer", { label }) : "")),
      pinned: view.pinned.map((row) => heads.indexOf(row)).filter(isPinned),
      tile: pointed ? pointed.tile : null,
      says: this.said(),
      scale: (seen.scale ??= tiles.reduce((top, x) => (Math.abs(x) > top ? Math.abs(x) : top), 0) || 1),
      compared: view.compared, tiles, images, palette,
    }; // prettier-ignore
  }

  /** The scalars in the form of `ScalarCharts` in scene/frame_data.py. */
  get scalarCharts() {
    const curves = Object.values(this.scalars).map(([steps, losses]) => {
      const smoothed = this.view.smooth ? smoothed_of(losses) : [];
      return { steps, losses, smoothed };
    });
    return { names: Object.keys(this.scalars), curves };
  }

  /** Return the text about the pointer: a tile at a step or between two. */
  said() {
    const { pointed, view } = this;
    const { steps, tiles, heads, counts, groups } = this.seen;
    const at = (tile, step) => tiles[tile * steps.length + momentPlace(steps, step)];
    const stepAt = (step) => steps[momentPlace(steps, step)];
    const nameOf = (k) => name_of_tile(this.facts, groups, k, counts[k], heads[k]);
    const place = pointed && pointed.tile !== null ? [pointed.tile, pointed.step] : null;
    return past_words(place, view.compared, at, stepAt, nameOf, heads.length);
  }
}

/** Return the index of the last of the steps up to `step`, or else of the first. */
function momentPlace(steps, step) {
  return Math.max(0, count_up_to(steps, step) - 1);
}

/** Return an element with a text in a color. */
function inColor(/** @type {string[]} */ [words, color]) {
  const element = made("span", "", typeset(words));
  element.style.color = color;
  return element;
}
