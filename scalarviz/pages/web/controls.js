// The controls below the picture, and the sheet with what is used less often.

import { byId, setWords } from "./dom.js";
import { generalNumber, numberTyped } from "./formats.js";
import { text } from "./texts.js";

const RATE_PARTS = 20; // places of the slider of the rate for a factor of ten
const RATE_ENDS = [-5, 2]; // powers of ten
// How much the bar shows, from much to little: all; sliders without words, the step without its
// operation; speed and rate in the sheet; where the training stands above the curve.
const FITS = ["whole", "tight", "sheet", "least"];

/** The buttons and sliders; `run` is called with the name and the arguments of a command. */
export class Controls {
  constructor(run) {
    this.run = run;
    this.rate = null;
    const press = {
      play: ["toggle"], back: ["back", 1], on: ["on", 1], reset: ["reset"], more: ["toggleSheet"],
      theme: ["nextTheme"], tour: ["showTour"], slow: ["slowStep"], undo: ["undo"], redo: ["redo"],
      "sample-before": ["sample", -1], "sample-after": ["sample", 1], enlarge: ["enlarge"], home: ["home"], whole: ["home"],
      skip: ["skip"], next: ["next"], reload: ["reload"], link: ["link"], explain: ["toggleMarks"],
      "guess-up": ["guessWay", 1], "guess-down": ["guessWay", -1], "guess-stays": ["guessWay", 0],
      "guess-on": ["guessOn"], "guess-end": ["guess"], "guess-first": ["guess"],
    }; // prettier-ignore
    for (const [id, command] of Object.entries(press)) {
      byId(id).addEventListener("click", (event) => {
        run(...command);
        if (event.detail) byId(id).blur(); // keys go to the page again after a click
      });
    }
    byId("unit").addEventListener("change", ({ target }) => {
      run("setUnit", target.value);
      target.blur();
    });
    const speed = byId("speed");
    speed.addEventListener("input", () => run("setSpeed", Number(speed.value)));
    const rate = byId("rate");
    [rate.min, rate.max] = RATE_ENDS.map((power) => power * RATE_PARTS);
    rate.addEventListener("input", () => run("setRate", rateAt(Number(rate.value))));
    const number = byId("rate-number");
    number.addEventListener("change", () => {
      run("setRate", numberTyped(number.value));
      number.blur();
    });
    number.addEventListener("keydown", (event) => {
      if (event.key === "Enter") number.blur();
    });
    for (const slider of [speed, rate]) slider.addEventListener("pointerup", () => slider.blur());
    this.widest = ["", ""]; // the longest words on where the training stands: in steps, in operations
    new ResizeObserver(() => requestAnimationFrame(() => this.fit())).observe(byId("controls"));
  }

  /** Show as much as fits into the width of the bar, whatever the step. */
  fit() {
    const [bar, place, rest] = ["controls", "place", "rest"].map(byId);
    const words = place.textContent;
    place.style.minWidth = "";
    for (const fit of FITS) {
      document.body.dataset.fit = fit;
      this.isShort = fit === "tight";
      place.textContent = this.widest[this.isShort ? 0 : 1];
      const isRoomy = fit === "whole" || fit === "tight";
      if (isRoomy && rest.parentNode !== bar) bar.insertBefore(rest, byId("more"));
      if (!isRoomy && rest.parentNode === bar) byId("rest-place").append(rest);
      if (fit === "least") byId("band").append(place);
      else if (place.parentNode !== bar) byId("unit").parentNode.after(place);
      if (bar.scrollWidth <= bar.clientWidth) break;
    }
    if (place.parentNode === bar) place.style.minWidth = `${place.offsetWidth}px`;
    place.textContent = words;
  }

  /** Show a state: `place`, the state in the picture, whose step is named, `playing`, `unit`, `speed`
   * (a place in `speeds`), and `operations` of a step.
   */
  show(state, { place, playing, unit, speed, speeds, operations }) {
    document.body.classList.toggle("playing", playing);
    const play = byId("play");
    const words = playing ? play.dataset.pause : play.dataset.play;
    play.setAttribute("aria-label", words);
    setWords(play.querySelector("span"), words);
    if (byId("unit").value !== unit) byId("unit").value = unit;
    const step = text("chart.step", { step: place.step });
    const part = text("page.place", { step, operation: place.operation, count: operations });
    const last = text("page.place", { step, operation: operations, count: operations });
    if (last.length > this.widest[1].length) {
      this.widest = [step, last];
      this.fit();
    }
    setWords(byId("place"), place.operation && !this.isShort ? part : step);
    byId("speed").max = speeds.length - 1;
    byId("speed").value = speed;
    byId("speed").setAttribute("aria-valuetext", speedWords(speeds[speed]));
    setWords(byId("speed-words"), speedWords(speeds[speed]));
    byId("undo").disabled = !state.undoable;
    byId("redo").disabled = !state.redoable;
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

/** Return the rate at a place of its slider, with two digits. */
function rateAt(place) {
  return Number((10 ** (place / RATE_PARTS)).toPrecision(2));
}

/** Return a speed in words. */
function speedWords({ operations, steps }) {
  if (operations) return text("page.speed.operations", { count: operations });
  return steps === null ? text("page.speed.most") : text("page.speed.steps", { count: steps });
}
