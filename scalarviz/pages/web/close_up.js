// Close-ups for a finger: where cubes are too small for it, a tap moves the camera to their layer or
// row, and so does a change of a layer. Afterwards, a tap chooses the nearest cube.

import { isNews, isPhone, isTouched } from "./dom.js";
import { cubeOf } from "./layout.js";
import { isSameThing, nextTarget } from "./pointing.js";
import { reach_of } from "./projection.js";
import { Box } from "./story/camera.js";

const SMALL = 24; // pixels of a cube that a finger can choose
const REACH = 22; // pixels around a finger
const MARGIN = 0.05; // of the picture, around a close-up
const AROUND = 7; // half sides of a cube from its middle to the edges of its close-up

/** The close-up of a picture, if there is one. */
export class CloseUp {
  constructor() {
    this.place = null; // {layer, unit, column}: unit is -1 for all; null for the whole network
    this.eyes = this.goal = null; // that show it, and the camera there
    this.pinned = null;
  }

  /** Show a layer while its controls cover the rest of a phone. */
  show(layer) {
    if (isPhone()) this.place = { layer, unit: -1, column: -1 };
  }

  /** Return the cube or neuron that a tap chooses, or null; undefined if the camera moves there. */
  tapped(app, x, y) {
    const { picture } = app;
    const found = picture.at(x, y);
    if (!isTouched() || !picture.see) return found;
    const thing = found ?? nearestTo(picture, x, y);
    const place = thing && placeOf(picture.placed, thing);
    if (!place || sizeAt(picture, place.layer) >= SMALL) return thing;
    this.place = place;
    return app.request();
  }

  /** Keep the camera at the close-up, in another picture or at another size of it. */
  follow(app) {
    const { picture } = app;
    const { eyes, placed, laid, layouts } = picture;
    if (!eyes) return; // without WebGL
    if (eyes === this.eyes && eyes.goal !== this.goal) this.place = null; // moved by hand
    if (isPhone() && app.pinned && !isSameThing(app.pinned, this.pinned))
      this.place = placeOf(placed, app.pinned); // its card leaves little room
    this.pinned = app.pinned;
    if (!placed.fans[this.place?.layer]) this.place = null;
    const isKnown = eyes === this.eyes;
    this.eyes = this.place && eyes;
    if (!this.place) return;
    const { x, y, width, height } = eyes.inner;
    if (!isNews(this, [this.place, x, y, width, height, layouts.indexOf(laid)]) && isKnown) return;
    eyes.go(cameraTo(picture, this.place));
    this.goal = eyes.goal;
    app.request();
  }
}

/** Return the cube or neuron nearest to a finger, within its reach; or null. */
function nearestTo({ placed, see }, x, y) {
  const box = new Box(x - REACH, y - REACH, 2 * REACH, 2 * REACH);
  return nextTarget(placed, Object.assign(Object.create(see), { box }), null);
}

/** Return where a cube is, or the row of a neuron; null for an input. */
function placeOf(layout, { row = -1, neuron = null }) {
  const [fan, unit] = (neuron ? layout.fan_into(neuron) : layout.fan_of(row)) ?? [];
  if (!fan) return null;
  const column = columnsOf(fan).findIndex((i) => fan.row_of(unit, i) === row);
  return { layer: layout.fans.indexOf(fan), unit, column };
}

/** Return the indices of the columns of cubes, biases included. */
function columnsOf(fan) {
  return [...Array(fan.columns.length / 3).keys()];
}

/** Return the side of the largest cubes of a layer in pixels. */
function sizeAt(picture, layer) {
  const row = picture.placed.fans[layer].row_of(0, 0);
  return 2 * picture.placeOf({ row }).half;
}

/** Return the camera to the layer of a place, or to its row or its cube where others are small. */
function cameraTo({ placed, eyes }, { layer, unit, column }) {
  const fan = placed.fans[layer];
  const [{ half }] = placed.plate_of(fan.row_of(0, 0));
  const line = placed.neurons[fan.after];
  const cubesOf = (each) => columnsOf(fan).flatMap((i) => around(cubeOf(fan, i, each), 2 * half));
  const rowOf = (each) => [...cubesOf(each), ...around(line.point(each), line.radius)];
  const areas = [];
  if (unit < 0 || column >= 0) areas.push(line.stops.flatMap(rowOf));
  if (unit >= 0) areas.push(rowOf(unit), cubesOf(unit));
  if (column >= 0) areas.push(around(cubeOf(fan, column, unit), AROUND * half));
  const { width, height } = eyes.inner;
  const cameras = areas.map((points) =>
    eyes.goal.framing(reach_of(Float64Array.from(points)), width / height, MARGIN),
  );
  const isLarge = (camera) => (2 * half * height) / camera.height >= SMALL;
  return cameras.find(isLarge) ?? cameras.at(-1);
}

/** Return the corners of a box around a point. */
function around(/** @type {number[]} */ [x, y, z], far) {
  return [-far, far].flatMap((dx) => [-far, far].flatMap((dy) => [x + dx, y + dy, z]));
}
