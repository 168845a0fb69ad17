// The strip of operations below the picture: three plain words, and a button for each operation.

import { made } from "./dom.js";
import { madeButton } from "./pressing.js";
import { text } from "./texts.js";

const PART = 0.7; // of the strip that an arrow moves it by

/** Buttons for the cells of a strip; `go` is called with the number of operations done after one. */
export class StripBar {
  constructor(element, cells, go) {
    this.element = element;
    this.current = -1;
    this.buttons = cells.map((cell, i) => {
      const before = cells[i - 1];
      const isNew = !before || before.part !== cell.part || before.layer !== cell.layer;
      const name = made("span", "", nameOf(cell, isNew));
      const button = madeButton("", name, () => go(cell.done));
      button.title = cell.technical;
      if (cell.layer) button.ariaLabel = `${cell.layer}: ${cell.name}`;
      return button;
    });
    for (const part of new Set(cells.map((cell) => cell.part))) {
      const own = this.buttons.filter((_, i) => cells[i].part === part);
      const head = made("h2", "", made("span", "", text(`strip.part.${part}`)));
      const box = made("div", `part ${part}`, head, ...own);
      element.append(box);
    }
    this.cells = cells;
    this.makeArrows();
    new ResizeObserver(() => this.measure()).observe(element);
    element.addEventListener("scroll", () => this.measure());
  }

  /** Light the cell of the operation that is shown: the number of operations done, 0 for none. */
  show(current) {
    if (current === this.current) return;
    this.current = current;
    this.buttons.forEach((button, i) => {
      button.classList.toggle("done", this.cells[i].done <= current);
      if (this.cells[i].done !== current) return button.removeAttribute("aria-current");
      button.setAttribute("aria-current", "step");
      return this.scrollTo(button);
    });
    if (!current) this.element.scrollLeft = 0;
  }

  /** Make the arrows at both ends, for a mouse: keys go from button to button, fingers move the strip. */
  makeArrows() {
    this.arrows = [-1, 1].map((way) => {
      const arrow = made("span", "way", way < 0 ? "\u2039" : "\u203a");
      arrow.setAttribute("aria-hidden", "true");
      const move = () => (this.element.scrollLeft += way * PART * this.element.clientWidth);
      arrow.addEventListener("click", move);
      return arrow;
    });
    this.element.prepend(this.arrows[0]);
    this.element.append(this.arrows[1]);
  }

  /** Show the arrow of an end beyond which there are operations. */
  measure() {
    const { scrollLeft, scrollWidth, clientWidth } = this.element;
    this.arrows[0].classList.toggle("on", scrollLeft > 1);
    this.arrows[1].classList.toggle("on", scrollLeft + clientWidth < scrollWidth - 1);
  }

  /** Bring a button to the middle, as far as the strip goes. */
  scrollTo(button) {
    const [own, room] = [button, this.element].map((each) => each.getBoundingClientRect());
    this.element.scrollLeft += own.left + own.width / 2 - room.left - room.width / 2;
  }
}

function nameOf(cell, isNew) {
  return cell.layer && isNew ? `${cell.layer}: ${cell.name}` : cell.name;
}
