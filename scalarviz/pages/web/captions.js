// The caption of a state: of its last operation, of a training that plays, or of one at rest. Its
// words are made of story/captions.py.

import { Caption, Piece } from "./story/caption.js";
import { sentence } from "./story/names.js";
import { caption_of_state, progress_of, rest_of } from "./story/captions.js";
import { readyState } from "./facts.js";
import { text } from "./texts.js";

/**
 * Return the caption of a state, which describes its last operation if there is one.
 *
 * spec    spec of the page, of which `facts` is used
 * state   state of the page; `all` contains the numbers of the batch, {values, gradients, targets},
 *         the first two by buffer, sample by sample; without `all` some lines are shorter
 * row     bank index of the weight whose numbers are shown, or null
 * neuron  neuron whose numbers are shown instead, as [buffer, index], or null
 *
 * This function never throws. If the numbers are missing, the caption is the operation's name.
 */
export function captionOf({ facts }, state, { row = null, neuron = null } = {}) {
  return onceOf(state, "caption", { row, neuron }, () => {
    const moment = facts.moments[state.moment ?? -1];
    if (!moment) return new Caption(text("captions.before"));
    const plain = new Caption(`${sentence(moment.name)}.`);
    if (facts.is_graph || state.light) return state.caption ? written(state.caption) : plain;
    try {
      return caption_of_state(facts, readyState(facts, state), row, neuron);
    } catch (error) {
      console.error(error); // a fault of the page, which trains and is drawn all the same
      return plain;
    }
  });
}

/** Return a caption that Python has written, with its lines divided into pieces. */
function written(caption) {
  const pieces = (lines) =>
    lines.map((line) => line.map((each) => Object.assign(new Piece(""), each)));
  const [lines, whole] = [pieces(caption.lines), pieces(caption.whole)];
  return Object.assign(new Caption(""), caption, { lines, whole });
}

/** Return a text with the step and the loss; it mentions whether weights were edited since.
 *
 * isAlone  whether the curve shows means, since the loss of a step says little
 */
export function restWords({ step, loss, value, edited = {} }, isAlone = false) {
  const isEdited = Object.keys(edited).some((row) => edited[row] !== value[row]);
  return rest_of(step, loss, isEdited, isAlone);
}

/** Return a text with the number of right samples or the loss, and the change of the loss.
 *
 * changed  field of the state: the first step whose loss was computed after the last edit
 */
export function progressOf({ step, loss, changed = 0 }, losses, verdict, isAlone = false) {
  const between = (start, end) =>
    Array.from({ length: end - start }, (_, i) => losses.at(start + i));
  return progress_of(step, loss, changed, between, verdict, isAlone);
}

// What is made of a state once, however often a frame asks for it.

const madeOf = new WeakMap(); // by state

/** Return `make()`, cached for each state, text and target. */
export function onceOf(state, words, { row = null, neuron = null }, make) {
  const key = `${words} ${row} ${neuron}`;
  if (!madeOf.has(state)) madeOf.set(state, new Map());
  const known = madeOf.get(state);
  if (!known.has(key)) known.set(key, make());
  return known.get(key);
}
