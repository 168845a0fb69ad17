// Guess first: a learner says how a number will go before the operation that changes it.

import { byId, isFramed, made, setShown, setWords } from "./dom.js";
import { bothSaid, numberTyped, said, trueMinus } from "./format.js";
import { judged, kindAsked, momentAsked, operationsBetween, rowAsked } from "./guessing.js";
import { weightTitle } from "./names.js";
import { frozenOf } from "./optimizer.js";
import { madeButton } from "./pressing.js";
import { text } from "./texts.js";

const WAYS = { up: 1, down: -1, stays: 0 };
const HELD_AROUND = 60; // pixels around the middle of a cube from which its arrow is dragged
const SHORTEST_GUESS = 8; // pixels of a drag that is an arrow
const KEYS = { ArrowUp: ["guessWay", 1], ArrowDown: ["guessWay", -1], Enter: ["guessOn"], n: ["guessOn"] }; // prettier-ignore

/** The questions of an app, their box below the picture and the tick that begins them. */
export class GuessBox {
  constructor(app) {
    this.app = app;
    this.isOn = false;
    this.k = this.right = this.asked = 0; // questions that were begun, right ones, answered ones
    /** What is asked: {kind, row, moment, way, place}, once it is answered with {before, after, typed,
     * truth, isWay, isRight}; `place` is "" while the training moves. Null if nothing is.
     * @type {any}
     */
    this.question = null;
    this.element = byId("guess");
    this.element.ariaLabel = text("guess.about");
    this.words = made("p", "question");
    this.words.role = "status";
    this.ways = Object.entries(WAYS).map(([name, way]) =>
      madeButton(name, "", () => app.run("guessWay", way)),
    );
    this.field = made("input");
    Object.assign(this.field, { type: "text", autocomplete: "off" });
    this.field.addEventListener("keydown", ({ key }) => key === "Enter" && app.run("guessOn"));
    this.number = made("label", "", made("span"), this.field);
    this.tally = made("output");
    this.on = madeButton("go", "", () => app.run("guessOn"));
    const end = madeButton("", text("guess.end"), () => app.run("guess"));
    const guess = made("div", "ways", ...this.ways);
    this.element.replaceChildren(this.words, guess, this.number, this.tally, this.on, end);
    this.tick = byId("guess-first");
    this.tick.addEventListener("change", () => app.run("guess"));
    setWords(this.tick.nextElementSibling, text("guess.about"));
  }

  /** Why nothing can be asked, in a sentence; "" if it can. */
  get lack() {
    if (document.documentElement.classList.contains("looks")) return text("page.looks");
    return this.rows.length ? "" : text("guess.not_here");
  }

  /** The bank indices of weights that can change. */
  get rows() {
    const { say } = this.app.spec;
    const { frozen } = this.app.state;
    if (say.told) return [];
    const still = frozen ? null : frozenOf(say, {});
    return [...Array(say.rows).keys()].filter((row) => !(still ? still.has(row) : frozen[row]));
  }

  /** Whether a question waits for its answer. */
  get isAsking() {
    return Boolean(this.question?.place) && this.question.after === undefined;
  }

  /** The weight that is asked about, as what is pinned is given; null without. */
  get about() {
    return this.question && { row: this.question.row };
  }

  /** Begin, or end. */
  async toggle() {
    const { app } = this;
    if (this.isOn || this.lack) {
      if (!this.isOn) app.tell(this.lack);
      return this.end();
    }
    this.isOn = true;
    this.k = this.right = this.asked = 0;
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

  /** Go to the operation before which the next question is asked, and ask. */
  async pose() {
    const { app, k } = this;
    const { state, spec, pinned } = app;
    const { length } = spec.scene.moments;
    const { walked } = spec.recording ?? {};
    const row = rowAsked({ step: state.step, k, pinned: pinned?.row ?? -1, rows: this.rows });
    const wanted = walked?.length === 0 ? "value" : kindAsked(k);
    const isKnown = momentAsked(spec.scene.moments, wanted, row) >= 0;
    const kind = isKnown ? wanted : "value";
    const moment = momentAsked(spec.scene.moments, kind, row);
    const question = (this.question = { kind, row, moment, way: null, place: "" });
    this.k += 1;
    this.field.value = "";
    const count = operationsBetween(state.operation, moment, length);
    if (walked) {
      const step = walked.find((each) => each * length + moment >= state.step * length + state.operation); // prettier-ignore
      if (walked.length) await app.still("seek", { step: step ?? walked[0], operation: moment });
      else Object.assign(question, { moment: 0, isWhole: true });
    } else if (count) await app.still("advance", { count, unit: "operation" });
    if (this.question !== question) return;
    if (app.state.operation === question.moment) question.place = momentName(app.state);
    else this.question = null; // it did not get there
    app.request();
  }

  /** Guess a way; `up` is the length of its arrow. */
  choose(way) {
    if (this.isAsking) this.question.way = way;
  }

  /** Go on: show the answer if a way is guessed, ask the next question after it. */
  async goOn() {
    const { app, question } = this;
    if (!this.isAsking) return this.isOn && this.pose();
    const typed = this.field.value.trim();
    if (question.way === null) return null;
    if (typed && Number.isNaN(numberTyped(typed))) return app.refuse(text("page.no_value"));
    const { kind, row, way, place } = question;
    const before = kind === "value" ? app.state.value[row] : 0;
    question.place = "";
    this.field.blur();
    const unit = question.isWhole ? "step" : "operation";
    await app.still("advance", { count: 1, unit });
    if (this.question !== question) return null;
    const { state } = app;
    const after = (kind === "value" ? state.value : state.grad)[row];
    Object.assign(question, { before, after, typed, place: momentName(state) });
    if (question.place === place) return (this.question = null); // it is refused
    Object.assign(question, judged({ way, typed, before, after }));
    this.asked += 1;
    this.right += Number(question.isRight);
    if (isFramed()) {
      const { right, asked } = this;
      window.parent.postMessage({ scalarviz: "guess", right, asked }, "*");
    }
    return app.request();
  }

  /** Take up a state: a training that plays ends the questions, one that goes elsewhere this one. */
  see(state) {
    if (this.isOn && this.app.player.playing) this.end();
    else if (this.question?.place && this.question.place !== momentName(state))
      this.question = null;
  }

  /** Return the command of a key while it is on; null for none. */
  commandOf({ key, ctrlKey, altKey, metaKey }) {
    const isMine = this.isOn && !ctrlKey && !altKey && !metaKey;
    return (isMine && (this.isAsking || !key.startsWith("Arrow")) && KEYS[key]) || null;
  }

  /** Return what is dragged near the cube that is asked about, or null. */
  hold(x, y) {
    const place = this.isAsking && this.app.picture.placeOf(this.about);
    const isNear = place && Math.hypot(x - place.x, y - place.y) <= HELD_AROUND;
    return isNear ? { guess: (up) => this.drag(up) } : null;
  }

  drag(up) {
    if (Math.abs(up) >= SHORTEST_GUESS) this.choose(Math.sign(up));
    this.app.request();
  }

  /** Return a card without what an operation will make of its weight. */
  covered(card, row) {
    if (!this.isAsking || row !== this.question.row) return card;
    const known = Math.max(1, card.blocks.findLastIndex((each) => each.head) + 1);
    return { ...card, blocks: card.blocks.slice(0, known) };
  }

  /** What the picture shows of a question, see guess_mark.js; null without. */
  get mark() {
    const { question, isAsking } = this;
    if (!question?.place) return null;
    const { row, way, truth, typed, before, after } = question;
    const words = isAsking ? [] : [typed, bothSaid(before, after)[1]].map(trueMinus);
    return { row, way, isAsking, truth, words };
  }

  /** Write the question or its answer. */
  show(state) {
    const { isOn, isAsking, question } = this;
    const { lack } = this;
    this.tick.checked = isOn;
    this.tick.disabled = lack !== "";
    setWords(this.tick.nextElementSibling.nextElementSibling, lack || text("guess.help"));
    setShown(this.element, isOn);
    document.body.classList.toggle("asking", isAsking);
    if (!isOn) return;
    setWords(this.words, trueMinus(this.sentence()));
    for (const each of [this.ways[0].parentNode, this.number]) setShown(each, isAsking);
    setShown(this.tally, !isAsking && this.asked > 0);
    setWords(this.tally, text("guess.tally", { right: this.right, asked: this.asked }));
    setWords(this.on, text(isAsking ? "guess.show" : "guess.next"));
    this.on.disabled = isAsking ? question.way === null : Boolean(question) && !question.place;
    if (!isAsking) return;
    Object.keys(WAYS).forEach((name, i) => {
      setWords(this.ways[i], text(`guess.${name}.${question.kind}`));
      this.ways[i].ariaPressed = String(question.way === WAYS[name]);
    });
    const now = said(state.value[question.row], 3);
    setWords(this.number.firstChild, trueMinus(text(`guess.number.${question.kind}`, { now })));
  }

  /** Return the question in words, or what came of it. */
  sentence() {
    const { question } = this;
    if (!question?.place) return "";
    const { kind, row, way, before, after, typed, truth } = question;
    const name = weightTitle(this.app.spec.say, row);
    if (this.isAsking) return text(`guess.${kind}`, { name });
    const [old, fresh] = bothSaid(before, after);
    const stays = kind === "value" && truth === 0;
    const came = stays
      ? text("guess.came.stays", { after: fresh })
      : text(`guess.came.${kind}`, { before: old, after: fresh });
    if (question.isRight) return text("guess.right", { came });
    const [word] = Object.entries(WAYS).find(([, each]) => each === way);
    const guess = question.isWay ? typed : text(`guess.${word}.${kind}`).toLowerCase();
    return text("guess.wrong", { guess, came });
  }
}

/** Return a name of the moment of a state, in its branch. */
function momentName({ step, operation, branch, jumps }) {
  return [step, operation, branch, jumps].join();
}
