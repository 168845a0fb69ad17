// Guess first: a learner says how a number will go before the operation that changes it.

import { byId, isFramed, setShown, setWords } from "./dom.js";
import { asWritten, numberTyped } from "./numbers.js";
import { typeset } from "./story/decimals.js";
import { both, said } from "./story/formats.js";
import { numberAt } from "./arrays.js";
import { can_guess, question_of, reply_to_guess, way_of } from "./story/guide.js";
import { name_of_row, sentence } from "./story/names.js";
import { text } from "./texts.js";

const WAYS = { up: 1, down: -1, stays: 0 };

/** Guessing in a page: the box with the question, and the checkbox that starts it. */
export class GuessBox {
  constructor(app) {
    this.app = app;
    this.isOn = false;
    this.right = this.asked = 0; // answers
    /** The current question, or null: {kind, row, way, place, words}; after the answer also `came`,
     * the true direction, and `result`. `place` is "" while the training moves.
     * @type {any}
     */
    this.question = null;
    this.field = byId("guess-number");
    this.field.addEventListener(
      "keydown",
      ({ key }) => key === "Enter" && app.run("next question"),
    );
    setWords(byId("guess-title"), text("guess.about"));
    setWords(byId("guess-end"), text("guess.end"));
  }

  /** The reason why guessing is not possible, as a sentence; "" if it is possible. */
  get lack() {
    if (document.documentElement.classList.contains("looks")) return text("page.looks");
    return can_guess(this.app.spec.facts, this) ? "" : text("guess.not_here");
  }

  /** For each weight, whether it is frozen. */
  get frozen() {
    return this.app.state.frozen ?? this.app.picture.scene.frozen;
  }

  /** Whether a question waits for an answer. */
  get isAsking() {
    return Boolean(this.question?.place) && this.question.result === null;
  }

  /** Turn guessing on or off. */
  async toggle() {
    const { app, lack } = this;
    if (this.isOn) return this.end();
    if (lack) return app.tell(lack);
    Object.assign(this, { isOn: true, right: 0, asked: 0 });
    app.act();
    app.setSheet(false);
    if (app.past.isOpen) app.past.toggle(); // which may have the answer
    await app.player.rest();
    return this.pose();
  }

  end() {
    Object.assign(this, { isOn: false, question: null });
    this.app.request();
  }

  /** End guessing because the training continues automatically, and show a message. */
  leave() {
    if (!this.isOn) return;
    this.app.tell(text("guess.over"));
    this.end();
  }

  /** Go to the moment of the next question, and ask it. */
  async pose() {
    const { app, frozen } = this;
    const { step, operation } = app.state;
    const { facts } = app.spec;
    const { moments } = facts;
    const walked = app.spec.recording?.walked; // steps
    const pinned = app.pinned?.row >= 0 ? app.pinned.row : null;
    const { kind, row, at: moment } = question_of(facts, { step, frozen }, this.asked, pinned);
    const name = sentence(name_of_row(facts, row));
    const words = text(`guess.asks.${kind}`, { name });
    const question = (this.question = { kind, row, words, way: null, place: "", result: null });
    this.field.value = "";
    const count = (moment - operation + moments.length) % moments.length;
    const isAhead = (each) => (each - step) * moments.length + moment >= operation;
    if (walked)
      await app.still("seek", { step: walked.find(isAhead) ?? walked[0], operation: moment }); // prettier-ignore
    else await app.still("advance", { count, unit: "operation" });
    if (this.question !== question) return;
    if (app.state.operation === moment) question.place = momentName(app.state);
    else this.question = null;
    app.request();
  }

  /** Guess a direction. */
  choose(way) {
    if (this.isAsking) Object.assign(this.question, { way, label: this.labelOf(way) });
    this.app.request();
  }

  /** Return the label of a direction for the current question. */
  labelOf(way) {
    const [name] = Object.entries(WAYS).find(([, each]) => each === way);
    return text(`guess.${name}.${this.question.kind}`);
  }

  /** Show the result if a direction was guessed; after a result, ask the next question. */
  async goOn() {
    const { app, question, isAsking } = this;
    const { row, kind, way, place } = question ?? {};
    if (!this.isOn || (isAsking ? way === null : place === "")) return;
    if (!isAsking) return this.pose();
    const typed = this.field.value.trim();
    if (typed && Number.isNaN(numberTyped(typed))) return app.refuse(text("page.no_value"));
    const before = kind === "value" ? numberAt(app.state, row) : 0;
    question.place = "";
    this.field.blur();
    await app.still("advance", { count: 1, unit: "operation" });
    if (this.question !== question) return;
    question.place = momentName(app.state);
    if (question.place === place) return this.see({}); // the step is refused
    const after = numberAt(app.state, row, kind === "value" ? "value" : "grad");
    this.answer(question, typed, before, after);
  }

  /** Show the result of a guess, and count it. */
  answer(question, typed, before, after) {
    const { kind, way } = question;
    const label = this.labelOf(way);
    const [isRight, words] = reply_to_guess(kind, way, label, asWritten(typed), before, after);
    const result = typeset(both(before, after)[1]);
    Object.assign(question, { came: way_of(before, after), words, label: typed || label, result });
    const [right, asked] = [this.right + Number(isRight), this.asked + 1];
    Object.assign(this, { right, asked });
    if (isFramed()) window.parent.postMessage({ scalarviz: "guess", right, asked }, "*");
    this.app.request();
  }

  /** Handle a new state: playback ends guessing, and another position discards the question. */
  see(state) {
    const { place } = this.question ?? {};
    if (this.app.player.playing) this.leave();
    else if (place && place !== momentName(state)) this.question = null;
  }

  /** Return a handle for dragging the arrow if a position is near its cube, or null. */
  hold(x, y) {
    const [left, top, away] = this.app.picture.mark ?? [NaN, NaN, 0];
    if (!(Math.hypot(x - left, y - top) < away)) return null;
    return { guess: (up) => up && this.choose(Math.sign(up)) };
  }

  /** Return a card without the lines that would reveal the answer. */
  covered(card, row) {
    if (!this.isAsking || row !== this.question.row) return card;
    const known = Math.max(1, card.blocks.findLastIndex((each) => each.head) + 1);
    return { ...card, blocks: card.blocks.slice(0, known) };
  }

  /** Show the question or its result. */
  show(state) {
    const { isOn, isAsking, question, lack, right, asked } = this;
    Object.assign(byId("guess-first"), { checked: isOn, disabled: lack !== "" });
    setWords(byId("guess-about"), lack || text("guess.help"));
    setShown(byId("guess"), isOn);
    document.body.classList.toggle("asking", isAsking);
    byId("guess").dataset.kind = question?.kind;
    setWords(byId("guess-words"), question?.place ? typeset(question.words) : "");
    setWords(byId("guess-tally"), asked ? text("guess.tally", { right, asked }) : "");
    setWords(byId("guess-on"), text(isAsking ? "guess.show" : "guess.next"));
    byId("guess-on").disabled = isAsking && question.way === null;
    if (!isAsking) return;
    const grows = numberAt(state, question.row) < 0 ? -1 : 1; // the way that makes its cube larger
    for (const [name, way] of Object.entries(WAYS)) {
      const cube = text(way === grows ? "guess.larger" : "guess.smaller");
      const isMoved = way && question.kind === "value";
      setWords(byId(`guess-${name}`), this.labelOf(way) + (isMoved ? `: ${cube}` : ""));
      byId(`guess-${name}`).ariaPressed = String(question.way === way);
    }
    const now = said(numberAt(state, question.row) ?? NaN, 3);
    setWords(byId("guess-now"), typeset(text(`guess.number.${question.kind}`, { now })));
  }
}

/** Return a text that identifies the moment of a state and its branch. */
function momentName({ step, operation, branch, jumps }) {
  return [step, operation, branch, jumps].join();
}
