// What keys and screen readers need beside the buttons: tables of weights, a ring, spoken captions.

import { byId, isNews, made, setShown, setWords } from "./dom.js";
import { madeButton, takesAlone, wayOf } from "./events.js";
import { isSameThing, nextTarget, spokenOf } from "./pointing.js";
import { text } from "./texts.js";
import { neuron_name, sentence, weight_name } from "./story/names.js";
import { numberAt } from "./arrays.js";
import { NONE } from "./story/facts.js";
import { said } from "./story/formats.js";

const LEAST_RING = 12; // pixels from the middle of a cube to its ring
const PAGE = 10; // parts of the whole curve that PageUp and PageDown go by: one of so many

/** Ring, tables and spoken words of an app. */
export class Access {
  constructor(app) {
    this.app = app;
    this.focused = null; // what keys have walked to: {row}, the weight whose cell has the focus, or {neuron}
    this.isTold = false; // whether it was said how to walk
    this.ring = made("div", "ring");
    this.ring.hidden = true;
    byId("picture").append(this.ring);
    const look = (thing) => this.look(thing);
    const pin = ({ row }) => app.pin(app.pinned?.row === row ? null : { row });
    this.tables = wallsOf(app.spec.facts).map((wall) => new WallTable(wall, look, pin));
    byId("walls").append(...this.tables.map((each) => each.body));
    setShown(byId("walls"), this.tables.length > 0);
    byId("curve").addEventListener("keydown", (event) => this.seek(event));
    const cubes = byId("cubes");
    app.listen(cubes, "focus", () => this.walk(null));
    app.listen(cubes, "blur", () => this.look(null));
    app.listen(cubes, "keydown", (event) => this.press(event));
    app.listen(cubes, "mousedown", (event) => {
      event.preventDefault(); // arrows go on and back after a click
      window.focus(); // which that keeps from a page in a frame
      /** @type {any} */ (document.activeElement)?.blur();
    });
  }

  /** Go to the next cube or neuron, and say what it is. */
  walk(way) {
    const { app } = this;
    const { placed, see } = app.picture;
    if (!see || !app.state) return;
    const from = this.focused ?? app.pinned;
    const thing = nextTarget(placed, see, from, way);
    this.look(thing);
    if (!this.isTold) app.tell(text("notices.walking"));
    this.isTold = true;
    if (thing) setWords(byId("walked"), spokenOf(app.spec.facts, app.state, thing));
  }

  /** Keys while the picture has the focus. */
  press(event) {
    const { app } = this;
    const way = wayOf(event.key);
    const isEnter = event.key === "Enter";
    const leaves = event.key === "Escape" && !app.pinned;
    if (!app.state || !(way || isEnter || leaves) || !takesAlone(event)) return;
    if (way) this.walk(way);
    else if (isEnter) app.pin(isSameThing(app.pinned, this.focused) ? null : this.focused);
    else byId("cubes").blur();
  }

  look(thing) {
    this.focused = thing;
    this.app.change({ hover: thing });
  }

  /** Go to a step by the keys of a slider. */
  seek(event) {
    const { step } = this.app.state;
    const last = this.app.curve.last;
    const some = Math.max(1, Math.round(last / PAGE));
    const ways = {
      Home: 0, End: last, PageDown: step - some, PageUp: step + some, ArrowDown: step - 1, ArrowUp: step + 1,
    }; // prettier-ignore
    if (!(event.key in ways) || !takesAlone(event)) return;
    this.app.run("seek", Math.min(last, Math.max(0, ways[event.key])));
  }

  /** Bring up to date what is drawn and spoken of a state; while it plays nothing is spoken. */
  show(state, title) {
    const { app } = this;
    const place = this.focused && app.picture.placeOf(this.focused);
    this.ring.hidden = !place;
    if (place) {
      const half = Math.max(LEAST_RING, 1.5 * place.half);
      const { style } = this.ring;
      style.left = `${place.x - half}px`;
      style.top = `${place.y - half}px`;
      style.width = style.height = `${2 * half}px`;
    }
    const isBusy = app.player.playing || app.tour;
    // Tables that are seen, which is where no picture is, follow at once.
    if (!isBusy || app.picture.fault) {
      if (state.tile) byId("walls").ariaLabel = text("walls.tile", { count: state.tile });
      for (const table of this.tables) table.show(state, app.pinned?.row ?? -1);
    }
    if (isBusy) return;
    setWords(byId("spoken"), title);
    if (state.exact && place)
      // the number comes after the name
      setWords(byId("walked"), spokenOf(app.spec.facts, state, this.focused));
  }
}

// Weights as tables: rows are neurons, columns what they read.

const MOST_LINES = 16; // rows and columns of a table that exist at once; others come by arrow keys
const DIGITS = 3;

/**
 * Return the tables of all weights: {title, head, rows, columns, place, name}.
 *
 * head   name of a column; `name` is that of a row
 * place  the row of the bank of the weight at a row and a column; -1 for none
 */
export function wallsOf(facts) {
  const own = facts.operations.filter((each) => each.count > 0);
  return own.map((each) => (each.kind === "affine" ? wallOf(facts, each) : listOf(facts, each)));
}

/** A layer of neurons that read all others: a row for each of them, and its bias at the end. */
function wallOf(facts, operation) {
  const { weights, biases, source, target, layer, label } = operation;
  const inputs = facts.buffers[source].size;
  const rows = facts.buffers[target].size;
  const hasBias = biases !== NONE;
  return {
    title: text("walls.title", { layer: label || layer, rows, columns: inputs }),
    rows,
    columns: inputs + (hasBias ? 1 : 0),
    name: (i) => sentence(neuron_name(facts, [target, i])),
    head: (j) => (j < inputs ? neuron_name(facts, [source, j]) : text("walls.bias")),
    place: (i, j) => (j < inputs ? weights + i * inputs + j : biases + i),
  };
}

/** Other parameters: a row for each, with its name. */
function listOf(facts, operation) {
  const { weights, count, layer, label } = operation;
  return {
    title: text("walls.list", { layer: label || layer, rows: count }),
    rows: count,
    columns: 1,
    name: (i) => sentence(weight_name(facts, operation, weights + i)),
    head: () => text("page.value"),
    place: (i) => weights + i,
  };
}

/** Return the first of the lines that exist, so that the one with the focus is among them. */
export function firstLine(first, focus, count) {
  const last = Math.max(0, count - MOST_LINES);
  return Math.min(last, Math.max(focus - MOST_LINES + 1, Math.min(first, focus)));
}

/** Return the cell that a key leads to, [row, column]; null for other keys. */
export function cellAfter(key, /** @type {number[]} */ [i, j], { rows, columns }) {
  const ways = {
    ArrowUp: [i - 1, j], ArrowDown: [i + 1, j], ArrowLeft: [i, j - 1], ArrowRight: [i, j + 1],
    Home: [i, 0], End: [i, columns - 1], PageUp: [i - MOST_LINES, j], PageDown: [i + MOST_LINES, j],
  }; // prettier-ignore
  const way = ways[key];
  if (!way) return null;
  const inside = (place, count) => Math.min(count - 1, Math.max(0, place));
  return [inside(way[0], rows), inside(way[1], columns)];
}

/**
 * One table; all of it is a single stop of the Tab key, inside it arrows go from cell to cell.
 *
 * `look` and `pin` are called with {row} or null.
 */
class WallTable {
  constructor(wall, look, pin) {
    this.wall = wall;
    this.look = look;
    this.pin = pin;
    this.focus = [0, 0];
    this.first = [0, 0];
    this.state = this.value = null;
    this.pinned = -1;
    this.known = 0; // exact numbers
    this.body = made("table");
    this.body.setAttribute("role", "grid");
    this.body.setAttribute("aria-rowcount", wall.rows + 1);
    this.body.setAttribute("aria-colcount", wall.columns + 1);
    this.body.addEventListener("keydown", (event) => this.press(event));
  }

  show(state, pinned) {
    const { value, exact } = state;
    const known = exact?.known.size;
    if (value === this.value && pinned === this.pinned && known === this.known) return;
    Object.assign(this, { state, value, pinned, known });
    this.write();
  }

  write() {
    if (isNews(this.body, this.first)) this.build();
    for (const { button, row } of this.cells.values()) {
      const value = numberAt(this.state, row);
      setWords(button, value === undefined ? "…" : said(value, DIGITS));
      button.ariaPressed = row === this.pinned;
    }
  }

  /** Make the cells around the focus. */
  build() {
    const { wall, first } = this;
    const lines = (k, count) => {
      const own = Math.min(MOST_LINES, count);
      return Array.from({ length: own }, (_, i) => first[k] + i);
    };
    this.cells = new Map();
    const columns = lines(1, wall.columns);
    const head = columns.map((j) => headOf(wall.head(j), "col", "aria-colindex", j + 2));
    const rows = lines(0, wall.rows).map((i) => {
      const name = headOf(wall.name(i), "row", "aria-colindex", 1);
      const line = made("tr", "", name, ...columns.map((j) => this.cell(i, j)));
      line.setAttribute("aria-rowindex", i + 2);
      return line;
    });
    this.body.replaceChildren(
      made("caption", "", wall.title),
      made("thead", "", made("tr", "", made("td"), ...head)),
      made("tbody", "", ...rows),
    );
    this.tabTo(this.focus);
  }

  cell(i, j) {
    const row = this.wall.place(i, j);
    const button = madeButton("", "", () => this.pin({ row }));
    button.tabIndex = -1;
    button.addEventListener("focus", () => {
      this.tabTo([i, j]);
      this.look({ row });
    });
    button.addEventListener("blur", () => this.look(null));
    this.cells.set(`${i},${j}`, { button, row });
    const cell = made("td", "", button);
    cell.setAttribute("aria-colindex", j + 2);
    return cell;
  }

  /** Let the Tab key come to one cell only. */
  tabTo(place) {
    const old = this.cells.get(this.focus.join());
    if (old) old.button.tabIndex = -1;
    this.focus = place;
    this.cells.get(place.join()).button.tabIndex = 0;
  }

  press(event) {
    const place = cellAfter(event.key, this.focus, this.wall);
    if (!place || !takesAlone(event)) return;
    const counts = [this.wall.rows, this.wall.columns];
    const first = this.first.map((each, k) => firstLine(each, place[k], counts[k]));
    if (first.join() !== this.first.join()) {
      this.focus = place;
      this.first = first;
      this.write();
    }
    this.cells.get(place.join()).button.focus();
  }
}

function headOf(words, scope, index, place) {
  const cell = made("th", "", words);
  cell.scope = scope;
  cell.setAttribute(index, place);
  return cell;
}
