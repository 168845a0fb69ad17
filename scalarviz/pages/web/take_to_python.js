// The network, data and training of a playground as a Python program.

import { text } from "./texts.js";
import { drawnWeights } from "./growth.js";
import { colours_in, points_in, sizes_of, task_of, trained_of } from "./story/build_link.js";
import { littleEndian } from "./zipped.js";

const LOSSES = {
  sides: '"mse", factor=0.5',
  classes: '"softmax_cross_entropy"',
  numbers: '"mse"',
  colours: '"mse"',
};
const OPTIMIZERS = { sgd: "SGD", momentum: "Momentum", adam: "Adam" };

/** Return a program that makes the session of these settings at its start.
 *
 * @param {any} settings of all names in story/build_link.py
 * @param {Float32Array | null} value the initial weights; null: drawn from the seed
 */
export function pythonOf(settings, value = null) {
  const { seed, opt, lr, l1, l2, batch, table } = settings;
  const penalties = given({ l1, l2 }, { l1: 0, l2: 0 });
  const init = given({ init: settings.init }, { init: "pytorch" });
  const isColours = task_of(settings) === "colours";
  const isOwn = value && drawnWeights(settings).some((number, row) => number !== value[row]);
  return [
    "# pip install scalarviz",
    ...(isOwn || isHeld(table) ? ["from base64 import b64decode", ""] : []),
    ...(isOwn || table || settings.points || settings.colours ? ["import numpy as np"] : []),
    "import scalarviz as sv",
    "from scalarviz import data",
    "",
    ...(table ? tableOf(settings) : settings.points ? ownPoints(settings) : isColours ? coloursOf(settings) : pointsOfSet(settings)),
    `network = sv.Network(${layersOf(settings)}, seed=${seed}${init})`,
    ...(isOwn
      ? [...packedIn("weights", value), `network.bank.value[:] = ${unpackedFrom("weights")}`]
      : []),
    `optimizer = sv.${OPTIMIZERS[opt]}(lr=${lr}${penalties})`,
    `loss = sv.Loss(${LOSSES[task_of(settings)]})`,
    `session = sv.Session(network, points, loss, optimizer, batch=${batch}, seed=${seed})`,
    "",
    "session.advance(100)",
    `# ${text("build.python").replaceAll("\n", "\n# ")}`,
    "print(session.losses[-1])",
    "",
  ].join("\n"); // prettier-ignore
}

/** The lines that make pairs of colours. */
function coloursOf({ shape, colours }) {
  const rows = colours_in(colours).map((pair) => `    [${pair.map((x) => Math.round(255 * x)).join(", ")}],`); // prettier-ignore
  if (!rows.length) return [`points = data.Rgb("${shape}")`];
  return [
    "rows = np.array([  # red, green and blue of each colour, and of what is wanted", ...rows, "])",
    'names = ["R", "G", "B"]',
    "x, y = np.split(rows / 255, 2, axis=1)",
    "points = data.Arrays(x, y, input_names=names, output_names=names)",
  ]; // prettier-ignore
}

/** The lines that make the points of a set. */
function pointsOfSet({ shape, noise, share, seed, features }) {
  const more = given({ share, noise }, { share: 0.5, noise: 0 });
  return [
    `points = data.${shape[0].toUpperCase()}${shape.slice(1)}(`,
    `    scale=5.0, signed=True, seed=${seed}, features="${features}",`,
    ...(more ? [`    ${more.slice(2)},`] : []),
    ")",
  ];
}

/** The lines that make the visitor's own points, and the inputs that are computed from them. */
function ownPoints({ points, features }) {
  const rows = points_in(points).map((point) => `    [${point.join(", ")}],`);
  return [
    "rows = np.array([  # x, y, class", ...rows, "])",
    `plane = data.Circle(features="${features}")`,
    "points = data.Arrays(plane.inputs_of(rows[:, :2]), rows[:, 2], input_names=plane.input_names)",
  ]; // prettier-ignore
}

/** Whether a program holds a table, since Python has no file of it. */
function isHeld(table) {
  return table && table.how === null;
}

/** The lines that read a table, divide it, and make its inputs have mean 0 and deviation 1. */
function tableOf({ table, names, classes, share, seed }) {
  const task = task_of({ names, classes });
  const count = table.lines.length;
  const hasTests = trained_of({ share }, count) < count;
  const numbers = `${unpackedFrom("table")}.reshape(-1, ${names.length})`;
  const read = !isHeld(table)
    ? [
        `x, y = data.from_csv(${quoted(table.file)}${table.how}).training`,
        `x, y = x[:${count}], y[:${count}, 0]`,
      ]
    : [...packedIn("table", table.lines.flat()), `x, y = np.split(${numbers}, [-1], axis=1)`];
  const kinds = classes.length ? `, classes=${classes.length}` : "";
  const goal = {
    sides: "2 * Y[:, 1] - 1",
    classes: "Y",
    numbers: "(Y - y.mean()) / (y.std() or 1)",
  }[task];
  const goalOf = (name) => goal.replace("Y", name);
  const output = { classes, numbers: names.slice(-1) }[task];
  return [
    ...read,
    ...(kinds ? ["y = np.unique(y, return_inverse=True)[1].ravel()  # classes from 0"] : []),
    `split = data.Arrays(x, y, share=${share}, seed=${seed}${kinds})`,
    "x, y = split.training",
    ...(hasTests ? ["tests, goals = split.held_out"] : []),
    "standard = split.affine()  # mean 0, deviation 1",
    "points = data.Arrays(",
    `    standard(x), ${goalOf("y")},`,
    ...(hasTests ? [`    held_out=(standard(tests), ${goalOf("goals")}),`] : []),
    `    input_names=[${names.slice(0, -1).map(quoted).join(", ")}],`,
    ...(output ? [`    output_names=[${output.map(quoted).join(", ")}],`] : []),
    ")",
  ]; // prettier-ignore
}

/** A text as Python writes it. */
function quoted(words) {
  return JSON.stringify(words);
}

/** Arguments that differ from their defaults, each after a comma. */
function given(values, usual) {
  const named = Object.entries(values).filter(([name, value]) => value !== usual[name]);
  return named.map(([name, value]) => `, ${name}=${JSON.stringify(value)}`).join("");
}

/** The layers: just sizes, if all have biases and the same activation. */
function layersOf({ activation, bias, ...settings }) {
  const sizes = sizes_of(settings);
  const last = { sides: "tanh", colours: "sigmoid" }[task_of(settings)] ?? "linear";
  const names = [...activation, last];
  if (bias && activation.every((name) => name === names[0]))
    return `[${sizes.join(", ")}], "${names[0]}", "${last}"`;
  const more = bias ? "" : ", bias=False";
  const dense = (name, i) => `    sv.Dense(${sizes[i]}, ${sizes[i + 1]}, "${name}"${more}),\n`;
  return `[\n${names.map(dense).join("")}]`;
}

/** The lines that hold numbers as base64 of float32. */
function packedIn(name, value) {
  const letters = Array.from(littleEndian(value), (byte) => String.fromCharCode(byte)).join("");
  return [`${name} = """`, ...(btoa(letters).match(/.{1,92}/g) ?? []), '"""'];
}

/** The numbers that `packedIn` holds. */
function unpackedFrom(name) {
  return `np.frombuffer(b64decode(${name}), "<f4")`;
}
