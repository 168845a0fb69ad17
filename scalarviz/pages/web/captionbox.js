// The caption: a sentence, its formula, and its numbers, whose parts stand for things in the picture.

import { made } from "./dom.js";

/** Writes captions; `point`, `pin` and `open` are called with what a part of a line is about. */
export class CaptionBox {
  constructor(element, { point, pin, open }) {
    Object.assign(this, { element, point, pin, open });
    this.shown = "";
  }

  /** Write a caption; `whole` shows the lines with all terms. */
  show(caption, whole) {
    const lines = whole && caption.whole?.length ? caption.whole : (caption.lines ?? []);
    const mark = JSON.stringify([caption.title, caption.formula, lines]);
    if (mark === this.shown) return;
    this.shown = mark;
    const parts = [made("h2", "", caption.title)];
    if (caption.formula) parts.push(made("p", "formula", caption.formula));
    parts.push(...lines.map((line) => made("p", "line", line.map((piece) => this.part(piece)))));
    this.element.replaceChildren(...parts);
    this.element.scrollTop = 0;
  }

  /** Return the element of a piece: a button if it is about something in the picture. */
  part(piece) {
    const thing = thingOf(piece);
    if (thing === null && !piece.opens) return made("span", "", piece.words);
    const button = made("button", "", piece.words);
    button.type = "button";
    button.addEventListener("click", () => (piece.opens ? this.open() : this.pin(thing)));
    for (const name of ["pointerenter", "focus"]) button.addEventListener(name, () => this.point(piece));
    for (const name of ["pointerleave", "blur"]) button.addEventListener(name, () => this.point(null));
    return button;
  }
}

/** Return what a piece is about, {row} or {neuron}; null for nothing. */
function thingOf(piece) {
  if (piece.row >= 0) return { row: piece.row };
  return piece.neuron ? { neuron: piece.neuron } : null;
}
