// Small cubes on cards; as scene/overlay.py.

import { LEAST } from "./story/plates.js";

const DEEP = [0.26, 0.2]; // how far the rear of a cube stands out, in its sides
const FACES = [0.94, 1.13, 0.62]; // light on front, top and side

/** Draw small cubes, given their centers, feet, maximum sides and numbers from -1 to 1. */
export function draw_cubes(paper, cubes, palette) {
  for (const [middle, foot, largest, share] of cubes) {
    const side = largest * Math.max(Math.cbrt(Math.abs(share)), LEAST);
    const [left, top] = [middle - side / 2, foot - side];
    const [right, high] = DEEP.map((each) => each * side);
    const faces = [
      [left, top, left + side, top, left, foot],
      [left + right, top - high, left + right + side, top - high, left, top],
      [left + side, top, left + side + right, top - high, left + side, foot],
    ];
    faces.forEach((corners, i) => {
      const color = palette.map(share).map((each) => Math.min(255, 255 * each * FACES[i]));
      const image = { width: 1, height: 1, bytes: Uint8Array.of(...color, 255) };
      paper.image(corners, image, [0.5, 0.5, 0.5, 0.5], [-1, -1]);
    });
  }
}
