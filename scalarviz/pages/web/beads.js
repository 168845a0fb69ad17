// The spheres and wires of one picture: rows of numbers, as scene/bead_arrays.py, and how they
// are drawn.

import * as py from "./python.js";
import { colorOf } from "./palette.js";
import { paintedLine } from "./neuron_images.js";
import { along3, minus3, row3 } from "./projection.js";
import { BACK, OF_CUBES } from "./story/pace.js";
import { bracket_width } from "./story/formula_marks.js";
import { GlCopies, GlProgram, copyNames } from "./gl.js";

const WIRES = {
  far: 1000, // so far behind their places they pass over no cube
  thin: 1, // width in logical pixels
  shadows: 1500, // cubes of a plate that have shadows
};
export const POOL_ROWS = Float32Array.of(0, 0, 0, -1, -1, -1); // of the ground

/** Return the vertex data of the trays and the shadows of cubes on the ground. */
export function groundRows({ layout, scene, sizes, sizeScaleAt }) {
  const found = [];
  for (const plate of layout.sequence ? layout.plates : []) {
    const { along, columns, rows, seat } = plate;
    const wide = [0.5 * columns * along[0], 0.5 * columns * along[1], 1.1 * seat];
    for (let i = 0; i < rows; i++)
      found.push(...along3(plate.point(0.5 * columns, i + 0.5), seat, [0, -1, 0]), ...wide);
  }
  for (const fan of layout.fans) {
    const seat = layout.plate_of(fan.weights)?.[0].seat;
    if (!seat || fan.form === "upright") continue;
    const along = [0, 1, 2].map((k) => fan.columns.filter((_, i) => i % 3 === k));
    const [first, last] = [Math.min, Math.max].map((end) => along.map((each) => end(...each)));
    const wide = along3(along3(fan.begin, 0.5, minus3(last, first)), 1.1 * seat, [0, 0, 1]);
    const middle = along3(along3(first, 0.5, minus3(last, first)), seat, [0, -1, 0]);
    for (let i = 0; i < fan.units; i++)
      found.push(...along3(middle, 1, row3(fan.rows, i)), ...wide);
  }
  for (const plate of layout.plates) {
    if (!plate.seat || plate.size > WIRES.shadows) continue;
    const { rows, columns, indices } = plate.cells();
    for (let i = 0; i < plate.size; i++) {
      const half = plate.halves(sizes[indices[i]], sizeScaleAt(indices[i]));
      if (half <= scene.shader.hollow * plate.half) continue;
      found.push(...plate.middle(rows[i], columns[i], half), half, half, half);
    }
  }
  return Float32Array.from(found);
}

/** Return the vertex data of all spheres. */
export function sphereRows(frame, lit, palette) {
  const found = [];
  const quiet = colorOf(palette.quiet);
  for (const line of frame.layout.neurons) {
    if (line.isImages || line.square || line.scores) continue;
    const fills = paintedLine(line, frame, palette);
    const name = line.buffers.find((each) => frame.scene.tints[each] && frame.values[each]);
    const [tint, amounts] = name ? [frame.scene.tints[name], frame.values[name]] : ["", []];
    for (let i = 0; i < line.count; i++) {
      const bright = lit.brightOf(line, i);
      const ring = palette.faded(tint === "rgb" ? palette.channelColors[i] : quiet, bright);
      const fill = palette.faded(fills[i] ?? palette.trayColor, bright);
      const amount = name ? Math.min(1, Math.max(0, amounts[i] || 0)) : -1; // some are still to come
      found.push(...row3(line.points, i), line.radius, ...fill, ...ring, amount);
    }
  }
  return Float32Array.from(found);
}

/** Return the vertex data of all wires; the wires of the shown operation are lit. */
export function wireRows({ layout, moment, blame }, lit, palette, camera, scale) {
  const found = [];
  for (const { operation, start, end, neurons } of layout.wires) {
    const isLit = OF_CUBES.has(moment?.kind) && moment.operation === operation;
    const light = BACK.has(moment?.kind) ? palette.accent : palette.light;
    const own = py.get(blame, neurons) ?? 0; // of a bracket of a formula
    const thin = layout.written.length ? bracket_width(own) : WIRES.thin;
    const [r, g, b, a = 1] = colorOf(isLit ? light : own ? palette.push : palette.wire);
    const width = Math.max(thin, isLit ? 2 * WIRES.thin : 0) * scale;
    for (let i = 0; i < start.length / 3; i++) {
      const ends = [row3(start, i), row3(end, i)];
      const points = layout.fans.length ? ends.map((each) => behind(camera, each)) : ends;
      found.push(...points.flat(), r, g, b, a * lit.level, width);
    }
  }
  return Float32Array.from(found);
}

/** Move a point far away from the camera, so that its position in the picture is unchanged. */
export function behind({ target, distance, slope, toward }, point) {
  if (!slope) return along3(point, -WIRES.far, toward);
  const way = minus3(point, along3(target, distance, toward));
  return along3(point, WIRES.far / Math.hypot(...way), way);
}

// A square or a strip for each sphere and wire, drawn as one.

const QUAD_ORDER = [0, 1, 2, 2, 1, 3];
// prettier-ignore
const GROUNDS = {
  corners: [-1, -1, 1, -1, -1, 1, 1, 1],
  fields: [["a_center", 3], ["a_size", 3]],
};
// prettier-ignore
const BEADS = {
  pool: GROUNDS,
  grounds: GROUNDS,
  spheres: {
    corners: [-1, -1, 1, -1, -1, 1, 1, 1],
    fields: [["a_center", 3], ["a_radius", 1], ["a_fill", 3], ["a_ring", 4]],
  },
  wires: {
    corners: [0, -1, 1, -1, 0, 1, 1, 1],
    fields: [["a_start", 3], ["a_end", 3], ["a_color", 4], ["a_width", 1]],
  },
};

/** Draws all objects of one kind, such as spheres or wires; `name` is the kind. */
export class BeadQuads {
  constructor(gl, scene, name) {
    this.gl = gl;
    this.name = name;
    const { corners, fields } = BEADS[name];
    this.program = new GlProgram(gl, scene.programs[name], copyNames(fields));
    this.copies = new GlCopies(gl, corners, 2, QUAD_ORDER, fields);
  }

  /** Draw objects, given their vertex data and the size of the picture in device pixels. */
  draw(rows, see, width, height, ratio, colors = {}) {
    const { gl } = this;
    if (!rows.length) return;
    this.copies.set(rows);
    this.program.use({ ...see.uniforms, u_viewport: [width, height], u_ratio: ratio, ...colors });
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LESS);
    gl.depthMask(this.name === "spheres"); // wires mix where they cross
    if (this.name !== "pool") gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.copies.draw();
    gl.depthMask(true);
    gl.disable(gl.BLEND);
  }
}
