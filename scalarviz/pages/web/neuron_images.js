// Neurons as images: feature maps, one for each channel; answers over the plane on spheres; and
// colors. As scene/neuron_images.py.

import { colorOf } from "./palette.js";
import { short } from "./story/decimals.js";
import { readAnswers } from "./formulas.js";

const MAPS = {
  numbered: 11, // least pixels between two images for channel numbers
  written: 34, // pixels for a number on a pixel of an image
  mostWritten: 600,
  crossed: 5, // pixels for crossing out a dropped number
  faint: 0.05, // of the strongest map of a line: weaker ones are not made to look like it
  highest: 2048, // rows of one texture
};

/** Draw an image for each channel: the outputs, or the sums while there are no outputs. */
export function drawMaps(view, line) {
  const { see, frame, palette, lit, paper } = view;
  const seen = see.see(line.corners());
  const [channels] = line.shape;
  const good = [];
  for (let i = 0; i < channels; i++) {
    if ([0, 1, 2].every((k) => Number.isFinite(seen.x[3 * i + k] + seen.y[3 * i + k])))
      good.push(i);
  }
  if (!good.length) return;
  const name = [line.values, line.sums].find((each) => each in frame.values) ?? "";
  const isLit = lit.focus?.neurons[line.place].some(Boolean);
  const bright = isLit ? 1 : Math.min(lit.neurons[line.place], lit.level);
  const corners = good.map((i) => [0, 1, 2].flatMap((k) => [seen.x[3 * i + k], seen.y[3 * i + k]]));
  const depths = good.map((i) => mapDepths(seen, i));
  const left = droppedIn(line, frame);
  if (name) {
    const colors = paintedMaps(name, line, frame, palette);
    const shown = colors.map((each, i) =>
      left?.[i] > 0 ? palette.groundColor : palette.faded(each, bright),
    );
    pasteMaps(paper, corners, mapImage(line, shown), good, depths);
  }
  const rim = palette.faded(colorOf(palette.quiet), 0.7 * bright);
  corners.forEach((corner, i) => frameMap(paper, corner, rim, depths[i]));
  numberMaps(view, seen, channels);
  writeOnMaps(view, line, name, left);
  drawMapFlows(view, line, corners, good, depths);
}

/** The color of each pixel: its true color, else by its number on the map's own scale. */
function paintedMaps(name, line, frame, palette) {
  if (name in frame.scene.tints) return paintedNeurons(name, frame, palette);
  const values = frame.values[name];
  const each = values.length / line.shape[0];
  const tops = Array.from({ length: line.shape[0] }, (_, channel) => {
    let top = 0;
    for (let i = channel * each; i < (channel + 1) * each; i++) {
      if (Number.isFinite(values[i])) top = Math.max(top, Math.abs(values[i]));
    }
    return top;
  });
  const faint = MAPS.faint * Math.max(...tops);
  return Array.from(values, (value, i) =>
    palette.map(value, Math.max(tops[Math.floor(i / each)], faint) || 1),
  );
}

/** The depths of the left and the right side of an image. */
function mapDepths(seen, i) {
  const half = 0.5 * (seen.depth[3 * i + 2] - seen.depth[3 * i]);
  return [seen.depth[3 * i] + half, seen.depth[3 * i + 1] + half];
}

/** All images of a line as one, below each other and then beside each other. */
function mapImage(line, colors) {
  const [channels, height, width] = line.shape;
  const most = Math.max(1, Math.floor(MAPS.highest / height));
  const [high, wide] = [Math.min(channels, most), Math.ceil(channels / most)];
  const image = { width: wide * width, height: high * height, most, high, wide };
  image.bytes = new Uint8Array(4 * image.width * image.height).fill(255);
  for (let i = 0; i < channels * height * width; i++) {
    const channel = Math.floor(i / (height * width));
    const inside = i - channel * height * width;
    const y = (channel % most) * height + Math.floor(inside / width);
    const x = Math.floor(channel / most) * width + (inside % width);
    for (let k = 0; k < 3; k++)
      image.bytes[4 * (y * image.width + x) + k] = Math.round(255 * colors[i][k]);
  }
  return image;
}

function pasteMaps(paper, corners, image, good, depths) {
  good.forEach((channel, i) => {
    const column = Math.floor(channel / image.most) / image.wide;
    const row = (channel % image.most) / image.high;
    const part = [column, row, column + 1 / image.wide, row + 1 / image.high];
    paper.image(corners[i], image, part, depths[i]);
  });
}

/** Draw a thin frame around an image. */
function frameMap(paper, corners, color, /** @type {number[]} */ [left, end]) {
  const [x, y, rightX, rightY, downX, downY] = corners;
  // prettier-ignore
  const [a, b, d] = [[x, y], [rightX, rightY], [downX, downY]];
  const c = [rightX + downX - x, rightY + downY - y];
  // prettier-ignore
  const sides = [[a, b, left, end], [b, c, end, end], [c, d, end, left], [d, a, left, left]];
  for (const [start, stop, ...depths] of sides) paper.segment(start, stop, color, { depths });
}

/** Write the number of each channel below its image, if there is room. */
function numberMaps({ paper, palette }, seen, channels) {
  if (channels < 2) return;
  const at = (i) => [seen.x[i], seen.y[i]];
  const [first, right, down] = [at(0), at(1), at(2)];
  const spread = (k) => {
    const all = [first[k], right[k], down[k], right[k] + down[k] - first[k]];
    return Math.max(...all) - Math.min(...all);
  };
  const [wide, high] = [spread(0), spread(1)];
  let lowest = Infinity;
  for (let i = 1; i < channels; i++) {
    const [aside, below] = [seen.x[3 * i] - first[0], seen.y[3 * i] - first[1]];
    if (Math.abs(aside) < wide && below > 0) lowest = Math.min(lowest, below);
  }
  const apart = Math.hypot(seen.x[3] - first[0], seen.y[3] - first[1]) - Math.max(wide, high);
  if (!(Math.min(apart, lowest - high) >= MAPS.numbered)) return;
  for (let i = 0; i < channels; i++) {
    const [x, y] = at(3 * i + 2);
    paper.text(x, y + 9, String(i), { size: 9, color: palette.quiet, depth: seen.depth[3 * i] });
  }
}

/** Cross out dropped neurons, and write the numbers if a pixel is large enough. */
function writeOnMaps(view, line, name, left) {
  const { see, paper, frame, palette } = view;
  if (!name && !left) return;
  const middle = see.one(line.points.subarray(0, 3));
  if (!(middle.unit * line.side >= MAPS.crossed)) return; // no need to look at every pixel
  const seen = see.see(line.points);
  const units = Array.from(seen.unit).filter(Number.isFinite);
  units.sort((a, b) => a - b);
  const pixel = units.length ? units[units.length >> 1] * line.side : 0;
  const reach = seen.unit.map(() => 0.4 * pixel);
  if (left) crossOut(view, seen, reach, seen.depth, left);
  if (!name || pixel < MAPS.written) return;
  const inside = [];
  for (let i = 0; i < line.count; i++) {
    const there = seen.x[i] > 0 && seen.y[i] > 0 && seen.x[i] < see.width && seen.y[i] < see.height;
    if (there && !(left?.[i] > 0)) inside.push(i);
  }
  if (inside.length > MAPS.mostWritten) return;
  const size = Math.min(13, 0.3 * pixel);
  for (const i of inside) {
    const depth = seen.depth[i] - 1e-4;
    const look = { size, color: palette.number, anchor: "center", depth, outline: palette.halo };
    paper.text(seen.x[i], seen.y[i] + 0.36 * size, short(frame.values[name][i]), look);
  }
}

/** Draw the gradients as smaller images over the lower right corners. */
function drawMapFlows({ paper, palette, frame }, line, corners, good, depths) {
  const found = flowsOf(line, frame);
  const [x, y, rightX, rightY] = corners[0];
  if (!found || Math.hypot(rightX - x, rightY - y) < 8) return;
  const colors = found.parts.map((part, i) => palette.map(Math.sign(found.flow[i]) * part));
  const small = corners.map(([a, b, c, d, e, f]) => {
    const right = [0.5 * (c - a), 0.5 * (d - b)];
    const down = [0.5 * (e - a), 0.5 * (f - b)];
    const corner = [a + 1.1 * (right[0] + down[0]), b + 1.1 * (right[1] + down[1])];
    const moved = (way) => [corner[0] + way[0], corner[1] + way[1]];
    return [...corner, ...moved(right), ...moved(down)];
  });
  const near = depths.map((pair) => pair.map((depth) => depth - 1e-4));
  pasteMaps(paper, small, mapImage(line, colors), good, near);
  small.forEach((corner, i) => frameMap(paper, corner, palette.groundColor, near[i]));
}

// What each neuron answers over the plane, on its sphere.

/** The maps of all neurons: `values` by buffer, neuron by neuron in rows from the top. */
export class SphereMaps {
  /**
   * spec    of the page
   * plane   the map of the outputs, see plane_exhibit.js
   * survey  returns a promise of the numbers of all neurons for some inputs, see `Engine.survey`
   */
  constructor(spec, plane, survey) {
    Object.assign(this, { plane, survey, known: spec.scene.maps, outputs: spec.facts.outputs });
    this.sizes = Object.entries(spec.facts.buffers).map(([name, { size }]) => [name, size]);
    this.count = this.sizes.reduce((sum, [, size]) => sum + size, 0);
    this.now = null;
    this.of = null; // the numbers of the bank that the maps are of
    this.isAsking = false;
    this.next = 0; // when new ones are due while it plays
  }

  /** Ask for the maps of a state; `change` is called when they are there. */
  async follow(state, change) {
    const { sides, most, rest } = this.known;
    const allowed = sides.filter((side) => side * side * this.count <= most);
    const side = state.playing ? allowed.at(-1) : allowed[0];
    const isKnown = state.value === this.of && this.now?.side >= side;
    const start = performance.now();
    if (!side || isKnown || this.isAsking || (state.playing && start < this.next)) return;
    this.isAsking = true;
    const found = await this.survey(this.plane.inputsOn(side));
    this.isAsking = false;
    this.next = performance.now() + rest * Math.min(performance.now() - start, this.known.longest);
    if (!found) return;
    this.of = state.value;
    this.now = { side, ...this.cut(found, side * side), images: new Map() };
    change();
  }

  /** Return the numbers by buffer, and the middle and the reach of the colors of each neuron. */
  cut(found, cells) {
    const [values, scales] = [{}, {}];
    let at = 0;
    for (const [name, size] of this.sizes) {
      values[name] = found.subarray(at, (at += size * cells));
      if (name === this.outputs) read(values[name], size, this.plane.data.reads);
      const tops = Array.from({ length: size }, (_, i) =>
        values[name]
          .subarray(i * cells, (i + 1) * cells)
          .reduce((top, x) => (Number.isFinite(x) ? Math.max(top, Math.abs(x)) : top), 0),
      );
      const faint = this.known.faint * Math.max(...tops);
      scales[name] = tops.map((top) => [0, Math.max(top, faint) || 1]);
    }
    const { classes, middle, reach } = this.plane.data;
    if (scales[this.outputs].length === 1 && !classes) scales[this.outputs] = [[middle, reach]];
    return { values, scales };
  }
}

/** Replace outputs by what the loss makes of them. */
function read(outputs, size, reads) {
  const cells = outputs.length / size;
  for (let k = 0; reads && k < cells; k++) {
    const own = Array.from({ length: size }, (_, i) => outputs[i * cells + k]);
    readAnswers(own, reads).forEach((each, i) => (outputs[i * cells + k] = each));
  }
}

/** Draw the maps of a line as discs on its spheres; return whether there are some. */
export function drawSphereMaps({ paper, palette, frame, lit }, line, name, seen, front, good) {
  const { maps, scene } = frame;
  const radius = good.map((i) => line.radius * seen.unit[i]);
  const isDrawn = maps && name in frame.values && name in maps.values;
  if (!isDrawn || Math.min(...radius) < scene.maps.least) return false;
  const values = frame.values[name].length;
  const both = values < line.count && line.sums in frame.values; // some have no outputs yet
  const count = both ? frame.values[line.sums].length : values;
  good.forEach((i, k) => {
    if (i >= count) return;
    const image = imageOf(
      maps,
      i < values ? name : line.sums,
      palette,
      lit.brightOf(line, i),
      scene.maps.strong,
    );
    const [wide, high] = [image.width, image.height];
    const reach = scene.maps.part * radius[k];
    const [left, top] = [seen.x[i] - reach, seen.y[i] - reach];
    const corners = [left, top, left + 2 * reach, top, left, top + 2 * reach];
    const [x, y] = [(i % image.across) * maps.side, Math.floor(i / image.across) * maps.side];
    const last = maps.side - 0.5;
    const part = [(x + 0.5) / wide, (y + 0.5) / high, (x + last) / wide, (y + last) / high];
    paper.image(corners, image, part, [front[i], front[i]], reach);
  });
  return true;
}

/** Return the maps of a buffer as one image, beside and below each other. */
function imageOf({ side, values, scales, images }, name, palette, bright, strong) {
  const key = `${name} ${bright} ${palette.ground}`;
  if (images.has(key)) return images.get(key);
  const [own, each] = [values[name], scales[name]];
  const across = Math.ceil(Math.sqrt(each.length));
  const [width, height] = [across * side, Math.ceil(each.length / across) * side];
  const bytes = new Uint8Array(4 * width * height).fill(255);
  own.forEach((value, place) => {
    const [i, cell] = [Math.floor(place / side ** 2), place % side ** 2];
    const [middle, reach] = each[i];
    const color = palette.faded(palette.map((strong * (value - middle)) / reach), bright);
    const x = (i % across) * side + (cell % side);
    const y = Math.floor(i / across) * side + Math.floor(cell / side);
    color.forEach((part, k) => (bytes[4 * (y * width + x) + k] = Math.round(255 * part)));
  });
  const image = { width, height, bytes, across, smooth: true };
  images.set(key, image);
  return image;
}

// Colors of neurons, their gradients, and which of them are left out.

/** The color of each neuron of a line: its true color if it stands for one, else by its number. */
export function paintedNeurons(name, frame, palette) {
  const values = (frame.whole ?? frame.values)[name];
  const tint = frame.scene.tints[name];
  const clipped = (value) => Math.min(1, Math.max(0, Number.isNaN(value) ? 0 : value));
  if (tint === "grey") return Array.from(values, (each) => [0, 1, 2].map(() => clipped(each)));
  if (tint === "rgb" && values.length === 3) {
    return [0, 1, 2].map((i) => [0, 1, 2].map((k) => (i === k ? clipped(values[i]) : 0)));
  }
  const raw = frame.scene.raw[name]; // of numbers in units of their own, those behind an Affine
  const shown = raw ? (frame.values[raw] ?? []) : values;
  return Array.from(values, (_, i) => palette.map(shown[i] ?? 0, frame.activationScale));
}

/** The buffer whose numbers a line shows: its outputs if they are there, else its sums. */
export function shownIn(line, frame) {
  return line.values in frame.values ? line.values : line.sums;
}

/** The numbers that a line shows: its outputs, and sums where these are not there yet. */
export function heldBy(line, { values }) {
  const outputs = Array.from(values[line.values] ?? []);
  return [...outputs, ...Array.from(values[line.sums] ?? []).slice(outputs.length)];
}

/** The color of each neuron of which `heldBy` has a number. */
export function paintedLine(line, frame, palette) {
  const colorsOf = (name) =>
    name in frame.values
      ? paintedNeurons(name, frame, palette).slice(0, frame.values[name].length)
      : [];
  const outputs = colorsOf(line.values);
  return outputs.length >= line.count
    ? outputs
    : [...outputs, ...colorsOf(line.sums).slice(outputs.length)];
}

/** The places of points that are before the eye. */
export function goodOf(seen) {
  const found = [];
  for (let i = 0; i < seen.x.length; i++) if (Number.isFinite(seen.x[i] + seen.y[i])) found.push(i);
  return found;
}

/** The gradients of a line and their magnitudes, 0.25 to 1; null if they are unknown. */
export function flowsOf(line, frame) {
  const [first, ...rest] = line.buffers.filter((each) => each in frame.flows);
  if (!first) return null;
  let top = 0;
  for (const each of Object.values(frame.flows))
    for (const flow of each) top = Math.max(top, Math.abs(flow));
  if (!Number.isFinite(top) || top === 0) return null;
  const own = Array.from(frame.flows[first]); // and of those that one has not come to:
  const flow = [...own, ...Array.from(frame.flows[rest.at(-1)] ?? []).slice(own.length)];
  const part = (each) => Math.min(1, Math.max(0.25, 1 + Math.log10(Math.abs(each) / top) / 3));
  return { flow, parts: flow.map(part) };
}

/** Which neurons of a line dropout drops. */
export function droppedIn(line, frame) {
  const name = line.buffers.find((each) => each in frame.leftOut);
  return name && line.values in frame.values ? frame.leftOut[name] : null;
}

/** Cross out dropped neurons; hue is reserved for the sign of numbers. */
export function crossOut({ paper, palette }, seen, reach, depth, chosen) {
  for (let i = 0; chosen && i < chosen.length; i++) {
    if (!(chosen[i] > 0) || !Number.isFinite(seen.x[i])) continue;
    const far = 0.707 * reach[i];
    const width = Math.min(3, Math.max(1.2, 0.25 * far));
    for (const side of [1, -1]) {
      const end = (aside) => [seen.x[i] + aside, seen.y[i] + side * aside];
      const ends = [end(-far), end(far)];
      const depths = [depth[i], depth[i]];
      paper.segment(...ends, palette.ground, { width: width + 2, depths });
      paper.segment(...ends, palette.quiet, { width, depths });
    }
  }
}
