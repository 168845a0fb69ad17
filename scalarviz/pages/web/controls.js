// The controls below the picture, the strip of operations, and the sheet with what is used less
// often.

import { byId, made, setShown, setWords } from "./dom.js";
import { generalNumber, numberTyped } from "./numbers.js";
import { plural, text } from "./texts.js";
import { fillOptions, madeButton } from "./events.js";
import { SINCE_START } from "./frame_data.js";
import { label } from "./story/caption.js";

const RATE_PARTS = 20; // places of the slider of the rate for a factor of ten
const RATE_ENDS = [-5, 2]; // powers of ten
// How much the bar shows, from much to little: all; sliders without words; speed and rate in the sheet.
const FITS = ["whole", "tight", "sheet"];

/** The buttons and sliders; `run` is called with the name and arguments of a command. */
export class Controls {
  constructor(run) {
    this.rate = null;
    for (const field of /** @type {any} */ (document.querySelectorAll("[data-row]"))) {
      const { row } = field.dataset;
      if (field.matches("button, input")) {
        field.addEventListener("click", ({ detail }) => {
          run(row);
          if (detail) field.blur(); // keys go to the page again after a click
        });
      } else {
        field.addEventListener("change", ({ target }) => {
          run(row, target.value);
          if (field.matches(".unit")) target.blur();
        });
      }
    }
    const speed = byId("speed");
    speed.addEventListener("input", () => run("speed", Number(speed.value)));
    const rate = byId("rate");
    [rate.min, rate.max] = RATE_ENDS.map((power) => power * RATE_PARTS);
    rate.addEventListener("input", () => run("learning rate", rateAt(Number(rate.value))));
    const number = byId("rate-number");
    number.addEventListener("change", () => {
      run("learning rate", numberTyped(number.value));
      number.blur();
    });
    number.addEventListener("keydown", (event) => {
      if (event.key === "Enter") number.blur();
    });
    new ResizeObserver(() => requestAnimationFrame(() => this.fit())).observe(byId("controls"));
  }

  /** Show as many controls as fit into the width of the bar. */
  fit() {
    const [bar, rest] = ["controls", "rest"].map(byId);
    for (const fit of FITS) {
      document.body.dataset.fit = fit;
      if (fit !== "sheet" && rest.parentNode !== bar) bar.insertBefore(rest, byId("more"));
      if (fit === "sheet" && rest.parentNode === bar) byId("rest-place").append(rest);
      if (bar.scrollWidth <= bar.clientWidth) break;
    }
  }

  /** Show a state; `speed` is an index into `speeds`. */
  show(state, { playing, unit, speed, speeds, around }) {
    document.body.classList.toggle("playing", playing);
    const play = byId("play");
    const words = playing ? play.dataset.pause : play.dataset.play;
    play.setAttribute("aria-label", words);
    if (byId("unit").value !== unit) byId("unit").value = unit;
    byId("speed").max = speeds.length - 1;
    byId("speed").value = speed;
    byId("speed").setAttribute("aria-valuetext", speedWords(speeds[speed]));
    setWords(byId("speed-words"), speedWords(speeds[speed]));
    byId("undo").disabled = !state.undoable && !around?.past.length;
    byId("redo").disabled = !state.redoable && !around?.future.length;
    this.showRate(state.rate);
  }

  showRate(rate) {
    if (rate === this.rate) return;
    this.rate = rate;
    byId("rate").value = Math.round(RATE_PARTS * Math.log10(Math.max(rate, Number.MIN_VALUE)));
    byId("rate").setAttribute("aria-valuetext", generalNumber(rate, 3));
    if (document.activeElement !== byId("rate-number"))
      byId("rate-number").value = generalNumber(rate, 4);
  }
}

/** Return the learning rate at a position of its slider, with two digits. */
function rateAt(place) {
  return Number((10 ** (place / RATE_PARTS)).toPrecision(2));
}

/** Return a speed as text. */
function speedWords({ operations, steps }) {
  if (operations) return text("page.speed.operations", { count: operations });
  return steps === null ? text("page.speed.most") : text("page.speed.steps", { count: steps });
}

// The strip beside the controls: the four parts of a step, in each a button for each operation.

/** A strip with a button for each operation of a step; `go` is called with its end position. */
export class StripBar {
  constructor(element, cells, go) {
    this.current = -1;
    this.cells = cells;
    this.buttons = cells.map((cell) => {
      const button = madeButton("", made("i"), () => go(cell.done));
      button.ariaLabel = label(cell);
      button.title = `${label(cell)}   ${cell.technical}`;
      return button;
    });
    this.parts = [...new Set(cells.map(({ part }) => part))].map((part) => {
      const own = this.buttons.filter((_, i) => cells[i].part === part);
      return made("section", `part ${part}`, headOf(part), made("div", "", ...own));
    }); // prettier-ignore
    element.append(...this.parts);
  }

  /** Highlight the shown operation, given the number of completed operations; 0 for none. */
  show(current) {
    if (current === this.current) return;
    this.current = current;
    this.buttons.forEach((button, i) => {
      button.classList.toggle("done", this.cells[i].done <= current);
      if (this.cells[i].done !== current) return button.removeAttribute("aria-current");
      return button.setAttribute("aria-current", "step");
    });
    for (const part of this.parts)
      part.classList.toggle("runs", part.querySelector("[aria-current]") !== null);
  }
}

/** Return the heading of a part of a step, with a shorter form for narrow windows. */
function headOf(part) {
  const few = made("span", "few", text(`strip.few.${part}`));
  return made("h2", "", made("span", "", text(`strip.part.${part}`)), few);
}

// The options behind "…": optimizer, batch size, what cubes show, and weights of another seed.

const CHANNELS = ["value", "gradient", "last change"];

/** Return the names of the quantities in a state that cubes can show. */
export function channelsOf(state) {
  const channels = state.light && !state.before ? CHANNELS.slice(0, 2) : CHANNELS;
  return [...channels, ...(state.begun ? [SINCE_START] : []), ...Object.keys(state.slots ?? {})];
}

/** Show the options that an engine supports, with their values in a state. */
export function showOptions({ optimizers = [], batches = [], initial }, state, channel) {
  setShown(byId("optimizers"), optimizers.length > 1);
  setShown(byId("sizes"), batches.length > 1);
  setShown(byId("weights"), Boolean(initial));
  const titles = optimizers.map(({ title }, i) => [i, title]);
  const sizes = batches.map((count) => [count, plural("counts.samples", count)]);
  const channels = channelsOf(state).map((name) => [name, name]);
  fillOptions(byId("optimizer"), state.optimizer, titles);
  fillOptions(byId("size"), state.size, sizes);
  fillOptions(byId("channel"), channel, channels);
}

// The sheet behind "…": the first controls in their groups, all others under "More".

let known = []; // the groups of the page

/** Put the controls at the top of the sheet into groups; those missing in the page are left out. */
export function arrange(groups = known) {
  known = groups;
  const focused = document.activeElement;
  const shown = groups.flatMap(([title, names]) => {
    const find = (name) => [...byId("sheet").querySelectorAll(`[data-row="${name}"]`)];
    const found = names.flatMap(find);
    const group = made("div", "offer-group", made("h2", "", title), ...found);
    Object.assign(group, { role: "group", ariaLabel: title });
    return found.length ? [group] : [];
  });
  byId("first").replaceChildren(...shown);
  if (focused instanceof HTMLElement) focused.focus();
}
