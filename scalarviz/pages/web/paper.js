// Flat shapes, words and small images over the cubes, with depth; as scene/canvas/canvas2d.py.

import { Sheet } from "./canvas2d.js";
import { colorOf } from "./palette.js";
import { GlProgram, GlTexture } from "./gl.js";
import { typeset } from "./story/decimals.js";

const NUMBERS = 24; // of a shape: place, axis and depths, extra, style, clip, colors
const PAPER = {
  halo: 2.5, // logical pixels around a letter
  head: 0.42, // half of the width of an arrow head, by its length
};
const SHAPES = { box: 0, capsule: 4, arrow: 8, letter: 12, image: 20 };
const NO_CLIP = [-1e9, -1e9, 1e9, 1e9];
const NO_EXTRA = [0, 0, 0, 0];
const PACKED_COLORS = new Map();

/** Return a color as two numbers: 256 * red + green and 256 * blue + alpha, each 0 to 255. */
function packedColor(color) {
  if (typeof color === "string") {
    if (!PACKED_COLORS.has(color)) PACKED_COLORS.set(color, packedColor(colorOf(color)));
    return PACKED_COLORS.get(color);
  }
  if (!color) return [0, 0];
  const byte = (part) => Math.round(255 * Math.min(Math.max(part, 0), 1));
  const [r, g, b, a = 1] = color;
  return [256 * byte(r) + byte(g), 256 * byte(b) + byte(a)];
}

/** A drawing surface of width x height logical pixels, each of `ratio` device pixels. */
export class Paper extends Sheet {
  constructor(glyphs, width, height, ratio, scale) {
    super();
    Object.assign(this, { glyphs, width, height, ratio, scale });
    Object.assign(this, { clip: NO_CLIP, words: [] });
    /** @type {any[]} */
    this.places = []; // of the words
    /** @type {any[]} */
    this.runs = [];
    this.rows = new Float32Array(64 * NUMBERS);
    this.count = 0;
  }

  put(x, y, half, axis, depths, extra, style, colors) {
    if (!Number.isFinite(x + y + half[0] + half[1] + axis[0])) return;
    if (NUMBERS * this.count === this.rows.length) {
      const longer = new Float32Array(2 * this.rows.length);
      longer.set(this.rows);
      this.rows = longer;
    }
    const row = [x, y, ...half, ...axis, ...depths, ...extra, ...style, ...this.clip, ...colors];
    this.rows.set(row, NUMBERS * this.count++);
  }

  /** Draw a rectangle, given its upper left corner; the outline is inside the edge. */
  box(x, y, width, height, fill, look = {}) {
    const { radius = 0, outline = null, line = 1, depth = -1, hatch = 0 } = look;
    const style = [radius, outline ? line : 0, SHAPES.box, hatch];
    const colors = [...packedColor(fill), ...packedColor(outline)];
    const half = [width / 2, height / 2];
    this.put(x + half[0], y + half[1], half, [1, 0], [depth, depth], NO_EXTRA, style, colors);
  }

  /** Draw a disc; `hatch` is the strength of stripes. */
  disc(x, y, radius, fill, look = {}) {
    this.box(x - radius, y - radius, 2 * radius, 2 * radius, fill, { ...look, radius });
  }

  /** Draw discs, each with a depth and a strength of stripes. */
  discs(places, radii, fills, { depth, hatch }) {
    places.forEach(([x, y], i) =>
      this.disc(x, y, radii[i], fills[i], { depth: depth[i], hatch: hatch[i] }),
    );
  }

  /** Draw an arrow with a head of length `head`, or only a head if it is too short. */
  arrows([x, y], [endX, endY], color, { width = 1.5, head = 6, depth = -1 } = {}) {
    const length = Math.hypot(endX - x, endY - y);
    if (!(length > 0)) return;
    const tip = Math.min(head, length);
    const half = [length / 2, Math.max(PAPER.head * tip, width / 2)];
    const axis = [(endX - x) / length, (endY - y) / length];
    const style = [0, 0, SHAPES.arrow, 0];
    const colors = [...packedColor(color), 0, 0];
    const middle = [(x + endX) / 2, (y + endY) / 2];
    this.put(...middle, half, axis, [depth, depth], [tip, width / 2, 0, 0], style, colors);
  }

  /** Draw a line through points, by default in front of everything; `depth` can be a list. */
  line(points, color, { width = 1, depth = -1 } = {}) {
    const depths = points.map((_, i) => depth[i] ?? depth);
    this.path(points, depths, color, width);
  }

  /** Draw a path through points, each [x, y] with a depth. */
  path(points, depths, color, width) {
    const { count } = this;
    const [style, colors] = [
      [0, 0, SHAPES.capsule, 0],
      [...packedColor(color), 0, 0],
    ];
    for (let i = 0; i + 1 < points.length; i++) {
      const [[x, y], [endX, endY]] = [points[i], points[i + 1]];
      const length = Math.hypot(endX - x, endY - y);
      const axis = length > 0 ? [(endX - x) / length, (endY - y) / length] : [1, 0];
      const half = [(length + width) / 2, width / 2];
      const ends = [depths[i], depths[i + 1]];
      this.put((x + endX) / 2, (y + endY) / 2, half, axis, ends, NO_EXTRA, style, colors);
    }
    this.note(count, null);
  }

  /** Draw a part of an image, given its upper left, upper right and lower left corners. */
  image(corners, pixels, part, depths, radius = 0) {
    const [x, y, rightX, rightY, downX, downY] = corners;
    const wide = Math.hypot(rightX - x, rightY - y);
    const high = Math.hypot(downX - x, downY - y);
    const style = [(downX - x) / high, (downY - y) / high, SHAPES.image, radius];
    const axis = [(rightX - x) / wide, (rightY - y) / wide];
    const colors = [...packedColor("#ffffff"), 0, 0];
    const middle = [(rightX + downX) / 2, (rightY + downY) / 2];
    const { count } = this;
    this.put(...middle, [wide / 2, high / 2], axis, depths, part, style, colors);
    this.note(count, pixels);
  }

  /** Record that the shapes beginning at `start` are parts of an image, or lines if it is null. */
  note(start, pixels) {
    const last = this.runs.at(-1);
    if (last?.pixels === pixels && last.stop === start) last.stop = this.count;
    else if (start < this.count) this.runs.push({ start, stop: this.count, pixels });
  }

  /** Write a text on the baseline y; `anchor` ("left", "center" or "right") is its part at x. */
  text(x, y, words, look = {}) {
    const { size = 13, color = "#ffffff", bold = false } = look;
    const { anchor = "left", depth = -1, outline = null, room = Infinity } = look;
    const shown = room < Infinity ? this.fit(words, room, look) : words;
    this.words.push(shown);
    this.places.push([x, y, look]);
    const { ratio } = this;
    const pixels = Math.round(size * ratio) || 1;
    if (!Number.isFinite(x + y)) return;
    // Letters are sharp only on whole device pixels.
    const place = [Math.round(x * ratio) / ratio, Math.round(y * ratio) / ratio];
    const halo = Math.ceil(PAPER.halo * ratio - 0.5);
    if (outline) this.letters(place, shown, pixels, bold, anchor, halo, outline, depth);
    this.letters(place, shown, pixels, bold, anchor, 0, color, depth);
  }

  /** Write texts as `text` does, each with a depth. */
  texts(places, words, look) {
    places.forEach(([x, y], i) => this.text(x, y, words[i], { ...look, depth: look.depth[i] }));
  }

  letters(/** @type {number[]} */ [x, y], words, pixels, bold, anchor, halo, color, depth) {
    const { ratio } = this;
    const colors = [...packedColor(color), 0, 0];
    for (const glyph of this.glyphs.laidOut(words, pixels, bold, anchor, halo)) {
      const half = [glyph.half[0] / ratio, glyph.half[1] / ratio];
      const style = [0, 0, SHAPES.letter, 0];
      const middle = [x + glyph.x / ratio, y + glyph.y / ratio];
      this.put(...middle, half, [1, 0], [depth, depth], glyph.place, style, colors);
    }
  }

  /** Return the width of a text: the width of its widest line. */
  measure(words, { size = 13, bold = false } = {}) {
    const pixels = Math.round(size * this.ratio) || 1;
    const widths = words.split("\n").map((line) => this.glyphs.width(line, pixels, bold));
    return Math.max(...widths) / this.ratio;
  }

  /** Return the text at a place, up to the word there; "" without a text. */
  textAt(x, y) {
    const parts = this.words.map((words, i) => {
      const [start, base, { size = 13, anchor = "left", bold = false }] = this.places[i];
      const part = (x - start) / this.measure(words, { size, bold }) + { left: 0, center: 0.5, right: 1 }[anchor]; // prettier-ignore
      const isAt = part >= 0 && part < 1 && y > base - 1.4 * size && y < base + 0.6 * size;
      const end = words.indexOf(" ", part * words.length);
      return isAt ? words.slice(0, end < 0 ? words.length : end) : "";
    });
    return parts.findLast((each) => each) ?? "";
  }

  /** Return the width of the widest of several texts. */
  widest(texts, look) {
    return Math.max(...texts.map((each) => this.measure(each, look)));
  }

  /** Return ranges of shapes that one call draws: plain shapes, parts of an image, or lines. */
  batches() {
    const found = [];
    let at = 0;
    for (const { start, stop, pixels } of this.runs) {
      if (start > at) found.push({ start: at, stop: start });
      found.push({ start, stop, pixels });
      at = stop;
    }
    if (this.count > at) found.push({ start: at, stop: this.count });
    return found;
  }
}

// Draws a sheet of paper by WebGL, all shapes by one program; as scene/canvas/renderer.py.

const INK_FIELDS = ["a_place", "a_axis", "a_extra", "a_style", "a_clip", "a_color"];
const INK_STYLE = 14; // where the kind of a shape stands, to which the number of its corner is added

/** Draws a drawing surface with WebGL: shapes, letters and images. */
export class Ink {
  constructor(gl, scene, glyphs) {
    Object.assign(this, { gl, glyphs, version: -1, room: 0, sent: [], images: [] });
    this.program = new GlProgram(gl, scene.programs.canvas, INK_FIELDS);
    this.lines = new GlProgram(gl, scene.programs.lines, INK_FIELDS);
    this.atlas = new GlTexture(gl, "letters");
    this.blank = new GlTexture(gl, "bytes");
    this.blank.set(1, 1, new Uint8Array(4));
    this.array = gl.createVertexArray();
    [this.vertices, this.order] = [gl.createBuffer(), gl.createBuffer()];
    gl.bindVertexArray(this.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.vertices);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.order);
    INK_FIELDS.forEach((_, place) => {
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, 4, gl.FLOAT, false, 4 * NUMBERS, 16 * place);
    });
    gl.bindVertexArray(null);
  }

  /** Draw a drawing surface over the complete picture. */
  draw(paper) {
    const { gl } = this;
    if (!paper.count) return;
    gl.bindVertexArray(this.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.vertices);
    gl.bufferData(gl.ARRAY_BUFFER, cornersOfShapes(paper), gl.DYNAMIC_DRAW);
    this.fitOrder(paper.count);
    if (this.version !== this.glyphs.version) {
      this.atlas.set(...this.glyphs.size, this.glyphs.pixels);
      this.version = this.glyphs.version;
    }
    const uniforms = {
      u_size: [paper.width, paper.height],
      u_ratio: paper.ratio,
      u_atlas_size: [this.atlas.width, this.atlas.height],
    };
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LEQUAL);
    gl.depthMask(false);
    this.atlas.bind(0);
    let images = 0;
    for (const { start, stop, pixels } of paper.batches()) {
      const program = pixels === null ? this.lines : this.program;
      program.use(uniforms, { u_atlas: 0, u_images: 1 });
      (pixels ? this.imageOf(pixels, images++) : this.blank).bind(1);
      gl.drawElements(gl.TRIANGLES, 6 * (stop - start), gl.UNSIGNED_INT, 24 * start);
    }
    gl.depthMask(true);
    gl.disable(gl.BLEND);
    gl.bindVertexArray(null);
  }

  imageOf(pixels, number) {
    const kind = pixels.smooth ? "colors" : "bytes";
    if (this.images[number]?.kind !== kind) {
      this.images[number] = new GlTexture(this.gl, kind);
      this.sent[number] = null;
    }
    if (this.sent[number] !== pixels) {
      this.images[number].set(pixels.width, pixels.height, pixels.bytes);
      this.sent[number] = pixels;
    }
    return this.images[number];
  }

  fitOrder(count) {
    if (count <= this.room) return;
    const { gl } = this;
    this.room = 2 * count;
    const order = new Uint32Array(6 * this.room);
    for (let i = 0; i < this.room; i++) {
      const corners = [0, 1, 2, 2, 1, 3].map((each) => 4 * i + each);
      order.set(corners, 6 * i);
    }
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, order, gl.STATIC_DRAW);
  }
}

/** Return each shape of a drawing surface four times, with the index of a corner. */
function cornersOfShapes(paper) {
  const found = new Float32Array(4 * NUMBERS * paper.count);
  for (let i = 0; i < paper.count; i++) {
    const row = paper.rows.subarray(NUMBERS * i, NUMBERS * (i + 1));
    for (let corner = 0; corner < 4; corner++) {
      const at = NUMBERS * (4 * i + corner);
      found.set(row, at);
      found[at + INK_STYLE] += corner;
    }
  }
  return found;
}

// Letters as small images in one large one, drawn once at each size; as scene/canvas/fonts.py.

const GLYPHS = { width: 1024, height: 256, most: 4096, quartered: 24 };

/** The images of the letters of a font family; all lengths are in device pixels. */
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

  /** Forget all letters before a picture is drawn, if there are too many. */
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

  /** Return the advance width of a letter. */
  advance(letter, pixels, bold) {
    const key = `${letter} ${pixels} ${bold}`;
    if (!this.advances.has(key)) {
      this.font(pixels, bold);
      this.advances.set(key, this.context.measureText(letter).width);
    }
    return this.advances.get(key);
  }

  /** Return the width of a line of text. */
  width(words, pixels, bold) {
    let sum = 0;
    for (const letter of typeset(words)) sum += this.advance(letter, pixels, bold);
    return sum;
  }

  /** Return a letter in the atlas, shifted by quarters of a pixel, or its halo; null if blank. */
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

  /** Add an image to the atlas of letters; return its left and top. */
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

  /** Return the letters of a text: positions relative to its anchor, and in the atlas. */
  laidOut(words, pixels, bold, anchor, halo) {
    const steps = pixels < GLYPHS.quartered ? 4 : 1;
    const found = [];
    typeset(words)
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

/** Return the image of a letter extended by `reach` pixels on all sides; the outer half fades. */
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
