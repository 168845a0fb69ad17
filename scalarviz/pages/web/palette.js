// Colors as red, green and blue from 0 to 1; as scene/canvas/palette.py.

/** Return the color for "#rrggbb" or "#rrggbbaa". */
export function colorOf(name) {
  const found = [];
  for (let i = 1; i < name.length; i += 2) found.push(parseInt(name.slice(i, i + 2), 16) / 255);
  return found;
}

/** The colors of a theme, and its color map for numbers. */
export class Palette {
  constructor(given) {
    Object.assign(this, given);
    this.on_faces = given.on_faces;
    this.borders = given.borders;
    [this.negative, this.zero, this.positive] = given.ends.map(colorOf);
    this.signs = [given.ends[0], given.ends[2]];
    this.colors = given.colors.map(colorOf);
    this.answers = [given.answers[0], given.answers[1].map(colorOf)];
    this.groundColor = colorOf(given.ground);
    this.inkColor = colorOf(given.ink);
    this.trayColor = colorOf(given.tray);
    this.channelColors = given.channels.map(colorOf);
    const [quiet, lit, back] = [given.wire, given.lit, given.accent].map(colorOf);
    this.lineColors = [quiet, this.positive, this.negative, ...this.channelColors, lit, back];
  }

  /** Return the color of a number; magenta, which is not in any color map, for NaN. */
  map(value, scale = 1) {
    const { places, colors } = this;
    const x = value / scale;
    if (Number.isNaN(x)) return [...this.unknown];
    const place = Math.sign(x) * Math.min(Math.abs(x), 1) ** this.power;
    return colorBetween(places, colors, place);
  }

  /** Return the color of an output such as yes or no, from -1 to 1. */
  answer(part) {
    if (Number.isNaN(part)) return [...this.unknown];
    const place = Math.sign(part) * Math.min(Math.abs(part), 1);
    return colorBetween(...this.answers, place);
  }

  /** Return the color in a map of outputs for a number from -1 to 1. */
  heatAt(part) {
    const place = 3 * Math.round(((this.heat.length / 3 - 1) * (1 + part)) / 2);
    return [0, 1, 2].map((k) => this.heat[place + k] / 255);
  }

  /** Return the color of a number written on its cube; `share` is the number from -1 to 1. */
  on_face(share) {
    return this.on_faces[Number(Math.abs(share) >= this.borders[Number(share > 0)])];
  }

  /** Return a color mixed with the background color. */
  faded(color, bright) {
    return mixedColor(this.groundColor, color, bright);
  }
}

/** Interpolate the color at a position, given colors at ascending positions. */
export function colorBetween(places, colors, place) {
  const next = 1 + places.slice(1).findIndex((each) => each >= place);
  const part = (place - places[next - 1]) / (places[next] - places[next - 1]);
  return mixedColor(colors[next - 1], colors[next], part);
}

/** Return a color between two others. */
export function mixedColor(first, last, part) {
  return [0, 1, 2].map((k) => first[k] + part * (last[k] - first[k]));
}

/** Return the colors of numbers from -1 to 1 as four bytes each, and last the color of NaN. */
export function colorTable(palette, count) {
  const all = Array.from({ length: count }, (_, i) => palette.map(-1 + (2 * i) / (count - 1)));
  const bytes = [...all, palette.map(NaN)].flatMap((color) => [...color, 1]);
  return Uint8Array.from(bytes, (each) => Math.round(255 * each));
}

/** Return "#rrggbb", mixed with a part of another one. */
export function mixed(color, other, part) {
  return hexOf(mixedColor(colorOf(color), colorOf(other), part));
}

/** Return a color such as "#rrggbb" with an opacity from 0 to 1. */
export function with_opacity(color, part) {
  return hexOf([...colorOf(color.slice(0, 7)), part]);
}

function hexOf(parts) {
  const bytes = parts.map((part) => Math.round(255 * part).toString(16));
  return `#${bytes.map((each) => each.padStart(2, "0")).join("")}`;
}
