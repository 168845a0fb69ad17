// The picture of the page: draws a state of the training by WebGL 2, without which it draws
// nothing.

import { BeadQuads, POOL_ROWS, groundRows, sphereRows, wireRows } from "./beads.js";
import { Box } from "./story/camera.js";
import { Projection } from "./projection.js";
import { drawTold } from "./callout.js";
import { Palette, colorOf } from "./palette.js";
import { Cubes } from "./cubes.js";
import { CameraController } from "./story/camera_control.js";
import { focus_of } from "./story/focus.js";
import { lightsOf } from "./lights.js";
import { frameOf } from "./frame_data.js";
import { Glyphs, Ink, Paper } from "./paper.js";
import { Layout } from "./layout.js";
import {
  KnownView,
  carried,
  drawFirstRow,
  drawLines,
  drawLongRows,
  drawRowSheet,
  fansSeen,
} from "./lines.js";
import { draw_opened_rows } from "./story/opened_rows.js";
import { saidTo, threadOf, withThread } from "./threads.js";
import { LARGEST, draw_tray, size_of, tray_of } from "./story/tray_card.js";
import { paint_walls, walls_seen } from "./story/wall_lines.js";
import { drawHeld } from "./held.js";
import { draw_ways } from "./story/formula_marks.js";
import * as marks from "./story/marks.js";
import { drawNeurons } from "./neurons.js";
import { unpackedAll } from "./arrays.js";
import { targetAt } from "./pointing.js";
import { Scales } from "./scales.js";
import { draw_doors, draw_labels, draw_tied, place_signs, place_written } from "./story/labels.js";
import { draw_numbers } from "./story/cube_numbers.js";
import { Attention } from "./story/pace.js";

const PICTURE = {
  stage: [1280, 600], // logical pixels of a stage whose letters have their own size
  margin: 16,
  shape: 0.6, // logarithm of the aspect ratio of a first layout
  step: 0.1, // between those of layouts, as in stage/network_layout.py
  fine: 1.5, // device pixels of a logical one from which on edges need no finer picture
  samples: 2, // along a device pixel elsewhere, so that edges are smooth
  patience: 200, // milliseconds until a picture that stands still is drawn finely without a GPU
  pause: 1000, // milliseconds after which a picture is the first of others
  longest: 700, // milliseconds that a fine picture may take
};
const CORNERS = ["", "left", "left-top", "top"]; // of a card, the first one that is free
const SOFTWARE = /swiftshader|llvmpipe|softpipe|software|basic render/i;

const SLOW = new WeakMap(); // whether a context draws by software

/** Draws states of a training into a canvas; `scene` is what scene_data.py wrote. */
export class Picture {
  constructor(canvas, scene) {
    this.canvas = canvas;
    this.scene = unpackedAll(scene);
    this.opened = false; // whether walls are shown
    this.layouts = this.scene.layouts.map((each) => new Layout(each));
    if (!this.layouts.length) this.layOut(PICTURE.shape); // cubes ask what plates there are
    this.palettes = Object.fromEntries(
      Object.entries(this.scene.themes).map(([name, each]) => [name, new Palette(each)]),
    );
    this.theme = "dark";
    this.fault = ""; // key of a text if nothing can be drawn
    this.words = []; // all text on the last picture
    this.coarse = false; // whether fine pictures take too long here
    this.calm = false; // whether the camera jumps instead of moving by itself
    this.thread = []; // of squares, see threads.js
    this.eyes = null;
    this.seen = null; // the eyes of a picture before this one
    this.frame = null;
    this.focus = null;
    this.attention = new Attention();
    this.taken = null; // what other words must not cover, and whether cubes have arrows
    this.arrows = false;
    this.size = [0, 0];
    this.cards = []; // boxes that stand on the picture
    this.right = 0; // the edge beyond which nothing is written: a card may stand there
    this.ratio = 1;
    this.onlost = () => {}; // called when the graphics card takes the picture away
    this.onrestored = () => {}; // called when it is to be drawn again
    this.scales = new Scales(this.scene.apart);
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

  /** Make what is on the graphics card. */
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
    this.fans = new KnownView(fansSeen);
    this.walls = new KnownView(({ frame, see, scale }) => walls_seen(frame.layout, see, scale));
    if (!SLOW.has(gl)) SLOW.set(gl, SOFTWARE.test(rendererOf(gl))); // which waits for pictures
    this.slow = SLOW.get(gl);
    this.gl = gl;
  }

  /** Draw nothing any more; another picture may have the canvas. */
  end() {
    clearTimeout(this.later);
    this.life.abort();
    this.gl = null;
  }

  /** Look as another picture did, which a user may have turned. */
  takeUp({ eyes, size, ratio, opened }) {
    this.seen = eyes;
    this.opened = opened;
    this.resize(...size, ratio);
  }

  get palette() {
    return this.palettes[this.theme];
  }

  /** Set the size of the canvas in logical pixels, of `ratio` device pixels each. */
  resize(width, height, ratio = 1) {
    this.size = [width, height];
    this.ratio = ratio;
  }

  /**
   * Draw a state; say whether the picture goes on changing by itself, so that it is to be drawn again.
   *
   * part     how much of the moment's animation is done, 0 to 1 (the default)
   * caption  what captions.js says of the moment
   * hover, pinned  {row} or {neuron}, or null; `pointed` is the piece of the caption under the mouse
   * box      {x, y, width, height}: the part of the canvas that the network fills
   * scale    size of letters, by default larger than 1 on large canvases only
   * doors    where lines from the outputs enter the result, [x, y] each
   * neuron   the number of the neuron that the moment has come to, from 1; 0, the default: all are there
   * look     fields of Look, as in scene/look.py
   * guess    what is asked about a weight, see GuessBox, or null
   * now      the time in seconds
   */
  draw(state, options = {}) {
    const [width, height] = this.size;
    if (!this.gl || this.gl.isContextLost() || width < 2 || height < 2) return false;
    const now = options.now ?? performance.now() / 1000;
    const scale =
      options.scale ?? Math.max(1, Math.min(width / PICTURE.stage[0], height / PICTURE.stage[1]));
    const whole = this.boxOf(options.box, scale);
    const { look = {} } = options;
    this.place(whole, options.pinned, look.every_weight);
    this.right = Math.min(width, whole.right + whole.x);
    const box = this.besideNames(whole, scale);
    if (this.painted !== this.palette) this.cubes.setPalette(this.palette);
    this.painted = this.palette;
    this.scales.take(state, [look.color ?? "value", look.cubes ?? "value"], now);
    this.eyes.cuts = this.calm;
    this.eyes.frame([0, height], box); // a card may take of the width
    const moving = this.eyes.tick(now);
    this.frame = frameOf(this.scene, this.placed, state, options, this.scales, now);
    this.followThread(state);
    this.see = new Projection(this.eyes.camera, box, width, height, this.reach());
    this.attend(now);
    const changes = moving || this.frame.grown !== null || this.attention.moves;
    const samples = this.ratio < PICTURE.fine ? PICTURE.samples : 1;
    this.render(scale, this.slow ? 1 : samples);
    this.refine(scale, this.slow && !changes ? samples : 1);
    return changes;
  }

  /** Let what is out of focus fall back, and come back, by and by; at once if the picture is calm. */
  attend(now) {
    const found = focus_of(this.frame);
    this.level = this.attention.follow(Boolean(found), now, this.calm);
    this.focus = found ?? (this.level ? this.focus : null);
  }

  /** Draw the picture finely when it has stood still for longer than pictures now take. */
  refine(scale, samples) {
    const drawn = performance.now();
    const passed = drawn - (this.drawn ?? -Infinity);
    this.drawn = drawn;
    clearTimeout(this.later);
    if (samples === 1 || this.coarse) return;
    const wait = passed < PICTURE.pause ? Math.max(PICTURE.patience, 3 * passed) : PICTURE.pause;
    this.later = setTimeout(() => {
      if (!this.gl) return;
      this.render(scale, samples);
      this.timeFine(performance.now());
    }, wait);
  }

  /** Draw no fine pictures any more if one takes too long, which shows in when the next frame comes. */
  timeFine(start) {
    const measure = () => {
      const isSeen = document.visibilityState === "visible";
      this.coarse = isSeen && performance.now() - start > PICTURE.longest;
    };
    requestAnimationFrame(() => requestAnimationFrame(measure));
  }

  boxOf(given, scale) {
    const [width, height] = this.size;
    const margin = Math.min(PICTURE.margin * scale, width / 8, height / 8);
    const [fullWide, fullHigh] = [width - 2 * margin, height - 2 * margin];
    const box = given ?? { x: margin, y: margin, width: fullWide, height: fullHigh };
    const { x, y, width: wide, height: high } = box;
    return new Box(x, y, Math.max(1, wide), Math.max(1, high));
  }

  /** The box without what the names at the right of the outputs would take beyond the edge. */
  besideNames(box, scale) {
    const look = { size: 12 * scale, bold: true };
    const paper = new Paper(this.glyphs, ...this.size, this.ratio, scale);
    const last = this.placed.neurons.at(-1);
    const names = last.count > 1 && !last.is_color ? last.names : []; // beside them
    const wide = Math.max(0, ...names.map((name) => paper.measure(name, look) + 6 * scale));
    const lack = Math.max(0, box.right + wide - this.right);
    return new Box(box.x, box.y, Math.max(1, box.width - lack), box.height);
  }

  /** Make a layout for an aspect ratio, a logarithm in steps, if the page can and has none. */
  layOut(shape) {
    const { layoutAt, layouts, shapes } = this.scene;
    const aspect = Math.exp(Math.round(shape / PICTURE.step) * PICTURE.step);
    if (!layoutAt || shapes.some(([each]) => each === aspect)) return;
    shapes.push([aspect, layouts.length]);
    layouts.push(layoutAt(aspect));
    this.layouts.push(new Layout(layouts.at(-1)));
  }

  /** Choose the layout that is made for the shape of the box; a card does not change it. */
  place(box, pinned, wanted = false) {
    const shape = Math.log(Math.min(Math.max(box.width / box.height, 0.3), 6));
    const far = ([each]) => Math.abs(Math.log(each) - shape);
    const every = wanted && this.scene.walls.length > 0;
    const opens = every !== this.opened && (!this.eyes || this.eyes.fold());
    if (opens) this.opened = every;
    this.layOut(shape);
    const [, number] = this.scene[this.opened ? "walls" : "shapes"].reduce((best, each) =>
      far(each) < far(best) ? each : best,
    );
    const layout = this.layouts[number];
    if (!this.chosen || !pinned || opens) this.chosen = layout;
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

  /** Let squares have the cubes of the way that carries most, but not while it plays. */
  followThread(state) {
    const { fans, thread } = this.placed;
    if (!fans[0]?.is_direct || (state.playing && thread.length)) return;
    const found = threadOf(this.frame);
    if (!found.length || JSON.stringify(found) === JSON.stringify(thread)) return;
    this.thread = found;
    this.layThread();
    this.frame.layout = this.placed;
  }

  /** Place the chosen layout, squares with the cubes of their thread. */
  layThread() {
    const { layouts, cube } = this.scene;
    const given = layouts[this.layouts.indexOf(this.laid)];
    const isPlain = !this.laid.fans[0]?.is_direct || !this.thread.length;
    this.placed = isPlain ? this.laid : new Layout(withThread(given, this.laid, this.thread, cube));
    this.cubes.setLayout(this.placed);
  }

  /** The largest distance of anything from the target of the camera. */
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

  /** Draw the frame, with so many samples along a device pixel. */
  render(scale, samples) {
    const { gl, frame, see, palette, canvas } = this;
    const ratio = this.ratio * samples;
    this.size.forEach((length, k) => {
      const pixels = Math.max(1, Math.round(length * ratio));
      const name = k ? "height" : "width";
      if (canvas[name] !== pixels) canvas[name] = pixels;
    });
    const lit = lightsOf(this.placed, this.scene, frame.moment, this.focus, this.level);
    this.glyphs.tidy();
    const paper = new Paper(this.glyphs, ...this.size, ratio, scale);
    const view = { paper, see, frame, palette, lit, scale };
    this.write(view);
    this.words = paper.words;
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(...palette.groundColor, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    const shadow = colorOf(palette.shadow);
    const pixels = [canvas.width, canvas.height, ratio];
    this.cubes.setNumbers(frame);
    this.cubes.draw(see, lit, canvas.width, canvas.height);
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

  /** Write all shapes and words of a picture. */
  write(view) {
    const { frame, paper, palette, see, scale } = view;
    const seen = [paper, see, frame, palette];
    const { layout, doors, values, answers, border, moment } = frame;
    const awaits = moment !== null && !answers; // the step has not come to them
    paper.clip = [0, 0, this.right, this.size[1]];
    draw_doors(paper, palette, see, layout, doors, values, answers, border, awaits); // below all numbers
    const rowOf = ([number, unit, column]) => layout.fans[number].row_of(unit, column);
    const thread = () => threadOf(frame).map(rowOf);
    paint_walls(...seen, this.walls.of(view), (fan) => saidTo(fan, frame), thread);
    const drawAbove = drawLines(view, this.fans.of(view));
    drawLongRows(view, this.fans.of(view));
    marks.draw_ghosts(...seen);
    this.arrows = marks.draw_pushes(...seen);
    const taken = (this.taken = drawScenery(view, drawAbove));
    draw_ways(...seen, frame.blame);
    const carriedIn = (fan) => carried(fan, frame);
    const opened = see.camera.is_front
      ? draw_opened_rows(paper, palette, frame, this.fans.of(view), carriedIn, frame.values)
      : [];
    taken.boxes.push(...opened);
    marks.draw_chosen(...seen);
    for (const row of frozenRows(frame.frozen)) marks.hold(paper, see, frame, row, palette);
    drawHeld(view, this.fans.of(view));
    taken.boxes.push(...drawFirstRow(view, this.fans.of(view), taken.boxes));
    taken.boxes.push(...drawRowSheet(view, this.fans.of(view)));
    this.told = drawTold(view, taken, this.fans.of(view));
    taken.boxes.push(...this.told);
    this.pairs = this.drawTray(view);
    taken.write(paper, view.palette, this.cards);
    this.mark = frame.guess?.place ? marks.mark_of(frame, see, frame.guess, scale) : null;
    if (this.mark) marks.draw_guess(...seen, scale);
    if (this.mark) this.mark[2] += marks.AROUND * scale; // from there it is dragged
  }

  /** Draw the tray of a neuron in the first corner beside it; return the boxes of its cubes, and rows. */
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

  /** The box of a size in a corner. */
  boxAt(name, wide, high) {
    const { x, y, bottom } = this.boxOf(null, 1);
    const [left, top] = [
      name.includes("left") ? x : this.right - x - wide,
      name.includes("top") ? y : bottom - high,
    ];
    return new Box(left, top, wide, high);
  }

  /** The corner in which a card of a size covers least: "" for the lower right one. */
  cornerFor(wide, high) {
    const boxes = CORNERS.map((name) => this.boxAt(name, wide, high));
    const isTold = (box) => this.told.some((each) => box.meets(each));
    const costs = boxes.map((box) => this.taken.covered(box) + Number(isTold(box)));
    return CORNERS[costs.indexOf(Math.min(...costs))];
  }

  /** What is seen at a logical pixel: {row}, {neuron: [buffer, place]}, or null. */
  at(x, y) {
    const [, row] = this.pairs?.find(([box]) => box.has(x, y)) ?? [];
    if (row !== undefined) return { row };
    return this.frame ? targetAt(this.frame, this.see, x, y) : null;
  }

  /** Where a cube {row} or neuron {neuron} is seen: its middle and half its size, in pixels. */
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

  /** Show the whole network from its own side again. */
  home() {
    if (!this.eyes) return;
    this.eyes.cuts = this.calm;
    this.eyes.look(this.eyes.name);
  }
}

const KNOWN_FROZEN = new WeakMap();

/** The first bank indices of frozen parameters. */
function frozenRows(frozen) {
  if (!KNOWN_FROZEN.has(frozen)) {
    const found = [];
    for (let row = 0; row < frozen.length && found.length < marks.MOST_FROZEN; row++)
      if (frozen[row]) found.push(row);
    KNOWN_FROZEN.set(frozen, found);
  }
  return KNOWN_FROZEN.get(frozen);
}

/** Whether a user has moved or turned a camera. */
export const isMoved = (eyes) => Boolean(eyes) && (!eyes.framed || eyes.is_turned);

/** The name of what draws; some browsers tell it on request only. */
function rendererOf(gl) {
  const name = gl.getParameter(gl.RENDERER);
  const told = /^webkit/i.test(name) && gl.getExtension("WEBGL_debug_renderer_info");
  return told ? gl.getParameter(told.UNMASKED_RENDERER_WEBGL) : name;
}

// What stands on and beside the cubes: neurons, numbers, labels; as
// scene/picture.py.

/** Draw what stands on and beside cubes and spheres; return what other words must not cover. */
function drawScenery(view, drawAbove) {
  const { paper, palette, see, frame, scale } = view;
  const { layout, values, hasResult } = frame;
  const seen = [paper, palette, see, layout];
  draw_tied(...seen, values);
  for (const line of layout.neurons) drawNeurons(view, line);
  drawAbove();
  draw_numbers(paper, see, frame, view.lit, palette);
  const taken = draw_labels(...seen, PICTURE.margin * scale, hasResult);
  place_written(...seen, taken);
  place_signs(...seen, taken, frame.pushes, frame.flows);
  return taken;
}
