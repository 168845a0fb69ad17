// The picture where a browser has no WebGL 2: the same shapes and words on a plain canvas, from the
// farthest to the nearest.

import { sphereRows, wireRows } from "./beads.js";
import { colorOf, colorTable, mixedColor } from "./colors.js";
import { Paper } from "./paper.js";
import { halfSide } from "./scales.js";
import { along3, dot3, length3, minus3 } from "./space.js";

const PLAIN = {
  solid: 5, // pixels of a cube from which on its sides are drawn
  least: 2, // pixels of a square that is drawn; where cubes are smaller, it stands for several
  pieces: 8, // of a wire with light on it, so that cubes hide parts of it
  rim: 0.7, // brightness of the edges of cubes
  stripe: 5, // logical pixels from one stripe of a sphere to the next
  halo: 4, // width of the outline of letters
  head: 0.42, // half of the width of an arrow head, by its length
  row: 1.35, // from a line of text to the next, in sizes of letters
};
const SPHERE_ROW = 11; // numbers of a sphere and of a wire; see beads.js
const WIRE_ROW = 11;
// The sides of a cube: the axis and the way, the corners of `Plate.cornersOf`, the place of their light.
/** @type {any[][]} */
const CUBE_FACES = [
  ["along", 1, [4, 5, 7, 6], 0], ["along", -1, [0, 1, 3, 2], 1],
  ["across", 1, [2, 3, 7, 6], 2], ["across", -1, [0, 1, 5, 4], 3],
  ["toward", 1, [1, 3, 7, 5], -1], ["toward", -1, [0, 2, 6, 4], -1],
]; // prettier-ignore

/** A sheet of paper whose shapes wait until all of a picture are there: {depth, paint}. */
export class PlainPaper extends Paper {
  constructor(...given) {
    super(...given);
    this.shapes = [];
  }

  add(place, depth, paint) {
    if (place.every(Number.isFinite)) this.shapes.push({ depth, paint });
  }

  box(x, y, width, height, fill, { radius = 0, outline = null, line = 1, depth = -1 } = {}) {
    const shape = (to, inset) => {
      const [wide, high] = [Math.max(0, width - 2 * inset), Math.max(0, height - 2 * inset)];
      const round = Math.max(0, Math.min(radius - inset, wide / 2, high / 2));
      to.beginPath();
      to.roundRect(x + inset, y + inset, wide, high, round);
    };
    this.add([x, y, width, height], depth, (to) => fillAndLine(to, shape, fill, outline, line));
  }

  disc(x, y, radius, fill, { outline = null, line = 1, depth = -1, hatch = 0 } = {}) {
    const shape = (to, inset) => {
      to.beginPath();
      to.arc(x, y, Math.max(0, radius - inset), 0, 2 * Math.PI);
    };
    this.add([x, y, radius], depth, (to) => {
      fillAndLine(to, shape, fill, outline, line);
      if (hatch) stripes(to, shape, [x, y, radius], fill, hatch);
    });
  }

  arrow([x, y], [endX, endY], color, { width = 1.5, head = 6, depth = -1 } = {}) {
    const length = Math.hypot(endX - x, endY - y);
    if (!(length > 0)) return;
    const tip = Math.min(head, length);
    this.add([x, y, endX, endY], depth, (to) => {
      const [right, down] = [(endX - x) / length, (endY - y) / length];
      const atX = (far, aside) => endX - far * right - aside * down;
      const at = (far, aside) => [atX(far, aside), endY - far * down + aside * right];
      to.fillStyle = cssColor(color);
      const half = width / 2;
      const shaft =
        length > tip ? [at(tip, half), at(length, half), at(length, -half), at(tip, -half)] : [];
      polygon(to, [at(0, 0), at(tip, PLAIN.head * tip), ...shaft, at(tip, -PLAIN.head * tip)]);
      to.fill();
    });
  }

  segment([x, y], [endX, endY], color, { width = 1, depths = [-1, -1] } = {}) {
    this.add([x, y, endX, endY], (depths[0] + depths[1]) / 2, (to) => {
      to.strokeStyle = cssColor(color);
      to.lineWidth = width;
      to.lineCap = "round";
      to.beginPath();
      to.moveTo(x, y);
      to.lineTo(endX, endY);
      to.stroke();
    });
  }

  image([x, y, rightX, rightY, downX, downY], pixels, [left, top, right, bottom], depths) {
    const [column, row] = [left * pixels.width, top * pixels.height];
    const [wide, high] = [right * pixels.width - column, bottom * pixels.height - row];
    this.add([x, y, rightX, rightY, downX, downY], (depths[0] + depths[1]) / 2, (to) => {
      to.save();
      to.imageSmoothingEnabled = false;
      const across = [(rightX - x) / wide, (rightY - y) / wide];
      to.transform(...across, (downX - x) / high, (downY - y) / high, x, y);
      to.drawImage(canvasOf(pixels), column, row, wide, high, 0, 0, wide, high);
      to.restore();
    });
  }

  text(x, y, words, look = {}) {
    const { size = 13, color = "#ffffff", bold = false } = look;
    const { anchor = "left", depth = -1, outline = null } = look;
    this.words.push(words);
    this.add([x, y], depth, (to) => {
      Object.assign(to, { textAlign: anchor, lineJoin: "round", fillStyle: cssColor(color) });
      const font = this.glyphs.fontOf(size, bold);
      if (to.font !== font) to.font = font;
      words.split("\n").forEach((line, i) => {
        const base = y + i * PLAIN.row * size;
        if (outline) {
          Object.assign(to, { strokeStyle: cssColor(outline), lineWidth: PLAIN.halo });
          to.strokeText(line, x, base);
        }
        to.fillText(line, x, base);
      });
    });
  }
}

/** Draws pictures on a plain canvas. */
export class PlainDrawing {
  constructor(context, scene) {
    this.context = context;
    this.scene = scene;
    this.palette = null;
    this.table = null;
  }

  setPalette(palette) {
    this.palette = palette;
    this.table = colorTable(palette, this.scene.shader);
  }

  /** Draw a picture, in which the words and shapes of a sheet of paper stand among the cubes. */
  draw(view, ratio) {
    const { context, palette } = this;
    const { canvas } = context;
    const { frame, lit, scale, see, paper } = view;
    const wires = wireRows(frame, lit, palette, see.camera, scale);
    const spheres = sphereRows(frame, lit, palette, scale);
    const beads = [
      ...wireShapes(wires, see),
      ...this.cubeShapes(view),
      ...sphereShapes(spheres, see),
    ];
    const shapes = [...beads, ...paper.shapes];
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = palette.ground;
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.save();
    const [left, top, right, bottom] = paper.clip;
    context.beginPath();
    context.rect(left, top, right - left, bottom - top);
    context.clip();
    shapes.sort((one, other) => other.depth - one.depth); // which keeps the order of equals
    for (const { paint } of shapes) paint(context);
    context.restore();
  }

  /** The cubes that are in sight. */
  cubeShapes({ frame, see, lit }) {
    const found = [];
    const shine = lit.back ? colorOf(this.palette.accent) : [1, 1, 1];
    for (const plate of frame.layout.plates) {
      const light = lit.plates[plate.place];
      const { rows, columns, indices } = plate.cells();
      const seen = see.see(plate.middles());
      const middle = seen.unit[seen.unit.length >> 1];
      const every = Math.max(1, Math.ceil(PLAIN.least / Math.max(middle * plate.unit, 1e-3)));
      for (let i = 0; i < indices.length; i++) {
        if (rows[i] % every || columns[i] % every) continue;
        const side = halfSide(frame.sizes[indices[i]], frame.sizeScale, this.scene.shader);
        const half = every * side * plate.unit;
        const [x, y, reach] = [seen.x[i], seen.y[i], half * seen.unit[i]];
        const isIn = (at, length) => at > -2 * reach && at < length + 2 * reach;
        if (!isIn(x, see.width) || !isIn(y, see.height)) continue;
        const swept = sweptLight(lit.sweeps[plate.place], columns[i], rows[i]);
        const white = Math.min(1, lit.white[plate.place] + swept);
        const color = this.colorOf(frame.colors[indices[i]] / frame.scale, light);
        const shone = white > 0 ? mixedColor(color, shine, white) : color;
        const isSolid = 2 * reach >= PLAIN.solid;
        const paint = isSolid
          ? facesOf(plate, [columns[i], rows[i]], half, shone, see)
          : squareAt(x, y, reach, shone);
        found.push({ depth: seen.depth[i], paint });
      }
    }
    return found;
  }

  /** The color of a number by its share of the scale, on a plate of some brightness. */
  colorOf(share, light) {
    if (Number.isNaN(share)) return [...this.palette.unknown];
    const { colors, dim } = this.scene.shader;
    const at = Math.round(0.5 * (1 + Math.min(1, Math.max(-1, share))) * (colors - 1));
    const [bright, dimmed] = [4 * at, 4 * (colors + at)];
    const part = Math.min(1, Math.max(0, (1 - light) / (1 - dim)));
    const { table } = this;
    const mixed = (k) => table[bright + k] + part * (table[dimmed + k] - table[bright + k]);
    return [0, 1, 2].map((k) => mixed(k) / 255);
  }
}

/** The light that runs over a plate, at a cube; see `lightsOf`. */
function sweptLight([axis, at, width, strength], column, row) {
  if (!axis || !strength) return 0;
  const apart = ((axis === 1 ? column : row) + 0.5 - at) / Math.max(width, 1e-3);
  return strength * Math.exp(-apart * apart);
}

/** What paints the sides of a cube that face the eye. */
function facesOf(plate, [column, row], half, color, see) {
  const corners = see.see(plate.cornersOf(row, column, half));
  if (!corners.x.every(Number.isFinite)) return () => {};
  const { camera } = see;
  const eye = along3(camera.target, camera.distance, camera.toward);
  const way = camera.hasPerspective
    ? minus3(eye, plate.point(column + 0.5, row + 0.5))
    : camera.toward;
  return (to) => {
    for (const [axis, sign, order, side] of CUBE_FACES) {
      const toEye = (sign * dot3(plate[axis], way)) / length3(plate[axis]);
      if (!(toEye > (camera.hasPerspective ? half : 0))) continue;
      const light = side < 0 ? 1 : plate.sides[side];
      const points = order.map((k) => [corners.x[k], corners.y[k]]);
      polygon(to, points);
      to.fillStyle = cssColor(color.map((each) => light * each));
      to.fill();
      to.strokeStyle = cssColor(color.map((each) => PLAIN.rim * light * each));
      Object.assign(to, { lineWidth: 1, lineJoin: "round" });
      to.stroke();
    }
  };
}

function squareAt(x, y, reach, color) {
  return (to) => {
    to.fillStyle = cssColor(color);
    to.fillRect(x - reach, y - reach, 2 * reach, 2 * reach);
  };
}

function sphereShapes(rows, see) {
  const found = [];
  for (let i = 0; i < rows.length; i += SPHERE_ROW) {
    const { x, y, depth, unit } = see.one([rows[i], rows[i + 1], rows[i + 2]]);
    const radius = rows[i + 3] * unit;
    if (!Number.isFinite(x + y + radius)) continue;
    const [fill, outline] = [rows.slice(i + 4, i + 7), rows.slice(i + 7, i + 10)];
    const line = rows[i + 10];
    const shape = (to, inset) => {
      to.beginPath();
      to.arc(x, y, Math.max(0, radius - inset), 0, 2 * Math.PI);
    };
    found.push({ depth, paint: (to) => fillAndLine(to, shape, fill, outline, line) });
  }
  return found;
}

function wireShapes(rows, see) {
  const found = [];
  for (let i = 0; i < rows.length; i += WIRE_ROW) {
    const [start, end] = [rows.subarray(i, i + 3), rows.subarray(i + 3, i + 6)];
    const color = [...rows.subarray(i + 6, i + 10)];
    const width = rows[i + 10];
    const pieces = width > 1.5 ? PLAIN.pieces : 1;
    const way = minus3(end, start);
    const points = Array.from({ length: pieces + 1 }, (_, k) => along3(start, k / pieces, way));
    const { x, y, depth } = see.see(points.flat());
    for (let k = 0; k < pieces; k++) {
      const ends = [x[k], y[k], x[k + 1], y[k + 1]];
      if (!ends.every(Number.isFinite)) continue;
      const paint = (to) => strokeLine(to, ends, color, width);
      found.push({ depth: (depth[k] + depth[k + 1]) / 2, paint });
    }
  }
  return found;
}

function strokeLine(to, /** @type {number[]} */ [x, y, endX, endY], color, width) {
  to.strokeStyle = cssColor(color);
  Object.assign(to, { lineWidth: width, lineCap: "butt" });
  to.beginPath();
  to.moveTo(x, y);
  to.lineTo(endX, endY);
  to.stroke();
}

function polygon(to, points) {
  to.beginPath();
  points.forEach(([x, y], i) => (i ? to.lineTo(x, y) : to.moveTo(x, y)));
  to.closePath();
}

/** Fill a shape, and draw an outline of some width within its edge; `shape(to, inset)` makes its path. */
function fillAndLine(to, shape, fill, outline, line) {
  if (fill) {
    shape(to, 0);
    to.fillStyle = cssColor(fill);
    to.fill();
  }
  if (outline && line) {
    shape(to, line / 2);
    to.strokeStyle = cssColor(outline);
    to.lineWidth = line;
    to.stroke();
  }
}

/** Draw oblique stripes within a shape, dark ones on a bright fill. */
function stripes(to, shape, [x, y, radius], fill, strength) {
  const [r, g, b] = typeof fill === "string" ? colorOf(fill) : fill;
  const dark = 0.3 * r + 0.6 * g + 0.1 * b > 0.5;
  to.save();
  shape(to, 0);
  to.clip();
  to.strokeStyle = cssColor(dark ? [0, 0, 0, strength] : [1, 1, 1, strength]);
  to.lineWidth = PLAIN.stripe / 2;
  to.beginPath();
  const step = PLAIN.stripe * Math.SQRT2;
  for (let at = -2 * radius; at <= 2 * radius; at += step) {
    to.moveTo(x + at - radius, y + radius);
    to.lineTo(x + at + radius, y - radius);
  }
  to.stroke();
  to.restore();
}

const CSS_COLORS = new Map();

/** A color as a text of CSS: "#rrggbb", or parts from 0 to 1. */
function cssColor(color) {
  if (typeof color === "string") return color;
  const byte = (part) => Math.round(255 * Math.min(1, Math.max(0, part)));
  const [r, g, b, a = 1] = color;
  const key = ((byte(r) * 256 + byte(g)) * 256 + byte(b)) * 256 + byte(a);
  if (CSS_COLORS.size > 4096) CSS_COLORS.clear();
  if (!CSS_COLORS.has(key))
    CSS_COLORS.set(key, `rgb(${byte(r)} ${byte(g)} ${byte(b)} / ${byte(a) / 255})`);
  return CSS_COLORS.get(key);
}

const CANVASES = new WeakMap(); // by the pixels of an image

function canvasOf(pixels) {
  if (!CANVASES.has(pixels)) {
    const canvas = document.createElement("canvas");
    Object.assign(canvas, { width: pixels.width, height: pixels.height });
    const bytes = Uint8ClampedArray.from(pixels.bytes);
    canvas.getContext("2d").putImageData(new ImageData(bytes, pixels.width, pixels.height), 0, 0);
    CANVASES.set(pixels, canvas);
  }
  return CANVASES.get(pixels);
}
