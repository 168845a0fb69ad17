// The tray of a neuron whose cubes stand nowhere: its strongest inputs and weights, on a card; as
// scene/tray_card.py.

import { Box } from "./story/camera.js";
import { short, typeset } from "./story/decimals.js";
import { imageOf, mapOf, paintedLine, partIn } from "./neuron_images.js";
import { bracket } from "./story/annotations.js";
import { neuronBox } from "./marks.js";
import { chosen_neurons, chosen_rows } from "./story/focus.js";
import { text } from "./texts.js";

const TRAY = {
  pairs: 16, // on the card, columns of them, and with numbers
  columns: 4,
  written: 4,
  pair: [68, 46], // pixels of a pair, of its square and its cube
  square: 32,
  cube: 26,
  pad: 18, // margins, rows of words, and letters
  title: 44,
  foot: 40,
  letters: 12,
  largest: 0.8, // most of a picture that the card takes
  deep: [0.26, 0.2], // how far the rear of a cube stands out, in its sides
  faces: [0.94, 1.13, 0.62], // light on front, top and side
};

/** Draw the tray of what is hovered, pinned or explained; `corner` says where it is if not on its neuron. */
export function drawTray(view, corner) {
  const { paper, palette, frame } = view;
  const found = trayOf(frame);
  if (!found) return [];
  const [fan, unit] = found;
  const columns = Array.from({ length: fan.inputs_count }, (_, column) => column);
  const weight = (column) => frame.weights[fan.row_of(unit, column)] || 0;
  columns.sort((a, b) => Math.abs(weight(b)) - Math.abs(weight(a)));
  const [shown, [wide, high]] = [columns.slice(0, TRAY.pairs), TRAY.pair];
  const rows = Math.ceil(shown.length / TRAY.columns);
  const whole = [2 * TRAY.pad + TRAY.columns * wide, TRAY.title + rows * high + TRAY.foot];
  const fits = [paper.width, paper.height].map((each, k) => (TRAY.largest * each) / whole[k]);
  const scale = Math.min(paper.scale, ...fits);
  const target = neuronBox(view, [frame.layout.neurons[fan.after].values, unit]);
  const box = corner(target, ...whole.map((each) => scale * each));
  if (target) paper.segment(...target.shortest(box), palette.lit, { width: 1.3 * scale });
  const look = { radius: 10 * scale, outline: palette.rim };
  paper.box(box.x, box.y, box.width, box.height, palette.panel.slice(0, 7), look);
  const size = TRAY.letters * Math.max(1, scale);
  const [left, count] = [box.x + TRAY.pad * scale, fan.inputs_count];
  const title = paper.fit(text("tray.title", { count }), box.right - left, { size, bold: true });
  paper.text(left, box.y + 26 * scale, title, { size, bold: true, color: palette.ink });
  const pairs = shown.map((column, i) => {
    const [x, y] = [left + (i % TRAY.columns) * wide * scale, Math.floor(i / TRAY.columns) * high];
    const top = box.y + (TRAY.title + y) * scale;
    const row = fan.row_of(unit, column);
    const own = new Box(x, top, 0.95 * wide * scale, TRAY.square * scale);
    const part = Math.min(1, Math.max(-1, weight(column) / frame.sizeScaleAt(row)));
    drawInput(view, fan, column, own);
    drawCube(view, x + 47 * scale, top + 30 * scale, TRAY.cube * scale, part);
    const isChosen = chosen_rows(frame).includes(row);
    if (isChosen) bracket(paper, own, palette.lit);
    const ink = { size, bold: true, anchor: "center", color: palette.map(part) };
    if (i < TRAY.written || isChosen)
      paper.text(x + 47 * scale, top + 43 * scale, typeset(short(weight(column))), ink);
    return { box: own, row };
  });
  const rest = count - shown.length;
  const words =
    (rest ? text("tray.rest", { count: rest }) : "") + (fan.biases < 0 ? "" : text("tray.bias"));
  paper.text(left, box.bottom - 14 * scale, words, { size, color: palette.quiet });
  return pairs;
}

/** The sums and the unit that are hovered, pinned or explained, whose cubes stand nowhere. */
function trayOf(frame) {
  const { layout, told } = frame;
  const spoken = frame.is_upright ? told.neurons : [];
  const neurons = [...chosen_neurons(frame), ...spoken].map((each) => layout.fan_into(each));
  const rows = chosen_rows(frame).map((row) => layout.fan_of(row));
  return [...neurons, ...rows].find((each) => each?.[0].is_direct) ?? null;
}

/** Draw the square of an input, or its number as a color where there are no maps. */
function drawInput({ paper, palette, frame }, fan, column, { x, y, height: side }) {
  const line = frame.layout.neurons[fan.before];
  const name = mapOf(line, frame);
  if (name && frame.maps.isPlane) {
    const known = frame.scene.maps;
    const image = imageOf(frame.maps, name, palette, known);
    const part = partIn(image, column, known.side);
    paper.image([x, y, x + side, y, x, y + side], image, part, [-1, -1], 4);
  } else {
    const fill = paintedLine(line, frame, palette)[column] ?? palette.trayColor;
    paper.box(x, y, side, side, fill, { radius: 4 });
  }
}

/** Draw a small cube by its middle, foot, largest side and part of the scale. */
export function drawCube({ paper, palette, frame }, middle, foot, largest, part) {
  const side = largest * Math.max(Math.cbrt(Math.abs(part)), frame.scene.shader.least);
  const [left, top] = [middle - side / 2, foot - side];
  const [right, high] = TRAY.deep.map((each) => each * side);
  const faces = [
    [left, top, left + side, top, left, foot],
    [left + right, top - high, left + right + side, top - high, left, top],
    [left + side, top, left + side + right, top - high, left + side, foot],
  ];
  faces.forEach((corners, i) => {
    const color = palette.map(part).map((each) => Math.min(255, 255 * each * TRAY.faces[i]));
    const image = { width: 1, height: 1, bytes: Uint8Array.of(...color, 255) };
    paper.image(corners, image, [0.5, 0.5, 0.5, 0.5], [-1, -1]);
  });
}
