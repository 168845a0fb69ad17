// The legend in the line of the title, and the key to the marks, worded by `scene/legend.py`.

import * as py from "./python.js";
import { five_of, mark_rows, news_of, round_number } from "./story/legend.js";
import { said } from "./story/formats.js";
import { text } from "./texts.js";
import { byId, isNews, made, setShown, setWords } from "./dom.js";
import { typeset } from "./story/decimals.js";
import { LEAST, PIXEL } from "./story/plates.js";
import { generalNumber } from "./numbers.js";

const BAR = 17; // largest height of a bar in the legend

/** Return a note for the legend: a change of the scale, or what cubes show in place of values. */
function newsOf(frame) {
  const { tile: count, hover, clipped, colors, numberAt, color, grown } = frame;
  const row = hover?.row ?? -1;
  const value = count && row >= 0 ? numberAt(row) : undefined;
  if (value !== undefined)
    return text("legend.tile.hover", { value: said(value), mean: said(colors[row]) });
  if (count && !clipped && !grown) return text("legend.tile", { color, count });
  return news_of(frame.cubes);
}

/** The legend, a button that opens the key to the marks; `toggle` is its action. */
export class MarksKey {
  constructor(toggle) {
    this.button = byId("legend");
    this.panel = byId("marks");
    this.list = made("dl");
    this.cubes = /** @type {HTMLElement[]} */ ([...this.button.querySelectorAll(".bar > span")]);
    this.panel.append(this.list);
    this.button.addEventListener("click", toggle);
  }

  get isOpen() {
    return !this.panel.hidden;
  }

  open(isOpen) {
    setShown(this.panel, isOpen);
    for (const id of ["legend", "explain"]) byId(id).setAttribute("aria-expanded", isOpen);
  }

  /** Show the legend of a picture; an explanation of arrows has priority over notes. */
  show({ frame, arrows, palette }) {
    setShown(this.button, Boolean(frame));
    if (!frame) return;
    const times = frame.cubes.moved[1];
    const moved = times > 1 ? text("legend.moved", { factor: String(times) }) : newsOf(frame);
    const news = frame.begun ? text("legend.ghosts") : moved;
    const ways = py.len(frame.blame) ? text("legend.ways") : news;
    setWords(byId("legend-news"), arrows ? text("legend.pushes") : ways);
    this.button.classList.toggle("crossbar", Boolean(frame.layout.crossbar));
    if (frame.layout.crossbar) this.showBars(frame);
    else this.showCubes(frame, palette);
    if (!this.isOpen) return;
    const marks = mark_rows(frame.cubes, frame, frame.layout.neurons);
    if (!isNews(this.list, marks)) return;
    this.list.replaceChildren(
      ...marks.flatMap(([name, meaning]) => [made("dt", "", name), made("dd", "", meaning)]),
    );
  }

  /** Show a bar that hangs and one that stands, in the scale of the picture. */
  showBars({ layout, cubes }) {
    const unit = (2 * layout.plates[0].half) / PIXEL / cubes.size_scales[0];
    const number = round_number(BAR / unit);
    const high = number * unit;
    const [minus, plus] = this.button.querySelectorAll(".scale > span:not(.bar)");
    setWords(minus, text("legend.hangs"));
    setWords(plus, text("legend.stands"));
    for (const cube of this.cubes) {
      const sign = cube.classList.contains("plus") ? 1 : -1;
      const svg = cube.firstElementChild;
      svg.setAttribute("viewBox", `0 0 43 ${high + 7}`);
      svg.querySelector(".front").setAttribute("d", `M0 7h34v${high}H0z`);
      svg.querySelector(".side").setAttribute("d", `M34 7l9-7v${high}l-9 7z`);
      cube.style.setProperty("--high", String(high));
      setWords(cube.lastElementChild, typeset(generalNumber(sign * number, 6)));
    }
  }

  /** Show five cubes with their numbers. */
  showCubes(frame, palette) {
    const numbers = five_of(frame.cubes);
    const isFlat = Boolean(frame.cubes.module); // tiles of one size
    this.button.classList.toggle("flat", isFlat);
    this.cubes.forEach((cube, i) => {
      const share = numbers[i] / numbers[4];
      cube.style.setProperty(
        "--side",
        String(isFlat ? 1 : Math.max(LEAST, Math.cbrt(Math.abs(share)))),
      );
      const number = /** @type {HTMLElement} */ (cube.lastElementChild);
      number.style.color = palette.on_face(share);
      setWords(number, share ? typeset(generalNumber(numbers[i], 6)) : "");
    });
  }
}
