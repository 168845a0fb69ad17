// Which cube or neuron is pointed at: by a pixel, as stage/pointing.py, or next to
// another one by the arrow keys.

import { next_place, seen_at } from "./story/picking.js";
import { numberAt } from "./arrays.js";
import { name_of_row, sentence } from "./story/names.js";
import { numbers_of } from "./story/cards.js";
import { said } from "./story/formats.js";
import { text } from "./texts.js";

/** Return the item at a logical pixel: {row}, {neuron: [buffer, index]}, or null. */
export function targetAt({ layout, sizes, sizeScaleAt }, see, x, y) {
  const half = (plate, row) => plate.halves(sizes[row], sizeScaleAt(row));
  const [row, neuron] = seen_at(layout, see, x, y, half);
  if (neuron) return { neuron };
  return row < 0 ? null : { row };
}

/**
 * Return the nearest cube {row} or neuron {neuron} in a direction, or `now` if missing.
 *
 * layout  layout of the picture
 * see     projection of the picture; `see.box` is the part that shows the network
 * now     the present item; null means the middle of the box
 * way     direction returned by `wayOf`; null means the nearest item in any direction
 */
export function nextTarget(layout, see, now, way = null) {
  const places = placesSeen(layout, see);
  const here = places.findIndex(([, , thing]) => isSameThing(thing, now));
  const best = next_place(places, here < 0 ? null : here, see.box, way);
  return best === null ? now : places[best][2];
}

/** Return [x, y, item] for all cubes and neurons whose center is in the visible box. */
function placesSeen(layout, see) {
  const { box } = see;
  const found = [];
  const add = (points, thingOf) => {
    const { x, y } = see.see(points);
    for (let i = 0; i < x.length; i++) {
      const isIn = x[i] >= box.x && x[i] <= box.right && y[i] >= box.y && y[i] <= box.bottom;
      if (isIn) found.push([x[i], y[i], thingOf(i)]);
    }
  };
  for (const plate of layout.plates) {
    const { indices } = plate.cells();
    add(plate.middles(), (i) => ({ row: indices[i] }));
  }
  for (const line of layout.neurons) {
    const { buffer, stops } = line;
    add(stops.map((place) => line.point(place)).flat(), (i) => ({ neuron: [buffer, stops[i]] }));
  }
  return found;
}

export function isSameThing(one, other) {
  if (!one || !other) return one === other;
  return one.row === other.row && String(one.neuron) === String(other.neuron);
}

/** Return the name of a cube or neuron with its value, for screen readers. */
export function spokenOf(facts, state, { row = -1, neuron = null }) {
  const known = neuron && numbers_of(facts, state, neuron);
  const name = known ? known.title : sentence(name_of_row(facts, row));
  const value = (known ? known.value : numberAt(state, row)) ?? null;
  return value === null ? name : text("walking.at", { name, value: said(value) });
}
