// Brightness of plates and neurons during an operation, and which neurons are at places; as
// scene/lights.py.

import { LIT, SAME_PLACE, OF_CUBES, WAYS_BACK } from "./story/pace.js";
import { row3 } from "./projection.js";

const LIGHTS = { small: 2000, dimSmall: 0.7, tiny: 0.5 };

/**
 * Return the brightness of everything at a moment, which is null between two steps.
 *
 * focus      what stays bright; null means everything in the operation
 * attention  how much the rest is dimmed, from 0 to 1
 */
export function lightsOf(layout, scene, moment, focus = null, attention = 1) {
  const { dim } = scene.shader;
  const level = focus ? 1 - attention * (1 - dim) : 1;
  const isPlain = !moment || !LIT.has(moment.kind) || layout.written.length > 0; // of a formula
  const isLit = ({ buffers }) => isPlain || buffers.some((name) => moment.lit.includes(name));
  const neurons = layout.neurons.map((line) => (isLit(line) ? 1 : dim));
  const isWhole = isPlain || moment.kind === "step"; // which moves all cubes
  const rest = layout.size > LIGHTS.small ? LIGHTS.dimSmall : dim;
  const own = layout.plates.map((each) => (isWhole || isBright(scene, moment, each) ? 1 : rest));
  for (const fan of moment ? [] : layout.fans) {
    if (fan.form === "open") own[layout.plate_number(fan.weights)] = LIGHTS.tiny; // one row is large
  }
  const outside = own.map((each) => Math.min(each, level));
  const plates = focus ? own.map(() => 1) : own;
  const brightOf = (line, place) => {
    if (line.place === 0 || line.place === neurons.length - 1) return 1; // both ends
    const bright = neurons[line.place];
    if (!focus) return bright;
    return focus.neurons[line.place][place] ? 1 : Math.min(bright, level);
  };
  const is_dim = (row, plate) => ((focus?.rows.has(row) ?? true) ? plates[plate] < 1 : true);
  return { plates, neurons, outside, level, focus, brightOf, is_dim };
}

/** Return whether the cubes of a plate are bright; backward, biases are not. */
function isBright(scene, { kind, operation }, plate) {
  if (!OF_CUBES.has(kind)) return false;
  const { rows } = scene.operations[operation]; // in a graph a cube may be read by several operations
  const isOwn = rows ? rows.includes(plate.first) : plate.operation === operation;
  return isOwn && (!WAYS_BACK.has(kind) || ["weight", "gain", "value"].includes(plate.role));
}

// Neurons at places in space.

export const EVERYWHERE = [0, 0, 1e6, 1e6]; // cells of a plate

/** Return the positions of a neuron; several lines may show the same buffer. */
export function places_of({ neurons }, [name, place]) {
  const own = neurons.filter((line) => line.buffers.includes(name));
  return own.map((line) => row3(line.points, place));
}

/** Return for each line which neurons are at these positions, or in an image there. */
export function masks_at({ neurons }, places) {
  return neurons.map(({ side, shape, points, count }) => {
    const reach = SAME_PLACE + 0.5 * side * Math.max(0, ...shape.slice(1));
    const is = (point) => places.some((at) => at.every((x, k) => Math.abs(x - point[k]) <= reach));
    return Array.from({ length: count }, (_, i) => is(row3(points, i)));
  });
}
