// The visitor's points: added with clicks or strokes in OUT, in one of two colors, or erased.

import { byId, made, styled } from "./dom.js";
import { madeButton } from "./events.js";
import { BATCHES, REACH, SAMPLES, packed_points, points_in } from "./story/build_link.js";
import { text } from "./texts.js";

const FIRST = packed_points([[-2, 0, -1], [2, 0, 1]]); // prettier-ignore
const APART = 0.35; // least distance of two points that are drawn by one stroke
const NEAR = 0.5; // reach of the eraser

/** The tools, and what they do to the points of some settings. */
export class OwnPoints {
  /** `change` takes settings, `tell` a sentence. */
  constructor({ change, tell }) {
    this.change = change;
    this.tell = tell;
    this.last = ""; // the points before a data set was chosen
    this.tools = [["high", 1], ["low", -1], ["erase", 0]].map(([name, tool]) => {
      const button = madeButton("", made("i", "side"), () => this.choose(tool));
      button.append(text(tool ? `build.side.${name}` : "build.erase"));
      button.dataset.side = name;
      return Object.assign(button, { tool });
    }); // prettier-ignore
    this.batch = this.fitted = 0; // points per step, as chosen and as they fit
    const clear = madeButton("", text("build.clear"), () => this.change(this.fitting(FIRST)));
    byId("own-points").append(made("p", "", text("build.own.click")), ...this.tools, clear);
    this.choose(1);
  }

  choose(tool) {
    this.tool = tool;
    for (const each of this.tools) each.ariaPressed = String(each.tool === tool);
  }

  /** Show the colors of the theme. */
  show() {
    const [low, high] = styled("--sides").split(" ");
    const colors = { low, high };
    for (const { firstElementChild, dataset } of this.tools)
      firstElementChild.style.background = colors[dataset.side] ?? "none";
  }

  /** The settings with own points: the last ones, or one point of each class. */
  begun({ batch }) {
    return this.fitting(this.last || FIRST, batch);
  }

  /** The settings without own points, and with the batch that was chosen. */
  ended({ points, batch }) {
    return { points: "", batch: points && batch === this.fitted ? this.batch : batch };
  }

  /** Add or erase a point at a place of the map, from 0 to 1 along its sides. */
  use(settings, place) {
    const [x, y] = place.map((part) => (2 * part - 1) * REACH);
    const all = points_in(settings.points);
    const far = all.map((each) => Math.hypot(each[0] - x, each[1] - y));
    const least = Math.min(...far);
    let next = [...all, [x, y, this.tool]];
    if (!this.tool) next = all.toSpliced(far.indexOf(least), least < NEAR ? 1 : 0);
    else if (least < APART && all[far.indexOf(least)][2] === this.tool) return;
    const packed = packed_points(next);
    if (!points_in(packed).length)
      this.tell(
        text(next.length > SAMPLES ? "build.own.many" : "build.own.few", { most: SAMPLES }),
      );
    else if (packed !== settings.points) this.change(this.fitting(packed, settings.batch));
  }

  /** Points, and the chosen batch, or a smaller one for few points. */
  fitting(points, batch = this.fitted) {
    this.last = points;
    if (batch !== this.fitted) this.batch = batch;
    const most = Math.min(this.batch, points_in(points).length);
    this.fitted = Math.max(...BATCHES.filter((size) => size <= most));
    return { points, batch: this.fitted };
  }
}
