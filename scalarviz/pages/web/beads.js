// The spheres and wires of one picture: rows of numbers, as scene/bead_arrays.py, and how they
// are drawn.

import { colorOf } from "./palette.js";
import { paintedLine } from "./neuron_images.js";
import { reach_of } from "./layout.js";
import { along3, dot3, length3, minus3, row3 } from "./projection.js";
import { GlCopies, GlProgram, copyNames } from "./gl.js";

const WIRES = {
  far: 1000, // so far behind their places they pass over no cube
  thin: 1, // width in logical pixels
};

/** The rows of all spheres. */
export function sphereRows(frame, lit, palette, scale) {
  const found = [];
  const quiet = colorOf(palette.quiet);
  for (const line of frame.layout.neurons) {
    if (line.isImages || line.square) continue;
    const fills = paintedLine(line, frame, palette);
    for (let i = 0; i < line.count; i++) {
      const bright = lit.brightOf(line, i);
      const outline = palette.faded(quiet, bright);
      const fill = palette.faded(fills[i] ?? palette.trayColor, bright);
      found.push(...row3(line.points, i), line.radius, ...fill, ...outline, scale);
    }
  }
  return Float32Array.from(found);
}

/** The rows of all wires, brighter if they take part, and the light running on them. */
export function wireRows(frame, lit, palette, eyes, scale) {
  const camera = frame.layout.fans.length ? eyes : null;
  const nets = new Strokes(camera, lit.level, fogOf(frame, camera));
  const shining = new Strokes(camera, 1);
  frame.layout.wires.forEach((bundle, j) => {
    const light = lit.wires[j];
    const paint = light && (light.back ? palette.accent : palette.light);
    nets.addAll(bundle.start, bundle.end, light ? `${paint}58` : palette.wire, WIRES.thin * scale);
    if (light)
      shining.addAll(bundle.start, bundle.end, `${paint}e0`, 2 * WIRES.thin * scale, light.span);
  });
  return Float32Array.from([...nets.rows, ...shining.rows]);
}

/** How much of fog there is at a point: most at the farthest one; null without a camera. */
function fogOf({ layout, scene }, camera) {
  if (!camera) return null;
  const { toward } = camera;
  const reach = reach_of(layout.extent);
  const high = reach(toward);
  const range = Math.max(high + reach(toward.map((each) => -each)), 1e-9);
  return (point) => (scene.shader.fog * (high - dot3(point, toward))) / range;
}

/** A point moved far away from the eye: it is seen at the same place. */
export function behind({ target, distance, slope, toward }, point) {
  if (!slope) return along3(point, -WIRES.far, toward);
  const way = minus3(point, along3(target, distance, toward));
  return along3(point, WIRES.far / length3(way), way);
}

/** Rows of wires of a brightness, moved far away from the eye if there is a camera. */
class Strokes {
  constructor(camera, bright, fog = null) {
    this.camera = camera;
    this.bright = bright;
    this.fog = fog;
    this.rows = [];
  }

  /** Add wires between points of two flat arrays, or a span of each. */
  addAll(starts, ends, paint, width, span = [0, 1]) {
    for (let i = 0; i < starts.length / 3; i++)
      this.add(row3(starts, i), row3(ends, i), paint, width, span);
  }

  add(start, end, paint, width, span = [0, 1]) {
    const [first, last] = span;
    if (!(first < last)) return;
    const way = [0, 1, 2].map((k) => end[k] - start[k]);
    let points = [...along3(start, first, way), ...along3(start, last, way)];
    const clear = this.fog ? 1 - this.fog(along3(start, 0.5 * (first + last), way)) : 1;
    if (this.camera) points = [0, 3].flatMap((i) => behind(this.camera, points.slice(i, i + 3)));
    const [r, g, b, a = 1] = colorOf(paint);
    this.rows.push(...points, r, g, b, a * this.bright * clear, width);
  }
}

// A square or a strip for each sphere and wire, drawn as one.

const QUAD_ORDER = [0, 1, 2, 2, 1, 3];
// prettier-ignore
const BEADS = {
  spheres: {
    corners: [-1, -1, 1, -1, -1, 1, 1, 1],
    fields: [["a_center", 3], ["a_radius", 1], ["a_fill", 3], ["a_outline", 3], ["a_line", 1]],
  },
  wires: {
    corners: [0, -1, 1, -1, 0, 1, 1, 1],
    fields: [["a_start", 3], ["a_end", 3], ["a_color", 4], ["a_width", 1]],
  },
};

/** All spheres, or all wires; `name` says which. */
export class BeadQuads {
  constructor(gl, scene, name) {
    this.gl = gl;
    this.name = name;
    const { corners, fields } = BEADS[name];
    this.program = new GlProgram(gl, scene.programs[name], copyNames(fields));
    this.copies = new GlCopies(gl, corners, 2, QUAD_ORDER, fields);
  }

  /** Draw rows of numbers, as the fields say, in a picture of so many device pixels. */
  draw(rows, see, width, height, ratio) {
    const { gl } = this;
    if (!rows.length || !see.inverse) return;
    this.copies.set(rows);
    this.program.use({ ...see.uniforms, u_viewport: [width, height], u_ratio: ratio });
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LESS);
    gl.depthMask(this.name === "spheres"); // wires mix where they cross
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.copies.draw();
    gl.depthMask(true);
    gl.disable(gl.BLEND);
  }
}
