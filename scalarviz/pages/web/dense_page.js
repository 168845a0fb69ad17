// The data of a page for any network of dense layers that classifies points of the plane: what
// pages/page.py would write for the scene `circle` with these settings.
//
// What does not depend on the settings is taken from the data of the page itself (`base`), and from
// tables that Python exports: pages/playground_data.py.

import { denseEngine, denseProgram } from "./dense_image.js";
import { featuresOf, pointsOf } from "./data_sets.js";
import { initialNumbers } from "./engine.js";
import { initialOf } from "./growth.js";
import { sizes_of } from "./story/build_link.js";
import { text } from "./texts.js";
import { longest, pauses } from "./story/pace.js";

const DOTS = 256; // training points on the map, and test points
const HELD = 80;
const FEW_POINTS = 8; // up to which no corner of the map has words
const FAR = 0.15; // from the points to the words in a corner
const CORNER = [0.7, 0.1]; // sizes of these words

/** The data of a page, and the memory of its engine: {spec, image, held}.
 *
 * @param {any} base the data of the page of another network of this kind
 * @param {any} tables
 * @param {any} settings of all names in story/build_link.py
 * @param {any} given {value: the weights, if not the initial ones; layouts; most: test points
 *   on the map}
 */
export function specOf(base, tables, settings, { value = null, layouts = {}, most = HELD } = {}) {
  const { features, opt, lr, l1, l2, batch, seed } = settings;
  const activations = [...settings.activation, "tanh"];
  const net = { sizes: sizes_of(settings), activations, biases: settings.bias };
  const program = denseProgram(tables.image, net);
  const data = pointsOf(settings);
  const isPlane = features.join() === "x,y";
  const inputs = featuresOf(data.points, features);
  const heldInputs = featuresOf(data.held.points, features);
  const exhibit = exhibitOf(base.page.exhibit, tables, settings, data, {
    inputs, isPlane, most, output: program.buffers.at(-1).name,
  }); // prettier-ignore
  const grid = featuresOf(cellsOf(exhibit), features);
  const probe = [...grid, ...inputs.slice(0, DOTS), ...heldInputs.slice(0, most)].flat();
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
    inputs: inputs.flat(), targets: data.targets, probe, seed, batch, optimizers,
  }); // prettier-ignore
  const isOwn = settings.points !== "";
  const metrics = isOwn ? undefined : { ...base.engine.metrics, held: heldInputs.length };
  const words = isOwn
    ? { measured: undefined, about: text("build.about") }
    : tables.shapes[settings.shape].page;
  const page = { ...base.page, ...words, exhibit };
  const facts = factsOf(base.facts, tables, settings, program, optimizers);
  return {
    image,
    held: [heldInputs.flat(), data.held.targets],
    spec: {
      ...base,
      engine: { ...spec, initial, table: true, start: null, shown: null, metrics },
      scene: { ...sceneOf(base.scene, tables, program, exhibit), ...layouts },
      facts,
      page,
    },
  };
}

/** The facts of a network for captions and cards, as `caption_data`. */
function factsOf(base, tables, { features, activation }, program, optimizers) {
  const { buffers, operations, moments, rows } = program;
  const last = buffers.at(-1);
  const output = operations.length - 2; // the sums of the output
  const hasLayers = activation.length > 1;
  const names = features.map((name) => tables.features[name].label);
  const known = buffers.map(({ name, size }, i) => {
    const role = i === 0 ? "input" : i > output ? "output" : "hidden";
    const layer = i > 0 && hasLayers ? String(operations[i - 1].layer) : "";
    return [name, { size, shape: [], role, names: i ? [] : names, layer, wave: false }];
  });
  const used = [...new Set([...activation, "tanh"])].filter((name) => name !== "linear").sort();
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
function sceneOf(base, tables, program, exhibit) {
  const { buffers, operations, moments, rows } = program;
  const [wide, last] = [buffers[0].size, buffers.at(-1).name];
  const { axes, rest, features, low, high } = exhibit;
  return {
    ...base,
    count: rows,
    frozen: new Uint8Array(rows),
    maps: {
      ...base.maps,
      buffers: buffers.map(({ name, size }) => [name, size]),
      places: { axes, rest, features, low, high },
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
    limits: [base.limits[0][0], base.limits[1][0]].map((limit) => Array(wide).fill(limit)),
    outputs: last,
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
  const ends = kind === "forward" && isBent ? [target.name] : [target.name, source.name];
  const walked = kind === "input gradient" ? source : target;
  return {
    ...found,
    lit: ends.sort(),
    rows: kind === "weight gradient" ? [weights, weights + rows] : [0, 0],
    neurons: [walked.name, walked.size],
  };
}

/** The map of the plane with the points, as `exhibit_data`. */
function exhibitOf(
  base,
  tables,
  { shape, features, points: own },
  { points, targets, held },
  given,
) {
  const { inputs, isPlane, most, output } = given;
  const [low, high] = [base.low, base.high];
  const placed = (some) =>
    some.map((point) => point.map((x, k) => (x - low[k]) / (high[k] - low[k])));
  const shown = Math.min(points.length, DOTS);
  const dots = [...placed(points.slice(0, shown)), ...placed(held.points.slice(0, most))];
  return {
    ...base,
    output,
    sides: own ? [text("build.side.low"), text("build.side.high")] : tables.shapes[shape].sides,
    axes: isPlane ? [0, 1] : [],
    rest: inputs[0],
    features: isPlane ? [] : features.map((name) => tables.features[name].tree),
    corner: freeCorner(placed(points.slice(0, shown))),
    dots,
    targets: [...targets.slice(0, shown), ...held.targets.slice(0, most)],
    held: shown,
  };
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
