// Walking over cubes and neurons by the arrow keys, in the directions of the picture; as
// stage/pointing.py.

import { numberAt } from "./arrays.js";
import { asSentence, neuronName, owns, weightName } from "./names.js";
import { said } from "./formats.js";
import { text } from "./texts.js";

const ASIDE = 2; // how many pixels ahead a pixel aside counts
const AHEAD = 0.5; // pixels
const WALKS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** The way of an arrow key, [x, y]; undefined for other keys. */
export function wayOf(key) {
  return Object.hasOwn(WALKS, key) ? WALKS[key] : undefined;
}

/**
 * Return the nearest cube {row} or neuron {neuron} in a direction; `now` if there is none.
 *
 * layout, see  of the picture; `see.box` is the part of it in which the network is seen
 * now          where one is; null: in the middle of the box
 * way          of `wayOf`; null: the nearest one
 */
export function nextTarget(layout, see, now, way = null) {
  const { box } = see;
  const places = placesSeen(layout, see);
  if (!places.length) return now;
  const here = now && places.find((each) => isSameThing(each.thing, now));
  const [x, y] = here ? [here.x, here.y] : [box.x + box.width / 2, box.y + box.height / 2];
  const cost = (each) => {
    const [right, down] = [each.x - x, each.y - y];
    if (!here || !way) return Math.hypot(right, down);
    const ahead = right * way[0] + down * way[1];
    const aside = Math.abs(right * way[1] + down * way[0]);
    return ahead > AHEAD && aside <= ahead ? ahead + ASIDE * aside : Infinity;
  };
  const best = places.reduce((found, each) => (cost(each) < cost(found) ? each : found));
  return cost(best) < Infinity ? best.thing : now;
}

/** Return all cubes and neurons whose middle is seen in the box: {thing, x, y}. */
function placesSeen(layout, see) {
  const { box } = see;
  const found = [];
  const add = (points, thingOf) => {
    const { x, y } = see.see(points);
    for (let i = 0; i < x.length; i++) {
      const isIn = x[i] >= box.x && x[i] <= box.right && y[i] >= box.y && y[i] <= box.bottom;
      if (isIn) found.push({ thing: thingOf(i), x: x[i], y: y[i] });
    }
  };
  for (const plate of layout.plates) {
    const { indices } = plate.cells();
    add(plate.middles(), (i) => ({ row: indices[i] }));
  }
  for (const line of layout.neurons) {
    const places = placesOfLine(line);
    const points = Float64Array.from(places.flatMap((place) => [...line.point(place)]));
    add(points, (i) => ({ neuron: [line.values || line.sums, places[i]] }));
  }
  return found;
}

/** Return the places of a line to walk to: of an image, its middle. */
function placesOfLine(line) {
  if (!line.isImages) return Array.from({ length: line.count + (line.one ? 1 : 0) }, (_, i) => i);
  const [channels, height, width] = line.shape;
  const middle = Math.floor(height / 2) * width + Math.floor(width / 2);
  return Array.from({ length: channels }, (_, channel) => channel * height * width + middle);
}

export function isSameThing(one, other) {
  if (!one || !other) return one === other;
  return one.row === other.row && String(one.neuron) === String(other.neuron);
}

/** Return the name of a cube or neuron with its value, for screen readers. */
export function spokenOf(say, layout, state, { row = -1, neuron = null }) {
  if (!neuron) {
    const operation = say.operations.find((each) => owns(each, row));
    return spokenWith(asSentence(weightName(say, operation, row)), numberAt(state, row));
  }
  const [name, place] = neuron;
  const line = layout.lineOf(neuron);
  if (line && place >= line.count) return spokenWith(asSentence(text("walls.bias")), 1);
  const known = [line?.values, ...(line?.also ?? []), line?.sums].find(
    (each) => each && each in state.values,
  );
  const value = known === undefined ? undefined : state.values[known][place];
  return spokenWith(asSentence(neuronName(say, [name, place])), value);
}

function spokenWith(name, value) {
  return value === undefined ? name : text("walking.at", { name, value: said(value) });
}
