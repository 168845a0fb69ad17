// Images of the past, drawn on a canvas of the page; as scene/past_images.py.

import { made } from "./dom.js";
import { colorOf, mixedColor } from "./palette.js";

const NEAR_END = 0.02; // of the steps shown: so near the last one, the last moment reaches it
const STRONGEST = 250; // code of a number, also these two
const NOT_KNOWN = 251;
const LOST = 252; // not finite
const LEAST_SHADE = 3; // pixels of the last known number
const STRIPE = 5; // pixels of a stripe of such numbers
const STRIPES = ["#78222e", "#3c0e16"];

/** Draw a row for each tile that shows its numbers over the steps as colors. */
export function draw_tiles({ context }, scales, past, end) {
  const { images, palette } = past;
  const { steps } = past.over_time;
  const near = scales.last - NEAR_END * (scales.last - scales.first);
  const known = Math.max(steps.at(-1), end);
  const last = known > near ? scales.last : known;
  const left = scales.x(steps[0]);
  const wide = Math.max(1, Math.round(scales.x(last) - left));
  const mark = `${wide} ${last} ${palette.ground}`;
  if (images.mark !== mark) Object.assign(images, { mark, canvas: tilesOf(past, last, wide) });
  context.imageSmoothingEnabled = false;
  context.drawImage(images.canvas, left, scales.plot.y, wide, scales.plot.height);
}

/** Draw some rows of codes of a measure over the steps, each up to its last known number: black is
 * exactly 0, striped is not finite. */
export function draw_shades({ context }, scales, { steps, shades }, rows, measure, color, theme) {
  const { plot, first, last } = scales;
  const left = Math.max(plot.x, scales.x(steps[0]));
  const wide = Math.round(plot.right - left);
  if (wide <= 0) return;
  const [ground, hue, ...stripes] = [theme.panel.slice(0, 7), color, ...STRIPES].map(colorOf);
  const colors = Array.from({ length: STRONGEST + 1 }, (_, code) =>
    packed(code ? mixedColor(ground, hue, (code - 1) / (STRONGEST - 1)) : [0, 0, 0]),
  );
  colors[NOT_KNOWN] = packed(ground);
  const lost = stripes.map(packed);
  const each = (last - first) / plot.width;
  const places = Array.from({ length: wide }, (_, j) => first + (left + j - plot.x) * each);
  const moments = places.map((place) =>
    Math.max(
      0,
      steps.findLastIndex((step) => step <= place),
    ),
  );
  const least = LEAST_SHADE * each;
  const after = places.map((place) => steps.findIndex((step) => step >= place - least));
  const image = imageOf(wide, rows.length, (i, j) => {
    const row = rows[i] * steps.length;
    const isKnown = after[j] >= 0 && shades[measure][row + after[j]] !== NOT_KNOWN;
    const code = isKnown ? shades[measure][row + moments[j]] : NOT_KNOWN;
    return code === LOST ? lost[Math.floor(j / STRIPE) % 2] : colors[code];
  });
  context.imageSmoothingEnabled = false;
  context.drawImage(image, left, plot.y, wide, plot.height);
}

/** Draw the map of a mark in a box, if the probe has it. */
export function draw_probe_map(paper, { x, y, right, bottom }, probe, mark, palette) {
  const maps = probe?.[1][mark.words]?.[mark.look] ?? { shape: [0] };
  const [count, height, width] = maps.shape;
  if (mark.size >= count) return;
  const { groundColor, inkColor, ground } = palette;
  const colorAt = (code) => {
    if (mark.look === "attention")
      return mixedColor(groundColor, inkColor, Math.max(0, code) / 127);
    return palette.map(code === -128 ? NaN : code / 127);
  };
  const images = (maps.images ??= {}); // by theme and number
  const size = height * width;
  images[`${ground} ${mark.size}`] ??= {
    ...{ width, height },
    bytes: new Uint8Array(
      Uint32Array.from(maps.subarray(size * mark.size, size * (mark.size + 1)), (code) =>
        packed(colorAt(code)),
      ).buffer,
    ),
  };
  const corners = [x, y, right, y, x, bottom];
  paper.image(corners, images[`${ground} ${mark.size}`], [0, 0, 1, 1], [-1, -1]);
}

/** Return a canvas whose pixels have the colors that `colorAt` returns for row and column. */
function imageOf(width, height, colorAt) {
  const canvas = made("canvas");
  Object.assign(canvas, { width, height });
  const context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  for (let i = 0; i < height; i++)
    for (let j = 0; j < width; j++) pixels[i * width + j] = colorAt(i, j);
  context.putImageData(image, 0, 0);
  return canvas;
}

/** Return a color as an integer for the data of an image. */
function packed(color) {
  const [r, g, b] = color.map((each) => Math.round(255 * each));
  return r | (g << 8) | (b << 16) | (255 << 24);
}

/** Return a canvas with a row of pixels for each tile. */
function tilesOf({ over_time, tiles, scale, palette }, last, wide) {
  const { steps, starts } = over_time;
  const colors = Uint32Array.from(tiles, (number) => packed(palette.map(number, scale)));
  const moments = Array.from({ length: wide }, (_, j) => {
    const step = steps[0] + (j / Math.max(1, wide - 1)) * (last - steps[0]);
    return steps.findLastIndex((each) => each <= step);
  });
  return imageOf(wide, starts.length, (i, j) => colors[i * steps.length + moments[j]]);
}
