// What one picture shows of a state: numbers of cubes and neurons, the operation, the subject of
// the caption; as scene/frame_data.py.

import { readAnswers } from "./formulas.js";
import { cutOff, partlyGrown, walkedIn } from "./by_neuron.js";
import { numberAt } from "./arrays.js";
import { NONE } from "./story/facts.js";
import { ARRIVES, MOVED, magnification, moved } from "./story/pace.js";

/** @type {any} */
const WHOLE = { walked: null }; // all neurons of a moment
const BANKS = { value: "value", gradient: "grad" }; // by channel, where Python sends codes
const FRAME = { fine: 200000, moved: 10 }; // larger banks are not animated; cubes of a step that are drawn

/** What is remembered from one picture to the next. */
export class Remembered {
  constructor(scales) {
    this.scales = scales;
    this.state = null;
    this.gradients = null;
    this.beforeGradients = null;
  }

  /** Take up a state, whose scales follow those of the states before, but not over a jump. */
  take(state, channels, now) {
    if (!this.state || state.jumps !== this.state.jumps) {
      this.scales.forget();
      for (const name of channels) this.scales.choose(name, numbersOf(state, name));
    }
    if (state.grad !== this.gradients) {
      this.beforeGradients = this.gradients;
      this.gradients = state.grad;
    }
    this.state = state;
    for (const name of new Set(channels)) this.scales.follow(name, numbersOf(state, name), now);
  }
}

export const SINCE_START = "change since start"; // a channel

const KNOWN_CHANNELS = new WeakMap(); // by state: what is computed of one, by name of the channel

/** The numbers of a channel: the values, their gradients, their change, or a slot. */
function numbersOf(state, name) {
  if (name === "value") return state.value;
  if (name === "gradient") return state.grad;
  if (state.slots?.[name]) return state.slots[name];
  if (!KNOWN_CHANNELS.has(state)) KNOWN_CHANNELS.set(state, new Map());
  const known = KNOWN_CHANNELS.get(state);
  if (!known.has(name)) {
    const from = { "last change": state.before, [SINCE_START]: state.begun }[name];
    const change = state.value.map((each, i) => (from ? each - from[i] : 0));
    known.set(name, change);
  }
  return known.get(name);
}

/** What the picture shows of a state; see picture.js for the options. */
export function frameOf(scene, layout, state, options, remembered, now) {
  const part = Math.min(1, Math.max(0, options.part ?? 1));
  const moment = scene.moments[state.moment ?? -1] ?? null;
  const { seconds = 0, look = {} } = options;
  const { color = "value", cubes: size = "value" } = look;
  const walked = walkedIn(moment, options.neuron);
  const about = { layout, moment, part, walked };
  const own = (name) => {
    const found = mixedNumbers(state, name, moment, moved(part, seconds));
    return name === "gradient" ? partlyGrown(found, about, 0) : found;
  };
  const colors = own(color);
  const scales = remembered.scales;
  const { hover, pinned, pointed, guess = null } = options;
  const isStep = moment?.kind === "step" && size === color && color === "value";
  const before = isStep ? fewOrNone(state.before) : null;
  const sizes = size === color ? colors : own(size);
  const [drawn, moving] = before
    ? magnified(before, sizes, numbersOf(state, "value"), scales.of(size))
    : [sizes, [[], 1]];
  const isAsking = guess !== null && guess.after === undefined;
  const caption = isAsking ? null : (options.caption ?? null);
  const isTold =
    moment &&
    !guess &&
    (caption?.summed || caption?.bent || caption?.chain?.length || caption?.changes?.length);
  const told = isTold ? caption : null; // its number is explained in the picture
  return {
    scene,
    layout,
    moment,
    part,
    colors,
    sizes: drawn,
    cubes: { moved: moving }, // what a step moves most, and how much larger that is drawn
    weights: color === "value" ? colors : state.value,
    hasResult: options.result ?? false, // beside the picture
    doors: options.doors ?? [], // where it is entered
    look, // what a user has decided of the view
    color,
    size,
    scale: scales.of(color),
    activationScale: scales.of("value"),
    scaleAt: (row) => scales.of(color, row),
    sizeScaleAt: (row) => scales.of(size, row),
    grown: scales.grown(now),
    clipped: scales.beyond(color, colors),
    tile: state.tile ?? 0, // weights of which a cube shows the mean
    numberAt: (row) => (state.exact ? numberAt(state, row, BANKS[color]) : colors[row]),
    before,
    pushes: isAsking // they tell the answer
      ? null
      : pushesOf(
          scene,
          state,
          moment,
          part,
          state.grad_before ?? remembered.beforeGradients,
          about,
        ),
    frozen: state.frozen ?? scene.frozen,
    words: { caption },
    told,
    is_upright: Boolean(told?.summed) && moment.kind === "forward",
    hover: hover ? { row: hover.row ?? NONE } : null,
    pinned: pinned ? { row: pinned.row ?? NONE } : null,
    beside: options.beside ?? [],
    hover_neuron: hover?.neuron ?? null,
    pinned_neuron: pinned?.neuron ?? null,
    pointed: pointed ?? null,
    named: options.named ?? "",
    maps: options.maps ?? null,
    walked,
    guess,
    ...buffersOf(scene, state, moment, part, walked),
  };
}

/** Sizes in which the largest changes of a step are seen; their rows, and the factor. */
function magnified(before, sizes, after, scale) {
  const changeOf = (i) => {
    const change = Math.abs(after[i] - before[i]);
    return Number.isFinite(change) ? change : 0;
  };
  const order = Array.from(before, (_, i) => i).sort((a, b) => changeOf(b) - changeOf(a) || a - b);
  const rows = order.slice(0, FRAME.moved).filter((row) => changeOf(row) > 0);
  const factor = magnification(rows.length ? changeOf(rows[0]) : 0, scale);
  const drawn = sizes.slice();
  for (const row of rows) drawn[row] = before[row] + factor * (sizes[row] - before[row]);
  return [drawn, [rows, factor]];
}

function fewOrNone(before) {
  return before && before.length <= FRAME.fine ? before : null;
}

/** The numbers of a channel, at a step between those before and after it. */
function mixedNumbers(state, name, moment, part) {
  const now = numbersOf(state, name);
  const first = fewOrNone(state.before);
  if (name !== "value" || moment?.kind !== "step" || part >= 1 || !first) return now;
  return now.map((each, i) => first[i] + part * (each - first[i]));
}

/** The focus sample: what each buffer holds, if it is computed yet. */
function buffersOf(scene, state, moment, part, walked) {
  const isEarly = part < ARRIVES;
  const late = moment !== null && isEarly && !walked?.[1]; // its results are not there yet
  const done = moment === null ? 0 : (state.moment + (late ? 0 : 1)) % scene.moments.length;
  const without = (all, names) => {
    const kept = Object.entries(all ?? {}).filter(([name]) => !late || !names.includes(name));
    return Object.fromEntries(kept);
  };
  const whole = without(state.values, moment?.values ?? []);
  if (state.inputs && !(scene.inputs in whole)) whole[scene.inputs] = state.inputs;
  const { gradients_before: before } = state; // in a graph they add up
  const come = walked ? walked[1] + (isEarly ? 0 : 1) : 0; // neurons
  const cut = (all, names) => (walked ? cutOff(all, names, come) : all);
  const values = cut(whole, moment?.values ?? []);
  const isWhole = values[scene.outputs]?.length === whole[scene.outputs]?.length;
  const outputs = isWhole ? (values[scene.outputs] ?? null) : null;
  const flows = late && before ? before : without(state.gradients, moment?.gradients ?? []);
  const answers = outputs && readAnswers(outputs, scene.logits);
  return {
    values,
    whole,
    flows: !done ? {} : cut(flows, moment.gradients),
    target: outputs ? (state.target ?? null) : null,
    answers,
    saturated: saturatedOf(scene, values),
    leftOut: state.left_out ?? {},
  };
}

/** Whether the slope of each activation is nearly 0, by name of the buffer. */
function saturatedOf(scene, values) {
  const found = {};
  for (const { flat, source, target } of scene.operations) {
    if (flat?.length && source in values && target in values) {
      found[target] = Array.from(values[source].slice(0, values[target].length), (sum) =>
        flat.some(([low, high]) => sum >= low && sum <= high),
      );
    }
  }
  return found;
}

/** The gradient of each parameter, NaN where it is not known yet; null if none is. */
export function pushesOf(scene, state, moment, part, before, about = WHOLE) {
  const { grad } = state;
  if (!moment || !grad || grad.length > FRAME.fine) return null;
  const found = new Float64Array(grad.length).fill(NaN);
  const put = (from, factor, start, stop) => {
    for (let i = start; i < stop; i++) found[i] = factor * from[i];
  };
  if (moment.kind === "zero_grad") {
    if (!before || part >= 1) return null;
    put(before, 1 - part, 0, found.length);
  } else if (moment.kind === "step") {
    put(grad, Math.max(0, 1 - part / MOVED), 0, found.length);
  } else {
    for (const each of scene.moments.slice(0, state.moment + 1)) {
      const grown = each === moment && !about.walked ? Math.min(1, Math.max(0, 2 * part - 1)) : 1;
      for (const [start, stop] of [each.rows, ...each.each.map((row) => [row, row + 1])])
        put(grad, grown, start, stop);
    }
  }
  found.set(partlyGrown(found, about, NaN));
  const frozen = state.frozen ?? scene.frozen;
  let top = 0;
  for (let i = 0; i < found.length; i++) {
    if (frozen[i]) found[i] = NaN;
    else if (Math.abs(found[i]) > top) top = Math.abs(found[i]);
  }
  return top > 0 ? found : null;
}
