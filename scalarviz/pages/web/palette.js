// Colors as red, green and blue from 0 to 1; as scene/canvas/palette.py.

/** The color of "#rrggbb" or "#rrggbbaa". */
export function colorOf(name) {
  const found = [];
  for (let i = 1; i < name.length; i += 2) found.push(parseInt(name.slice(i, i + 2), 16) / 255);
  return found;
}

/** The colors of a theme, with its map from numbers to colors. */
export class Palette {
  constructor(given) {
    Object.assign(this, given);
    [this.negative, this.zero, this.positive] = given.ends.map(colorOf);
    this.groundColor = colorOf(given.ground);
    this.inkColor = colorOf(given.ink);
    this.trayColor = colorOf(given.tray);
  }

  /** The color of a number; magenta, which is in no map, for none. */
  map(value, scale = 1) {
    const x = value / scale;
    if (Number.isNaN(x)) return [...this.unknown];
    const strength = Math.min(Math.abs(x), 1) ** this.power;
    const end = x < 0 ? this.negative : this.positive;
    return this.zero.map((each, k) => each + strength * (end[k] - each));
  }

  /** The color of a map for a part of the strongest numbers, from -1 to 1. */
  heatAt(part) {
    const place = 3 * Math.round(((this.heat.length / 3 - 1) * (1 + part)) / 2);
    return [0, 1, 2].map((k) => this.heat[place + k] / 255);
  }

  /** A color mixed with the ground. */
  faded(color, bright) {
    return mixedColor(this.groundColor, color, bright);
  }
}

/** A color between two others. */
export function mixedColor(first, last, part) {
  return [0, 1, 2].map((k) => first[k] + part * (last[k] - first[k]));
}

function luminance(color) {
  const [r, g, b] = color.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** The contrast ratio of two colors, from 1 to 21. */
export function contrastOf(a, b) {
  const [first, last] = [luminance(a), luminance(b)];
  return (Math.max(first, last) + 0.05) / (Math.min(first, last) + 0.05);
}

/** A color mixed with the ground to a part, as far as it keeps a contrast with it. */
export function dimmedColor(color, ground, part, least) {
  const standsOut = (each) => contrastOf(mixedColor(ground, color, each), ground) >= least;
  let [low, high] = [part, standsOut(part) ? part : 1];
  for (let i = 0; i < 12; i++) {
    const middle = 0.5 * (low + high);
    if (standsOut(middle)) high = middle;
    else low = middle;
  }
  return mixedColor(ground, color, high);
}

/** The table that the cubes' shader takes: colors of -1 to 1, and below them the dimmed ones. */
export function colorTable(palette, shader) {
  const count = shader.colors;
  const found = new Uint8Array(2 * 4 * count).fill(255);
  for (let i = 0; i < count; i++) {
    const color = palette.map(-1 + (2 * i) / (count - 1));
    const dim = dimmedColor(color, palette.groundColor, shader.dim, shader.contrast);
    color.forEach((each, k) => (found[4 * i + k] = Math.round(255 * each)));
    dim.forEach((each, k) => (found[4 * (count + i) + k] = Math.round(255 * each)));
  }
  return found;
}
