// The visitor's points: added with clicks or strokes in OUT, in one of two colors, or erased.

import { byId, made, setWords, styled } from "./dom.js";
import { madeButton } from "./events.js";
import { BATCHES, REACH, SAMPLES, packed_points, points_in } from "./story/build_link.js";
import { text } from "./texts.js";

const APART = 0.35; // least distance of two points that are drawn by one stroke
const NEAR = 0.5; // reach of the eraser

/** The tools, and what they do to the points of some settings. */
export class OwnPoints {
  /** `change` takes settings, `collect` points without one of the colors, `tell` a sentence. */
  constructor({ change, collect, tell }) {
    this.change = change;
    this.collect = (/** @type {any[]} */ points) => collect({ points, dots: points.map(([x, y]) => [(1 + x / REACH) / 2, (1 + y / REACH) / 2]), targets: points.map(([, , side]) => side), held: points.length, sorts: false }); // prettier-ignore
    this.tell = tell;
    this.last = ""; // the points before a data set was chosen
    this.tools = [["high", 1], ["low", -1], ["erase", 0]].map(([name, tool]) => {
      const button = madeButton("", made("i", "side"), () => this.choose(tool));
      button.append(text(tool ? `build.side.${name}` : "build.erase"));
      button.dataset.side = name;
      return Object.assign(button, { tool });
    }); // prettier-ignore
    this.batch = this.fitted = 0; // points per step, as chosen and as they fit
    const clear = madeButton("", text("build.clear"), () => this.collect([]));
    this.words = made("p");
    byId("own-points").append(this.words, ...this.tools, clear);
    this.choose(1);
  }

  choose(tool) {
    this.tool = tool;
    for (const each of this.tools) each.ariaPressed = String(each.tool === tool);
  }

  /** Show the colors of the theme, and what is missing. */
  show({ isDrawing }) {
    setWords(this.words, text(`build.own.${isDrawing ? "few" : "click"}`));
    const [low, high] = styled("--sides").split(" ");
    const colors = { low, high };
    for (const { firstElementChild, dataset } of this.tools)
      firstElementChild.style.background = colors[dataset.side] ?? "none";
  }

  /** The settings without own points, and with the batch that was chosen. */
  ended({ points, batch }) {
    return { points: "", batch: points && batch === this.fitted ? this.batch : batch };
  }

  /** Add or erase a point at a place of the map, from 0 to 1 along its sides, among `drawn` points. */
  use(settings, place, drawn) {
    const [x, y] = place.map((part) => (2 * part - 1) * REACH);
    const all = drawn?.points ?? points_in(settings.points);
    const far = all.map((each) => Math.hypot(each[0] - x, each[1] - y));
    const least = Math.min(...far);
    let next = [...all, [x, y, this.tool]];
    if (!this.tool) next = all.toSpliced(far.indexOf(least), least < NEAR ? 1 : 0);
    else if (least < APART && all[far.indexOf(least)][2] === this.tool) return;
    const packed = packed_points(next);
    if (next.length > SAMPLES) this.tell(text("build.own.many", { most: SAMPLES }));
    else if (!points_in(packed).length) this.collect(next);
    else if (packed !== settings.points) this.change(this.fitting(packed, settings.batch));
  }

  /** Points, and the chosen batch, or a smaller one for few points. */
  fitting(points, batch) {
    this.last = points;
    if (batch !== this.fitted) this.batch = batch;
    const most = Math.min(this.batch, points_in(points).length);
    this.fitted = Math.max(...BATCHES.filter((size) => size <= most));
    return { points, batch: this.fitted };
  }
}
