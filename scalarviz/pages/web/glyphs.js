// Letters as small images in one large one, drawn once at each size; as draw2d/fonts.py.

const GLYPHS = { width: 1024, most: 4096, quartered: 24 };
// Strokes around a letter that make a soft halo: widths in its reach, and their strength.
const HALO_STROKES = [[1.8, 0.2], [1.6, 0.25], [1.4, 0.35], [1.2, 0.5], [1, 1]];

/** The letters of one family of fonts; all lengths are device pixels. */
export class Glyphs {
  constructor(family) {
    this.family = family;
    this.canvas = document.createElement("canvas");
    this.canvas.width = GLYPHS.width;
    this.context = null;
    this.clear();
  }

  /** Forget all letters. */
  clear() {
    this.canvas.height = 256; // also clears it
    this.known = new Map();
    this.advances = new Map();
    Object.assign(this, { left: 0, top: 0, row: 0, version: (this.version ?? 0) + 1 });
    this.prepare();
  }

  /** Forget all letters before a picture if they have become too many. */
  tidy() {
    if (this.canvas.height >= GLYPHS.most) this.clear();
  }

  prepare() {
    this.context = this.canvas.getContext("2d", { willReadFrequently: false });
    Object.assign(this.context, { fillStyle: "#fff", strokeStyle: "#fff", lineJoin: "round" });
    this.style = "";
  }

  font(pixels, bold) {
    const style = `${bold ? "bold " : ""}${pixels}px ${this.family}`;
    if (style !== this.style) this.context.font = this.style = style;
    return style;
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
    for (const letter of words) sum += this.advance(letter, pixels, bold);
    return sum;
  }

  /** A letter shifted right by quarters of a pixel, or its halo; null for a blank. */
  glyph(letter, pixels, bold, step, halo) {
    const key = `${letter} ${pixels} ${bold} ${step} ${halo}`;
    if (!this.known.has(key)) this.known.set(key, this.draw(letter, pixels, bold, step / 4, halo));
    return this.known.get(key);
  }

  draw(letter, pixels, bold, shift, halo) {
    this.font(pixels, bold);
    const seen = this.context.measureText(letter);
    const left = Math.floor(shift - seen.actualBoundingBoxLeft) - halo - 1;
    const right = Math.ceil(shift + seen.actualBoundingBoxRight) + halo + 1;
    const top = Math.floor(-seen.actualBoundingBoxAscent) - halo - 1;
    const bottom = Math.ceil(seen.actualBoundingBoxDescent) + halo + 1;
    const [wide, high] = [right - left, bottom - top];
    if (!letter.trim() || !(wide > 0 && high > 0)) return null;
    const [x, y] = this.room(wide, high);
    this.font(pixels, bold);
    const { context } = this;
    if (halo) {
      for (const [width, strength] of HALO_STROKES) {
        context.globalAlpha = strength;
        context.lineWidth = width * halo;
        context.strokeText(letter, x - left + shift, y - top);
      }
      context.globalAlpha = 1;
    }
    context.fillText(letter, x - left + shift, y - top);
    this.version++;
    const half = [wide / 2, high / 2];
    return { x: left + half[0], y: top + half[1], half, place: [x, y, x + wide, y + high] };
  }

  /** A free place for an image; letters that stand already keep theirs. */
  room(wide, high) {
    if (this.left + wide + 1 > GLYPHS.width) {
      this.top += this.row;
      this.left = this.row = 0;
    }
    while (this.top + high + 1 > this.canvas.height) {
      const before = document.createElement("canvas");
      before.width = this.canvas.width;
      before.height = this.canvas.height;
      before.getContext("2d").drawImage(this.canvas, 0, 0);
      this.canvas.height *= 2;
      this.prepare();
      this.context.drawImage(before, 0, 0);
    }
    const found = [this.left, this.top];
    this.left += wide + 1;
    this.row = Math.max(this.row, high + 1);
    return found;
  }

  /** Letters of a text: place relative to its anchor on the first baseline, and in the image. */
  laidOut(words, pixels, bold, anchor, halo) {
    const steps = pixels < GLYPHS.quartered ? 4 : 1;
    const found = [];
    words.split("\n").forEach((line, row) => {
      const width = this.width(line, pixels, bold);
      let pen = anchor === "right" ? -width : anchor === "center" ? -width / 2 : 0;
      for (const letter of line) {
        const at = Math.round(pen * steps);
        const x = Math.floor(at / steps);
        pen += this.advance(letter, pixels, bold);
        const glyph = this.glyph(letter, pixels, bold, ((at - x * steps) * 4) / steps, halo);
        if (glyph) found.push({ ...glyph, x: x + glyph.x, y: Math.round(row * 1.35 * pixels) + glyph.y });
      }
    });
    return found;
  }
}
