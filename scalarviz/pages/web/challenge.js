// Challenges: a network to begin with, what may be changed, and a goal. What is reached is judged by
// numbers of the page; moves are what differs from the beginning, so that undo gives one back.
//
// The rows of pages/challenges.json:
//
//   id      names its texts; `start` is the link with which it begins
//   may     what may be changed: drag, features, layers, lr, l2; or done: play
//   moves   most changes; `by` is the last step, which alone counts with `last` 1; with `tries` 1 the
//           first pause counts
//   goal    [what, ">=" or "<=", number]
//   way     how it is solved: ["edit", row, value], ["features", name], ["layers", place, size],
//           ["lr" or "l2", value], ["pause", step]; `brought` are the numbers after each, recorded

import { FEATURES, count_of } from "./story/build_link.js";

const NEAR = 0.15; // of its size, from a weight of the way, within which a drag has found it
const FIELDS = { layers: ["hidden", "activation"], features: ["features"], lr: ["lr"], l2: ["l2"] };
const ALWAYS = ["point", "sample", "evaluate", "survey", "moved", "past", "ahead", "state", "pause", "undo", "redo"]; // prettier-ignore
const COMMANDS = { drag: ["edit"], play: ["play"] }; // of the training

/** Whether the training may get a command. */
export function takes({ may }, name) {
  return ALWAYS.includes(name) || may.some((each) => COMMANDS[each]?.includes(name));
}

/** Whether settings may be changed. */
export function isAllowed({ may }, names) {
  return names.every((name) => may.some((each) => FIELDS[each]?.includes(name)));
}

/** What is judged: points that are right and mean losses, from answers; and the size of a network.
 *
 * count  of the first points, with which it learns; the others are test points
 */
export function numbersOf(settings, answers, targets, count) {
  const found = { weights: count_of(settings), neurons: settings.hidden.reduce((a, b) => a + b, 0) }; // prettier-ignore
  const parts = [["right", "learn", 0, count], ["test", "test_loss", count, targets.length]]; // prettier-ignore
  for (const [right, loss, first, end] of parts) {
    found[right] = found[loss] = 0;
    for (let i = first; i < end; i++) {
      found[right] += Number(targets[i] > 0 === answers[i] > 0);
      found[loss] += (0.5 * (answers[i] - targets[i]) ** 2) / (end - first);
    }
  }
  return found;
}

/** Judge numbers: {solved, parts: [{what, number, wanted}]}. */
export function judge({ goal }, numbers) {
  const parts = goal.map(([what, , wanted]) => ({ what, number: numbers[what], wanted }));
  const isMet = ([what, sign, wanted]) =>
    sign === ">=" ? numbers[what] >= wanted : numbers[what] <= wanted; // NaN meets nothing
  return { solved: goal.every(isMet), parts };
}

/** Whether a moment counts: at rest; of what trains the goal, the last step, or the first pause. */
export function isDue({ by, tries, last }, { step, playing, solved }) {
  if (solved && step > 0 && by && !tries && !last) return true;
  return !playing && (!by || step === by || (tries && step > 0));
}

/** The changes in force between the beginning and now, {settings, value}, as entries of a way. */
export function movesOf({ may }, first, now) {
  const moves = [];
  const [old, next] = [first.settings, now.settings];
  for (const name of FEATURES)
    if (old.features.includes(name) !== next.features.includes(name))
      moves.push(["features", name]);
  for (let k = 0; k < Math.max(old.hidden.length, next.hidden.length); k++)
    if (old.hidden[k] !== next.hidden[k]) moves.push(["layers", k, next.hidden[k] ?? 0]);
  for (const name of ["lr", "l2"]) if (old[name] !== next[name]) moves.push([name, next[name]]);
  if (may.includes("drag"))
    now.value.forEach((value, row) => value !== first.value[row] && moves.push(["edit", row, value])); // prettier-ignore
  return moves;
}

/** Return {settings, value} after an entry of a way. */
export function after({ settings, value }, [kind, name, given]) {
  if (kind === "edit") return { settings, value: value.with(name, given) };
  const { features, hidden } = settings;
  const fields = {
    features: () => ({ features: FEATURES.filter((each) => features.includes(each) !== (each === name)) }), // prettier-ignore
    layers: () => ({ hidden: hidden.with(name, given) }),
    lr: () => ({ lr: name }),
    l2: () => ({ l2: name }),
    pause: () => ({}),
  }[kind]();
  return { settings: { ...settings, ...fields }, value };
}

/** The first entry of the way that is not in force; null if all are. */
export function nextOf(challenge, first, now) {
  const moves = movesOf(challenge, first, now);
  const isDone = ([kind, name, given]) => {
    if (kind === "edit") return Math.abs(now.value[name] - given) <= NEAR * Math.abs(given);
    if (kind === "layers") return now.settings.hidden[name] === given;
    return moves.some((each) => each[0] === kind && each[1] === name);
  };
  return challenge.way.find((entry) => !isDone(entry)) ?? null;
}

/** The drags in order, {row, from, to, right}, after one more number of right points. */
export function noted(drags, first, value, right) {
  const found = drags.filter(({ row }) => value[row] !== first[row]);
  value.forEach((to, row) => {
    const drag = found.find((each) => each.row === row);
    if (!drag && to !== first[row]) found.push({ row, from: first[row], to, right });
    else if (drag && drag.to !== to) Object.assign(drag, { to, right });
  });
  return found;
}
