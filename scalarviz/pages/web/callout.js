// How an operation is explained in the picture: its sum, its curve, the reason of a gradient; as
// scene/callout.py.

import { Box } from "./story/camera.js";
import { Ball } from "./story/annotations.js";
import * as telling from "./story/telling.js";
import { BACK } from "./story/pace.js";
import { cubeBox, neuronBox } from "./marks.js";
import { drawCube } from "./tray_card.js";

/** Draw how an operation comes to its number; return the boxes that it covers.
 *
 * A sum stands forward on an upright tray, and as bars; an activation has its curve; why a weight
 * is to change is a chain.
 */
export function drawTold(view, taken, cards = []) {
  const { paper, see, frame, palette, scale } = view;
  const { told, part, is_upright } = frame;
  if (told?.chain.length) {
    const things = told.chain.map(({ row, neuron }) =>
      neuron ? neuronBox(view, neuron) : cubeBox(view, row, null),
    );
    const places = telling.chain_places(paper, told.chain, things, see.box);
    telling.draw_chain(paper, palette, told.chain, things, places, part);
    return places;
  }
  const ball = told?.subject ? ballOf(see, frame.layout, told.subject) : null;
  if (!ball) return [];
  const { summed, bent, changes } = told;
  const [minus, , plus] = palette.ends;
  const [back, boxes] = [BACK.has(frame.moment.kind), []];
  const lanes = summed ? lanesOf(view, summed) : [];
  const hasCard = is_upright && frame.layout.fan_into(told.subject)?.[0].is_direct; // see tray_card.js
  const isTold = is_upright && !hasCard;
  const squares = isTold ? squaresOf(view) : null;
  const place = squares ? telling.BEFORE : telling.PLACE;
  const tray = isTold ? telling.stood(lanes, ball, see.box, scale, part, place) : null;
  if (tray) {
    boxes.push(tray.box);
    const cubes = (all) => all.forEach((each) => drawCube(view, ...each));
    const about = [lanes, ball, tray, [minus, plus], part, cubes, squares];
    telling.draw_upright(paper, palette, ...about);
    if (squares) {
      const [left, { y, height }] = [tray.box.right, tray.box];
      return [...boxes, new Box(left, y, ball.x - ball.radius - left, height)];
    }
  }
  const [wide, high] = telling.card_size(told, scale);
  const hasRoom = wide <= see.box.width && high <= see.box.height;
  if (hasCard || part < telling.COME || !hasRoom) return boxes;
  const subject = telling.told_about(ball, scale);
  const spheres = taken.spheres.map((each) => telling.kept_clear(...each.slice(0, 3), scale));
  const rows = summed ? summed.largest.map(({ row }) => row) : frame.cubes.moved[0];
  const own = [neuronBox(view, told.subject), ...rows.map((row) => cubeBox(view, row, null))];
  const others = [...taken.boxes, ...boxes, ...cards, ...spheres, subject.inside(1)];
  others.push(...own.filter(Boolean));
  const box = telling.card_place(wide, high, subject, see.box, others);
  if (!box) return boxes;
  telling.draw_card(paper, palette, box, subject, back);
  const chips = lanes.map((each) => (each.ball ? each.color : null));
  if (summed) telling.draw_bars(paper, palette, summed, chips, box, [minus, plus], part, back);
  else if (changes.length) {
    const colors = changes.map(({ neuron }) => channelOf(view, neuron) ?? palette.ink);
    telling.draw_changes(paper, palette, changes, colors, box, part);
  } else telling.draw_curve(paper, palette, bent, box, [minus, plus], part);
  return [...boxes, box];
}

/** What draws the products of a sum over all places, and their sums so far; null without squares. */
function squaresOf({ paper, palette, frame }) {
  const { maps, told, layout, scene } = frame;
  const { largest, others } = told.summed;
  const [line] = layout.line_of(told.neurons[0]) ?? [];
  const whole = line?.square && maps?.isPlane ? maps.values[line.values]?.[0] : null;
  if (!whole || others !== null) return null;
  const one = new Float32Array(whole.length).fill(1);
  const found = largest.map(({ neuron: [name, place] }) => {
    const own = maps.values[name] ?? [];
    return own[place] ?? (place === own.length ? one : null);
  });
  if (found.some((each) => !each)) return null;
  const products = found.map((own, i) => own.map((each) => largest[i].weight * each));
  const sums = [];
  for (const own of products) sums.push(own.map((each, cell) => each + (sums.at(-1)?.[cell] ?? 0)));
  const top = [...products, ...sums].flatMap((own) =>
    own.reduce((a, b) => Math.max(a, Math.abs(b)), 0),
  );
  const { side } = scene.maps;
  const images = [...products, ...sums].map((own) =>
    imageOfParts(own, Math.max(1e-9, ...top), side, palette),
  );
  return (boxes) =>
    boxes.forEach(({ x, y, right, bottom }, i) => {
      const half = boxes.length / 2;
      const image = images[i < half ? i : products.length + i - half];
      const edge = 0.5 / side;
      const own = [edge, edge, 1 - edge, 1 - edge];
      paper.image([x, y, right, y, x, bottom], image, own, [-1, -1], 4);
    });
}

/** Numbers as an image of `side` times `side` cells. */
function imageOfParts(numbers, top, side, { heat }) {
  const [bytes, middle] = [new Uint8Array(4 * side * side).fill(255), (heat.length / 3 - 1) / 2];
  numbers.forEach((each, cell) => {
    const shade = 3 * Math.round(middle * (1 + Math.min(1, Math.max(-1, each / top || 0))));
    for (let k = 0; k < 3; k++) bytes[4 * cell + k] = heat[shade + k];
  });
  return { width: side, height: side, bytes, smooth: true };
}

/** A neuron as it is seen; null if it is not in the picture. */
function ballOf(see, layout, neuron) {
  const [line, place] = layout.line_of(neuron) ?? [];
  if (!line) return null;
  const { x, y, unit, depth } = see.one(line.point(place));
  const radius = (line.isImages ? 0.5 * line.side : line.radius) * unit;
  return Number.isFinite(x + y) ? new Ball(x, y, radius, depth, unit) : null;
}

/** The products of a sum as they are seen. */
function lanesOf(view, summed) {
  const { see, frame, palette } = view;
  const [minus, , plus] = palette.ends;
  return summed.largest.map(({ neuron, row, number, weight }) => {
    const channel = channelOf(view, neuron);
    const color = channel ?? (number < 0 ? minus : plus);
    const share = weight / (frame.sizeScaleAt(row) || 1);
    return new telling.Lane(
      ballOf(see, frame.layout, neuron),
      color,
      Boolean(channel),
      number,
      weight,
      share,
    );
  });
}

/** The colour of a channel; null for other neurons. */
function channelOf({ frame, palette }, neuron) {
  return neuron && frame.layout.line_of(neuron)?.[0].is_color
    ? palette.channels[neuron[1] % 3]
    : null;
}
