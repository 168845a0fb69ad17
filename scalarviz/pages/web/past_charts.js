// The charts below the large loss curve: all weights over time, and the loss over a plane through
// them; drawn by scene/past_charts.py.

import * as py from "./python.js";
import { isNews, made, setShown } from "./dom.js";
import { count_up_to } from "./curve_points.js";
import { typeset } from "./story/decimals.js";
import { smoothed_of } from "./story/loss_chart.js";
import {
  draw_past,
  draw_terrain,
  status_of_terrain,
  status_of_weights,
} from "./story/past_charts.js";
import { NamesOfMoment, draw_names, words_of_names } from "./story/past_names.js";
import { draw_health } from "./story/health_strip.js";
import { draw_scalars, words_of_scalars } from "./story/scalar_charts.js";
import { nearest_step, point_at } from "./story/past_places.js";
import {
  ALONG,
  HEALTH,
  KINDS,
  LANDSCAPE,
  NAMES,
  ORDERS,
  SCALARS,
  SETTINGS,
} from "./story/scales.js";
import { name_of_tile, names_of_directions, past_words, words_at } from "./story/past_words.js";
import { Box } from "./story/camera.js";
import { Canvas2D } from "./canvas2d.js";
import { themeOfPage } from "./loss_chart.js";
import { layersOf } from "./over_time.js";
import { inRows, unpackedAll } from "./arrays.js";
import { madeButton } from "./events.js";
import { text } from "./texts.js";

const TILES = 128; // tiles
const MOMENTS = 800;
const BETWEEN_QUESTIONS = 250; // milliseconds between two questions, at least
const BETWEEN_PARTS = 30; // milliseconds between two questions for more of an answer
const SUMMED = 20000; // weights that are looked at for a change
const CLICK_MOVES = 4; // pixels; a press that moves less is a click
const TOP = 3; // pixels above the norms, for the upper end of their scale

/**
 * Shows all weights over time as a strip of colors, the loss landscape, the health of modules, or
 * scalars.
 *
 * health  of a followed model, in the form of `HealthRows` in scene/frame_data.py, or null
 * scalars  of it: lists of steps and values by name
 * names  whether the network writes names
 * use  callbacks: `names` returns the names written last and their step, `ask` requests numbers, `seek` goes to a step, `roll` to a point of the plane,
 *      `redraw` requests a new picture
 */
export class Past {
  constructor(element, facts, curve, { health = null, scalars = {}, names = null }, use) {
    Object.assign(this, { element, facts, curve, ...use });
    this.layers = facts.is_graph ? [] : layersOf(facts);
    this.view = curve.view;
    this.health = health && unpackedAll(health);
    this.scalars = scalars;
    this.orders = [
      ...ORDERS,
      LANDSCAPE,
      ...(health ? [SCALARS, HEALTH] : []),
      ...(names ? [NAMES] : []),
    ];
    this.seen = null; // what was answered last
    this.images = {}; // of tiles or of the plane, once drawn
    this.names = use.names;
    this.shown = ""; // what was asked for last
    this.asking = false;
    this.due = 0;
    this.pointed = null; // {step, tile, spot} under the pointer
    this.chart = null; // the chart of the curve, with the last strip or map
    this.tabs = new Map();
    for (const name of [...KINDS, ...ALONG, ...SETTINGS, ...this.orders]) {
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

  get isLandscape() {
    return this.view.order === LANDSCAPE;
  }

  listen() {
    let pressed = null;
    const on = (name, act) => this.canvas.addEventListener(name, act);
    on("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      this.view.compared = null;
      this.point(event, true);
      const { offsetX: x, offsetY: y } = event;
      pressed = { x, step: this.pointed.step, holds: this.chart?.on_ball(x, y), moved: false };
    });
    on("pointermove", (event) => {
      this.point(event, pressed !== null);
      if (!pressed || Math.abs(event.offsetX - pressed.x) < CLICK_MOVES) return;
      const { step, spot } = this.pointed;
      pressed.moved = true;
      if (pressed.holds) this.roll({ x: spot[0], y: spot[1], held: true });
      else if (!this.isLandscape) this.view.compared = [pressed.step, step].sort((a, b) => a - b);
    });
    on("pointerup", () => {
      const spot = this.pointed?.spot;
      const { plane, steps } = this.seen ?? {};
      const step = spot ? nearest_step(plane.span, steps, this.path, spot) : this.isLandscape ? null : pressed?.step; // prettier-ignore
      if (pressed?.holds) this.roll({ ends: true, held: false });
      else if (pressed && !pressed.moved && step !== null) this.seek(step);
      pressed = null;
    });
    on("pointerleave", () => {
      this.pointed = null;
      this.redraw();
    });
  }

  point(event, held) {
    const [{ offsetX: x, offsetY: y }, chart] = [event, this.chart];
    const [tile, spot] = [chart?.tile_at(x, y) ?? null, chart?.spot_at(x, y, held) ?? null];
    this.pointed = { step: this.curve.stepAt(event), tile, spot };
    this.redraw();
  }

  /** Request the numbers for a state if they differ from the shown ones, then draw again. */
  async follow(state) {
    const { kind, order, along, pinned } = this.view;
    const pins = along === "two" ? pinned : [];
    const sum = state.value.subarray(0, SUMMED).reduce((all, each) => all + each, 0);
    const mark = JSON.stringify([kind, order, along, pins, sum, state.step, state.operation, state.branch, state.last, state.jumps]); // prettier-ignore
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
    const between = seen?.more ? BETWEEN_PARTS : 0;
    this.due =
      performance.now() + (state.playing ? Math.max(BETWEEN_QUESTIONS, 4 * took) : between);
    const images = seen?.plane ? this.images : {}; // those of a plane know when they are old
    Object.assign(this, { seen, shown: mark, images });
    // A page in a file has these from the start.
    if (seen?.health) this.health = seen.health;
    if (seen?.scalars) this.scalars = seen.scalars;
    if (seen) this.redraw(); // else it is refused: not asked again for the same
  }

  /** Whether a landscape along two weights is chosen, but fewer than two are pinned. */
  get lacksPins() {
    return this.isLandscape && this.view.along === "two" && this.view.pinned.length < 2;
  }

  /** Draw the strip, the norms or the landscape, and the text about the pointer. */
  draw(state, palette) {
    if (!this.isOpen) return;
    if (this.view.order !== NAMES) void this.follow(state);
    const { view, seen, pointed, isLandscape } = this;
    const isHealth = view.order === HEALTH;
    const isScalars = view.order === SCALARS;
    const isNames = view.order === NAMES;
    const kinds = isLandscape ? ALONG : isScalars ? SETTINGS : isHealth || isNames ? [] : KINDS;
    const names = [...kinds, ...this.orders];
    const chosen = [view.order, isLandscape ? view.along : view.kind, ...view.settings];
    for (const [name, tab] of this.tabs) {
      setShown(tab, names.includes(name));
      tab.ariaPressed = String(chosen.includes(name));
    }
    const canvas = new Canvas2D(this.canvas);
    const theme = themeOfPage();
    const { chart } = this.curve;
    const top = seen?.norms?.length ? TOP : 0;
    const box = new Box(chart.plot.x, top, chart.plot.width, canvas.height - 2 * top);
    let status = this.lacksPins ? [[text("past.pin_two"), theme.ink]] : [];
    const isSeen = seen?.steps && Boolean(seen.plane) === isLandscape && !this.lacksPins;
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
    } else if (isSeen && isLandscape) {
      const terrain = this.terrainOf(palette);
      status = status_of_terrain(terrain, theme);
      const ball = draw_terrain(canvas, box, terrain, theme, canvas.scale);
      more = { terrain: box, span: terrain.plane.span, ball };
    } else if (isSeen) {
      const past = this.weightsOf(palette);
      status = status_of_weights(past, theme);
      draw_past(canvas, box, past, curve, theme, canvas.scale);
      more = { strip: box, tiles: seen.heads.length };
    }
    this.chart = more && py.replace_fields(chart, more);
    this.reads.classList.toggle("scale", !pointed && !view.compared && !this.lacksPins);
    if (isNews(this.reads, status)) this.reads.replaceChildren(...status.map(inColor));
  }

  /** Return the numbers in the form of `PastWeights` in scene/frame_data.py. */
  weightsOf(palette) {
    const { seen, pointed, images, view } = this;
    const { groups, heads, counts, tiles } = seen;
    const steps = [...seen.steps];
    const norms = inRows(seen.norms, steps.length).map((each) => [...each]);
    const isPinned = (tile) => tile >= 0 && counts[tile] === 1; // a mean has no pin
    return {
      over_time: { steps, groups, norms, starts: heads },
      order: norms.length ? "norms" : view.order,
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

  /** Return the plane in the form of `Terrain` in scene/frame_data.py. */
  terrainOf(palette) {
    const { seen, path, images } = this;
    const { plane, at } = seen;
    const names = names_of_directions(this.facts, plane.shares, plane.rows);
    return { plane, at, path, names, done: plane.done, says: this.said(), images, palette };
  }

  /** The path of the training in the plane, as positions [x, y]. */
  get path() {
    return inRows(this.seen.path, 2).map((each) => [...each]);
  }

  /** Return the text about the pointer: a point of the plane, a tile at a step or between two. */
  said() {
    const { pointed, view } = this;
    const { steps, plane, norms, tiles, heads, counts, groups } = this.seen;
    if (plane) {
      if (!pointed?.spot) return "";
      const losses = inRows(plane.losses, Math.sqrt(plane.losses.length));
      const [row, column] = point_at(plane.span, losses.length, pointed.spot);
      return words_at(losses[row][column], plane.span, steps, this.path, pointed.spot);
    }
    if (norms.length) return "";
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
