// Spheres and wires: a square or a strip for each, drawn as one; as scene/visuals/spheres.py.

import { GlCopies, GlProgram, copyNames } from "./gl.js";

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
