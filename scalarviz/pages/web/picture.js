// The picture of the page: draws a state of the training by WebGL 2, without which it draws
// nothing.

import { BeadQuads, POOL_ROWS, groundRows, sphereRows, wireRows } from "./beads.js";
import { EDGE, PAST_NUMBER, name_lines } from "./story/annotations.js";
import { Box } from "./story/camera.js";
import { Projection } from "./projection.js";
import { draw_told } from "./story/callout.js";
import { Palette, colorOf } from "./palette.js";
import { Cubes } from "./cubes.js";
import { CameraController } from "./story/camera_control.js";
import { focus_of } from "./story/focus.js";
import { lightsOf } from "./lights.js";
import { frameOf } from "./frame_data.js";
import { Glyphs, Ink, Paper } from "./paper.js";
import { Layout } from "./layout.js";
import { KnownView } from "./lines.js";
import {
  draw_crossbar_lines,
  draw_crossbar_marks,
  followed_in,
  lit_colors,
} from "./story/crossbar_ink.js";
import { draw_above, draw_lines } from "./story/drawn_lines.js";
import { draw_kernel_rows, draw_long_rows, draw_row_sheet } from "./story/long_rows.js";
import { said_to, thread_of, withThread } from "./threads.js";
import { LARGEST, draw_tray, size_of, tray_of } from "./story/tray_card.js";
import { paint_walls, walls_seen } from "./story/wall_lines.js";
import { draw_call_outs, draw_held } from "./story/held.js";
import { draw_diagram } from "./story/diagram.js";
import { draw_large_map, draw_maps } from "./story/probe_maps.js";
import { draw_ways } from "./story/formula_marks.js";
import * as marks from "./story/marks.js";
import { brightness_of, choice_at, of_place } from "./story/sequence_choice.js";
import { draw_sequence_lines } from "./story/sequence_lines.js";
import { draw_sequence_marks, draw_sequence_row } from "./story/sequence_picture.js";
import { ALONE } from "./story/trays.js";
import { drawNeurons } from "./neurons.js";
import { unpackedAll } from "./arrays.js";
import { targetAt } from "./pointing.js";
import { Scales } from "./scales.js";
import { draw_doors, draw_labels, draw_tied, place_signs, place_written } from "./story/labels.js";
import { draw_numbers } from "./story/cube_numbers.js";
import { Attention } from "./story/pace.js";
import { NONE } from "./story/facts.js";
import { Dict } from "./python.js";

const PHONE = 500; // pixels of a picture in which names of inputs get room
const LONG_NAME = 60; // and of a name that needs it
const PICTURE = {
  stage: [1280, 600], // logical pixels of a stage whose letters have their own size
  margin: 16,
  grain: 24, // pixels between the sizes of stages that have separate layouts
  fine: 1.5, // device pixels of a logical one from which on edges need no finer picture
  samples: 2, // along a device pixel elsewhere, so that edges are smooth
  patience: 200, // milliseconds until a picture that stands still is drawn finely without a GPU
  pause: 1000, // milliseconds after which a picture is the first of others
  longest: 700, // milliseconds that a fine picture may take, estimated from the ordinary one
  look: 20, // milliseconds between two looks whether a picture is drawn
};
const CORNERS = ["", "left", "left-top", "top"]; // of a card, the first one that is free
const SOFTWARE = /swiftshader|llvmpipe|softpipe|software|basic render/i;

const SLOW = new WeakMap(); // whether a context draws by software

/** Draws the states of a training run onto a canvas; `scene` comes from scene_data.py. */
export class Picture {
  constructor(canvas, scene) {
    this.canvas = canvas;
    this.scene = unpackedAll(scene);
    this.opened = false; // whether walls are shown
    this.followed = new Dict(); // by layer, the neurons whose products a crossbar writes
    this.lanes = []; // of each layout that the page has made, in one list
    this.layouts = this.scene.layouts.map((each) => new Layout(each));
    if (!this.layouts.length) this.layOut(PICTURE.stage); // cubes ask what plates there are
    this.palettes = Object.fromEntries(
      Object.entries(this.scene.themes).map(([name, each]) => [name, new Palette(each)]),
    );
    this.theme = "dark";
    this.fault = ""; // key of a text if nothing can be drawn
    this.words = []; // all text on the last picture
    this.calm = false; // whether the camera jumps instead of moving by itself
    this.thread = []; // of squares, see threads.js
    this.eyes = null;
    this.map = null; // the mark of the enlarged map of a probe
    this.seen = null; // the eyes of a picture before this one
    this.frame = null;
    this.focus = null;
    this.attention = new Attention();
    this.taken = null; // what other words must not cover, and whether cubes have arrows
    this.arrows = false;
    this.size = [0, 0];
    this.cards = []; // boxes that stand on the picture
    this.names = { from: null, to: null }; // edges between which names of inputs and outputs are written
    this.right = 0; // the edge beyond which nothing is written: a card may stand there
    this.ratio = 1;
    this.onlost = () => {}; // called when the graphics card takes the picture away
    this.onrestored = () => {}; // called when it is to be drawn again
    this.plays = () => false; // whether the next picture would wait for a fine one
    this.scales = new Scales(this.scene.apart, this.scene.usual);
    this.life = new AbortController(); // its signal ends what listens
    const { signal } = this.life;
    const lose = (event) => {
      event.preventDefault();
      this.gl = null;
      this.fault = "page.lost.picture";
      this.onlost();
    };
    const restore = () => {
      this.open();
      this.onrestored();
    };
    canvas.addEventListener("webglcontextlost", lose, { signal });
    canvas.addEventListener("webglcontextrestored", restore, { signal });
    this.open();
  }

  /** Create all WebGL objects. */
  open() {
    const options = { alpha: false, antialias: false, powerPreference: "high-performance" };
    const gl = this.canvas.getContext("webgl2", options);
    this.fault = gl ? "" : "page.lack.webgl";
    if (!gl) return;
    this.glyphs = new Glyphs(getComputedStyle(this.canvas).fontFamily || "sans-serif");
    this.cubes = new Cubes(gl, this.scene);
    this.pool = new BeadQuads(gl, this.scene, "pool");
    this.grounds = new BeadQuads(gl, this.scene, "grounds");
    this.spheres = new BeadQuads(gl, this.scene, "spheres");
    this.wires = new BeadQuads(gl, this.scene, "wires");
    this.ink = new Ink(gl, this.scene, this.glyphs);
    this.laid = this.placed = this.painted = null;
    this.walls = new KnownView(walls_seen);
    if (!SLOW.has(gl)) SLOW.set(gl, SOFTWARE.test(rendererOf(gl))); // which waits for pictures
    this.slow = SLOW.get(gl);
    this.gl = gl;
  }

  /** Stop drawing; another picture may use the canvas. */
  end() {
    clearTimeout(this.later);
    this.life.abort();
    this.gl = null;
  }

  /** Use the camera of another picture, which the user may have turned. */
  takeUp({ eyes, size, ratio, opened }) {
    this.seen = eyes;
    this.opened = opened;
    this.resize(...size, ratio);
  }

  get palette() {
    return this.palettes[this.theme];
  }

  /** Set the size of the canvas in logical pixels, with `ratio` device pixels per logical pixel. */
  resize(width, height, ratio) {
    this.size = [width, height];
    this.ratio = ratio;
  }

  /**
   * Draw a state; return whether the picture continues to change, so that it must be drawn again.
   *
   * part     progress of the operation's animation, from 0 to 1 (default)
   * caption  caption of the moment, see captions.js
   * hover    item under the mouse, {row} or {neuron}, or null
   * pinned   pinned item, {row} or {neuron}, or null
   * pointed  piece of the caption under the mouse, or null
   * box      part of the canvas for the network, {x, y, width, height}
   * scale    scale factor of letters; by default larger than 1 only on large canvases
   * doors    positions [x, y] where lines from the outputs enter the result
   * neuron   number of the last neuron that is shown, from 1; 0 (default) shows all
   * look     view options, see scene/look.py
   * now      time in seconds
   */
  draw(state, options = {}) {
    const [width, height] = this.size;
    if (!this.gl || this.gl.isContextLost() || width < 2 || height < 2) return false;
    const now = options.now ?? performance.now() / 1000;
    const scale =
      options.scale ?? Math.max(1, Math.min(width / PICTURE.stage[0], height / PICTURE.stage[1]));
    const whole = this.boxOf(options.box, scale);
    const { look = {} } = options;
    const { pinned = null, caption } = options;
    const told = this.scene.moments[state.moment ?? -1] ? (caption ?? null) : null;
    const rest = [pinned?.row ?? NONE, pinned?.neuron ?? null, this.followed];
    this.followed = followed_in(this.laid ? this.placed : this.layouts[0], told, ...rest);
    this.place(whole, scale, pinned, look.every_weight);
    this.right = Math.min(width, whole.right + whole.x);
    const box = this.besideNames(whole, scale);
    if (this.painted !== this.palette) this.cubes.setPalette(this.palette);
    this.painted = this.palette;
    const channels = [look.color ?? "value", look.cubes ?? "value"];
    this.scales.take(state, channels, now, this.placed.plates);
    this.eyes.cuts = this.calm;
    this.eyes.frame([0, height], box); // a card may take of the width
    const moving = this.eyes.tick(now);
    const isClose = !this.eyes.framed; // call-outs explain the whole network
    const asked = { ...options, isClose };
    this.frame = frameOf(this.scene, this.placed, state, asked, this.scales, now);
    this.followThread(state);
    this.see = new Projection(this.eyes.camera, box, width, height, this.reach());
    this.attend(now);
    const changes = moving || this.frame.grown !== null || this.attention.moves;
    const samples = this.ratio < PICTURE.fine ? PICTURE.samples : 1;
    this.render(scale, this.slow ? 1 : samples);
    this.refine(scale, this.slow && !changes ? samples : 1);
    return changes;
  }

  /** Gradually dim what is out of focus, or brighten it again; immediately with reduced motion. */
  attend(now) {
    const found = focus_of(this.frame);
    this.level = this.attention.follow(Boolean(found), now, this.calm);
    this.focus = found ?? (this.level ? this.focus : null);
  }

  /** Draw the picture at high quality when it has not changed for a while, if that seems quick. */
  refine(scale, samples) {
    const drawn = performance.now();
    const passed = drawn - (this.drawn ?? -Infinity);
    this.drawn = drawn;
    clearTimeout(this.later);
    if (samples === 1) return;
    const wait = passed < PICTURE.pause ? Math.max(PICTURE.patience, 3 * passed) : PICTURE.pause;
    const { gl } = this;
    const sync = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    const follow = (act, time) => (this.later = setTimeout(() => this.gl && act(), time));
    const fine = () => this.plays() || this.render(scale, samples);
    const check = () => {
      if (gl.getSyncParameter(sync, gl.SYNC_STATUS) !== gl.SIGNALED) follow(check, PICTURE.look);
      else if ((performance.now() - drawn) * samples ** 2 < PICTURE.longest) follow(fine, wait);
    };
    follow(check, PICTURE.look);
  }

  boxOf(given, scale) {
    const [width, height] = this.size;
    const margin = Math.min(PICTURE.margin * scale, width / 8, height / 8);
    const [fullWide, fullHigh] = [width - 2 * margin, height - 2 * margin];
    const box = given ?? { x: margin, y: margin, width: fullWide, height: fullHigh };
    const { x, y, width: wide, height: high } = box;
    return new Box(x, y, Math.max(1, wide), Math.max(1, high));
  }

  /** Reduce a box so that the names beside neurons fit into the picture: of outputs at the right,
   * wide ones past the numbers on the outputs; of many inputs at the left. */
  besideNames(box, scale) {
    const look = { size: 12 * scale, bold: true };
    const paper = new Paper(this.glyphs, ...this.size, this.ratio, scale);
    const widest = (names) => Math.max(0, ...names.map((name) => paper.measure(name, look) + 6 * scale)); // prettier-ignore
    const [first, last] = [this.placed.neurons[0], this.placed.neurons.at(-1)];
    const room = first.is_color ? 0 : widest(first.names);
    const isNarrow = box.width < PHONE * scale && room > LONG_NAME * scale;
    const part = first.count > ALONE ? 1 : isNarrow ? 1 / 3 : 0; // there is some room already
    const left = Math.min(part * room, box.width / 3);
    const names = last.count > 1 && !last.is_color ? last.names : []; // beside them
    const own = widest(names.flatMap((name) => name_lines(name).split("\n")));
    const number = PAST_NUMBER * look.size;
    const isPast = own > number || (this.scene.logits && names.length && !last.scores);
    this.names = { from: room ? EDGE * scale : null, to: isPast ? this.right : null };
    const wide = isPast ? own + number : own;
    const lack = Math.max(0, box.right + wide - this.right);
    return new Box(box.x + left, box.y, Math.max(1, box.width - left - lack), box.height);
  }

  /** Return the index of the layout that the page makes for a stage; -1 if it cannot make it.
   *
   * room   its width and height for text of 12 pixels, on which a crossbar depends; so it does on
   *        the neurons that are followed
   */
  layOut(room) {
    const { layoutAt, layouts } = this.scene;
    if (!layoutAt) return -1;
    const lanes = [...this.followed].flat();
    const known = layouts.findIndex(
      ({ crossbar }, i) => isSame(crossbar.room, room) && isSame(this.lanes[i] ?? [], lanes),
    );
    if (known >= 0) return known;
    layouts.push(layoutAt(room, this.followed));
    this.lanes[layouts.length - 1] = lanes;
    this.layouts.push(new Layout(layouts.at(-1)));
    return layouts.length - 1;
  }

  /** Choose the layout for the shape or size of the box; opening a card does not change it. */
  place(box, scale, pinned, wanted = false) {
    const shape = Math.log(Math.min(Math.max(box.width / box.height, 0.3), 6));
    const unit = PICTURE.grain * scale;
    const sides = [box.width, box.height].map((each) => Math.max(1, Math.floor(each / unit)));
    const own = pinned && this.chosen?.crossbar?.room; // opening a card does not change it
    const room = own || sides.map((each) => PICTURE.grain * each);
    const far = ([each]) => Math.abs(Math.log(each) - shape);
    const every = wanted && this.scene.walls.length > 0;
    const opens = every !== this.opened && (!this.eyes || this.eyes.fold());
    if (opens) this.opened = every;
    const made = this.layOut(room);
    const nearest = () =>
      this.scene[this.opened ? "walls" : "shapes"].reduce((best, each) =>
        far(each) < far(best) ? each : best,
      );
    const layout = this.layouts[made < 0 ? nearest()[1] : made];
    if (!this.chosen || !pinned || opens || own) this.chosen = layout;
    if (this.chosen === this.laid) return;
    this.laid = this.chosen;
    this.layThread();
    if (this.eyes) this.eyes.follow(this.placed);
    else this.eyes = new CameraController(this.placed, this.seen?.name);
    const { camera, framed } = this.seen ?? {};
    if (isMoved(this.seen)) Object.assign(this.eyes, { camera, framed });
    this.seen = null;
    if (opens) this.eyes.unfold();
  }

  /** Update the strongest path, for squares and strips, but not during playback. */
  followThread(state) {
    const { fans, thread } = this.placed;
    const strips = fans.some((each) => each.form === "strip");
    const known = strips ? (this.laid.opened ?? []) : thread;
    const plays = state.playing && known.length;
    const found = plays || !(strips || fans[0]?.is_direct) ? [] : threadIn(this.frame);
    if (strips) this.frame.thread = this.laid.opened = found.length ? found : known;
    if (strips || !found.length || JSON.stringify(found) === JSON.stringify(thread)) return;
    this.thread = found;
    this.layThread();
    this.frame.layout = this.placed;
  }

  /** Use the chosen layout; for squares, add the cubes on the strongest path. */
  layThread() {
    const { layouts, cube } = this.scene;
    const given = layouts[this.layouts.indexOf(this.laid)];
    const isPlain = !this.laid.fans[0]?.is_direct || !this.thread.length;
    this.placed = isPlain ? this.laid : new Layout(withThread(given, this.laid, this.thread, cube));
    this.cubes.setLayout(this.placed);
  }

  /** Return the largest distance of any object from the target of the camera. */
  reach() {
    const { extent } = this.placed;
    const [x, y, z] = this.eyes.camera.target;
    let most = 0;
    for (let i = 0; i < extent.length; i += 3) {
      const [right, down, deep] = [extent[i] - x, extent[i + 1] - y, extent[i + 2] - z];
      most = Math.max(most, right ** 2 + down ** 2 + deep ** 2);
    }
    return Math.sqrt(most) + 2;
  }

  /** Draw the frame with `samples` x `samples` samples per device pixel. */
  render(scale, samples) {
    const { gl, frame, see, palette, canvas } = this;
    const ratio = this.ratio * samples;
    this.size.forEach((length, k) => {
      const pixels = Math.max(1, Math.round(length * ratio));
      const name = k ? "height" : "width";
      if (canvas[name] !== pixels) canvas[name] = pixels;
    });
    frame.focus = this.focus;
    const lit = lightsOf(this.placed, this.scene, frame.moment, this.focus, this.level);
    this.glyphs.tidy();
    const paper = new Paper(this.glyphs, ...this.size, ratio, scale);
    const view = { paper, see, frame, palette, lit, scale, names: this.names };
    this.write(view);
    this.words = paper.words;
    this.textAt = (x, y) => paper.textAt(x, y);
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(...palette.groundColor, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    const shadow = colorOf(palette.shadow);
    const pixels = [canvas.width, canvas.height, ratio];
    this.cubes.setNumbers(this.placed.crossbar ? litBars(frame) : frame);
    const rows = this.placed.sequence && !this.focus ? rowsLit(frame, lit) : lit;
    this.cubes.draw(see, rows, canvas.width, canvas.height);
    // Below cubes, but after them: what they cover is not computed.
    const light = { u_ground: palette.groundColor, u_pool: colorOf(palette.pool) };
    this.pool.draw(POOL_ROWS, see, ...pixels, light);
    this.grounds.draw(groundRows(frame), see, ...pixels, {
      u_tray: colorOf(palette.shelf),
      u_shadow: shadow,
    });
    const look = { u_glass: colorOf(palette.glass), u_shadow: shadow };
    this.spheres.draw(sphereRows(frame, lit, palette), see, ...pixels, look);
    this.wires.draw(wireRows(frame, lit, palette, this.eyes.camera, scale), see, ...pixels);
    this.ink.draw(paper);
  }

  /** Draw all shapes and texts of a picture. */
  write(view) {
    const { frame, paper, palette, see, scale } = view;
    const seen = [paper, see, frame, palette];
    const { layout, doors, values, answers, border, moment } = frame;
    const awaits = moment !== null && !answers; // the step has not come to them
    paper.clip = [0, 0, this.right, this.size[1]];
    draw_doors(paper, palette, see, layout, doors, values, answers, border, awaits); // below all numbers
    const rowOf = ([number, unit, column]) => layout.fans[number].row_of(unit, column);
    const thread = () => threadIn(frame).map(rowOf);
    const walls = this.walls.of(see, layout, scale);
    draw_diagram(paper, palette, see, layout);
    draw_sequence_lines(...seen);
    draw_maps(paper, see, layout, frame.probe, palette);
    paint_walls(...seen, walls, (fan) => said_to(fan, layout, values), thread);
    draw_crossbar_lines(...seen);
    const above = draw_lines(paper, see, frame, view.lit, palette);
    draw_long_rows(...seen);
    marks.draw_ghosts(...seen);
    this.arrows = marks.draw_pushes(...seen);
    const taken = (this.taken = drawScenery(view, above));
    draw_ways(...seen, frame.blame);
    taken.boxes.push(...draw_kernel_rows(...seen), ...draw_sequence_marks(...seen));
    marks.draw_chosen(...seen);
    draw_crossbar_marks(...seen); // over brackets
    if (layout.marks?.length) marks.hold_arrays(...seen);
    else for (const row of frozenRows(frame.frozen)) marks.hold(paper, see, frame, row, palette);
    draw_held(...seen);
    taken.boxes.push(...draw_call_outs(...seen, taken.boxes));
    taken.boxes.push(...draw_row_sheet(...seen));
    this.told = draw_told(paper, see, frame, taken, palette);
    taken.boxes.push(...this.told);
    this.pairs = [...this.drawTray(view), ...draw_sequence_row(...seen)];
    taken.write(paper, view.palette, this.cards);
    draw_large_map(paper, see, this.map, frame.probe, palette, this.eyes.inner);
  }

  /** Draw the weights of a neuron in a free corner; return the boxes and rows of its cubes. */
  drawTray({ paper, see, frame, palette }) {
    const { layout } = frame;
    const [fan, unit] = tray_of(frame) ?? [];
    if (!fan) return [];
    const neuron = marks.box_of_neuron(see, layout, [layout.neurons[fan.after].values, unit]);
    const whole = size_of(fan);
    const fits = this.size.map((each, k) => (LARGEST * each) / whole[k]);
    const size = whole.map((each) => each * Math.min(paper.scale, ...fits));
    const boxes = CORNERS.map((name) => this.boxAt(name, ...size));
    const box = boxes.find((each) => !neuron?.meets(each)) ?? boxes[0];
    this.taken.boxes.push(box);
    return draw_tray(paper, see, frame, box, palette);
  }

  /** Return a box of a given size in a corner of the picture. */
  boxAt(name, wide, high) {
    const { x, y, bottom } = this.boxOf(null, 1);
    const [left, top] = [
      name.includes("left") ? x : this.right - x - wide,
      name.includes("top") ? y : bottom - high,
    ];
    return new Box(left, top, wide, high);
  }

  /** Return the corner where a card of a given size covers least; "" is the lower right one. */
  cornerFor(wide, high) {
    const boxes = CORNERS.map((name) => this.boxAt(name, wide, high));
    const isTold = (box) => this.told.some((each) => box.meets(each));
    const costs = boxes.map((box) => this.taken.covered(box) + Number(isTold(box)));
    return CORNERS[costs.indexOf(Math.min(...costs))];
  }

  /** Return the item at a logical pixel: {row}, {neuron: [buffer, index]}, or null. */
  at(x, y) {
    const [, row] = this.pairs?.find(([box]) => box.has(x, y)) ?? [];
    if (row !== undefined) return { row };
    const found = this.frame ? targetAt(this.frame, this.see, x, y) : null;
    const { neuron } = found ?? {};
    return neuron ? { neuron: of_place(this.frame, neuron) } : found;
  }

  /** Return what a tap at a logical pixel chooses of a sequence, or null. */
  choiceAt(x, y) {
    return this.frame ? choice_at(this.see, this.frame, x, y) : null;
  }

  /** Return the center and half the size of a cube {row} or {neuron} in pixels, or null. */
  placeOf({ row = -1, neuron = null }) {
    const { placed, see } = this;
    const cube = row >= 0 && placed?.plate_of(row);
    const [line] = (neuron && placed?.line_of(neuron)) ?? [];
    if (!see || !(cube || line)) return null;
    const { sizes, sizeScaleAt } = this.frame;
    const [plate, ...at] = cube || [];
    const own = cube && plate.halves(sizes[row], sizeScaleAt(row));
    const point = cube ? plate.middle(...at, own) : line.point(neuron[1]);
    const { x, y, unit } = see.one(point);
    return { x, y, half: unit * (cube ? plate.half : line.radius) };
  }

  /** Reset the camera, so that it shows the complete network. */
  home() {
    if (!this.eyes) return;
    this.eyes.cuts = this.calm;
    this.eyes.look(this.eyes.name);
  }
}

/** Return a frame in which the color of a bar is as bright as its product is large. */
function litBars(frame) {
  if (frame.color !== "value" || frame.size !== "value") return frame;
  const colors = Float64Array.from(frame.colors);
  for (const [row, color] of lit_colors(frame)) colors[row] = color;
  return { ...frame, colors };
}

const isSame = (one, other) =>
  one.length === other.length && one.every((each, i) => each === other[i]);

/** Return lights in which only the rows of a sequence that are used now are bright. */
function rowsLit(frame, lit) {
  const [bright, cells] = /** @type {[number[], number[][]]} */ (brightness_of(frame));
  const outside = bright.map((each, i) => each * lit.plates[i]);
  return { ...lit, outside, focus: { cells } };
}

const KNOWN_FROZEN = new WeakMap();

/** Return the first bank indices of frozen parameters. */
function frozenRows(frozen) {
  if (!KNOWN_FROZEN.has(frozen)) {
    const found = [];
    for (let row = 0; row < frozen.length && found.length < marks.MOST_FROZEN; row++)
      if (frozen[row]) found.push(row);
    KNOWN_FROZEN.set(frozen, found);
  }
  return KNOWN_FROZEN.get(frozen);
}

/** Return whether the user has moved or turned the camera. */
export const isMoved = (eyes) => Boolean(eyes) && (!eyes.framed || eyes.is_turned);

/** Return the name of the renderer, which some browsers reveal only by an extension. */
function rendererOf(gl) {
  const name = gl.getParameter(gl.RENDERER);
  const told = /^webkit/i.test(name) && gl.getExtension("WEBGL_debug_renderer_info");
  return told ? gl.getParameter(told.UNMASKED_RENDERER_WEBGL) : name;
}

// What stands on and beside the cubes: neurons, numbers, labels; as
// scene/picture.py.

/** Draw labels and numbers on and next to cubes and neurons; return the covered boxes. */
function drawScenery(view, above) {
  const { paper, palette, see, frame, scale } = view;
  const { layout, values, hasResult } = frame;
  const seen = [paper, palette, see, layout];
  draw_tied(...seen, values);
  for (const line of layout.neurons) drawNeurons(view, line);
  draw_above(paper, see, frame, palette, above);
  draw_numbers(paper, see, frame, view.lit, palette);
  const taken = draw_labels(...seen, PICTURE.margin * scale, hasResult);
  place_written(...seen, taken);
  place_signs(...seen, taken, frame.pushes, frame.flows);
  return taken;
}

/** Return the strongest path of a picture, see threads.js. */
function threadIn({ layout, weights, values }) {
  return thread_of(layout, weights, values);
}
