// The card of a cube or a neuron, beside the stage.

import { byId, isNews, made, setWords } from "./dom.js";
import { madeButton } from "./events.js";
import { numberTyped } from "./numbers.js";
import { typeset } from "./story/decimals.js";
import { said } from "./story/formats.js";
import { text } from "./texts.js";
import { owns, uses_of } from "./story/names.js";
import { words_of_samples } from "./story/past_words.js";

const FREEZING = [["page.frozen", "page.unfreeze"], ["page.frozen.layer", "page.unfreeze.layer"]]; // prettier-ignore
const MOST_ROWS = 12; // of a table; it says how many more there are

/**
 * Shows cards. Callbacks: `close` for its button; `edit` and `type` with a row and its new value
 * from the slider or the field; `hold` with whether the slider is held; `freeze` with rows and
 * whether to freeze them; `refuse` with a message about invalid input.
 */
export class CardBox {
  constructor(element, { close, edit, hold, type, freeze, refuse }) {
    Object.assign(this, { element, edit, type, freeze, refuse });
    this.body = made("div");
    this.name = made("h2");
    const button = madeButton("", "×", close);
    button.ariaLabel = text("page.close");
    this.slider = made("input");
    Object.assign(this.slider, { type: "range", min: -100, max: 100, step: "any" });
    this.value = this.field("number");
    this.spot = this.field("on-cube"); // below the cube
    this.spot.hidden = true;
    this.spot.addEventListener("blur", () => (this.spot.hidden = true));
    byId("picture").append(this.spot);
    this.label = made("label", "", text("page.value"), this.slider, this.value);
    this.slider.addEventListener("input", () => {
      hold(true);
      this.edit(this.row, Number(this.slider.value));
    });
    this.slider.addEventListener("change", () => hold(false));
    this.slider.addEventListener("pointerdown", () => this.slider.focus()); // a finger gives it none
    this.toggles = FREEZING.map(([key], k) => {
      const toggle = madeButton("toggle", text(key), () =>
        this.freeze(k ? this.layer : [this.row], toggle.ariaPressed !== "true"),
      );
      return toggle;
    });
    this.freezing = made("div", "freezing", ...this.toggles);
    element.append(made("header", "", this.name, button), this.body, this.label, this.freezing);
    this.row = -1;
    this.layer = []; // the rows of its layer
  }

  /** Return an input field for a number. */
  field(name) {
    const field = made("input", name);
    Object.assign(field, { type: "text", autocomplete: "off" });
    field.ariaLabel = text("page.value.number");
    field.addEventListener("change", () => this.take(field));
    field.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && field === this.spot) {
        event.stopPropagation(); // the card stays
        field.value = this.value.value;
        field.blur();
      } else if (event.key === "Enter") field.blur();
    });
    return field;
  }

  /** Open the input field at the cube, given its position in the picture. */
  focus(at) {
    this.spot.hidden = false;
    this.spot.value = this.value.value;
    this.place(at);
    this.spot.focus();
    this.spot.select();
  }

  /** Place the input field below the cube. */
  place(at) {
    if (this.spot.hidden || !at) return;
    const { offsetWidth: wide, offsetHeight: high, parentNode } = this.spot;
    const { clientWidth: width, clientHeight: height } = parentNode;
    this.spot.style.left = `${Math.min(Math.max(at.x - wide / 2, 0), width - wide)}px`;
    this.spot.style.top = `${Math.min(Math.max(at.y + Math.min(at.half, 40) + 4, 0), height - high)}px`;
  }

  /** Apply the number that was typed into a field, if it is valid. */
  take(field) {
    const number = numberTyped(field.value);
    this.known = null; // so that the field shows what it is
    if (Number.isFinite(Math.fround(number))) this.type(this.row, number);
    else this.refuse(text("page.no_value"));
    field.blur();
  }

  /**
   * Show a card. For a weight, `value` and `scale` set its slider, `layer` contains the rows of its
   * layer, and `frozen` states for each row whether it is frozen.
   */
  show(card, row, { value, scale, layer, frozen }) {
    Object.assign(this, { row, layer });
    this.label.hidden = this.freezing.hidden = row < 0;
    if (row >= 0 && value !== undefined && document.activeElement !== this.slider) {
      const most = Math.max(scale, 2 * Math.abs(value));
      if (Number(this.slider.max) < most || Number(this.slider.max) > 8 * most) {
        Object.assign(this.slider, { min: -most, max: most });
      }
      this.slider.value = value;
    }
    if (row >= 0 && document.activeElement !== this.value && this.known !== value) {
      this.known = value;
      this.value.value = value === undefined ? "" : said(value, 3);
    }
    if (row >= 0) {
      const wanted = [frozen[row] > 0, layer.every((each) => frozen[each] > 0)];
      this.toggles[1].hidden = !layer.length;
      this.toggles.forEach((toggle, k) => {
        toggle.ariaPressed = wanted[k];
        setWords(toggle, text(FREEZING[k][wanted[k] ? 1 : 0]));
      });
    }
    if (!isNews(this.body, card)) return;
    this.name.textContent = card.name;
    const { blocks = [], facts = [] } = card;
    const short = made("dl", "", ...(blocks.length ? [] : facts).flatMap(factOf)); // else in blocks
    this.body.replaceChildren(short, ...blocks.map(blockOf));
  }
}

function factOf([name, value]) {
  return [made("dt", "", name), made("dd", "", typeset(value))];
}

/** Return the element for a block of a card: a line, a table or a history. */
function blockOf(block) {
  if (block.head) return tableOf(block);
  if (block.steps) return historyOf(block);
  if (block.look === "strong") return made("h3", "", block.words);
  const parts = [made("span", "", typeset(block.words))];
  if (block.aside) parts.push(made("span", "aside", typeset(block.aside)));
  return made("p", block.look ?? "", ...parts);
}

function tableOf({ head, rows, rests, total, marked }) {
  const shown = Math.min(rows.length, MOST_ROWS);
  const rest = rests?.[shown] ?? [];
  const table = made("table");
  const tails = head.map((_, j) => {
    const cells = [...rows.slice(0, shown), rest, total ?? []].map((each) => each[j] ?? "");
    return j ? Math.max(...cells.map((each) => tailOf(each).length)) : 0;
  });
  const row = (cells, tag) =>
    made("tr", "", ...cells.map((cell, j) => cellOf(cell, tag, tails[j])));
  table.append(made("thead", "", row(head, "th")));
  const lines = rows.slice(0, shown).map((cells) => row(cells, "td"));
  if (marked >= 0 && lines[marked]) lines[marked].className = "now";
  if (rest.length) lines.push(row(rest, "td"));
  table.append(made("tbody", "", ...lines));
  if (total?.length) table.append(made("tfoot", "", row(total, "td")));
  return table;
}

/** Return the decimal point of a number and everything after it. */
function tailOf(cell) {
  return cell.includes(".") ? cell.slice(cell.indexOf(".")) : "";
}

/** Return a table cell with a number, aligned at the decimal point by the width `tail`. */
function cellOf(number, tag, tail) {
  const cell = typeset(number);
  if (!tail || !/\d/.test(cell)) return made(tag, "", cell);
  const own = tailOf(cell);
  const behind = made("span", "tail", own);
  behind.style.width = `${0.68 * tail - 0.3}em`;
  return made(tag, "", cell.slice(0, cell.length - own.length), behind);
}

/** Return a small plot of the values of a weight over the steps. */
function historyOf({ steps, values }) {
  const space = "http://www.w3.org/2000/svg";
  const drawing = document.createElementNS(space, "svg");
  const path = document.createElementNS(space, "path");
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const across = Math.max(1, steps[steps.length - 1] - steps[0]);
  const points = Array.from(steps, (step, i) => {
    const x = (100 * (step - steps[0])) / across;
    return `${x.toFixed(2)} ${(38 - (36 * (values[i] - low)) / (high - low || 1)).toFixed(2)}`;
  });
  path.setAttribute("d", `M${points.join("L")}`);
  drawing.setAttribute("viewBox", "0 0 100 40");
  drawing.setAttribute("preserveAspectRatio", "none");
  drawing.setAttribute("class", "history");
  drawing.append(path);
  return drawing;
}

// The line of a card with the samples that moved its weight most.

const LATER = 300; // milliseconds until Python is asked again

/** Return a text that names the samples that have moved a weight most. */
function wordsOf({ amounts = [], steps }) {
  const total = amounts.reduce((sum, [, amount]) => sum + amount, 0);
  return words_of_samples(amounts, total, steps);
}

/** Requests the samples that moved the pinned weight, while paused.
 *
 * `ask` sends the request; `redraw` is called when the reply has arrived.
 */
export class MovedLine {
  constructor(facts, ask, redraw) {
    this.facts = facts;
    this.ask = ask;
    this.redraw = redraw;
    this.asked = "";
    this.words = "";
  }

  /** Return a card with a line about these samples, if they are known. */
  with(card, row, state) {
    if (row < 0 || state.playing || state.operation > 0 || this.facts.is_graph || state.light)
      return card;
    const asked = [row, state.branch, state.step, state.undoable].join();
    if (asked !== this.asked) this.find(asked, row);
    const blocks = this.words
      ? [...card.blocks, { words: this.words, look: "quiet" }]
      : card.blocks;
    return { ...card, blocks };
  }

  async find(asked, row) {
    Object.assign(this, { asked, words: "" });
    const homes = this.facts.operations.filter((each) => owns(each, row));
    if (!homes.every(({ kind }) => kind === "affine" || kind === "convolution")) return;
    const uses = homes.map((each) => {
      const [written, read] = uses_of(this.facts, each, row);
      return { source: each.source, target: each.target, written, read };
    });
    const found = await this.ask({ row, uses });
    if (asked !== this.asked || !found) return;
    if (found.words === null)
      setTimeout(() => asked === this.asked && this.find(asked, row), LATER);
    this.words = found.words ?? wordsOf(found);
    this.redraw();
  }
}
