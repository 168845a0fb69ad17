// Feature maps: neurons drawn as images, one for each channel; as scene/neuron_images.py.

import { colorOf } from "./colors.js";
import { shortNumber } from "./formats.js";
import { crossOut, flowsOf, droppedIn, paintedNeurons } from "./neuron_colors.js";

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
    paper.text(seen.x[i], seen.y[i] + 0.36 * size, shortNumber(frame.values[name][i]), look);
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
