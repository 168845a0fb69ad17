// The legend and the key to the marks, drawn and worded by story/legend.js.

import { draw_legend, mark_rows, name_of, short_words_of, words_of } from "./story/legend.js";
import { said } from "./story/formats.js";
import { text } from "./texts.js";
import { byId, isNews, made, setShown } from "./dom.js";

/** What the legend is about, as CubeValues of scene/frame_data.py has it. */
function legendOf({ color, size, grown, clipped, scale }) {
  return { color, size, grown, clipped, common: scale, per_layer: false, color_scales: [] };
}

/** Draw squares of the colors and sizes of cubes, with the numbers they stand for. */
export function drawLegend({ paper, division, frame, palette }) {
  const cubes = legendOf(frame);
  const words = frame.tile && !frame.grown ? told(frame, cubes) : [];
  draw_legend(paper, division, cubes, palette, frame.scene.shader.least, words);
}

/** What cubes show that are the mean of a tile each, in words and in short. */
function told({ tile: count, hoverRow: row, clipped, colors, numberAt }, cubes) {
  const color = name_of(cubes.color);
  const short = clipped ? short_words_of(cubes) : text("legend.tile", { color, count });
  const value = row >= 0 ? numberAt(row) : undefined;
  if (value !== undefined)
    return [text("legend.tile.hover", { value: said(value), mean: said(colors[row]) }), short];
  if (cubes.color !== cubes.size) return [words_of(cubes), short];
  const words = text("legend.cube.tile", { color, count });
  return [clipped ? text("legend.beyond", { words, count: clipped }) : words, short];
}

/** The marks that not every picture has. */
function extraMarks({ saturated, values, leftOut, flows, pushes, before, frozen }) {
  const some = (each) => Array.from(each ?? []).some((x) => x > 0);
  const known = {
    striped: Object.keys(saturated).some((name) => name in values && some(saturated[name])),
    crossed: Object.values(leftOut).some(some),
    dot: Object.keys(flows).length > 0,
    arrow: pushes !== null,
    before: before !== null,
    frozen: some(frozen),
  };
  return Object.keys(known).filter((name) => known[name]);
}

/** The button over the legend, and the key that it opens; `toggle` is what it does. */
export class MarksKey {
  constructor(toggle) {
    this.button = byId("legend");
    this.panel = byId("marks");
    this.list = made("dl");
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

  /** Show the marks of a frame, beside the box of its legend, which may be null. */
  show(frame, box) {
    setShown(this.button, box !== null);
    if (box) {
      const { style } = this.button;
      // prettier-ignore
      const place = [["left", box.x], ["top", box.y], ["width", box.width], ["height", box.height]];
      for (const [name, length] of place) style[name] = `${Math.round(length)}px`;
    }
    if (!this.isOpen || !frame) return;
    const rows = mark_rows(legendOf(frame), extraMarks(frame));
    if (!isNews(this.list, rows)) return;
    this.list.replaceChildren(
      ...rows.flatMap(([name, meaning]) => [made("dt", "", name), made("dd", "", meaning)]),
    );
  }
}
