// The loss over a plane through the weights, as a map; as scene/past_charts.py.

import { mixedColor } from "./colors.js";
import { made, styled } from "./dom.js";
import { generalNumber, rounded, trueMinus } from "./formats.js";
import { weightTitle } from "./names.js";
import { text } from "./texts.js";

const TERRAIN_BANDS = 16; // heights that are told apart
const TERRAIN_FINE = 16; // pixels of the map between two points of the grid
const UNKNOWN_BAND = 255; // where no loss is computed yet
const HIGHEST_BAND = 0.62; // of the way from the ground to the ink, for the largest loss
const BAND_EDGE = 0.12; // and how much further the line between two bands is
const DRAWN_EACH = 60; // losses after which the map is drawn again
const COARSEST_KNOWN = 8; // points from one to the next in the first pass
const NEAR_PATH = 0.03; // of the width of the plane: so near the path, its step is meant
const ON_BALL = 14; // pixels

/** Draws a landscape that was `seen` into a box of a canvas, and says what is where. */
export class TerrainMap {
  constructor() {
    this.box = { x: 0, y: 0, width: 1, height: 1 };
    this.ball = [-1, -1]; // pixels
    this.image = null;
    this.seen = null;
  }

  draw(context, box, seen, unit, palette, say) {
    Object.assign(this, { box, seen });
    const { plane, path } = seen;
    const known = plane.losses.reduce((count, each) => count + Number(!Number.isNaN(each)), 0);
    const mark = `${palette.ground} ${plane.span} ${Math.floor(known / DRAWN_EACH)}`;
    if (this.image?.mark !== mark) this.image = { mark, canvas: mapOf(plane.losses, palette) };
    context.imageSmoothingEnabled = true;
    context.drawImage(this.image.canvas, box.x, box.y, box.width, box.height);
    context.fillStyle = styled("--accent");
    if (plane.done < 1) context.fillRect(box.x, box.y, plane.done * box.width, 3 * unit);
    this.drawAxes(context, say, unit);
    context.save();
    context.beginPath();
    context.rect(box.x, box.y, box.width, box.height);
    context.clip();
    context.lineJoin = "round";
    context.beginPath();
    for (let i = 0; i < path.length; i += 2) {
      const [x, y] = this.pixel(path[i], path[i + 1]);
      if (i) context.lineTo(x, y);
      else context.moveTo(x, y);
    }
    for (const name of ["--ground", "--accent"]) {
      context.strokeStyle = styled(name);
      context.lineWidth = (name === "--ground" ? 4.5 : 2) * unit;
      context.stroke();
    }
    const [x, y] = this.pixel(path[0], path[1]);
    disc(context, x, y, 5 * unit, styled("--accent"));
    disc(context, x, y, 3 * unit, styled("--ground"));
    context.restore();
    const [across, down] = this.pixel(...seen.at);
    this.ball = [
      Math.min(Math.max(across, box.x), box.x + box.width),
      Math.min(Math.max(down, box.y), box.y + box.height),
    ];
    disc(context, this.ball[0], this.ball[1], 8 * unit, styled("--ground"));
    disc(context, this.ball[0], this.ball[1], 6.5 * unit, styled("--ink"));
  }

  pixel(x, y) {
    const { box, seen } = this;
    const [left, right, bottom, top] = seen.plane.span;
    return [
      box.x + ((x - left) / (right - left)) * box.width,
      box.y + ((top - y) / (top - bottom)) * box.height,
    ];
  }

  /** Return the point of the plane at a pixel, at an edge if outside. */
  spotAt(x, y) {
    const { box, seen } = this;
    const [left, right, bottom, top] = seen.plane.span;
    const part = (at, length) => Math.min(1, Math.max(0, at / length));
    return [
      left + part(x - box.x, box.width) * (right - left),
      top - part(y - box.y, box.height) * (top - bottom),
    ];
  }

  isOnBall(x, y) {
    return Math.hypot(x - this.ball[0], y - this.ball[1]) < ON_BALL;
  }

  /** Return the step of the moment on the path that is near a point of the plane, or null. */
  stepNear([x, y]) {
    const { steps, path, plane } = this.seen;
    const [left, right, bottom, top] = plane.span;
    let [nearest, step] = [NEAR_PATH, null];
    steps.forEach((each, i) => {
      const apart = Math.hypot((path[2 * i] - x) / (right - left), (path[2 * i + 1] - y) / (top - bottom)); // prettier-ignore
      if (apart < nearest) [nearest, step] = [apart, each];
    });
    return step;
  }

  /** Return what is read at a point, or how the plane lies and how high it is. */
  said(spot) {
    const { plane } = this.seen;
    const { losses, span } = plane;
    const count = Math.sqrt(losses.length);
    const written = (value) => trueMinus(rounded(value, 3));
    if (spot) {
      const place = (at, low, high) => Math.round(((at - low) / (high - low)) * (count - 1));
      const [column, row] = [place(spot[0], span[0], span[1]), place(spot[1], span[2], span[3])];
      const found = losses[row * count + column];
      if (Number.isNaN(found)) return ""; // not computed yet
      const loss = written(found);
      const step = this.stepNear(spot);
      return step === null ? text("past.loss_here", { loss }) : text("past.loss_near", { loss, step }); // prettier-ignore
    }
    const known = Array.from(losses).filter(Number.isFinite);
    if (!known.length) return "";
    const ends = { least: written(Math.min(...known)), most: written(Math.max(...known)) };
    return text("past.range", ends);
  }

  /** Write what the directions are at the ends of both axes. */
  drawAxes(context, say, unit) {
    const { box, seen } = this;
    const { shares, rows } = seen.plane;
    const [across, up] = rows.length
      ? rows.map((row) => weightTitle(say, row))
      : shares.map((share) => text("past.axis.main", { share: generalNumber(100 * share, 3) }));
    const margin = 6 * unit;
    context.strokeStyle = styled("--ground");
    context.lineWidth = 3 * unit;
    for (const [words, x, y, side] of [
      [
        text("past.axis.across", { name: across }),
        box.x + box.width - margin,
        box.height - margin,
        "right",
      ],
      [text("past.axis.up", { name: up }), box.x + margin, box.y + 12 * unit + margin, "left"],
    ]) {
      context.textAlign = side;
      context.fillStyle = styled("--ink");
      context.strokeText(words, x, y);
      context.fillText(words, x, y);
    }
    context.textAlign = "left";
  }
}

function disc(context, x, y, radius, color) {
  context.fillStyle = color;
  context.beginPath();
  context.arc(x, y, radius, 0, 7);
  context.fill();
}

/** Return heights from 0 to 1 of the finest grid that is wholly known, else of the coarsest. */
function heightsOf(losses) {
  const count = Math.sqrt(losses.length);
  const gridOf = (apart) => {
    const found = [];
    for (let i = 0; i < count; i += apart) {
      found.push([]);
      for (let j = 0; j < count; j += apart) found.at(-1).push(losses[i * count + j]);
    }
    return found;
  };
  let apart = COARSEST_KNOWN;
  while (
    apart > 1 &&
    gridOf(apart / 2)
      .flat()
      .every(Number.isFinite)
  )
    apart /= 2;
  const known = gridOf(apart);
  const finite = known.flat().filter(Number.isFinite);
  const read = finite.every((each) => each > 0) ? Math.log : (/** @type {number} */ each) => each;
  if (!finite.length) return known;
  const low = finite.reduce((least, each) => Math.min(least, read(each)), Infinity);
  const high = finite.reduce((most, each) => Math.max(most, read(each)), -Infinity);
  const height = (each) => (Number.isFinite(each) ? (read(each) - low) / (high - low || 1) : each);
  return known.map((row) => row.map(height));
}

/** Return a canvas with the map, from the ground where the loss is least, top row first. */
function mapOf(losses, palette) {
  const heights = heightsOf(losses);
  const size = TERRAIN_FINE * (heights.length - 1) + 1;
  const at = (i) => {
    const low = Math.min(Math.floor(i / TERRAIN_FINE), heights.length - 2);
    return [low, i / TERRAIN_FINE - low];
  };
  const bands = new Uint8Array(size * size);
  for (let i = 0; i < size; i++) {
    const [row, down] = at(i);
    for (let j = 0; j < size; j++) {
      const [column, across] = at(j);
      const mean = (line) => line[column] + across * (line[column + 1] - line[column]);
      const height = mean(heights[row]) + down * (mean(heights[row + 1]) - mean(heights[row]));
      const isHigh = !Number.isFinite(height) && !Number.isNaN(height);
      const part = isHigh ? 1 : Math.min(Math.max(height, 0), 1);
      bands[i * size + j] = Number.isNaN(height)
        ? UNKNOWN_BAND
        : Math.min(part * TERRAIN_BANDS, TERRAIN_BANDS - 1);
    }
  }
  const ink = palette.inkColor;
  const colors = Array.from({ length: 2 * TERRAIN_BANDS }, (_, i) => {
    const part = (HIGHEST_BAND * (i >> 1)) / (TERRAIN_BANDS - 1) + (i & 1) * BAND_EDGE;
    const color = mixedColor(palette.groundColor, ink, part);
    const [r, g, b] = color.map((each) => Math.round(255 * each));
    return r | (g << 8) | (b << 16) | (255 << 24);
  });
  const canvas = made("canvas");
  Object.assign(canvas, { width: size, height: size });
  const context = canvas.getContext("2d");
  const image = context.createImageData(size, size);
  const pixels = new Uint32Array(image.data.buffer);
  for (let i = 0; i < size; i++)
    for (let j = 0; j < size; j++) {
      const here = bands[i * size + j];
      const isEdge = (j > 0 && bands[i * size + j - 1] !== here) || (i > 0 && bands[(i - 1) * size + j] !== here); // prettier-ignore
      pixels[(size - 1 - i) * size + j] =
        here === UNKNOWN_BAND ? 0 : colors[2 * here + Number(isEdge)];
    }
  context.putImageData(image, 0, 0);
  return canvas;
}
