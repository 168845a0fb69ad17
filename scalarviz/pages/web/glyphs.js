// Letters as small images in one large one, drawn once at each size; as scene/canvas/fonts.py.

import { trueMinus } from "./formats.js";

const GLYPHS = { width: 1024, height: 256, most: 4096, quartered: 24 };

/** The letters of one family of fonts; all lengths are device pixels. */
export class Glyphs {
  constructor(family) {
    this.family = family;
    this.version = 0; // grows with every image
    // Where a letter is drawn first.
    this.context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    this.clear();
  }

  /** Forget all letters. */
  clear() {
    this.pixels = new Uint8Array(GLYPHS.width * GLYPHS.height);
    this.known = new Map();
    this.advances = new Map();
    this.left = 0;
    this.top = 0;
    this.row = 0;
    this.version += 1;
  }

  get size() {
    return [GLYPHS.width, this.pixels.length / GLYPHS.width];
  }

  /** Forget all letters before a picture if they have become too many. */
  tidy() {
    if (this.size[1] >= GLYPHS.most) this.clear();
  }

  fontOf(pixels, bold) {
    return `${bold ? "bold " : ""}${pixels}px ${this.family}`;
  }

  font(pixels, bold) {
    const style = this.fontOf(pixels, bold);
    if (style !== this.style) this.context.font = this.style = style;
  }

  /** How far the pen moves for a letter. */
  advance(letter, pixels, bold) {
    const key = `${letter} ${pixels} ${bold}`;
    if (!this.advances.has(key)) {
      this.font(pixels, bold);
      this.advances.set(key, this.context.measureText(letter).width);
    }
    return this.advances.get(key);
  }

  /** The width of a line of text. */
  width(words, pixels, bold) {
    let sum = 0;
    for (const letter of trueMinus(words)) sum += this.advance(letter, pixels, bold);
    return sum;
  }

  /** A letter shifted right by quarters of a pixel, or its halo; null for a blank. */
  glyph(letter, pixels, bold, step, halo) {
    const key = `${letter} ${pixels} ${bold} ${step} ${halo}`;
    if (!this.known.has(key)) this.known.set(key, this.draw(letter, pixels, bold, step / 4, halo));
    return this.known.get(key);
  }

  draw(letter, pixels, bold, shift, halo) {
    const { context } = this;
    this.font(pixels, bold);
    const seen = context.measureText(letter);
    const left = Math.floor(shift - seen.actualBoundingBoxLeft) - halo - 1;
    const top = Math.floor(-seen.actualBoundingBoxAscent) - halo - 1;
    const wide = Math.ceil(shift + seen.actualBoundingBoxRight) + halo + 1 - left;
    const high = Math.ceil(seen.actualBoundingBoxDescent) + halo + 1 - top;
    if (!letter.trim() || !(wide > 0 && high > 0)) return null;
    Object.assign(context.canvas, { width: wide, height: high }); // also clears it
    this.style = "";
    this.font(pixels, bold);
    context.fillText(letter, shift - left, -top);
    const { data } = context.getImageData(0, 0, wide, high);
    const image = Uint8Array.from({ length: wide * high }, (_, i) => data[4 * i + 3]);
    const [x, y] = this.place(halo ? spreadOut(image, wide, high, halo) : image, wide, high);
    const half = [wide / 2, high / 2];
    return { x: left + half[0], y: top + half[1], half, place: [x, y, x + wide, y + high] };
  }

  /** Put an image among the others, which keep their places; return its left and top. */
  place(image, wide, high) {
    if (this.left + wide + 1 > GLYPHS.width) {
      this.top += this.row;
      this.left = this.row = 0;
    }
    while (this.top + high + 1 > this.size[1]) {
      const larger = new Uint8Array(2 * this.pixels.length);
      larger.set(this.pixels);
      this.pixels = larger;
    }
    const found = [this.left, this.top];
    for (let i = 0; i < high; i++) {
      const at = (this.top + i) * GLYPHS.width + this.left;
      this.pixels.set(image.subarray(i * wide, (i + 1) * wide), at);
    }
    this.left += wide + 1;
    this.row = Math.max(this.row, high + 1);
    this.version++;
    return found;
  }

  /** Letters of a text: place relative to its anchor on the first baseline, and in the image. */
  laidOut(words, pixels, bold, anchor, halo) {
    const steps = pixels < GLYPHS.quartered ? 4 : 1;
    const found = [];
    trueMinus(words)
      .split("\n")
      .forEach((line, row) => {
        const width = this.width(line, pixels, bold);
        let pen = anchor === "right" ? -width : anchor === "center" ? -width / 2 : 0;
        for (const letter of line) {
          const at = Math.round(pen * steps);
          const x = Math.floor(at / steps);
          pen += this.advance(letter, pixels, bold);
          const glyph = this.glyph(letter, pixels, bold, ((at - x * steps) * 4) / steps, halo);
          if (glyph)
            found.push({ ...glyph, x: x + glyph.x, y: Math.round(row * 1.35 * pixels) + glyph.y });
        }
      });
    return found;
  }
}

/** A letter made wider by `reach` pixels on all sides, of which the outer half fades. */
function spreadOut(image, wide, high, reach) {
  const found = new Uint8Array(image.length);
  for (let down = -reach; down <= reach; down++) {
    for (let right = -reach; right <= reach; right++) {
      const strength = Math.min(1, 2 - (2 * Math.hypot(down, right)) / reach);
      if (strength <= 0) continue;
      for (let i = Math.max(0, down); i < Math.min(high, high + down); i++) {
        for (let j = Math.max(0, right); j < Math.min(wide, wide + right); j++) {
          const at = i * wide + j;
          const value = Math.round(strength * image[at - down * wide - right]);
          if (value > found[at]) found[at] = value;
        }
      }
    }
  }
  return found;
}
