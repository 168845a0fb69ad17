// The caption: a sentence, its formula, and its numbers, whose parts stand for things in the picture.

import { isNews, made } from "./dom.js";
import { trueMinus } from "./formats.js";
import { madeButton } from "./pressing.js";
import { text } from "./texts.js";

const MOST_HIGH = 0.3; // part of the window that a caption may fill
const LEAST_PICTURE = 180; // pixels of height that it leaves to the picture

/**
 * Writes captions; `point`, `pin` and `open` are called with what a part of a line is about.
 *
 * They are as high as their words need, at the cost of `picture`, which keeps some height.
 */
export class CaptionBox {
  constructor(element, picture, { point, pin, open }) {
    Object.assign(this, { element, picture, point, pin, open });
    this.need = 0; // pixels of the highest caption; so the picture is not resized by each
    this.rest = madeButton("rest-of-it", text("page.caption.rest"), () => this.scrollOn());
    element.addEventListener("scroll", () => this.mark());
  }

  /** Fit a window of another size. */
  refit() {
    this.need = 0;
    this.fit();
  }

  /** Write a caption; `whole` shows the lines with all terms. */
  show(caption, whole) {
    const lines = whole && caption.whole?.length ? caption.whole : (caption.lines ?? []);
    if (!isNews(this.element, [caption.title, caption.formula, lines])) return;
    const parts = [made("h2", "", trueMinus(caption.title))];
    if (caption.formula) parts.push(made("p", "formula", trueMinus(caption.formula)));
    parts.push(...lines.map((line) => made("p", "line", ...line.map((piece) => this.part(piece)))));
    this.element.replaceChildren(...parts, this.rest);
    this.element.scrollTop = 0;
    if (!lines.length) this.need = 0;
    this.fit();
  }

  /** Take the height that the words need, up to a limit. */
  fit() {
    const { style, classList } = this.element;
    classList.remove("long");
    style.setProperty("--need", "0px");
    const spare = this.picture.clientHeight - LEAST_PICTURE;
    const least = this.element.clientHeight;
    style.height = 0;
    const need = this.element.scrollHeight;
    style.height = "";
    const most = Math.min(MOST_HIGH * innerHeight, least + Math.max(0, spare));
    this.need = Math.min(Math.max(this.need, need), most);
    style.setProperty("--need", `${this.need}px`);
    this.mark();
  }

  /** Show a button while there are words below. */
  mark() {
    const { scrollTop, scrollHeight, clientHeight, classList } = this.element;
    classList.toggle("long", scrollHeight > scrollTop + clientHeight + 1);
  }

  /** Scroll by what is seen, less a line. */
  scrollOn() {
    this.element.scrollTop += Math.max(20, this.element.clientHeight - 40);
  }

  /** Return the element of a piece: a button if it is about something in the picture. */
  part(piece) {
    const thing = thingOf(piece);
    if (thing === null && !piece.opens) return made("span", "", trueMinus(piece.words));
    const press = () => (piece.opens ? this.open() : this.pin(thing));
    const button = madeButton("", trueMinus(piece.words), press);
    const [point, leave] = [piece, null].map((each) => () => this.point(each));
    for (const name of ["pointerenter", "focus"]) button.addEventListener(name, point);
    for (const name of ["pointerleave", "blur"]) button.addEventListener(name, leave);
    return button;
  }
}

/** Return what a piece is about, {row} or {neuron}; null for nothing. */
function thingOf(piece) {
  if (piece.row >= 0) return { row: piece.row };
  return piece.neuron ? { neuron: piece.neuron } : null;
}
