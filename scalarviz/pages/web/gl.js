// WebGL 2: programs, buffers of quads, and textures.

const PROGRAMS = new WeakMap(); // of each context, with their places, by the text of their shaders

/** The programs of a context, until that is lost: to ask it which it has would wait for pictures. */
function programsOf(gl) {
  if (!PROGRAMS.has(gl)) {
    PROGRAMS.set(gl, new Map());
    const forget = () => PROGRAMS.delete(gl);
    gl.canvas.addEventListener?.("webglcontextlost", forget, { once: true });
  }
  return PROGRAMS.get(gl);
}

function linked(gl, vertex, fragment, names) {
  const program = gl.createProgram();
  for (const [kind, text] of [
    [gl.VERTEX_SHADER, vertex],
    [gl.FRAGMENT_SHADER, fragment],
  ]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
    gl.deleteShader(shader);
  }
  names.forEach((name, place) => gl.bindAttribLocation(program, place, name));
  gl.linkProgram(program);
  return program;
}

/** A program of two shaders; `names` are its attributes, in the order of their places. */
export class GlProgram {
  constructor(gl, /** @type {string[]} */ [vertex, fragment], names) {
    this.gl = gl;
    const known = programsOf(gl);
    const key = `${vertex} ${fragment}`;
    if (!known.has(key)) known.set(key, [linked(gl, vertex, fragment, names), new Map()]);
    const [program, places] = known.get(key);
    this.program = program;
    this.places = places;
  }

  /** Use it, with uniforms: numbers, arrays of 2 to 4, matrices of 16, row by row, and units of textures. */
  use(uniforms, units = {}) {
    const { gl } = this;
    gl.useProgram(this.program);
    for (const [name, value] of Object.entries(uniforms)) {
      const at = this.place(name);
      if (typeof value === "number") gl.uniform1f(at, value);
      else if (value.length === 16) gl.uniformMatrix4fv(at, true, value);
      else gl[`uniform${value.length}fv`](at, value);
    }
    for (const [name, unit] of Object.entries(units)) gl.uniform1i(this.place(name), unit);
  }

  place(name) {
    if (!this.places.has(name))
      this.places.set(name, this.gl.getUniformLocation(this.program, name));
    return this.places.get(name);
  }
}

/** Names of the attributes of copies, in the order of their places. */
export function copyNames(fields) {
  return ["a_corner", ...fields.map(([name]) => name)];
}

/** Many copies of one shape: `fields` are [name, numbers] of the rows, one row for each copy. */
export class GlCopies {
  constructor(gl, corners, width, indices, fields) {
    this.gl = gl;
    this.indices = indices.length;
    this.array = gl.createVertexArray();
    gl.bindVertexArray(this.array);
    this.parts = [gl.createBuffer(), gl.createBuffer(), gl.createBuffer()];
    const [shape, order, rows] = this.parts;
    gl.bindBuffer(gl.ARRAY_BUFFER, shape);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(corners), gl.STATIC_DRAW);
    enable(gl, 0, width, 0, 0, 0);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, order);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, new Uint16Array(indices), gl.STATIC_DRAW);
    gl.bindBuffer(gl.ARRAY_BUFFER, rows);
    this.stride = fields.reduce((sum, [, size]) => sum + size, 0);
    let from = 0;
    fields.forEach(([, size], i) => {
      enable(gl, i + 1, size, this.stride, from, 1);
      from += size;
    });
    gl.bindVertexArray(null);
  }

  /** Set the rows, a Float32Array. */
  set(rows) {
    const { gl } = this;
    this.count = rows.length / this.stride;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.parts[2]);
    gl.bufferData(gl.ARRAY_BUFFER, rows, gl.DYNAMIC_DRAW);
  }

  draw() {
    const { gl } = this;
    gl.bindVertexArray(this.array);
    gl.drawElementsInstanced(gl.TRIANGLES, this.indices, gl.UNSIGNED_SHORT, 0, this.count);
    gl.bindVertexArray(null);
  }
}

function enable(gl, at, size, stride, from, divisor) {
  gl.enableVertexAttribArray(at);
  gl.vertexAttribPointer(at, size, gl.FLOAT, false, 4 * stride, 4 * from);
  gl.vertexAttribDivisor(at, divisor);
}

const FREE_UNIT = 7; // where textures are bound to be filled, beside those that are drawn with

// Inner format, format and type by kind of texture.
const TEXELS_OF = {
  floats: ["R32F", "RED", "FLOAT"],
  letters: ["R8", "RED", "UNSIGNED_BYTE"],
  bytes: ["RGBA8", "RGBA", "UNSIGNED_BYTE"],
  colors: ["RGBA8", "RGBA", "UNSIGNED_BYTE"],
};

/** A texture of "floats", "letters", "bytes", or "colors", which are mixed between texels. */
export class GlTexture {
  constructor(gl, kind) {
    this.gl = gl;
    this.kind = kind;
    this.width = 0;
    this.height = 0;
    this.texture = gl.createTexture();
    const smooth = kind === "colors" ? gl.LINEAR : gl.NEAREST;
    this.bind();
    for (const name of ["MIN", "MAG"])
      gl.texParameteri(gl.TEXTURE_2D, gl[`TEXTURE_${name}_FILTER`], smooth);
    for (const name of ["S", "T"])
      gl.texParameteri(gl.TEXTURE_2D, gl[`TEXTURE_WRAP_${name}`], gl.CLAMP_TO_EDGE);
  }

  get format() {
    return TEXELS_OF[this.kind].map((name) => this.gl[name]);
  }

  /** Set all texels; data may be null. */
  set(width, height, data) {
    const { gl } = this;
    const [inside, format, type] = this.format;
    this.bind();
    gl.texImage2D(gl.TEXTURE_2D, 0, inside, width, height, 0, format, type, data);
    Object.assign(this, { width, height });
  }

  /** Set the texels of a box. */
  put(x, y, width, height, data) {
    const { gl } = this;
    this.bind();
    gl.texSubImage2D(gl.TEXTURE_2D, 0, x, y, width, height, ...this.format.slice(1), data);
  }

  bind(unit = FREE_UNIT) {
    this.gl.activeTexture(this.gl.TEXTURE0 + unit);
    this.gl.bindTexture(this.gl.TEXTURE_2D, this.texture);
  }
}
