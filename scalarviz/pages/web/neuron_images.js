// Neurons as images: feature maps, one for each channel; squares with what each computes; and
// colors. As scene/neuron_images.py.

import { colorOf } from "./palette.js";
import { short } from "./story/decimals.js";
import { inputsOn } from "./plane_exhibit.js";

const MAPS = {
  numbered: 12, // letters of channel numbers, and least pixels between two images for them
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
  const bright = isLit ? 1 : lit.brightOf(line, 0);
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
    palette.heatAt((value || 0) / (Math.max(tops[Math.floor(i / each)], faint) || 1)),
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
  const sides = [seen.x, seen.y].map(([first, right, down]) => {
    const ends = [first, right, down, right + down - first];
    return Math.max(...ends) - Math.min(...ends);
  });
  const size = MAPS.numbered * paper.scale;
  if (!(seen.y[3] - seen.y[0] - Math.max(...sides) >= size)) return;
  for (let i = 0; i < channels; i++) {
    const [x, y] = [seen.x[3 * i + 2], seen.y[3 * i + 2]];
    paper.text(x, y + size, String(i), { size, color: palette.quiet, depth: seen.depth[3 * i] });
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

// What each neuron computes over all places of the inputs, in its square.

/** The maps of all neurons: `values` by buffer, neuron by neuron in rows from the top, or curves. */
export class NeuronMaps {
  /**
   * scene   of the page
   * survey  returns a promise of the numbers of all neurons for some inputs, see `Engine.survey`
   */
  constructor(scene, survey) {
    Object.assign(this, { survey, known: scene.maps, inputs: scene.inputs });
    const { axes, features } = this.known.places;
    this.isPlane = features.length > 0 || axes.length === 2;
    [this.axis] = axes; // the input of curves
    this.now = null;
    this.of = []; // what the maps depend on
    this.isAsking = false;
    this.next = 0; // when new ones are due while it plays
  }

  /** Ask for the maps of a state; an input that is pointed at is that of curves from now on. */
  async follow(state, pointed, change) {
    const { known, isPlane } = this;
    const { places } = known;
    const [name, place] = pointed ?? [];
    if (name === this.inputs && places.low[place] < places.high[place]) this.axis = place;
    const of = isPlane ? [state.value] : [state.value, this.axis, ...(state.inputs ?? [])];
    const start = performance.now();
    const waits = this.isAsking || (state.playing && start < this.next);
    if (waits || !known.side || !state.inputs || isSame(of, this.of)) return;
    this.isAsking = true;
    const found = await this.survey(inputsOn(this.where(state), known.side));
    this.isAsking = false;
    const took = Math.min(performance.now() - start, known.longest);
    this.next = performance.now() + Math.max(known.apart, known.rest * took);
    if (!found) return;
    this.of = of;
    const paints = known.paints && paintsOf(known.paints, state.value);
    this.now = { values: this.cut(found), isPlane, axis: this.axis, paints };
    change();
  }

  /** The plane, or the line along one input; the others are as in the sample that is shown. */
  where({ inputs }) {
    const { places } = this.known;
    if (this.isPlane) return places;
    const [low, high] = [[places.low[this.axis]], [places.high[this.axis]]];
    return { ...places, rest: inputs, axes: [this.axis], low, high };
  }

  /** The numbers of each neuron, by buffer. */
  cut(found) {
    const { side, buffers } = this.known;
    const cells = this.isPlane ? side * side : 2 * side;
    let at = 0;
    const own = () => found.subarray(at, (at += cells));
    return Object.fromEntries(
      buffers.map(([name, size]) => [name, Array.from({ length: size }, own)]),
    );
  }

  /** Where the inputs of a sample lie, from 0 to 1 to the right and up; null for features. */
  dot(state) {
    const { axes, low, high, features } = this.where(state);
    if (!state.inputs || features.length) return null;
    return axes.map((axis, k) => (state.inputs[axis] - low[k]) / (high[k] - low[k]));
  }
}

function isSame(one, other) {
  return one.length === other.length && one.every((each, i) => each === other[i]);
}

/** What neurons add to red, green and blue, three weights each, by their buffer. */
function paintsOf({ name, size, first }, value) {
  const own = (i) => [0, 1, 2].map((k) => value[first + k * size + i]);
  return { [name]: Array.from({ length: size }, (_, i) => own(i)) };
}

/** The maps of a buffer as shares of the strongest colors, a little beyond nearly all numbers. */
function partsOf({ values, isPlane }, name, known) {
  const tops = values[name].map((own) => {
    const sizes = Float32Array.from(own, (x) => (Number.isNaN(x) ? 0 : Math.abs(x))).sort();
    const place = (isPlane ? known.percentile : 1) * (sizes.length - 1);
    const [low, high] = [sizes[Math.floor(place)], sizes[Math.ceil(place)]];
    return known.beyond * (low + (place % 1) * (high - low));
  });
  const faint = known.faint * Math.max(0, ...tops);
  return values[name].map((own, i) => {
    const top = Math.max(tops[i], faint) || 1;
    return Float32Array.from(own, (each) => each / top);
  });
}

/** The maps of a buffer as one image, beside and below each other. */
export function imageOf(maps, name, { heat, ground }, known) {
  const key = `${name} ${ground}`;
  maps.images ??= new Map();
  if (maps.images.has(key)) return maps.images.get(key);
  const [own, paints, side] = [partsOf(maps, name, known), maps.paints?.[name], known.side];
  const across = Math.ceil(Math.sqrt(own.length));
  const [width, height] = [across * side, Math.ceil(own.length / across) * side];
  const bytes = new Uint8Array(4 * width * height).fill(255);
  const middle = (heat.length / 3 - 1) / 2;
  own.forEach((parts, i) => {
    const tint = paints && shares(paints[i]);
    const [left, top] = [(i % across) * side, Math.floor(i / across) * side];
    parts.forEach((each, cell) => {
      const part = Math.min(1, Math.max(-1, each || 0));
      const at = 4 * ((top + Math.floor(cell / side)) * width + left + (cell % side));
      const shade = 3 * Math.round(middle + part * middle);
      for (let k = 0; k < 3; k++) bytes[at + k] = tint ? paintOf(part * tint[k]) : heat[shade + k];
    });
  });
  const image = { width, height, bytes, across, smooth: true };
  maps.images.set(key, image);
  return image;
}

function shares(weights) {
  const top = Math.max(...weights.map(Math.abs)) || 1;
  return weights.map((each) => each / top);
}

/** What a neuron adds to a channel, as a byte; grey is nothing. */
function paintOf(part) {
  return Math.round(255 * (part > 0 ? 0.16 + 0.84 * part ** 0.8 : 0.16 + 0.14 * part));
}

/** The buffer whose maps stand in the squares of a line; "" without. */
export function mapOf(line, { maps, values }) {
  const isWhole = values[line.values]?.length === line.count || !(line.sums in values);
  const name = isWhole ? line.values : line.sums;
  return maps && name in maps.values && name in values ? name : "";
}

/** Draw each neuron of a line as a square with its map or curve; return whether it has one. */
export function drawSquares(view, line, seen, good) {
  const { paper, palette, frame, lit, scale } = view;
  const { maps, scene, values } = frame;
  const [known, name] = [scene.maps, mapOf(line, frame)];
  const [held, count] = [heldBy(line, frame), name ? values[name].length : 0];
  const fills = count < line.count ? paintedLine(line, frame, palette) : [];
  const hues = [-known.hue, known.hue].map((part) => palette.heatAt(part));
  const curves = name && !maps.isPlane ? partsOf(maps, name, known) : null;
  const image = name && maps.isPlane ? imageOf(maps, name, palette, known) : null;
  for (const i of good) {
    const [x, y, depth, half] = [seen.x[i], seen.y[i], seen.depth[i], line.radius * seen.unit[i]];
    const square = [x - half, y - half, 2 * half, 2 * half];
    const [bright, radius] = [lit.brightOf(line, i), Math.max(3, known.round * half)];
    const fill = i < count ? palette.heatAt(0) : (fills[i] ?? palette.trayColor);
    if (curves || i >= count) paper.box(...square, fill, { radius, depth });
    let dot = maps?.dot && [x + half * (2 * maps.dot[0] - 1), y - half * (2 * maps.dot[1] - 1)];
    if (curves && i < count) {
      dot = drawCurve(view, curves[i], [x, y, known.plot * half, depth], maps.dot);
    } else if (i < count) {
      const corners = [x - half, y - half, x + half, y - half, x - half, y + half];
      paper.image(corners, image, partIn(image, i, known.side), [depth, depth], radius);
    }
    const hue = i < held.length ? hues[held[i] < 0 ? 0 : 1] : palette.groundColor;
    const rim = [...palette.faded(hue, bright), known.rim];
    const veil = [...palette.groundColor, 1 - bright];
    paper.box(...square, veil, { radius, depth, outline: rim, line: scale });
    const isFew = line.count <= known.dots && half > known.least * scale;
    if (!dot || i >= count || !isFew) continue;
    const size = Math.max(known.small * scale, known.dot * half);
    const inside = (at, middle) =>
      middle + Math.max(size - half, Math.min(half - size, at - middle));
    const look = { outline: known.dark, line: 0.4 * size, depth };
    const shown = palette.faded(colorOf(known.shown), bright);
    paper.disc(inside(dot[0], x), inside(dot[1], y), size, shown, look);
  }
  return count > 0;
}

export function partIn({ width, height, across }, i, side) {
  const [x, y] = [(i % across) * side, Math.floor(i / across) * side];
  const last = side - 0.5;
  return [(x + 0.5) / width, (y + 0.5) / height, (x + last) / width, (y + last) / height];
}

/** Draw the curve of a neuron; return the place of the shown sample on it. */
function drawCurve({ paper, palette, frame, scale }, parts, [x, y, reach, depth], dot) {
  const depths = [depth, depth];
  paper.segment([x - reach, y], [x + reach, y], palette.faint, { depths });
  const last = parts.length - 1;
  const at = (k) => [x + reach * ((2 * k) / last - 1), y - reach * parts[k]];
  const width = frame.scene.maps.curve * scale;
  for (let k = 0; k < last; k++) {
    const hue = palette.map(Math.sign(parts[k] + parts[k + 1]));
    paper.segment(at(k), at(k + 1), hue, { width, depths });
  }
  if (!dot) return null;
  const place = Math.min(last, Math.max(0, dot[0] * last));
  const before = Math.min(last - 1, Math.floor(place));
  const share = place - before;
  const value = parts[before] + share * (parts[before + 1] - parts[before]);
  return [x + reach * (2 * dot[0] - 1), y - reach * value];
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
