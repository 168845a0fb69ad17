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
    this.on_faces = given.on_faces;
    this.borders = given.borders;
    [this.negative, this.zero, this.positive] = given.ends.map(colorOf);
    this.colors = given.colors.map(colorOf);
    this.answers = [given.answers[0], given.answers[1].map(colorOf)];
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
    return colorBetween(places, colors, place);
  }

  /** The color of an answer such as yes and no, for a part of the strongest ones. */
  answer(part) {
    if (Number.isNaN(part)) return [...this.unknown];
    const place = Math.sign(part) * Math.min(Math.abs(part), 1);
    return colorBetween(...this.answers, place);
  }

  /** The color of a map for a part of the strongest numbers, from -1 to 1. */
  heatAt(part) {
    const place = 3 * Math.round(((this.heat.length / 3 - 1) * (1 + part)) / 2);
    return [0, 1, 2].map((k) => this.heat[place + k] / 255);
  }

  /** The color of a number on the face of its cube; `share` of the strongest one. */
  on_face(share) {
    return this.on_faces[Number(Math.abs(share) >= this.borders[Number(share > 0)])];
  }

  /** A color mixed with the ground. */
  faded(color, bright) {
    return mixedColor(this.groundColor, color, bright);
  }
}

/** The color of a place among others with colors, in ascending order. */
export function colorBetween(places, colors, place) {
  const next = 1 + places.slice(1).findIndex((each) => each >= place);
  const part = (place - places[next - 1]) / (places[next] - places[next - 1]);
  return mixedColor(colors[next - 1], colors[next], part);
}

/** A color between two others. */
export function mixedColor(first, last, part) {
  return [0, 1, 2].map((k) => first[k] + part * (last[k] - first[k]));
}

/** The bytes of colors of -1 to 1, four of each, and last that of NaN. */
export function colorTable(palette, count) {
  const all = Array.from({ length: count }, (_, i) => palette.map(-1 + (2 * i) / (count - 1)));
  const bytes = [...all, palette.map(NaN)].flatMap((color) => [...color, 1]);
  return Uint8Array.from(bytes, (each) => Math.round(255 * each));
}
