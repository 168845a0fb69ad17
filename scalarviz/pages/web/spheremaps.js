// What each neuron answers over the plane, on its sphere; as stage/stage.py and
// scene/neuron_images.py.

import { readAnswers } from "./formulas.js";

/** The maps of all neurons: `values` by buffer, neuron by neuron in rows from the top. */
export class SphereMaps {
  /**
   * spec    of the page
   * plane   the map of the outputs, see plane_exhibit.js
   * survey  returns a promise of the numbers of all neurons for some inputs, see `Engine.survey`
   */
  constructor(spec, plane, survey) {
    Object.assign(this, { plane, survey, known: spec.scene.maps, outputs: spec.say.outputs });
    this.sizes = Object.entries(spec.say.buffers).map(([name, { size }]) => [name, size]);
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
