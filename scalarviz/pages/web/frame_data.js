// What one picture shows of a state: numbers of cubes and neurons, the operation, the subject of
// the caption; as scene/frame_data.py.

import { blame_of_parts } from "./story/formula_marks.js";
import { module_words } from "./story/legend.js";
import { place_in_array } from "./story/names.js";
import { readAnswers } from "./formulas.js";
import { numberAt } from "./arrays.js";
import { NONE } from "./story/facts.js";
import { rows_of_sum } from "./story/focus.js";
import { Choice } from "./story/sequence_places.js";
import { at_place } from "./story/sequence_choice.js";
import * as pace from "./story/pace.js";

const NAMED = 34; // least pixels of a cell with call-outs in a playground
const BANKS = { value: "value", gradient: "grad" }; // by channel, where Python sends codes

export const SINCE_START = "change since start"; // a channel

const KNOWN_CHANNELS = new WeakMap(); // by state: what is computed of one, by name of the channel

/** Return the numbers of a channel: values, gradients, a slot, or a change of the values. */
export function numbersOf(state, name) {
  const own = { value: state.value, gradient: state.grad }[name] ?? state.slots?.[name];
  if (own) return own;
  if (!KNOWN_CHANNELS.has(state)) KNOWN_CHANNELS.set(state, {});
  const from = { "last change": state.before, [SINCE_START]: state.begun }[name];
  const change = () => state.value.map((each, i) => (from ? each - from[i] : 0));
  return (KNOWN_CHANNELS.get(state)[name] ??= change());
}

/** Return the neurons of a moment that are shown, up to `number`; null if all are shown. */
export function neuronsOf(moment, number, part = 1) {
  if (!moment?.neurons || !number) return null;
  const { kind, values, gradients, neurons } = moment;
  return new pace.NeuronPart(kind, values, gradients, ...neurons, number, part);
}

/** Return the row of the selected weight, or the first one of the largest plate. */
function selectedRow(plates, ...targets) {
  const row = targets.map((each) => each?.row ?? -1).find((each) => each >= 0);
  return row ?? plates.reduce((a, b) => (b.size > a.size ? b : a)).first;
}

/** Return what the picture shows of a state; for the options see `Picture.draw`. */
export function frameOf(scene, layout, state, options, scales, now) {
  const part = Math.min(1, Math.max(0, options.part ?? 1));
  const moment = scene.moments[state.moment ?? -1] ?? null;
  const { seconds = 0, look = {} } = options;
  const { color = "value", cubes: size = "value" } = look;
  const neurons = neuronsOf(moment, options.neuron, part);
  const isStep = moment?.kind === "step" && state.before?.length <= pace.MOST_ANIMATED;
  const far = pace.moved(part, seconds);
  const own = (name) => {
    const numbers = numbersOf(state, name);
    if (name === "value" && isStep && far < 1)
      return numbers.map((each, i) => state.before[i] + far * (each - state.before[i]));
    return name === "gradient" ? grown(numbers, layout, neurons, 0) : numbers;
  };
  const colors = own(color);
  const { hover, pinned, pointed } = options;
  const before = isStep && size === color && color === "value" ? state.before : null;
  const sizes = size === color ? colors : own(size);
  const [drawn, moving] = magnified(
    layout.sequence ? null : before,
    sizes,
    state.value,
    scales.of(size),
    options.caption?.rows,
  );
  const caption = options.caption ?? null;
  const told = moment ? caption : null;
  const pushes = pushesOf(scene, state, moment, part, layout, neurons);
  const begun = (look.ghosts && size === "value" && state.begun) || null; // if cubes have outlines of it
  const shownRow = layout.marks?.length ? selectedRow(layout.plates, hover, pinned) : null;
  const cubes = {
    ...{ colors, sizes: drawn, color, size, before, pushes, moved: moving, per_layer: false },
    color_scales: layout.plates.map(({ first }) => scales.of(color, first)),
    size_scales: layout.plates.map(({ first }) => scales.of(size, first)),
    common: scales.of(color, shownRow ?? -1),
    module: shownRow === null ? "" : module_words(place_in_array(options.arrays, shownRow)),
    grown: scales.stops.just_grown(now),
    clipped: layout.thread?.length ? 0 : scales.beyond(color, colors), // few cubes are seen of all
    frozen: state.frozen ?? scene.frozen,
    longest_push: pushes?.reduce((top, x) => Math.max(top, Math.abs(x) || 0), 0) || null,
  };
  const buffers = buffersOf(scene, state, moment, part, neurons);
  const choice = options.choice ?? new Choice();
  if (layout.sequence) {
    const found = at_place(layout.sequence, buffers.values, state.value, choice);
    const shown = Object.fromEntries(found); // of the chosen place, by the balls
    buffers.values = { ...buffers.values, ...shown };
    buffers.whole = { ...buffers.whole, ...shown };
  }
  const place = `${state.step} ${state.operation}`;
  const isFirst = (scene.first ??= place) === place; // nothing was done yet
  const isAlone = !(moment || hover || pinned || options.held);
  return {
    scene,
    layout,
    moment,
    part,
    ...cubes,
    cubes, // as CubeValues of scene/frame_data.py
    weights: color === "value" ? colors : state.value,
    hasResult: options.result ?? false, // beside the picture
    doors: options.doors ?? [], // where it is entered
    border: options.border ?? null, // between two answers of it
    look, // what a user has decided of the view
    scale: cubes.common,
    activationScale: scales.of("value"),
    scaleAt: (row) => scales.of(color, row),
    sizeScaleAt: (row) => scales.of(size, row),
    tile: state.tile ?? 0, // weights of which a cube shows the mean
    numberAt: (row) => (state.exact ? numberAt(state, row, BANKS[color]) : colors[row]),
    begun,
    begun_rows: begun
      ? layout.plates
          .filter((each) => each.in_row || each.wide)
          .flatMap((each) => [...each.cells().indices])
      : [],
    words: { caption },
    told, // its number is explained in the picture
    marks: options.marks ?? false, // whether the key to the marks is open
    named: options.named ? NAMED : Infinity, // pixels of a cell from which on the first row has call-outs whenever it rests
    names_row:
      isAlone &&
      !options.isClose &&
      ((options.marks ?? false) || ((isFirst || options.named) && !state.playing)),
    hover: hover ? { row: hover.row ?? NONE } : null,
    pinned: pinned ? { row: pinned.row ?? NONE } : null,
    beside: options.beside ?? [],
    hover_neuron: hover?.neuron ?? null,
    pinned_neuron: pinned?.neuron ?? null,
    pointed: pointed ?? null,
    maps: options.maps ?? null,
    probe: options.probe ?? null,
    walked: neurons?.neuron ?? null,
    thread: [], // the strongest path through strips
    focus: /** @type {any} */ (null), // set by the picture, which dims what is out of it
    held: (!moment && options.held) || null, // what a hand drags, and what was before
    choice, // of a sequence
    ...buffers,
    buffers,
    blame: blame_of_parts(layout, moment?.kind ?? "", buffers.flows),
  };
}

/** Magnify the largest changes of a step in cube sizes; return sizes, rows and factor. */
function magnified(before, sizes, after, scale, followed = []) {
  if (!before) return [sizes, [[], 1]];
  const changes = before.map((old, i) => Math.abs(after[i] - old));
  const isMoved = (row) => changes[row] > 0 && changes[row] < Infinity;
  const order = [...changes.keys()].filter(isMoved).sort((a, b) => changes[b] - changes[a]);
  const rows = [...new Set([...order.slice(0, pace.MOST_MOVED), ...followed.filter(isMoved)])];
  const factor = pace.magnification(changes[rows[0]] ?? 0, scale);
  const drawn = sizes.slice();
  for (const row of rows) drawn[row] = before[row] + factor * (sizes[row] - before[row]);
  return [drawn, [rows, factor]];
}

/** Return gradients with `missing` in place of the gradients of neurons not shown yet. */
function grown(gradients, layout, neurons, missing) {
  const growing = neurons?.growing() ?? [];
  if (!growing.length) return gradients;
  const found = gradients.slice();
  for (const [neuron, share] of growing) {
    const fan = layout.fan_into(neuron);
    for (const row of fan ? rows_of_sum(...fan) : [])
      found[row] = share === null ? missing : share * found[row];
  }
  return found;
}

/** Return the numbers of each buffer for the sample in focus, if they are computed yet. */
function buffersOf(scene, state, moment, part, neurons) {
  const late = moment !== null && pace.is_late(part, neurons?.number ?? 0);
  const done = moment === null ? 0 : (state.moment + (late ? 0 : 1)) % scene.moments.length;
  const without = (all = {}, names = []) => {
    const kept = Object.entries(all).filter(([name]) => !late || !names.includes(name));
    return Object.fromEntries(kept);
  };
  const cut = (all, names) => (neurons ? Object.fromEntries(neurons.cut(all, names)) : all);
  const given = state.inputs ? { [scene.inputs]: state.inputs } : {};
  const whole = { ...given, ...without(state.values, moment?.values) };
  const values = cut(whole, moment?.values);
  const isWhole = values[scene.outputs]?.length === whole[scene.outputs]?.length;
  const outputs = isWhole ? (values[scene.outputs] ?? null) : null;
  const earlier = late && state.gradients_before; // in a graph they add up
  return {
    values,
    whole,
    flows: done ? cut(earlier || without(state.gradients, moment.gradients), moment.gradients) : {},
    target: outputs && (state.target ?? null),
    answers: outputs && readAnswers(outputs, scene.logits),
    saturated: cut(saturatedOf(scene, whole), moment?.values),
    squared: scene.squared,
    left_out: state.left_out ?? {},
  };
}

/** Return whether the slope of each activation is nearly 0, by name of the output buffer. */
function saturatedOf({ operations }, values) {
  const found = {};
  for (const { flat, source, target } of operations) {
    const isFlat = (sum) => flat.some(([low, high]) => sum >= low && sum <= high);
    if (flat?.length && source in values && target in values)
      found[target] = Array.from(values[source], isFlat);
  }
  return found;
}

/** Return the gradient of each parameter, NaN if not known yet; null if none is known. */
export function pushesOf(scene, state, moment, part, layout = null, neurons = null) {
  const from = moment?.kind === "zero_grad" ? state.grad_before : state.grad;
  const frozen = state.frozen ?? scene.frozen;
  if (!moment || !from || from.length > pace.MOST_ANIMATED) return null;
  const share = pace.share_known(moment.kind, neurons ? 1 : part);
  const isWhole = ["zero_grad", "step"].includes(moment.kind);
  const shares = new Float64Array(from.length).fill(isWhole ? share : NaN);
  for (const each of isWhole ? [] : scene.moments.slice(0, state.moment + 1))
    for (const [start, stop] of [each.rows, ...each.each.map((row) => [row, row + 1])])
      shares.fill(each === moment ? share : 1, start, stop);
  const known = shares.map((each, i) => (frozen[i] ? NaN : each * from[i]));
  const found = grown(known, layout, neurons, NaN);
  return found.some((each) => Math.abs(each) > 0) ? found : null;
}
