// Draws a sheet of paper by WebGL, all shapes by one program; as scene/canvas/renderer.py.

import { GlProgram, GlTexture } from "./gl.js";

const INK_FIELDS = ["a_place", "a_axis", "a_extra", "a_style", "a_clip", "a_color"];
const INK_ROW = 24;
const INK_STYLE = 14; // where the kind of a shape stands, to which the number of its corner is added

/** The program, the letters and the images of a picture. */
export class Ink {
  constructor(gl, scene, glyphs) {
    Object.assign(this, { gl, glyphs, version: -1, room: 0, sent: [], images: [] });
    this.program = new GlProgram(gl, scene.programs.canvas, INK_FIELDS);
    this.atlas = new GlTexture(gl, "letters");
    this.blank = new GlTexture(gl, "bytes");
    this.blank.set(1, 1, new Uint8Array(4));
    this.array = gl.createVertexArray();
    [this.vertices, this.order] = [gl.createBuffer(), gl.createBuffer()];
    gl.bindVertexArray(this.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.vertices);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.order);
    INK_FIELDS.forEach((_, place) => {
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, 4, gl.FLOAT, false, 4 * INK_ROW, 16 * place);
    });
    gl.bindVertexArray(null);
  }

  /** Draw a sheet over the whole picture. */
  draw(paper) {
    const { gl } = this;
    if (!paper.count) return;
    gl.bindVertexArray(this.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.vertices);
    gl.bufferData(gl.ARRAY_BUFFER, cornersOfShapes(paper), gl.DYNAMIC_DRAW);
    this.fitOrder(paper.count);
    if (this.version !== this.glyphs.version) {
      this.atlas.set(...this.glyphs.size, this.glyphs.pixels);
      this.version = this.glyphs.version;
    }
    this.program.use(
      {
        u_size: [paper.width, paper.height],
        u_ratio: paper.ratio,
        u_atlas_size: [this.atlas.width, this.atlas.height],
      },
      { u_atlas: 0, u_image: 1 },
    );
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LEQUAL);
    gl.depthMask(false);
    this.atlas.bind(0);
    paper.batches().forEach(({ start, stop, pixels }, number) => {
      this.imageOf(pixels, number).bind(1);
      gl.drawElements(gl.TRIANGLES, 6 * (stop - start), gl.UNSIGNED_INT, 24 * start);
    });
    gl.depthMask(true);
    gl.disable(gl.BLEND);
    gl.bindVertexArray(null);
  }

  imageOf(pixels, number) {
    if (!pixels) return this.blank;
    const kind = pixels.smooth ? "colors" : "bytes";
    if (this.images[number]?.kind !== kind) {
      this.images[number] = new GlTexture(this.gl, kind);
      this.sent[number] = null;
    }
    if (this.sent[number] !== pixels) {
      this.images[number].set(pixels.width, pixels.height, pixels.bytes);
      this.sent[number] = pixels;
    }
    return this.images[number];
  }

  fitOrder(count) {
    if (count <= this.room) return;
    const { gl } = this;
    this.room = 2 * count;
    const order = new Uint32Array(6 * this.room);
    for (let i = 0; i < this.room; i++) {
      const corners = [0, 1, 2, 2, 1, 3].map((each) => 4 * i + each);
      order.set(corners, 6 * i);
    }
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, order, gl.STATIC_DRAW);
  }
}

/** Each shape of a sheet four times, with the number of its corner. */
function cornersOfShapes(paper) {
  const found = new Float32Array(4 * INK_ROW * paper.count);
  for (let i = 0; i < paper.count; i++) {
    const row = paper.rows.subarray(INK_ROW * i, INK_ROW * (i + 1));
    for (let corner = 0; corner < 4; corner++) {
      const at = INK_ROW * (4 * i + corner);
      found.set(row, at);
      found[at + INK_STYLE] += corner;
    }
  }
  return found;
}
