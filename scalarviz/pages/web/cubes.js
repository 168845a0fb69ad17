// Cubes: the numbers of the bank as textures, a box for each plate; as scene/visuals/cubes.py.

import { GlCopies, GlProgram, GlTexture, copyNames } from "./gl.js";
import { colorOf, colorTable } from "./colors.js";
import { EVERYWHERE } from "./focus.js";
import { fillMeans, nearnessOf } from "./means.js";
import { cross3, dot3 } from "./space.js";

const BOX_CORNERS = [0, 1, 2, 3, 4, 5, 6, 7].map((i) => [i >> 2, (i >> 1) & 1, i & 1]);
// The six sides of a box as triangles, each clockwise as seen from outside.
// prettier-ignore
const BOX_SIDES = [
  [0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
  [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3],
];
const BOX_TABLE = ["grid", "scales", "looks", "means", "tile", "strides", "focus"];
const BOX_FIELDS = [
  ...["origin", "along", "across", "toward", "size"].map((name) => [`a_${name}`, 3]),
  ...BOX_TABLE.map((name) => [`a_${name}`, 4]),
];
const LARGEST_SCALE = 1e37; // whose inverse is a float32
const MANY_CUBES = 10000; // of which some are small at first

/** Draws the cubes of all plates of a layout. */
export class Cubes {
  constructor(gl, scene) {
    Object.assign(this, { gl, scene, given: null, sizes: null, turn: 0 });
    const [vertex, fragment] = scene.programs.cubes;
    const withFar = (far) => fragment.replace("#define FAR 1", `#define FAR ${far}`);
    this.programs = [0, 1].map((far) => [vertex, withFar(far)]);
    this.made = [null, null]; // programs without and with small cubes, when they are needed
    this.program(scene.count > MANY_CUBES ? 1 : 0); // compiled while the network starts
    const { split } = scene.shader;
    this.height = Math.max(1, Math.ceil(scene.count / split));
    this.staging = new Float32Array(2 * this.height * split);
    this.numbers = new GlTexture(gl, "floats");
    this.numbers.set(split, 2 * this.height, this.staging);
    this.colors = new GlTexture(gl, "colors");
    this.means = new GlTexture(gl, "colors");
  }

  /** Set the colors of numbers and of the ground. */
  setPalette(palette) {
    this.palette = palette;
    this.colors.set(this.scene.shader.colors, 2, colorTable(palette, this.scene.shader));
    this.meant = []; // means are colors
  }

  /** Set where the cubes stand. */
  setLayout(layout) {
    this.layout = layout;
    this.copies = null;
    this.sent = []; // for each plate, the turn of the numbers on the graphics card
    this.meant = []; // and what its means were made of
    let [top, width] = [0, 1];
    const largest = this.gl.getParameter(this.gl.MAX_TEXTURE_SIZE);
    this.levels = []; // of means; a plate for whose means there is no room is drawn cube by cube
    this.tops = layout.plates.map((plate) => {
      const [rows, columns] = plate.room;
      const at = top;
      this.levels.push(at + rows <= largest && 2 * columns <= largest ? plate.levels : 0);
      if (!this.levels.at(-1)) return 0;
      top += rows;
      width = Math.max(width, 2 * columns);
      return at;
    });
    this.meansBytes = new Uint8Array(4 * Math.max(top, 1) * width);
    this.means.set(width, Math.max(top, 1), this.meansBytes);
  }

  /** Set the numbers that colors and sizes show; the same array counts as the same numbers. */
  setNumbers({ colors, sizes, scaleAt, sizeScaleAt }) {
    if (colors !== this.given || sizes !== this.sizes) this.turn++;
    Object.assign(this, { given: colors, sizes, scaleAt, sizeScaleAt });
  }

  /** The inverse scales of colors and sizes of a plate. */
  scalesOf({ first }) {
    return [inverseScale(this.scaleAt(first)), inverseScale(this.sizeScaleAt(first))];
  }

  /** Draw all cubes, as seen by a projection, with their lights. */
  draw(see, lights, width, height) {
    if (!this.layout.plates.length || !see.inverse || !this.given) return;
    const { gl, scene } = this;
    const { shader } = scene;
    const near = this.layout.plates.map((plate) => nearnessOf(plate, see, width, height, shader));
    const program = this.program(near.some((each) => each.most > shader.flatFrom) ? 1 : 0);
    if (!this.copies) this.place();
    this.upload(near);
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LESS);
    gl.depthMask(true);
    gl.disable(gl.BLEND);
    gl.enable(gl.CULL_FACE);
    program.use(
      {
        ...see.uniforms,
        u_numbers_size: [this.numbers.width, this.numbers.height],
        u_means_size: [this.means.width, this.means.height],
        u_ground: this.palette.groundColor,
        u_light: lights.back ? colorOf(this.palette.accent) : [1, 1, 1],
        u_ids: 0,
        u_fog: see.fog(this.layout.extent, shader.fog),
      },
      { u_numbers: 0, u_means: 1, u_colors: 2 },
    );
    [this.numbers, this.means, this.colors].forEach((texture, unit) => texture.bind(unit));
    this.copies.forEach(([plates, copies], mirrored) => {
      if (!plates.length) return;
      copies.set(this.rows(plates, lights));
      gl.cullFace(mirrored ? gl.BACK : gl.FRONT);
      copies.draw();
    });
    gl.disable(gl.CULL_FACE);
  }

  program(far) {
    this.made[far] ??= new GlProgram(this.gl, this.programs[far], copyNames(BOX_FIELDS));
    return this.made[far];
  }

  /** Plates whose axes are right-handed, and those that are mirrored: their boxes are inside out. */
  place() {
    const isMirrored = (plate) => dot3(cross3(plate.along, plate.across), plate.toward) < 0;
    this.copies = [false, true].map((mirrored) => {
      const plates = this.layout.plates.filter((plate) => isMirrored(plate) === mirrored);
      return [plates, new GlCopies(this.gl, BOX_CORNERS.flat(), 3, BOX_SIDES.flat(), BOX_FIELDS)];
    });
  }

  /** A row for each plate; what the shaders know of it is described in scene/visuals/shaders.py. */
  rows(plates, lights) {
    const { split, half } = this.scene.shader;
    const found = plates.map((plate) => {
      const i = plate.place;
      const pair = (number) => [Math.floor(number / split), number % split];
      const [rows, columns] = plate.room;
      // prettier-ignore
      return [
        ...plate.origin, ...plate.along, ...plate.across, ...plate.toward,
        plate.columns, plate.rows, 2 * half,
        plate.columns, plate.rows, ...pair(plate.first),
        ...pair(plate.stride), ...this.scalesOf(plate),
        lights.plates[i], lights.white[i], this.levels[i], lights.outside[i],
        0, this.tops[i], columns, rows,
        plate.wide, plate.high, plate.pitch[1], plate.pitch[0],
        plate.strides[1], plate.strides[0], ...plate.cell,
        ...(lights.focus?.cells[i] ?? EVERYWHERE),
      ];
    });
    return Float32Array.from(found.flat());
  }

  /** Upload what is seen of the numbers: the numbers themselves, means where cubes are tiny. */
  upload(near) {
    const { shader } = this.scene;
    const { plates } = this.layout;
    const single = (plate) => near[plate.place].least < shader.cubesTo || !this.levels[plate.place];
    this.sendNumbers(
      plates.filter((plate) => single(plate) && this.sent[plate.place] !== this.turn),
    );
    for (const plate of plates) {
      const { most, fine } = near[plate.place];
      const levels = this.levels[plate.place];
      if (!levels || !(most > shader.meansFrom)) continue;
      const finest = Math.min(levels, Math.max(1, Math.floor(Math.log2(Math.max(fine, 1)) + 0.5)));
      const key = `${this.turn} ${finest} ${this.scalesOf(plate).join(" ")}`;
      if (this.meant[plate.place] === key) continue;
      this.meant[plate.place] = key;
      this.sendMeans(plate, finest);
    }
  }

  /** Upload the rows of the texture in which plates have their numbers. */
  sendNumbers(plates) {
    if (!plates.length) return;
    const { split } = this.scene.shader;
    const first = Math.floor(Math.min(...plates.map((plate) => plate.first)) / split);
    const last = Math.ceil(Math.max(...plates.map((plate) => plate.stop)) / split);
    [this.given, this.sizes].forEach((numbers, half) => {
      const offset = half * this.height;
      const rows = this.staging.subarray((offset + first) * split, (offset + last) * split);
      rows.set(numbers.subarray(first * split, Math.min(last * split, numbers.length)));
      this.numbers.put(0, offset + first, split, last - first, rows);
    });
    for (const plate of plates) this.sent[plate.place] = this.turn;
  }

  sendMeans(plate, finest) {
    const { means, meansBytes } = this;
    const table = { bytes: meansBytes, width: means.width, top: this.tops[plate.place] };
    const { given, sizes, palette } = this;
    fillMeans(table, plate, given, sizes, this.scalesOf(plate), palette, finest, this.scene.shader);
    const start = 4 * table.width * table.top;
    const part = meansBytes.subarray(start, start + 4 * table.width * plate.room[0]);
    means.put(0, table.top, table.width, plate.room[0], part);
  }
}

function inverseScale(scale) {
  return 1 / Math.min(Math.max(scale, 1 / LARGEST_SCALE), LARGEST_SCALE);
}
