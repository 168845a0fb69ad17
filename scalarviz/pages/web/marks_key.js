// The key to the marks: what each mark that is in the picture means; as scene/legend.py.

import { byId, isNews, made, setShown } from "./dom.js";
import { generalNumber } from "./formats.js";
import { text } from "./texts.js";

/** The names of the marks that are in a picture, and what they mean. */
function markRows(frame) {
  const rows = ["cube", "sphere", "numbers", ...extraMarks(frame)].map((name) => [
    text(`marks.${name}.name`), text(`marks.${name}.meaning`),
  ]); // prettier-ignore
  if (frame.clipped)
    rows.push([text("legend.only_beyond", { count: frame.clipped }), text("marks.beyond.meaning")]);
  if (frame.grown) {
    const [before, after] = frame.grown.map((each) => generalNumber(each));
    rows.push([text("legend.grown", { before, after }), text("marks.grown.meaning")]);
  }
  return rows;
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
    const rows = markRows(frame);
    if (!isNews(this.list, rows)) return;
    this.list.replaceChildren(
      ...rows.flatMap(([name, meaning]) => [made("dt", "", name), made("dd", "", meaning)]),
    );
  }
}
