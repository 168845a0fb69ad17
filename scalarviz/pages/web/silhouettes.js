// Where balls, plates and images are seen, and how much of a box they cover; as
// scene/silhouettes.py.

import { Ball, outline_of } from "./story/annotations.js";
import { HALF } from "./story/plates.js";
import { along3, minus3, row3 } from "./projection.js";

const GRID = [25, 7]; // points of a box that are looked at

/** Project points to balls in the picture; `radius` is one number or a list. */
export function balls_of(see, points, radius) {
  const { x, y, depth, unit } = see.see(Array.isArray(points) ? points.flat() : points);
  return Array.from(x, (each, i) => {
    return new Ball(each, y[i], (radius[i] ?? radius) * unit[i], depth[i], unit[i]);
  });
}

/** Return the corners of cubes in the picture, for those that are on a plate. */
export function cubes_seen(see, { layout, cubes }, rows, half, margin = 0) {
  const found = Array.from(rows, (row) => [row, ...(layout.plate_of(row) ?? [])]);
  return found.flatMap(([row, plate, i, j]) => {
    if (!plate) return [];
    const top = cubes.size_scales[plate.place];
    const own = half === null ? plate.halves(cubes.sizes[row], top) : half * plate.unit;
    return [balls_of(see, plate.corners_of(i, j, own, margin * plate.unit), 0)];
  });
}

/** Return x, y, radius and depth of the spheres and squares in front of the camera. */
export function spheres_in_sight(see, { neurons }) {
  const balls = neurons
    .filter((line) => !line.shape.length)
    .flatMap((line) => balls_of(see, line.points, line.radius));
  return balls
    .filter(({ x, y }) => Number.isFinite(x + y))
    .map(({ x, y, radius, depth }) => [x, y, radius, depth]);
}

/** Return the convex outlines of plates and images in front of the camera. */
export function polygons_seen(see, { plates, neurons }) {
  const points = plates.map((plate) => plate.corners(HALF));
  for (const corners of neurons.filter((line) => line.shape.length).map((line) => line.corners())) {
    for (let i = 0; i < corners.length / 3; i += 3) {
      const [first, right, down] = [0, 1, 2].map((k) => row3(corners, i + k));
      points.push([...first, ...right, ...along3(minus3(right, first), 1, down), ...down]);
    }
  }
  return points
    .map((each) => see.see(each))
    .map(({ x, y }) => Array.from(x, (each, i) => [each, y[i]]))
    .filter((each) => each.flat().every(Number.isFinite))
    .map((each) => outline_of(each));
}

/** Return whether a box covers a part of a sphere. */
export function is_on(box, spheres) {
  return spheres.some(([x, y, radius]) => {
    const aside = Math.max(box.x - x, x - box.right, 0);
    const apart = Math.max(box.y - y, y - box.bottom, 0);
    return aside ** 2 + apart ** 2 < radius ** 2;
  });
}

/** Return the fraction of a box that covers a sphere, a polygon or another box. */
export function share_under(box, spheres, polygons, boxes) {
  const [across, down] = GRID;
  let found = 0;
  for (let i = 0; i < across * down; i++) {
    const x = box.x + ((i % across) / (across - 1)) * box.width;
    const y = box.y + (Math.floor(i / across) / (down - 1)) * box.height;
    const isUnder =
      spheres.some((each) => Math.hypot(x - each[0], y - each[1]) < each[2]) ||
      boxes.some((each) => each.has(x, y)) ||
      polygons.some((polygon) => isInside(x, y, polygon));
    found += Number(isUnder);
  }
  return found / (across * down);
}

function isInside(x, y, polygon) {
  return polygon.every(([a, b], i) => {
    const [c, d] = polygon[(i + 1) % polygon.length];
    return (c - a) * (y - b) - (d - b) * (x - a) >= 0;
  });
}
