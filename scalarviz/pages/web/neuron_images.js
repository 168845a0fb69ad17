// Neurons as images: feature maps, one for each channel; squares with what each computes; and
// colors. As scene/neuron_images.py.

import { colorOf } from "./palette.js";
import { short } from "./story/decimals.js";
import { inputsOn, sameNumbers } from "./plane_exhibit.js";
import { text } from "./texts.js";

const MAPS = {
  written: 34, // pixels for a number on a pixel of an image
  mostWritten: 600,
  crossed: 5, // pixels for crossing out a dropped number
};

/** Draw an image for each channel: the outputs, or the sums while there are no outputs. */
export function drawMaps(view, line) {
  const { see, frame, palette, lit, paper } = view;
  const seen = see.see(line.corners());
  const [channels] = line.shape;
  const isGood = (i) => [0, 1, 2].every((k) => Number.isFinite(seen.x[3 * i + k]));
  const good = [...Array(channels).keys()].filter(isGood);
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
    const image = tiledMaps(shown, line);
    good.forEach((i, k) => paper.image(corners[k], image, partIn(image, i, 0), depths[k]));
  }
  const rim = palette.faded(colorOf(palette.quiet), 0.7 * bright);
  corners.forEach((corner, i) => frameMap(paper, corner, rim, depths[i]));
  writeOnMaps(view, line, name, left);
}

/** Join the images of a line to one image, given the colors of their pixels. */
function tiledMaps(colors, { shape: [channels, high, wide] }) {
  const byteOf = (i, cell, k) => Math.round(255 * colors[i * high * wide + cell][k]);
  return tiled(channels, wide, high, byteOf);
}

/** Return the color of each pixel: its true color, or from its number on the map's own scale. */
function paintedMaps(name, line, frame, palette) {
  if (name in frame.scene.tints) return paintedNeurons(name, frame, palette);
  const values = frame.values[name];
  const each = values.length / line.shape[0];
  const maps = Array.from({ length: line.shape[0] }, (_, i) =>
    values.slice(i * each, (i + 1) * each),
  );
  const parts = partsOf(maps, 1, 1, frame.scene.maps.faint);
  return parts.flatMap((own) => Array.from(own, (part) => palette.heatAt(part || 0)));
}

/** Return the depths of the left and right sides of an image. */
function mapDepths(seen, i) {
  const half = 0.5 * (seen.depth[3 * i + 2] - seen.depth[3 * i]);
  return [seen.depth[3 * i] + half, seen.depth[3 * i + 1] + half];
}

/** Draw a thin frame around an image. */
function frameMap(paper, corners, color, /** @type {number[]} */ [left, end]) {
  const [x, y, right, top, down, low] = corners;
  const ends = [[x, y], [right, top], [right + down - x, top + low - y], [down, low], [x, y]]; // prettier-ignore
  paper.path(ends, [left, end, end, left, left], color, 1);
}

/** Cross out dropped neurons, and write numbers if the pixels are large enough. */
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

/** The maps of all neurons over the inputs, or their curves over one input. */
export class NeuronMaps {
  /**
   * scene   scene of the page
   * survey  function that returns a promise of all neurons' values for inputs, see `Engine.survey`
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

  /** Request the maps of a state; pointing at an input makes it the axis of curves. */
  async follow(state, pointed, change) {
    const { known, isPlane } = this;
    const { places } = known;
    const [name, place] = pointed ?? [];
    if (name === this.inputs && places.low[place] < places.high[place]) this.axis = place;
    const of = isPlane ? [state.value] : [state.value, this.axis, ...(state.inputs ?? [])];
    const start = performance.now();
    const waits = this.isAsking || (state.playing && start < this.next);
    if (waits || !known.side || !state.inputs || sameNumbers(of, this.of)) return;
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

  /** Return the plane of inputs, or the line along one input through the shown sample. */
  where({ inputs }) {
    const { places } = this.known;
    if (this.isPlane) return places;
    const [low, high] = [[places.low[this.axis]], [places.high[this.axis]]];
    return { ...places, rest: inputs, axes: [this.axis], low, high };
  }

  /** Return the numbers of each neuron, by buffer. */
  cut(found) {
    const { side, buffers } = this.known;
    const cells = this.isPlane ? side * side : 2 * side;
    let at = 0;
    const own = () => found.subarray(at, (at += cells));
    return Object.fromEntries(
      buffers.map(([name, size]) => [name, Array.from({ length: size }, own)]),
    );
  }

  /** Return the position of a sample on the map, from 0 to 1 right and up; null for features. */
  dot(state) {
    const { axes, low, high, features } = this.where(state);
    if (!state.inputs || features.length) return null;
    return axes.map((axis, k) => (state.inputs[axis] - low[k]) / (high[k] - low[k]));
  }
}

/** Return the weights of each neuron for red, green and blue, by buffer. */
function paintsOf({ name, size, first }, value) {
  const own = (i) => [0, 1, 2].map((k) => value[first + k * size + i]);
  return { [name]: Array.from({ length: size }, (_, i) => own(i)) };
}

/** Scale maps for display; 1 is `beyond` times the quantile `share` of a map's magnitudes. */
function partsOf(maps, share, beyond, faint) {
  const tops = maps.map((own) => {
    const sizes = Float32Array.from(own, (x) => (Number.isFinite(x) ? Math.abs(x) : 0)).sort();
    const place = share * (sizes.length - 1);
    const [low, high] = [sizes[Math.floor(place)], sizes[Math.ceil(place)]];
    return beyond * (low + (place % 1) * (high - low));
  });
  const least = faint * Math.max(0, ...tops);
  return maps.map((own, i) => {
    const top = Math.max(tops[i], least) || 1;
    return Float32Array.from(own, (each) => each / top);
  });
}

/** Return the scaled maps of a buffer; curves are scaled to be completely visible. */
function mapParts({ values, isPlane }, name, { percentile, beyond, faint }) {
  return partsOf(values[name], isPlane ? percentile : 1, beyond, faint);
}

/** Return the maps of a buffer as one image. */
function imageOf(maps, name, { heat, ground }, known) {
  const key = `${name} ${ground}`;
  maps.images ??= new Map();
  if (maps.images.has(key)) return maps.images.get(key);
  const [own, side] = [mapParts(maps, name, known), known.side];
  const tints = maps.paints?.[name]?.map(shares);
  const middle = (heat.length / 3 - 1) / 2;
  const image = tiled(own.length, side, side, (i, cell, k) => {
    const part = Math.min(1, Math.max(-1, own[i][cell] || 0));
    if (tints) return paintOf(part * tints[i][k], heat[3 * middle + k]);
    return heat[3 * Math.round(middle + part * middle) + k];
  });
  maps.images.set(key, Object.assign(image, { smooth: true }));
  return image;
}

/** Join `count` images to one image with several rows; `byteOf` returns the bytes of colors. */
function tiled(count, wide, high, byteOf) {
  const across = Math.ceil(Math.sqrt(count));
  const [width, height] = [across * wide, Math.ceil(count / across) * high];
  const bytes = new Uint8Array(4 * width * height).fill(255);
  for (let at = 0; at < count * wide * high; at++) {
    const i = Math.floor(at / (wide * high));
    const cell = at - i * wide * high;
    const y = Math.floor(i / across) * high + Math.floor(cell / wide);
    const place = 4 * (y * width + (i % across) * wide + (cell % wide));
    for (let k = 0; k < 3; k++) bytes[place + k] = byteOf(i, cell, k);
  }
  return { width, height, bytes, across, wide, high };
}

/** Return the rectangle of one of the joined images, from 0 to 1, without its edges. */
function partIn({ width, height, across, wide, high }, i, edge = 0.5) {
  const [x, y] = [(i % across) * wide, Math.floor(i / across) * high];
  const [right, low] = [x + wide - edge, y + high - edge];
  return [(x + edge) / width, (y + edge) / height, right / width, low / height];
}

function shares(weights) {
  const top = Math.max(...weights.map(Math.abs)) || 1;
  return weights.map((each) => each / top);
}

/** Return the contribution of a neuron to a color channel as a byte; `zero` means none. */
function paintOf(part, zero) {
  return Math.round(part > 0 ? zero + (255 - zero) * part ** 0.8 : zero * (1 + 0.9 * part));
}

/** Return the buffer whose maps are drawn in the squares of a line, or "". */
function mapOf(line, { maps, values }) {
  const isWhole = values[line.values]?.length === line.count || !(line.sums in values);
  const name = isWhole ? line.values : line.sums;
  return maps && name in maps.values && name in values ? name : "";
}

/** Draw small squares with the maps of some neurons of a line, or with their colors. */
export function draw_inputs(paper, line, order, places, side, frame, palette) {
  const name = mapOf(line, frame);
  const known = frame.scene.maps;
  const own = line.isImages && [line.values, line.sums].find((each) => each in frame.values);
  let image = name && frame.maps.isPlane ? imageOf(frame.maps, name, palette, known) : null;
  if (own) image = tiledMaps(paintedMaps(own, line, frame, palette), line);
  const fills = image ? [] : paintedLine(line, frame, palette);
  order.forEach((i, k) => {
    const [x, y] = places[k];
    const corners = [x, y, x + side, y, x, y + side];
    if (image) paper.image(corners, image, partIn(image, i, own ? 0 : 0.5), [-1, -1], own ? 0 : 4);
    else paper.box(x, y, side, side, fills[i] ?? palette.trayColor, { radius: 4 });
  });
}

/** Draw kernels as grids with `across` columns, given their upper left corners. */
export function draw_fields(paper, palette, parts, places, cell, across) {
  const each = Math.max(1, Math.floor(parts.length / places.length));
  parts.forEach((part, i) => {
    const [[x, y], at] = [places[Math.floor(i / each)], i % each];
    const [down, right] = [cell * Math.floor(at / across), cell * (at % across)];
    const [side, radius] = [0.94 * cell, 0.1 * cell];
    paper.box(x + right, y + down, side, side, palette.map(part), { radius });
  });
}

/** Draw each neuron of a line as a square with its map or curve; return whether there are any. */
export function drawSquares(view, line, seen, good) {
  const { paper, palette, frame, lit, scale } = view;
  const { maps, scene, values } = frame;
  const [known, name] = [scene.maps, mapOf(line, frame)];
  const [held, count] = [heldBy(line, frame), name ? values[name].length : 0];
  const fills = count < line.count ? paintedLine(line, frame, palette) : [];
  const hues = [-known.hue, known.hue].map((part) => palette.heatAt(part));
  const curves = name && !maps.isPlane ? mapParts(maps, name, known) : null;
  const image = name && maps.isPlane ? imageOf(maps, name, palette, known) : null;
  const [silent, size] = [name ? silentIn(maps, name) : [], 12 * scale];
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
      paper.image(corners, image, partIn(image, i), [depth, depth], radius);
    }
    const own = line.count <= known.dots ? hues[held[i] < 0 ? 0 : 1] : palette.heatAt(0);
    const hue = i < held.length ? own : palette.groundColor;
    const rim = [...palette.faded(hue, bright), known.rim];
    const veil = [...palette.groundColor, 1 - bright];
    paper.box(...square, veil, { radius, depth, outline: rim, line: scale });
    const isFew = line.count <= known.dots && half > known.least * scale;
    if (silent.includes(i) && line.count <= known.dots && half >= 0.72 * size) {
      const look = { size, color: palette.quiet, anchor: "center", depth };
      paper.text(x, y + 0.36 * size, text("neurons.off"), look);
    }
    if (!dot || i >= count || !isFew || silent.includes(i)) continue;
    const wide = Math.max(known.small * scale, known.dot * half);
    const inside = (at, middle) =>
      middle + Math.max(wide - half, Math.min(half - wide, at - middle));
    const look = { outline: known.dark, line: 0.4 * wide, depth };
    const shown = palette.faded(colorOf(known.shown), bright);
    paper.disc(inside(dot[0], x), inside(dot[1], y), wide, shown, look);
  }
  return count > 0;
}

/** Return the neurons of a buffer that are 0 for all inputs. */
function silentIn(maps, name) {
  maps.silent ??= {};
  const own = maps.values[name];
  return (maps.silent[name] ??= [...own.keys()].filter((i) => own[i].every((x) => x === 0)));
}

/** Draw the curve of a neuron; return the position of the shown sample on it. */
function drawCurve({ paper, palette, frame, scale }, parts, [x, y, reach, depth], dot) {
  paper.line([[x - reach, y], [x + reach, y]], palette.faint, { depth }); // prettier-ignore
  const last = parts.length - 1;
  const at = (k) => [x + reach * ((2 * k) / last - 1), y - reach * parts[k]];
  const width = frame.scene.maps.curve * scale;
  for (let k = 0; k < last; k++) {
    const hue = palette.map(Math.sign(parts[k] + parts[k + 1]));
    paper.line([at(k), at(k + 1)], hue, { width, depth });
  }
  if (!dot) return null;
  const place = Math.min(last, Math.max(0, dot[0] * last));
  const before = Math.min(last - 1, Math.floor(place));
  const share = place - before;
  const value = parts[before] + share * (parts[before + 1] - parts[before]);
  return [x + reach * (2 * dot[0] - 1), y - reach * value];
}

// Colors of neurons, their gradients, and which of them are left out.

/** Return the color of each neuron of a buffer: its true color, or from its number. */
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

/** Return the numbers that a line shows: outputs, and sums of neurons without an output yet. */
export function heldBy(line, { values }) {
  const outputs = Array.from(values[line.values] ?? []);
  return [...outputs, ...Array.from(values[line.sums] ?? []).slice(outputs.length)];
}

/** Return the color of each neuron for which `heldBy` returns a number. */
export function paintedLine(line, frame, palette) {
  const { border, answers, layout } = frame;
  if (border && answers && line === layout.neurons[layout.neurons.length - 1])
    return Array.from(answers, (each) => palette.answer((each - border.middle) / border.reach));
  const colorsOf = (name) =>
    name in frame.values
      ? paintedNeurons(name, frame, palette).slice(0, frame.values[name].length)
      : [];
  const outputs = colorsOf(line.values);
  return [...outputs, ...colorsOf(line.sums).slice(outputs.length)];
}

/** Return the indices of the points in front of the camera. */
export function goodOf(seen) {
  const found = [];
  for (let i = 0; i < seen.x.length; i++) if (Number.isFinite(seen.x[i] + seen.y[i])) found.push(i);
  return found;
}

/** Return which neurons of a line are dropped by dropout, as flags, or null. */
export function droppedIn(line, frame) {
  const name = line.buffers.find((each) => each in frame.left_out);
  return name && line.values in frame.values ? frame.left_out[name] : null;
}

/** Cross out dropped neurons, in gray since colors are reserved for the sign of numbers. */
export function crossOut({ paper, palette }, seen, reach, depth, chosen) {
  for (let i = 0; chosen && i < chosen.length; i++) {
    if (!(chosen[i] > 0) || !Number.isFinite(seen.x[i])) continue;
    const far = 0.707 * reach[i];
    const width = Math.min(3, Math.max(1.2, 0.25 * far));
    for (const side of [1, -1]) {
      const end = (aside) => [seen.x[i] + aside, seen.y[i] + side * aside];
      const ends = [end(-far), end(far)];
      paper.line(ends, palette.ground, { width: width + 2, depth: depth[i] });
      paper.line(ends, palette.quiet, { width, depth: depth[i] });
    }
  }
}
