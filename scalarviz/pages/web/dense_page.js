// The data of a page for any network of dense layers that learns points of the plane, or a table: what
// pages/page.py would write for the scene `circle` with these settings.
//
// What does not depend on the settings is taken from the data of the page itself (`base`), and from
// tables that Python exports: pages/playground_data.py.

import { denseEngine, denseProgram } from "./dense_image.js";
import { MAPS, featuresOf, samplesOf } from "./data_sets.js";
import { initialNumbers } from "./engine.js";
import { initialOf } from "./growth.js";
import { MOST_LINES, sizes_of, task_of } from "./story/build_link.js";
import { text } from "./texts.js";
import { longest, pauses } from "./story/pace.js";

const DOTS = 256; // training points on the map, and test points
const HELD = 80;
const SPREAD = 17; // of a grid of colors, one of this many is evaluated
const SHOWN = 3; // the color of the palette that is shown first
const ENDS = { sides: "tanh", colours: "sigmoid" }; // activations of outputs, if not linear
const CURVE = 576; // points of a curve
const FEW_POINTS = 8; // up to which no corner of the map has words
const FAR = 0.15; // from the points to the words in a corner
const CORNER = [0.7, 0.1]; // sizes of these words

/** The data of a page, and the memory of its engine: {spec, image, held}.
 *
 * @param {any} base the data of the page of another network of this kind
 * @param {any} tables
 * @param {any} settings of all names in story/build_link.py
 * @param {any} given {value: the weights, if not the initial ones; most: test points on the map}
 */
export function specOf(base, tables, settings, { value = null, most = HELD } = {}) {
  const { features, opt, lr, l1, l2, batch, seed } = settings;
  const task = task_of(settings);
  const activations = [...settings.activation, ENDS[task] ?? "linear"];
  const net = { sizes: sizes_of(settings), activations, biases: settings.bias, task };
  const program = denseProgram(tables.image, net);
  const data = samplesOf(settings);
  const { inputs, targets, held } = data;
  const shown = exhibitOf(base.page.exhibit, tables, settings, data, most);
  const exhibit = {
    things: "samples",
    ...shown.exhibit,
    reads: tables.losses[task].logits,
    output: program.buffers.at(-1).name,
    outputs: net.sizes.at(-1),
  };
  const isAsked = (_, i) => (inputs.length > MOST_LINES ? i % SPREAD === 0 : i < DOTS);
  const probe = [...shown.grid, ...inputs.filter(isAsked), ...held.inputs.slice(0, most)].flat();
  const initial = initialOf(settings);
  const others = Object.keys(tables.optimizers).filter(
    (name) => name !== opt && name !== "momentum",
  );
  const optimizers = [
    { name: opt, rate: lr, l1, l2 },
    ...others.map((name) => ({ name, rate: tables.optimizers[name].rate, l1: 0, l2: 0 })),
  ];
  const { image, spec } = denseEngine(tables.image, net, {
    value: value ?? initialNumbers(initial, seed, program.rows).value,
    inputs: inputs.flat(), targets: targets.flat(), probe, seed, batch, optimizers,
  }); // prettier-ignore
  const columns = settings.table ? settings.names.slice(0, -1) : features.map((name) => tables.features[name].label); // prettier-ignore
  const kinds = { classes: settings.classes, numbers: settings.names.slice(-1) }[task] ?? [];
  const [input, output] = shown.tint ? [[..."RGB"], [..."RGB"]] : [columns, kinds];
  const facts = factsOf(base.facts, tables, program, optimizers, { input, output });
  facts.tint = shown.tint ?? "";
  const isOwn = settings.table !== "" || settings.points !== "" || facts.tint;
  const words = isOwn ? { about: text("build.about") } : tables.shapes[settings.shape].page;
  const count = held.inputs.length;
  const metrics = count ? { ...base.engine.metrics, held: count, loss: facts.loss } : undefined;
  const measured = count ? base.page.measured : undefined;
  const page = { ...base.page, ...words, exhibit, measured, tint: facts.tint };
  return {
    image,
    judged: {
      task,
      first: shown.grid.length,
      parts: [targets.filter(isAsked), held.targets.slice(0, most)],
    },
    held: [held.inputs.flat(), held.targets.flat()],
    spec: {
      ...base,
      engine: { ...spec, initial, table: true, start: null, shown: shown.first ?? null, metrics },
      scene: sceneOf(base.scene, tables, program, shown),
      facts: { ...facts, is_part: batch < inputs.length },
      page,
    },
  };
}

/** The facts of a network for captions and cards, as `caption_data`; `names` by role: of inputs and
 * outputs. */
function factsOf(base, tables, program, optimizers, names) {
  const { buffers, operations, moments, rows, task } = program;
  const last = buffers.at(-1);
  const output = operations.findLastIndex(({ kind }) => kind === "affine");
  const hasLayers = operations[output].layer > 1;
  const known = buffers.map(({ name, size }, i) => {
    const role = i === 0 ? "input" : i > output ? "output" : "hidden";
    const layer = i > 0 && hasLayers ? String(operations[i - 1].layer) : "";
    return [name, { size, shape: [], role, names: names[role] ?? [], layer, wave: false }];
  });
  const used = [...new Set(operations.flatMap(({ name }) => name ?? []))].sort();
  const cells = moments.map((moment, i) => {
    const operation = operations[moment.operation];
    const isForward = moment.kind === "forward";
    const name = tables.names[isForward ? (operation.name ?? "affine") : moment.kind];
    return {
      part: { backward: "backward", step: "step", loss: "error" }[moment.phase] ?? "forward",
      layer: moment.layer < 0 ? "" : text("plates.layer", { label: moment.layer }),
      name,
      technical: moment.name,
      done: i + 1,
    };
  });
  const updates = optimizers.map(({ name, rate, l1, l2 }) => {
    const { facts, before } = tables.optimizers[name];
    const penalties = before[Number(l1 > 0) + 2 * Number(l2 > 0)].map((step) => {
      const formula = step.line.formula.replace("0.125", l1).replace("0.25", l2);
      return { ...step, line: { ...step.line, formula } };
    });
    return { ...facts, lr: rate, given: { l1, l2 }, before: penalties };
  });
  return {
    ...base,
    outputs: last.name,
    buffers: Object.fromEntries(known),
    operations: operations.map(({ kind, name, source, target, weights, biases, rows: count, layer }) => ({
      ...tables.operations[name ?? kind],
      name: target.name, source: source.name, target: target.name, sources: [source.name],
      weights, biases, shape: kind === "affine" ? [target.size, source.size] : [], count, layer,
      label: String(layer),
    })),
    moments: moments.map((moment, i) => {
      const { layer, name } = cells[i];
      return { ...moment, title: layer ? `${layer}: ${name}` : name };
    }),
    lines: linesOf(program),
    activations: Object.fromEntries(used.map((name) => [name, tables.activations[name]])),
    loss: { ...tables.losses[task], divisor: program.loss.mean_of },
    rows,
    cells,
    optimizer: updates[0],
    optimizers: updates,
  }; // prettier-ignore
}

/** The lines of neurons of the picture: the inputs, and the outputs of each layer. */
function linesOf({ buffers, operations }) {
  const line = ({ name, size }, sums) => ({ values: name, sums, also: [], count: size });
  const affine = operations.filter(({ kind }) => kind === "affine");
  return [
    line(buffers[0], ""),
    ...affine.map(({ target }) => {
      const bent = operations.find(
        ({ source, kind }) => kind === "activation" && source === target,
      );
      return line(bent ? bent.target : target, bent ? target.name : "");
    }),
  ];
}

/** What the picture shows of a network, but for its layouts, as `scene_data`. */
function sceneOf(base, tables, program, { places, limits, tint }) {
  const { buffers, operations, moments, rows, task } = program;
  const last = buffers.at(-1).name;
  const affine = operations.findLast(({ kind }) => kind === "affine");
  return {
    ...base,
    tints: tint ? { inputs: tint, [last]: tint } : {},
    count: rows,
    frozen: new Uint8Array(rows),
    maps: {
      ...base.maps,
      buffers: buffers.map(({ name, size }) => [name, size]),
      places,
      paints: tint ? { first: affine.weights, name: affine.source.name, size: affine.source.size } : null, // prettier-ignore
    },
    pace: {
      longest: moments.map((moment) => longest(program, moment)),
      slow: [pauses(program, false), pauses(program, true)],
    },
    operations: operations.map(({ name, source, target }) => ({
      source: source.name,
      target: target.name,
      ...(name ? { flat: tables.flats[name] } : {}),
    })),
    moments: moments.map((moment) => momentOf(moment, operations, last)),
    limits,
    outputs: last,
    logits: tables.losses[task].logits,
    squared: task !== "classes",
  };
}

/** What a moment lights and computes, as `moment_data` in scene_data.py. */
function momentOf({ kind, operation, values, gradients }, operations, last) {
  const found = {
    kind,
    operation,
    lit: [],
    values,
    gradients,
    rows: [0, 0],
    neurons: null,
    each: [],
  };
  if (kind === "loss") return { ...found, lit: [last] };
  if (operation < 0) return found;
  const { source, target, kind: own, weights, rows } = operations[operation];
  const isBent = own === "activation";
  const isAlone = isBent ? kind === "forward" : kind === "delta";
  const ends = isAlone ? [target.name] : [target.name, source.name];
  const walked = kind === "input gradient" ? source : target;
  return {
    ...found,
    lit: ends.sort(),
    rows: kind === "weight gradient" ? [weights, weights + rows] : [0, 0],
    neurons: [walked.name, walked.size],
  };
}

/** What the result plot shows, and its first sample and the tint of inputs and outputs if there are
 * any.
 *
 * @returns {any}
 */
function exhibitOf(base, tables, settings, data, most) {
  if (settings.table) return tableExhibit(base, settings, data, most);
  if (task_of(settings) === "colours") return colourExhibit(tables, settings, data);
  return planeExhibit(base, tables, settings, data, most);
}

/** Colors and what becomes of them: a palette, or the last of the visitor's pairs. */
function colourExhibit({ palette }, { shape, colours }, { inputs, targets }) {
  const isOwn = colours !== "";
  const grid = isOwn ? inputs.slice(-palette.length) : palette;
  const goals = isOwn ? targets.slice(-palette.length) : palette.map(MAPS[shape]);
  return {
    exhibit: { kind: "swatches", things: "colours", inputs: grid, targets: goals },
    grid,
    places: null,
    limits: [Array(3).fill(0), Array(3).fill(1)],
    first: isOwn ? null : [grid[SHOWN], goals[SHOWN]],
    tint: "rgb",
  };
}

/** The map of the plane with the points, as `exhibit_data`, and what the picture needs of it:
 * {exhibit, grid: inputs to evaluate, places, limits}. */
function planeExhibit(base, tables, settings, { points, inputs, targets, held }, most) {
  const { shape, features, points: own } = settings;
  const isPlane = features.join() === "x,y";
  const { low, high } = base;
  const trees = isPlane ? [] : features.map((name) => tables.features[name].tree);
  const places = { axes: isPlane ? [0, 1] : [], rest: inputs[0], features: trees, low, high };
  const sides = own
    ? [text("build.class.low"), text("build.class.high")]
    : tables.shapes[shape].sides;
  const shown = [points.slice(0, DOTS), held.points.slice(0, most)];
  const goals = [...targets.slice(0, DOTS), ...held.targets.slice(0, most)].flat();
  return {
    exhibit: { ...base, sides, ...places, ...dotsOf(places, shown), targets: goals },
    grid: featuresOf(cellsOf(base), features),
    places,
    limits: [low, high].map(([limit]) => features.map(() => limit)),
  };
}

/** The same of a table: a map over two inputs, a curve over one, or answers. */
function tableExhibit({ side, part }, { names, classes }, { inputs, targets, held }, most) {
  const some = inputs.slice(0, DOTS);
  const [low, high] = rangesOf(some);
  const varied = low.flatMap((least, k) => (high[k] > least ? [k] : []));
  const kinds = classes.length > 2 ? classes : [];
  const output = classes.length ? "" : names.at(-1);
  const isCurve = varied.length === 1 && !kinds.length;
  const limits = rangesOf(inputs);
  const sides = classes.length === 2 ? classes : [];
  const line = { axes: varied.slice(0, 1), rest: low.map(() => 0), features: [], low, high };
  const seen = { grid: [], places: varied.length ? line : null, limits };
  if (varied.length !== 2 && !isCurve) {
    const own = { names: kinds.length ? kinds : [output], sorts: kinds.length > 0, sides };
    return { exhibit: { kind: "answers", ...own, targets: targets.slice(0, DOTS) }, ...seen };
  }
  const pointOf = (row, goals) => [...varied.map((k) => row[k]), ...(isCurve ? goals : [])];
  const points = some.map((row, i) => pointOf(row, targets[i]));
  const ends = rangesOf(points);
  const room = ends[0].map((least, k) => (isCurve ? [0, 0.15][k] : 0.1) * (ends[1][k] - least));
  if (isCurve) room[1] ||= 1;
  const where = {
    axes: varied,
    rest: some[0],
    features: [],
    low: ends[0].map((x, k) => x - room[k]),
    high: ends[1].map((x, k) => x + room[k]),
  };
  const tests = isCurve ? [] : held.inputs.slice(0, most);
  const shown = [...targets.slice(0, DOTS), ...held.targets.slice(0, tests.length)];
  const goals = shown.map((each) => (kinds.length ? each.indexOf(1) : each[0]));
  const [least, top] = [Math.min(...goals) / 2, Math.max(...goals) / 2];
  const dots = dotsOf(where, [points, tests.map((row) => pointOf(row, []))]);
  const title = kinds.length ? "classes" : "one";
  const exhibit = {
    kind: "plane",
    title: text(isCurve ? "exhibits.plane.curve" : `exhibits.plane.${title}`),
    side,
    part,
    names: isCurve
      ? [names[varied[0]], output || text("exhibits.axis.output")]
      : varied.map((k) => names[k]),
    classes: kinds.length,
    classNames: kinds,
    sides,
    ...where,
    ...dots,
    ...(isCurve ? { things: "dots", corner: null } : {}),
    sorts: kinds.length > 0 || (new Set(goals).size === 2 && !isCurve),
    middle: least + top,
    reach: top - least || 1,
    targets: goals,
  };
  const cells = isCurve ? alongLine(where) : cellsOf({ side, ...where });
  const grid = cells.map((cell) => some[0].with(varied[0], cell[0]).with(varied.at(-1), cell.at(isCurve ? 0 : 1))); // prettier-ignore
  return { ...seen, exhibit, grid, ...(isCurve ? {} : { places: where }) };
}

/** The least and the largest number of each column. */
function rangesOf(rows) {
  return [Math.min, Math.max].map((end) => rows[0].map((_, k) => end(...rows.map((row) => row[k])))); // prettier-ignore
}

/** Points on a map: for training, then test points. */
function dotsOf({ low, high }, /** @type {number[][][]} */ [points, tests]) {
  const placed = (some) =>
    some.map((point) => point.map((x, k) => (x - low[k]) / (high[k] - low[k])));
  const dots = placed(points);
  return { corner: freeCorner(dots), dots: [...dots, ...placed(tests)], held: points.length };
}

/** The corner of the map that is farthest from all points: right, and up; null if none is free. */
function freeCorner(points) {
  const corners = [[false, false], [false, true], [true, false], [true, true]]; // prettier-ignore
  const apart = (corner) =>
    Math.min(...points.map((point) =>
      Math.hypot(...point.map((x, k) => Math.max(0, Math.abs(x - Number(corner[k])) - CORNER[k]))),
    )); // prettier-ignore
  const far = corners.map(apart);
  const best = far.indexOf(Math.max(...far));
  return far[best] >= FAR && points.length > FEW_POINTS ? corners[best] : null;
}

/** The middles of the cells of the map, row by row from the top left. */
function cellsOf({ side, low, high }) {
  const part = Array.from({ length: side }, (_, i) => (i + 0.5) / side);
  return part.flatMap((down) =>
    part.map((right) => [low[0] + right * (high[0] - low[0]), high[1] - down * (high[1] - low[1])]),
  );
}

/** Places along a line. */
function alongLine({ low, high }) {
  return Array.from({ length: CURVE }, (_, i) => [low[0] + (i / (CURVE - 1)) * (high[0] - low[0])]);
}
