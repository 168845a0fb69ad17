// A canvas of the page, drawn on as scene/canvas/canvas2d.py is; lengths are logical pixels.

import { fitted, unitLength } from "./dom.js";
import { typeset } from "./story/decimals.js";

/** Base class of drawing surfaces; subclasses define `measure` and `line`. */
export class Sheet {
  /** Return a text, shortened with dots at the end if it does not fit. @this {any} */
  fit(words, width, look) {
    if (this.measure(words, look) <= width) return words;
    let kept = words.slice(0, -1);
    while (kept && this.measure(`${kept}...`, look) > width) kept = kept.slice(0, -1);
    return `${kept.trimEnd()}...`;
  }

  /** Draw a straight line from each start to the end with the same index. @this {any} */
  segments(starts, ends, color, look) {
    starts.forEach((start, i) => this.line([start, ends[i]], color, look));
  }
}

export class Canvas2D extends Sheet {
  constructor(canvas) {
    super();
    const { context, width, height } = fitted(canvas);
    context.lineJoin = context.lineCap = "round";
    this.context = context;
    this.width = width;
    this.height = height;
    this.scale = unitLength();
    this.family = getComputedStyle(document.body).fontFamily;
  }

  measure(words, { size = 13, bold = false } = {}) {
    this.context.font = `${bold ? 650 : 400} ${size}px ${this.family}`;
    return this.context.measureText(typeset(words)).width;
  }

  text(x, y, words, look) {
    const { context } = this;
    const { color, anchor = "left", outline = null, room = Infinity } = look;
    const shown = typeset(this.fit(words, room, look));
    const wide = this.measure(shown, look);
    context.textAlign = anchor;
    if (outline) {
      Object.assign(context, { strokeStyle: outline, lineWidth: 4 });
      context.strokeText(shown, x, y);
    }
    context.fillStyle = color;
    context.fillText(shown, x, y);
    return wide;
  }

  /** Draw a line through points; NaN interrupts it. */
  line(points, color, { width = 1 } = {}) {
    const { context } = this;
    Object.assign(context, { strokeStyle: color, lineWidth: width });
    context.beginPath();
    let isOn = false;
    for (const [x, y] of points) {
      const isShown = !Number.isNaN(y);
      if (isShown && isOn) context.lineTo(x, y);
      else if (isShown) context.moveTo(x, y);
      isOn = isShown;
    }
    context.stroke();
  }

  box(x, y, width, height, fill, { outline = null, line = 1, radius = 0 } = {}) {
    const { context } = this;
    const half = outline ? line / 2 : 0;
    context.beginPath();
    context.roundRect(x + half, y + half, width - 2 * half, height - 2 * half, radius);
    if (fill) {
      context.fillStyle = fill;
      context.fill();
    }
    if (!outline) return;
    Object.assign(context, { strokeStyle: outline, lineWidth: line });
    context.stroke();
  }

  discs([x, y], radius, fill, { outline = null, line = 1 } = {}) {
    this.disc(x, y, radius, outline ?? fill);
    if (outline) this.disc(x, y, radius - line, fill);
  }

  disc(x, y, radius, color) {
    this.context.fillStyle = color;
    this.context.beginPath();
    this.context.arc(x, y, radius, 0, 7);
    this.context.fill();
  }

  /** Clip drawing to a box; return a function that ends the clipping. */
  clip(x, y, width, height) {
    this.context.save();
    this.context.beginPath();
    this.context.rect(x, y, width, height);
    this.context.clip();
    return () => this.context.restore();
  }
}
