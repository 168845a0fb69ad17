// The caption of a page: a sentence, its formula, and its numbers, whose parts stand for things in
// the picture.

import { isNews, isTouched, made, setShown } from "./dom.js";
import { Canvas2D } from "./canvas2d.js";
import { draw_beside } from "./story/callout.js";
import { side_of } from "./story/side_panel.js";
import { Box } from "./story/camera.js";
import { typeset } from "./story/decimals.js";
import { madeButton } from "./events.js";
import { text } from "./texts.js";
import { captionOf, onceOf, progressOf, restWords } from "./captions.js";
import { neuronsOf } from "./frame_data.js";
import { tourSentence, verdictIn } from "./guide.js";
import { Caption } from "./story/caption.js";
import { custom_answer } from "./story/guide.js";
import { sentence } from "./story/names.js";
import { Choice } from "./story/sequence_places.js";
import { place_told } from "./story/sequence_choice.js";
import { with_score } from "./story/panel_words.js";

/** Shows captions; `point` and `pin` are called with the cube or neuron that a part is about. */
export class CaptionBox {
  constructor(element, { point, pin, open }) {
    Object.assign(this, { element, point, pin, open });
    this.rest = madeButton("rest-of-it", text("page.caption.rest"), () => this.scrollOn());
    element.addEventListener("scroll", () => this.mark());
  }

  /** Show a caption; if `whole` is true, with the lines that contain all terms. */
  show(caption, whole) {
    const isTold = !whole && caption.lines?.length > 0; // its numbers stand in the picture
    const told = isTold ? [[{ words: "…", opens: true }]] : (caption.lines ?? []);
    const lines = whole && caption.whole?.length ? caption.whole : told;
    setShown(this.element, Boolean(caption.title) && !caption.rests);
    if (!isNews(this.element, [caption.title, caption.formula, lines])) return;
    const parts = [made("h2", "", typeset(caption.title))];
    if (caption.formula && !isTold) parts.push(made("p", "formula", typeset(caption.formula)));
    parts.push(...lines.map((line) => made("p", "line", ...line.map((piece) => this.part(piece)))));
    this.element.replaceChildren(...parts, this.rest);
    this.element.scrollTop = 0;
    this.mark();
  }

  /** Move to the corner where the caption covers least; return whether anything has changed. */
  place(picture, isBeside) {
    const { panel } = picture.taken ?? {};
    this.element.classList.toggle("in-picture", Boolean(panel) || isBeside); // its sentence is
    const { offsetWidth: wide, offsetHeight: high, dataset } = this.element;
    const { camera } = picture.eyes;
    const { moment } = picture.frame;
    if (!isNews(dataset, [wide, high, picture.size, camera, moment?.name])) return false;
    const isLine = getComputedStyle(this.element).borderTopWidth === "0px"; // below the network
    dataset.corner = isLine ? "left" : picture.cornerFor(wide, high);
    picture.cards = wide ? [picture.boxAt(dataset.corner, wide, high)] : [];
    return true;
  }

  /** Show a button while a part of the text is below the visible area. */
  mark() {
    const { scrollTop, scrollHeight, clientHeight, classList } = this.element;
    classList.toggle("long", scrollHeight > scrollTop + clientHeight + 1);
  }

  /** Scroll by the visible height, less one line. */
  scrollOn() {
    this.element.scrollTop += Math.max(20, this.element.clientHeight - 40);
  }

  /** Return the element for a piece of text, a button if it refers to a cube or neuron. */
  part(piece) {
    const thing = thingOf(piece);
    if (thing === null && !piece.opens) return made("span", "", typeset(piece.words));
    const press = () => (piece.opens ? this.open() : this.pin(thing));
    const button = madeButton("", typeset(piece.words), press);
    const [point, leave] = [thing && piece, null].map((each) => () => this.point(each));
    for (const name of ["pointerenter", "focus"]) button.addEventListener(name, point);
    for (const name of ["pointerleave", "blur"]) button.addEventListener(name, leave);
    return button;
  }
}

/** Return the cube {row} or {neuron} that a piece of text refers to, or null. */
function thingOf(piece) {
  if (piece.row >= 0) return { row: piece.row };
  return piece.neuron ? { neuron: piece.neuron } : null;
}

// Which caption there is: of the tour, an operation, a training that plays, or one at rest.

const HASTY = 0.45; // seconds for an operation below which its caption cannot be read

/** Return the caption for the state that the page draws.
 *
 * number  number of the last neuron that is shown, from 1; 0 if all are shown
 */
export function captionFor(app, state, number) {
  const { spec } = app;
  if (app.tourPart)
    return new Caption(
      tourSentence(app, state),
      app.looksBack ? text("names.tour.more") : app.tour && app.calm ? text("page.tour.still") : "",
    );
  const isPlaying = app.player.playing;
  const isAlone = Boolean(spec.page.names);
  const walks = state.moment >= 0 || state.operation > 0;
  const hasty = isPlaying && (app.player.operations === null || app.player.operations > 1 / HASTY);
  if (walks && !hasty) {
    const moment = spec.scene.moments[state.moment];
    const neurons = neuronsOf(moment, number);
    let about = neurons ?? app.pinned ?? {}; // each has a neuron, or a row
    const plan = app.picture.placed?.sequence;
    if (plan && !about.neuron)
      about = { row: about.row ?? null, neuron: place_told(plan, app.choice ?? new Choice()) };
    return scored(app, state, moment, about);
  }
  if (app.held?.row >= 0) {
    const asked = text(`held.asked.${spec.page.exhibit?.things ?? "samples"}`);
    return new Caption(asked, text("held.more"));
  }
  if (isPlaying) {
    return new Caption(progressOf(state, app.losses, verdictIn(app, state), isAlone));
  }
  if (state.own) {
    const outputs = state.values[spec.facts.outputs];
    const what = sentence(app.own.name);
    return new Caption(custom_answer(spec.facts, state.inputs, outputs, what));
  }
  const looks = document.documentElement.classList.contains("looks"); // and cannot change it
  if (!state.step) {
    const untrained = isTouched() ? "page.untrained.touch" : "page.untrained";
    const words = text(looks ? "page.looks" : untrained);
    return new Caption(spec.page.came || spec.page.about || words, words);
  }
  if (looks) return new Caption(text("page.looks"));
  const rest = spec.recording ? "page.rest.recorded" : "captions.rest.hint";
  const hint = text(isTouched() ? "page.rest.touch" : rest);
  if (Number.isNaN(state.loss)) return new Caption(spec.page.about, hint);
  return Object.assign(new Caption(restWords(state, isAlone), hint), { rests: true }); // as the curve says
}

/** Return the caption of an operation; after a step, it states how many answers are right. */
function scored(app, state, moment, about) {
  const caption = captionOf(app.spec, state, about);
  const right = onceOf(
    state,
    "right",
    {},
    () => state.probe?.length && app.exhibit?.verdict(state),
  );
  if (!right?.count) return caption;
  if (moment?.kind !== "step")
    app.right = right; // before it
  else if (app.right?.count === right.count)
    return onceOf(state, "scored", about, () => with_score(caption, app.right.right, right.right));
  return caption;
}

// The panel below OUT, see scene/side_panel.py.

/** Show how an operation is computed, or the effect of a weight or a step. */
export function showSide(exhibit, { frame, palette, taken }, things) {
  exhibit.classList.toggle("told", Boolean(frame?.told));
  const side = frame?.told ? side_of(frame.told, things, Boolean(taken?.panel)) : null;
  let sheet = exhibit.querySelector(".side");
  if (!sheet) exhibit.append((sheet = made("canvas", "side")));
  sheet.style.visibility = side ? "" : "hidden"; // some screens keep what was on it
  const paper = new Canvas2D(sheet); // which is empty now
  if (!side || !paper.height) return false;
  draw_beside(paper, frame, new Box(0, 0, paper.width, paper.height), side, palette);
  return true;
}
