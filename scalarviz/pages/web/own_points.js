// The visitor's points: added with clicks or strokes in OUT, in one of two colors, or erased.

import { pointsOf } from "./data_sets.js";
import { byId, made, styled } from "./dom.js";
import { madeButton } from "./events.js";
import { BATCHES, REACH, SAMPLES, packed_points, points_in } from "./story/build_link.js";
import { text } from "./texts.js";

const FIRST = 20; // of a data set, two of this many points are the initial ones
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
    byId("own-points").append(text("build.own.click"), ...this.tools);
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

  /** The settings with own points: the last ones, or some of those that are shown. */
  begun(settings) {
    const { points, targets } = pointsOf(settings);
    const some = points.map(([x, y], i) => [x, y, targets[i]]).filter((_, i) => i % FIRST < 2);
    return this.fitting(this.last || packed_points(some), settings);
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
    else if (packed !== settings.points) this.change(this.fitting(packed, settings));
  }

  /** Points, and a batch that is not larger. */
  fitting(points, { batch }) {
    this.last = points;
    const count = points_in(points).length;
    return { points, batch: Math.max(...BATCHES.filter((size) => size <= Math.min(batch, count))) };
  }
}
