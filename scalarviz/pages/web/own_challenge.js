// Challenges in links: c=PACKED is a row as in pages/challenges.json, with its name `n`, its sentence
// `say` and the version `v` of these rules; the rest of the link is its start. Nothing in it is run.

import { numbersOf } from "./challenge.js";
import { featuresOf, pointsOf } from "./data_sets.js";
import { Engine } from "./engine.js";
import { readBuild, writeBuild } from "./packed_link.js";
import { count_of, FEATURES, MOST_NEURONS, task_of } from "./story/build_link.js";
import { packedBytes, unpackedBytes } from "./zipped.js";

const VERSION = 1;
const LONGEST = 65536; // bytes of an unpacked challenge
const MAY = ["drag", "play", "features", "layers", "lr", "l2"];
const NUMBERS = ["right", "test", "learn", "test_loss", "weights", "neurons"];
const LAST = 20000; // step at which a challenge may end
const TURNED = 3; // weights
const PART = 0.98; // of the points that are right in the trained network: the goal
const TRIALS = 60;
const DRAGS = 33; // values to which each weight is dragged

/** Read the challenge in a link; null if it is missing or anything in it is wrong. */
export async function readChallenge(hash) {
  const parts = new URLSearchParams(hash.slice(1));
  const packed = parts.get("c") ?? "";
  parts.delete("c");
  const start = String(parts);
  const { settings, bad } = await readBuild(`#${start}`);
  try {
    const bytes = await unpackedBytes(packed);
    const row = JSON.parse(bytes.length > LONGEST ? "" : new TextDecoder().decode(bytes));
    return !bad && isValid(row, settings) ? { ...row, start, link: hash } : null;
  } catch {
    return null; // it is no packed text, or no JSON, or lacks a field
  }
}

/** Return the link to a challenge that begins with settings and weights. */
export async function writeChallenge(row, settings, value) {
  const bytes = new TextEncoder().encode(JSON.stringify({ ...row, v: VERSION }));
  return `${await writeBuild(settings, value)}&c=${await packedBytes(bytes)}`;
}

/** Return whether a row follows the rules, for a network with settings; it may also raise. */
function isValid({ n, say, may, moves, by, tries, goal, way, v }, settings) {
  const isWhole = (number, most) => Number.isInteger(number) && number > 0 && number <= most;
  const isText = (words, most) => typeof words === "string" && words.trim() && words.length <= most;
  const isList = (list, most, isOne) => Array.isArray(list) && list.length > 0 && list.length <= most && list.every(isOne); // prettier-ignore
  const isIn = (number, most) => typeof number === "number" && number >= 0 && number <= most;
  const isGoal = ([what, sign, number, ...more]) =>
    NUMBERS.includes(what) && [">=", "<="].includes(sign) && Number.isFinite(number) && !more.length; // prettier-ignore
  const checks = {
    edit: (row, value) => isWhole(row + 1, count_of(settings)) && Number.isFinite(value),
    features: (name) => FEATURES.includes(name),
    layers: (place, size) => isWhole(place + 1, settings.hidden.length) && isWhole(size, MOST_NEURONS), // prettier-ignore
    lr: (rate) => isIn(rate, 1000),
    l2: (penalty) => isIn(penalty, 1),
    pause: (step) => isWhole(step, LAST),
  };
  const isEntry = ([kind, ...given]) => Object.hasOwn(checks, kind) && checks[kind](...given);
  return (
    v === VERSION &&
    task_of(settings) === "sides" &&
    !settings.table &&
    isText(n, 40) &&
    isText(say, 160) &&
    isList(may, MAY.length, (each) => MAY.includes(each)) &&
    (moves === undefined || isWhole(moves, 99)) &&
    (may.includes("play") ? isWhole(by, LAST) : by === undefined) &&
    (tries === undefined || tries === 1) &&
    isList(goal, 3, isGoal) &&
    isList(way, 99, isEntry)
  );
}

/** Return a function that counts the right training points with the weights in `value`. */
export async function counterOf(module, { image, spec, settings }) {
  const { points, targets } = pointsOf(settings);
  const inputs = Float32Array.from(featuresOf(points, settings.features).flat());
  const { length } = targets;
  const engine = await Engine.open(module, image, spec.engine);
  const right = () => numbersOf(settings, engine.evaluate(inputs, length), targets, length).right;
  return { value: engine.value, right, count: length };
}

/** Turn three weights round: {goal, way, moves} if at most turning all back reaches the goal.
 *
 * value   the weights that `right` counts with; in the end the start of the challenge
 * rest    waits a moment between two rows of weights; false ends the search
 *
 * Returns null if no three weights are found.
 */
export async function turned({ value, right }, rest, random = Math.random) {
  const wanted = Math.ceil(PART * right());
  const most = Math.max(4, ...value.map(Math.abs));
  const grid = Array.from({ length: DRAGS }, (_, i) => most * ((2 * i) / (DRAGS - 1) - 1));
  const turn = (rows) => rows.forEach((row) => (value[row] *= -1));
  const reaches = (row, to) => {
    const from = value[row];
    value[row] = to;
    const isReached = right() >= wanted;
    value[row] = from;
    return isReached;
  };
  const large = [...value.keys()].sort((a, b) => Math.abs(value[b]) - Math.abs(value[a]));
  for (let trial = 0; trial < TRIALS && large.length >= TURNED; trial++) {
    const rows = large.slice(0, Math.max(TURNED, large.length / 2)).sort(() => random() - 0.5).slice(0, TURNED); // prettier-ignore
    const way = rows.map((row) => ["edit", row, Number(value[row].toPrecision(6))]);
    turn(rows);
    let isEasy = right() >= wanted || rows.some((row) => reaches(row, -value[row]));
    for (let row = 0; row < value.length && !isEasy; row++) {
      if (!(await rest())) return null;
      isEasy = grid.some((to) => reaches(row, to));
    }
    if (!isEasy) return { may: ["drag"], moves: TURNED, goal: [["right", ">=", wanted]], way };
    turn(rows);
  }
  return null;
}
