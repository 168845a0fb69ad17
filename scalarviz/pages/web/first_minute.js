// The first minute: cards about a cube, the curve, a layer and the data, below the network; what each
// is about is framed. A card ends when its action or a later one is done, or by Next, and all of them
// by "No thanks", which the browser remembers.

import {
  byId,
  isFramed,
  isNews,
  isPhone,
  made,
  remember,
  remembered,
  setShown,
  setWords,
} from "./dom.js";
import { madeButton } from "./events.js";
import { count_of } from "./story/build_link.js";
import { Box } from "./story/camera.js";
import { sentence } from "./story/names.js";
import { text } from "./texts.js";

const WATCHED = 60; // steps in which a new neuron is seen to learn
const LEARNED = 0.95; // of the test points right: a network has learned
const HELP = { features: ["x", "y", "sinx", "siny"], hidden: [8, 4], activation: ["tanh", "tanh"], opt: "adam", lr: 0.01 }; // prettier-ignore
const CIRCULAR = ["circle", "spiral"]; // data sets with cards
const SEEN = "cards"; // the number of the next card, which the browser remembers
const PLAIN = /^#?(v=1)?$/; // links without a network

/** The cards in order: `at` is what is explained, by default a cube; `tab` has it on a phone. */
const CARDS = [
  { name: "drag", isDone: ({ app }) => app.state.step > 0 || (app.client.resume.journal.some(({ kind }) => kind === "edit") && !app.picture.scales.stops.held) },
  { name: "play", at: "#play", isDone: ({ right }) => right >= LEARNED },
  { name: "back", at: "#curve", isDone: ({ isBack }) => isBack },
  { name: "parts", at: "#strip", isDone: ({ isOut }) => isOut },
  { name: "neuron", at: ".layer:first-child > button:last-child", tab: "layers", isDone: ({ app, ...now }, first) => count_of(now) > count_of(first) && app.state.step > app.spec.engine.step + WATCHED },
  { name: "spiral", at: "#tiles button:nth-child(2)", tab: "data", isDone: ({ shape }, first) => shape !== first.shape },
  { name: "input", at: "#shelf button:nth-child(6)", tab: "inputs", isDone: ({ shape, right }) => (shape === "spiral" ? right >= LEARNED : !CIRCULAR.includes(shape)) },
  { name: "own", at: "#tiles button:last-child", tab: "data", isDone: ({ points, table }) => points !== "" || table !== "" },
  { name: "send", at: "#share", isDone: () => false },
]; // prettier-ignore

/** The cards of a playground. */
export class FirstMinute {
  /** @param {any} playground */
  constructor(playground) {
    this.playground = playground;
    this.card = byId("first-card");
    this.mark = byId("first-mark");
    this.number = CARDS.length; // of the card that is shown
    this.first = null; // settings when the cards began
    this.step = 0;
    this.isWithin = false; // a step
    addEventListener("scroll", () => playground.app?.request()); // the mark stays where it is
  }

  /** Show the cards if a link does not contain a network, before the first picture, whose canvas
   * they make lower: to change that later waits for all that is being drawn.
   */
  begin(hash) {
    this.first = this.playground.settings;
    if (PLAIN.test(hash) && !isFramed()) this.show(remembered(SEEN) ?? 0);
    setShown(this.card, this.isOpen);
    this.playground.app.resize();
  }

  /** Whether there are more cards. */
  get isOpen() {
    return this.number < CARDS.length;
  }

  /** Show a card, given its number; after the last one, none. */
  show(number, hasLearned = false) {
    const { app } = this.playground;
    this.number = number;
    remember(SEEN, number);
    app.offered = null;
    app.request();
    if (!CARDS[number]) return undefined;
    const { name, tab } = CARDS[number];
    if (name === "back" && !app.state?.step) return this.show(number + 1); // no curve yet
    const isOpen = document.body.dataset.panel === "inputs";
    if (name === "input" && !isPhone() && !isOpen) this.playground.open("inputs");
    if (name === "parts" && isPhone()) app.run("whole-network");
    const place = number - Number(number > 5); // of seven: the spiral has two cards
    const dots = Array.from({ length: 7 }, (_, i) => made("i", i === place ? "now" : ""));
    this.words = [made("h2"), made("p")];
    const buttons = made("div", "buttons", ...this.buttonsOf(name));
    this.card.replaceChildren(made("div", "steps", ...dots), ...this.words, buttons);
    this.say(`first.${name}`);
    if (tab && isPhone()) this.words[1].prepend(`${text("build.first.tab", { tab: sentence(text(`page.html.${tab}`)) })} `); // prettier-ignore
    if (hasLearned) this.words[0].prepend(`${text("build.first.learned")} `);
    return undefined;
  }

  /** Write the title of the card and its sentences. */
  say(key, fields = {}) {
    this.words.forEach((each, i) =>
      setWords(each, text(`build.${key}${i ? ".more" : ""}`, fields)),
    );
  }

  buttonsOf(name) {
    const { challenges } = this.playground;
    const button = (words, press) => madeButton("", words, press);
    const end = (key) =>
      button(text(key), () => {
        this.show(CARDS.length);
        if (isPhone()) this.playground.app.run("whole-network");
      });
    const next = button(text("page.html.next"), () => (name === "parts" ? this.walk() : this.show(this.number + 1))); // prettier-ignore
    const help = () => {
      this.playground.open(""); // for room
      if (!this.playground.app.player.playing) this.playground.app.play();
      this.playground.change(HELP);
    };
    this.others = button(text("build.first.others"), () => this.walk(true));
    const helps = { input: [button(text("build.first.help"), help)], parts: [this.others] }[name] ?? []; // prettier-ignore
    if (name !== "send") return [end("build.first.no"), ...helps, next];
    const share = button(text("page.html.share"), () => this.playground.copyLink());
    const row = challenges.table.find(({ id }) => !challenges.solved.has(id));
    if (!row) return [end("page.close"), share];
    const words = { number: challenges.table.indexOf(row) + 1, name: challenges.say("name", row) };
    const enter = () => {
      this.show(CARDS.length);
      this.playground.open("");
      challenges.enter(row);
    };
    return [end("page.close"), share, button(text("build.first.challenge", words), enter)];
  }

  /** Follow a picture: the card ends if its action is done, and its mark stays at what it is about. */
  seen(app) {
    const card = CARDS[this.number];
    if (!card) return this.hide();
    const { step, operation, moment } = app.state;
    const isWithin = operation > 0 || moment >= 0;
    const { now: shown } = this.playground; // not what is only wanted yet
    const { right } = this.playground.testedIn(app, shown) ?? {};
    const now = { ...shown.settings, app, right, isBack: step < this.step, isOut: this.isWithin && !isWithin }; // prettier-ignore
    const isCovered = isPhone() && (app.pinned || document.body.matches(".carded, [data-panel]:not([data-panel=''])")); // prettier-ignore
    const isAtRest = !operation || card.name === "parts";
    const isFree = isAtRest && !app.tour && !this.playground.challenges.now && !document.querySelector("dialog[open]"); // prettier-ignore
    const isShown = isFree && app.picture.placed; // without WebGL there is no picture
    setShown(this.card, Boolean(isShown && !isCovered));
    setShown(this.mark, Boolean(isShown));
    if (this.playground.challenges.now) return undefined;
    Object.assign(this, { step, isWithin });
    const done = CARDS.findLastIndex(({ isDone }) => isDone(now, this.first));
    if (done >= this.number) return this.show(done + 1, right >= LEARNED && ["play", "input"].includes(CARDS[done].name)); // prettier-ignore
    if (!isShown) return undefined;
    if (card.name === "parts") setShown(this.others, isWithin && nextReason(app) > operation);
    if (card.name === "parts" && isWithin) this.say(`why.${reasonsOf(app)[moment]}`, { rate: app.state.rate, count: app.state.batch }); // prettier-ignore
    if (!card.at && !app.offered) {
      app.offered = { row: lastBias(app) };
      this.playground.closeUp.show(app.picture.placed.fans.length - 1);
    }
    const place = placeOf(app, card);
    setShown(this.mark, place !== null);
    return this.place(place);
  }

  hide() {
    setShown(this.card, false);
    setShown(this.mark, false);
  }

  /** Continue within a step, or begin one, whose sample gets closer; at its end, show the next card.
   *
   * Operations with the reason of an earlier one are skipped, unless `isWhole`.
   */
  walk(isWhole = false) {
    const { app } = this.playground;
    const { operation, moment } = app.state;
    if (!operation && moment >= 0) this.show(this.number + 1);
    else if (isWhole) app.run("operation on");
    else app.still("advance", { count: nextReason(app) + 1 - operation, unit: "operation" });
  }

  /** Put the mark around a place. */
  place(place) {
    if (!place || !isNews(this.mark, place.place)) return;
    const [left, top, wide, high] = place.place.map((each) => `${each}px`);
    Object.assign(this.mark.style, { left, top, width: wide, height: high });
  }
}

/** Return the key of why there is an operation, for each operation of a step. */
function reasonsOf({ spec: { scene, facts } }) {
  return scene.moments.map(({ kind, operation }) => {
    if (kind === "forward") return facts.operations[operation].kind;
    return kind === "delta" && operation < facts.operations.length - 1 ? "bent" : kind.split(" ")[0]; // prettier-ignore
  });
}

/** Return the index of the next operation that has another reason than all before. */
function nextReason(app) {
  const { operation } = app.state;
  const reasons = reasonsOf(app);
  return reasons.findIndex((each, i) => i >= operation && reasons.indexOf(each) === i);
}

/** Return the row of the bias of the output, which moves all of OUT. */
function lastBias({ picture }) {
  const fan = picture.placed.fans.at(-1);
  return fan.row_of(0, fan.inputs);
}

/** Return the box of what a card explains, in the window; null if it is not there. */
function placeOf({ picture, offered }, /** @type {any} */ { at, tab }) {
  const isTab = isPhone() && tab && document.body.dataset.panel !== tab;
  const element = document.querySelector(isTab ? `#tabs [data-panel=${tab}]` : (at ?? "#cubes"));
  if (!element?.checkVisibility()) return null;
  const { left, top, width, height } = element.getBoundingClientRect();
  if (at) return new Box(left, top, width, height);
  const cube = picture.placeOf(offered);
  return cube && new Box(left + cube.x - cube.half, top + cube.y - cube.half, 2 * cube.half, 2 * cube.half); // prettier-ignore
}
