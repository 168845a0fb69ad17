// A picture that a network has learned, evaluated for every pixel by the graphics card.
//
// The shader has the text of an export of the network, and reads its weights from a texture. Where
// the card, or its stand-in in software, is too slow or wrong, `fit` and `check` say so, and the
// worker's answers are drawn instead.

import { GlProgram, GlTexture } from "./gl.js";

const TEXELS = 256; // in a line of the texture; TEXELS of files/shaders/live.py
const SIDES = [8, 128]; // of the pictures by which the speed is measured
const ENOUGH = 5; // milliseconds of a picture from which its time is a measure
const OFF = 3; // levels of a color, of 255, that a pixel may differ from the worker's
const MOST_OFF = 0.02; // share of pixels that may differ by more: those beside a line
const AGAIN_AFTER = 10000; // milliseconds after which the speed is measured again at rest
const STRIP = 24; // milliseconds of drawing until others get the card

/** Draws pictures of a network into a canvas of its own; `spec` is what network_shader.py wrote. */
export class NetworkMap {
  constructor(spec) {
    this.spec = spec;
    this.canvas = document.createElement("canvas");
    this.given = null; // the numbers on the card
    this.stands = ""; // what was drawn last
    this.cost = Infinity; // milliseconds for each pixel
    this.checked = false;
    this.failed = false;
    const last = spec.places.at(-1);
    this.lines = Math.max(1, Math.ceil((last ? last[3] + last[1] * last[4] : 0) / (4 * TEXELS)));
    this.numbers = new Float32Array(4 * TEXELS * this.lines);
    this.canvas.addEventListener("webglcontextlost", (event) => {
      event.preventDefault();
      this.gl = null;
    });
    this.canvas.addEventListener("webglcontextrestored", () => this.open());
    this.open();
  }

  /** Make what is on the graphics card; the driver compiles while others go on. */
  open() {
    const options = { alpha: false, antialias: false, depth: false, preserveDrawingBuffer: true };
    /** @type {any} */
    const gl = this.canvas.getContext("webgl2", options);
    this.gl = gl;
    this.linked = false;
    this.given = null;
    if (!gl || gl.getParameter(gl.MAX_TEXTURE_SIZE) < Math.max(TEXELS, this.lines)) {
      this.failed = true;
      return;
    }
    this.late = gl.getExtension("KHR_parallel_shader_compile");
    this.program = new GlProgram(gl, [this.spec.vertex, this.spec.fragment], ["a_corner"]);
    this.texture = new GlTexture(gl, "fours");
    this.texture.set(TEXELS, this.lines, this.numbers);
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, Float32Array.of(-1, -1, 3, -1, -1, 3), gl.STATIC_DRAW);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
  }

  /** Whether it can draw: compiled, and not given up. */
  get ready() {
    const { gl, program, late } = this;
    if (this.failed || !gl || gl.isContextLost()) return false;
    if (this.linked) return true;
    if (late && !gl.getProgramParameter(program.program, late.COMPLETION_STATUS_KHR)) return false;
    this.failed = program.fault() !== "" || gl.getError() !== gl.NO_ERROR;
    this.linked = !this.failed;
    return this.linked;
  }

  /** Set the numbers of the bank; the same array counts as the same numbers. */
  setNumbers(value) {
    if (value === this.given) return;
    this.given = value;
    this.stands = "";
    for (const [first, rows, columns, at, stride] of this.spec.places) {
      for (let i = 0; i < rows; i++) {
        const from = first + i * columns;
        this.numbers.set(value.subarray(from, from + columns), at + i * stride);
      }
    }
    this.texture.put(0, 0, TEXELS, this.lines, this.numbers);
  }

  /**
   * Draw rows of a picture of `width` by `height` pixels, which stands at the lower left.
   *
   * look  {low, high, squash}: the uniforms of network_map.frag
   */
  draw(look, width, height, [from, end] = [0, height]) {
    const { gl, canvas, program } = this;
    const key = JSON.stringify([look, width, height, from, end]);
    if (key === this.stands) return;
    this.stands = key;
    if (canvas.width < width) canvas.width = width;
    if (canvas.height < height) canvas.height = height;
    gl.viewport(0, 0, width, height);
    gl.enable(gl.SCISSOR_TEST);
    gl.scissor(0, from, width, end - from);
    program.use(
      {
        u_low: look.low, u_high: look.high, u_squash: look.squash,
        u_fours_size: [TEXELS, this.lines],
      },
      { u_fours: 0 },
    ); // prettier-ignore
    this.texture.bind(0);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
  }

  /** Return the bytes of a picture that was drawn, row by row from its foot. */
  bytes(width, height) {
    const { gl } = this;
    const found = new Uint8Array(4 * width * height);
    gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, found);
    return found;
  }

  /** Draw a picture that was drawn onto a place of another canvas. */
  copy(context, width, height, [x, y, wide, high]) {
    context.drawImage(this.canvas, 0, this.canvas.height - height, width, height, x, y, wide, high);
  }

  /** Measure how long a pixel takes, by pictures that grow until they take long enough. */
  measure(look) {
    const { gl } = this;
    const one = new Uint8Array(4);
    const timed = (side) => {
      const start = performance.now();
      this.stands = "";
      this.draw(look, side, side);
      gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, one); // waits until it is drawn
      return performance.now() - start;
    };
    timed(1); // and what is under way, and the rest of compiling
    let side = SIDES[0] / 2;
    let took = 0;
    while (took < ENOUGH && side < SIDES[1]) took = timed((side *= 2));
    this.cost = took / side ** 2;
    this.measured = performance.now();
  }

  /** Measure again, unless that was not long ago: the machine may have been busy. */
  measureAgain(look) {
    if (performance.now() - this.measured > AGAIN_AFTER) this.measure(look);
  }

  /**
   * Compare a picture with the colors that the worker's answers have, and measure it.
   *
   * look    of the picture; `setNumbers` got the numbers of these answers
   * colors  its bytes, three for each pixel, row by row from the top
   *
   * If it is wrong, nothing is drawn by it any more.
   */
  check(look, width, height, colors) {
    this.draw(look, width, height);
    const found = this.bytes(width, height);
    let wrong = 0;
    for (let i = 0; i < width * height; i++) {
      const at = width * (height - 1 - Math.floor(i / width)) + (i % width);
      if ([0, 1, 2].some((k) => Math.abs(found[4 * at + k] - colors[3 * i + k]) > OFF)) wrong += 1;
    }
    this.failed = wrong > MOST_OFF * width * height || this.gl.getError() !== this.gl.NO_ERROR;
    this.checked = !this.failed;
    if (this.checked) this.measure(look);
    return this.checked;
  }

  /** Return the largest size up to a given one that takes so many milliseconds. */
  fit(width, height, milliseconds) {
    const part = Math.min(1, Math.sqrt(milliseconds / (this.cost * width * height)));
    return [width, height].map((length) => Math.max(1, Math.floor(part * length)));
  }

  /** Draw a picture in strips that leave time for others; return a canvas, or null once it is stale. */
  async inStrips(look, width, height, value, isStale) {
    const whole = document.createElement("canvas");
    Object.assign(whole, { width, height });
    const context = whole.getContext("2d");
    const rows = Math.max(1, Math.floor(STRIP / (this.cost * width)));
    for (let from = 0; from < height; from += rows) {
      if (isStale() || !this.ready) return null;
      const end = Math.min(height, from + rows);
      this.setNumbers(value);
      this.draw(look, width, height, [from, end]);
      const [top, high] = [height - end, end - from];
      context.drawImage(this.canvas, 0, this.canvas.height - end, width, high, 0, top, width, high);
      if (end < height) await new Promise((done) => requestAnimationFrame(done));
    }
    return whole;
  }
}
