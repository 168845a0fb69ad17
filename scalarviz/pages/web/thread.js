// The line from the outputs to the point in use on a map, over the picture and what is learned.

import { made, setShown } from "./dom.js";

export class Thread {
  constructor(stage) {
    this.stage = stage;
    this.line = made("i", "thread");
    stage.append(this.line);
  }

  /** Lead it from an element of the picture, at {x, y, half}, to a place of the window; null for none. */
  show(canvas, start, end) {
    setShown(this.line, Boolean(start && end));
    if (!start || !end) return;
    const [own, whole] = [canvas, this.stage].map((each) => each.getBoundingClientRect());
    const [x, y] = [own.left + start.x, own.top + start.y];
    const [right, down] = [end[0] - x, end[1] - y];
    const far = Math.hypot(right, down);
    const part = Math.min(1, start.half / far);
    this.line.style.width = `${(1 - part) * far}px`;
    this.line.style.left = `${x + part * right - whole.left}px`;
    this.line.style.top = `${y + part * down - whole.top}px`;
    this.line.style.transform = `rotate(${Math.atan2(down, right)}rad)`;
  }
}
