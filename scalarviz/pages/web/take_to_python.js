// The network, data and training of a playground as a Python program.

import { text } from "./texts.js";
import { drawnWeights } from "./growth.js";
import { littleEndian } from "./packed_link.js";
import { points_in, sizes_of } from "./story/build_link.js";

const OPTIMIZERS = { sgd: "SGD", momentum: "Momentum", adam: "Adam" };

/** Return a program that makes the session of these settings at its start.
 *
 * @param {any} settings of all names in story/build_link.py
 * @param {Float32Array | null} value the initial weights; null: drawn from the seed
 */
export function pythonOf(settings, value = null) {
  const { seed, opt, lr, l1, l2, batch } = settings;
  const penalties = given({ l1, l2 }, { l1: 0, l2: 0 });
  const init = given({ init: settings.init }, { init: "pytorch" });
  const isOwn = value && drawnWeights(settings).some((number, row) => number !== value[row]);
  return [
    "# pip install scalarviz",
    ...(isOwn ? ["from base64 import b64decode", ""] : []),
    ...(isOwn || settings.points ? ["import numpy as np"] : []),
    "import scalarviz as sv",
    "from scalarviz import data",
    "",
    ...(settings.points ? ownPoints(settings) : pointsOfSet(settings)),
    `network = sv.Network(${layersOf(settings)}, seed=${seed}${init})`,
    ...(isOwn ? weightsOf(value) : []),
    `optimizer = sv.${OPTIMIZERS[opt]}(lr=${lr}${penalties})`,
    'loss = sv.Loss("mse", factor=0.5)',
    `session = sv.Session(network, points, loss, optimizer, batch=${batch}, seed=${seed})`,
    "",
    "session.advance(100)",
    `# ${text("build.python").replaceAll("\n", "\n# ")}`,
    "print(session.losses[-1])",
    "",
  ].join("\n");
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

/** Arguments that differ from their defaults, each after a comma. */
function given(values, usual) {
  const named = Object.entries(values).filter(([name, value]) => value !== usual[name]);
  return named.map(([name, value]) => `, ${name}=${JSON.stringify(value)}`).join("");
}

/** The layers: just sizes, if all have biases and the same activation. */
function layersOf({ activation, bias, ...settings }) {
  const sizes = sizes_of(settings);
  const names = [...activation, "tanh"];
  if (bias && names.every((name) => name === names[0]))
    return `[${sizes.join(", ")}], "tanh", "tanh"`;
  const more = bias ? "" : ", bias=False";
  const dense = (name, i) => `    sv.Dense(${sizes[i]}, ${sizes[i + 1]}, "${name}"${more}),\n`;
  return `[\n${names.map(dense).join("")}]`;
}

/** The lines that set the weights, as base64 of float32. */
function weightsOf(value) {
  const lines = btoa(String.fromCharCode(...littleEndian(value))).match(/.{1,92}/g) ?? [];
  const set = 'network.bank.value[:] = np.frombuffer(b64decode(weights), "<f4")';
  return ['weights = """', ...lines, '"""', set];
}
