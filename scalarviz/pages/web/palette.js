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
    this.colors = given.colors.map(colorOf);
    this.groundColor = colorOf(given.ground);
    this.inkColor = colorOf(given.ink);
    this.trayColor = colorOf(given.tray);
    this.channelColors = given.channels.map(colorOf);
  }

  /** The color of a number; magenta, which is in no map, for none. */
  map(value, scale = 1) {
    const { places, colors } = this;
    const x = value / scale;
    if (Number.isNaN(x)) return [...this.unknown];
    const place = Math.sign(x) * Math.min(Math.abs(x), 1) ** this.power;
    const next = Math.max(
      1,
      places.findIndex((each) => each >= place),
    );
    const part = (place - places[next - 1]) / (places[next] - places[next - 1]);
    return mixedColor(colors[next - 1], colors[next], part);
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

/** The table that the cubes' shader takes: colors of -1 to 1. */
export function colorTable(palette, shader) {
  const count = shader.colors;
  const found = new Uint8Array(4 * count).fill(255);
  for (let i = 0; i < count; i++) {
    const color = palette.map(-1 + (2 * i) / (count - 1));
    color.forEach((each, k) => (found[4 * i + k] = Math.round(255 * each)));
  }
  return found;
}
