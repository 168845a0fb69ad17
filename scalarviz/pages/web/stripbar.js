// The strip of operations below the picture: three plain words, and a button for each operation.

import { made } from "./dom.js";
import { text } from "./texts.js";

/** Buttons for the cells of a strip; `go` is called with the number of operations done after one. */
export class StripBar {
  constructor(element, cells, go) {
    this.element = element;
    this.current = -1;
    this.buttons = cells.map((cell, i) => {
      const before = cells[i - 1];
      const isNew = !before || before.part !== cell.part || before.layer !== cell.layer;
      const button = made("button", "", made("span", "", nameOf(cell, isNew)));
      button.type = "button";
      button.title = cell.technical;
      if (cell.layer) button.setAttribute("aria-label", `${cell.layer}: ${cell.name}`);
      button.addEventListener("click", () => go(cell.done));
      return button;
    });
    for (const part of new Set(cells.map((cell) => cell.part))) {
      const own = this.buttons.filter((_, i) => cells[i].part === part);
      const box = made("div", `part ${part}`, [made("h3", "", made("span", "", text(`strip.part.${part}`))), ...own]);
      element.append(box);
    }
    this.cells = cells;
    const measure = () => element.classList.toggle("long", element.scrollWidth > element.clientWidth);
    new ResizeObserver(measure).observe(element);
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

  /** Bring a button to the middle, as far as the strip goes. */
  scrollTo(button) {
    const [own, room] = [button, this.element].map((each) => each.getBoundingClientRect());
    this.element.scrollLeft += own.left + own.width / 2 - room.left - room.width / 2;
  }
}

function nameOf(cell, isNew) {
  return cell.layer && isNew ? `${cell.layer}: ${cell.name}` : cell.name;
}
