// Challenges in the page of a playground: the list of all, the line with the sentence and the meter,
// hints, and the card when one is solved.

import { after, homeOf, isAllowed, isDue, judge, movesOf, nextOf, noted, numbersOf, startOf, takes } from "./challenge.js";
import { featureName } from "./build_parts.js";
import { byId, isNews, made, remember, remembered, setShown, setWords } from "./dom.js";
import { madeButton } from "./events.js";
import { putOnClipboard } from "./links.js";
import { typeset } from "./story/decimals.js";
import { said } from "./story/formats.js";
import { text } from "./texts.js";

const SECONDS = 8; // that a training to the last step takes
const WATCHED = 30; // where the first pause counts
const FRAMES = 30; // a second
const HINTS = 3; // on one entry of a way: where, what, and how far
const SOLVED = "solved"; // what the browser remembers

/** All challenges of a page, and the one that is played. */
export class Challenges {
  /** @param {any} playground @param {any[]} table the rows of pages/challenges.json */
  constructor(playground, table) {
    this.playground = playground;
    this.table = table;
    this.now = null; // the row that is played
    this.first = null; // {settings, value} with which it begins
    this.before = null; // the training before it, with those to undo
    this.solved = new Set(remembered(SOLVED) ?? []);
    const button = (key, act) => madeButton("", text(key), act);
    this.opener = button("challenge.list", () => this.showList());
    byId("share").before(this.opener);
    this.opener.id = "open-challenges";
    this.list = made("dialog", "challenge-list");
    this.list.ariaLabel = text("challenge.list");
    this.sentence = made("p");
    this.fill = made("i");
    this.mark = made("u");
    this.meter = made("div", "meter", this.fill, this.mark);
    this.meter.role = "meter";
    this.words = made("b");
    this.words.role = "status";
    this.moves = made("span");
    this.undo = button("challenge.undo", () => playground.app.run("undo"));
    this.hint = button("challenge.hint", () => this.giveHint());
    const again = button("challenge.again", () => this.begin(this.number));
    const leave = button("challenge.leave", () => this.leave());
    const reached = made("div", "reached", this.meter, this.words);
    const acts = made("div", "acts", this.hint, again, leave);
    this.line = made("section", "challenge", this.sentence, reached, this.moves, this.undo, acts);
    this.card = made("section", "challenge-card");
    this.tag = made("div", "challenge-mark", made("span"));
    for (const each of [this.line, this.card, this.list]) each.dataset.stays = "";
    document.body.append(this.line, this.card, this.list);
    this.list.addEventListener("keydown", (event) => event.stopPropagation());
    this.show();
  }

  get number() {
    return this.table.indexOf(this.now) + 1;
  }

  /** The title of the page, and what stands after the # of its address; null without a challenge. */
  get place() {
    const { number, table } = this;
    if (!number) return null;
    const title = text("challenge.title", { number, count: table.length });
    return { title, name: this.say("name"), link: `#c=${number}` };
  }

  /** A text on a challenge, with the numbers of its goal. */
  say(part, challenge = this.now) {
    const [[, , wanted], [, , also] = []] = challenge.goal;
    return text(`challenge.${challenge.id}.${part}`, { wanted, also, by: challenge.by });
  }

  showList() {
    const rows = this.table.map((each, i) => {
      const isSolved = this.solved.has(each.id);
      const open = madeButton("", `${i + 1}. ${this.say("name", each)}${isSolved ? " ✓" : ""}`, () => {
        this.list.close();
        this.begin(i + 1);
      }); // prettier-ignore
      return made("li", "", open);
    });
    const count = { count: this.solved.size, all: rows.length };
    const close = madeButton("", text("challenge.close"), () => this.list.close());
    const words = made("p", "", text("challenge.solved_of", count));
    this.list.replaceChildren(made("h2", "", text("challenge.list")), made("ol", "", ...rows), words, close); // prettier-ignore
    this.list.showModal();
  }

  /** Begin the challenge that a link names; return whether there is one. */
  async follow(hash) {
    const number = Number(new URLSearchParams(hash.slice(1)).get("c"));
    if (!this.table[number - 1]) return false;
    await this.begin(number);
    return true;
  }

  /** Begin a challenge by its number. */
  async begin(number) {
    this.playground.enqueue(() => this.start(number));
    await this.playground.going;
  }

  async start(number) {
    const { playground } = this;
    if (!this.now) this.before = await playground.kept();
    const challenge = this.table[number - 1];
    const first = await startOf(challenge);
    this.drags = [];
    this.hints = this.level = 0;
    this.isTried = false;
    this.now = challenge;
    this.first = this.hinted = null;
    await playground.beginAnew(first.settings, first.value);
    this.first = { ...first, value: Float32Array.from(playground.app.state.value) };
    this.show();
    playground.app.request();
  }

  /** Leave the challenge; with `isKept` its network stays. */
  leave(isKept = false) {
    const { playground, before } = this;
    playground.enqueue(async () => {
      this.now = this.first = null;
      this.show();
      await playground.travelTo(isKept ? await playground.kept() : before);
    });
  }

  /** Show or hide all of the challenge. */
  show() {
    const { now } = this;
    document.body.classList.toggle("challenging", now !== null);
    document.body.dataset.may = now?.may.join(" ") ?? "";
    setShown(this.line, now !== null);
    setShown(this.card, false);
    setShown(this.tag, false);
    if (now) setWords(this.sentence, this.say("say"));
  }

  // What the playground asks.

  /** Whether settings may be changed now. */
  allows(fields) {
    return !this.now || isAllowed(this.now, Object.keys(fields));
  }

  /** Let a worker take only what the challenge allows; it answers the rest with its state. */
  guard(client) {
    const ask = client.ask.bind(client);
    client.ask = (name, args) => ask(!this.now || takes(this.now, name) ? name : "state", args);
  }

  /** Let an app play to the last step, if at all. */
  attach(app) {
    byId("picture").append(this.tag);
    this.isOver = false;
    const { player } = app;
    const play = player.play.bind(player);
    player.play = (film) => {
      if (!this.now) play(film);
      else if (this.now.by) play(film ?? this.film());
    };
    const tell = app.tell.bind(app);
    app.tell = (words, ...action) => tell(words, ...(this.now ? [] : action));
  }

  /** The steps at which a training is shown on its way to the last one. */
  film(end = this.now.by) {
    const seconds = this.now.once ? WATCHED : SECONDS;
    const count = seconds * FRAMES;
    const steps = Array.from({ length: count + 1 }, (_, i) => Math.round((end * i) / count));
    return { steps, seconds: 1 / FRAMES };
  }

  /** Follow a picture and its answers to all points. */
  seen(app, state) {
    const { now, first } = this;
    const { answers, data } = app.exhibit ?? {};
    if (!now || !first || !answers) return;
    const { settings } = this.playground.now;
    const place = { settings, value: state.value };
    const numbers = numbersOf(settings, answers, data.targets, data.held);
    const verdict = judge(now, numbers);
    const moves = movesOf(now, first, place).length;
    this.drags = now.may.includes("drag") ? noted(this.drags, first.value, state.value, numbers.right) : []; // prettier-ignore
    this.isTried ||= moves > 0 || state.step > 0;
    this.point(app, place);
    if (!isNews(this.line, [now.id, verdict, moves, state.step, app.player.playing, this.playground.busy])) return;
    this.showNumbers(verdict, moves, data);
    const moment = { step: state.step, playing: app.player.playing || state.playing };
    if (!isDue(now, moment) || this.isOver || this.playground.busy) return;
    if (moves > (now.moves ?? Infinity)) return;
    if (verdict.solved && !this.isTried) this.free();
    else if (verdict.solved) this.win(verdict, moves);
    else if (state.step > 0) this.miss(state, verdict);
  }

  /** Show the numbers of the goal, and the moves that are left. */
  showNumbers({ parts, solved }, moves, { held, targets }) {
    const [{ what, number, wanted }] = parts;
    const all = { right: held, test: targets.length - held }[what];
    const share = all ? number / all : Math.min(1, wanted / number);
    this.fill.style.width = `${100 * share}%`;
    this.mark.style.left = `${100 * (all ? wanted / all : 1)}%`;
    Object.assign(this.meter, { ariaValueNow: String(number), ariaValueMin: "0", ariaValueMax: String(all ?? wanted) }); // prettier-ignore
    this.meter.ariaLabel = this.wordsOf(parts);
    setWords(this.words, this.wordsOf(parts));
    this.line.classList.toggle("won", solved);
    const { moves: most } = this.now;
    const left = most - moves;
    const key = left < 0 ? "too_many" : "left";
    setShown(this.moves, most !== undefined);
    setWords(this.moves, text(`challenge.${key}`, { left, moves: most, count: -left }));
    this.undo.disabled = byId("undo").disabled;
  }

  wordsOf(parts) {
    const shown = (number) => (Number.isInteger(number) ? number : Number(number.toFixed(3)));
    return parts.map(({ what, number, wanted }) =>
      text(`challenge.goal.${what}`, { number: shown(number), wanted }),
    ).join("; "); // prettier-ignore
  }

  // How it ends.

  free() {
    this.isOver = true;
    this.playground.app.tell(text("challenge.free"));
  }

  miss({ step }, { parts }) {
    this.isOver = true; // until something is changed
    this.playground.app.chip.stand(text("challenge.missed", { step, words: this.wordsOf(parts) }));
  }

  win({ parts }, moves) {
    this.isOver = true;
    this.playground.app.chip.hide();
    this.playground.open("");
    this.solved.add(this.now.id);
    remember(SOLVED, [...this.solved]);
    const isKept = remembered(SOLVED)?.includes(this.now.id);
    const { way } = this.now;
    const best = text("challenge.best", { moves, hints: this.hints, way: way.filter(([kind]) => kind !== "pause").length }); // prettier-ignore
    const rows = this.drags.map(({ row, from, to, right }) =>
      made("tr", "", ...[this.nameOf(row), written(from), "→", written(to), text("challenge.right", { count: right })].map((words) => made("td", "", words))),
    ); // prettier-ignore
    const last = this.number === this.table.length;
    const next = madeButton("first", text("challenge.next"), () => this.begin(this.number + 1));
    next.disabled = last;
    const send = madeButton("", text("challenge.send"), () => this.send());
    const on = madeButton("", text("challenge.play_on"), () => this.leave(true));
    this.showCard(
      `✓ ${text("challenge.solved")}: ${this.wordsOf(parts)}`,
      [made("table", "", ...rows), made("p", "", best), ...(isKept ? [] : [made("p", "", text("challenge.kept_not"))])],
      [next, send, on],
    ); // prettier-ignore
    (last ? send : next).focus();
  }

  /** Put the address of the challenge on the clipboard. */
  async send() {
    const link = location.href.split("#")[0] + this.place.link;
    const done = await putOnClipboard(link);
    this.playground.app.tell(text(done ? "page.link.copied" : "page.link.kept", { link }));
  }

  /** The name of a weight in the card. */
  nameOf(row) {
    const { layer, unit, isOutput } = homeOf(this.first.settings, row);
    return isOutput ? text("build.output") : `${text("build.layer", { number: layer })}, ${unit}`;
  }

  showCard(title, body, buttons) {
    this.card.replaceChildren(made("h2", "", title), ...body, made("div", "buttons", ...buttons));
    setShown(this.card, true);
  }

  // Hints: where, what, how far; each is counted.

  giveHint() {
    const { app } = this.playground;
    const place = { settings: this.playground.now.settings, value: app.state.value };
    const entry = nextOf(this.now, this.first, place);
    if (!this.isTried || !entry) {
      app.tell(text(this.isTried ? "challenge.hint.none" : "challenge.hint.try"));
      return;
    }
    this.level = isNews(this.hint, entry) ? 1 : Math.min(HINTS, this.level + 1);
    this.hints += 1;
    const words = this.wordsOfHint(entry, place);
    const more = madeButton("first", text("challenge.more"), () => this.giveHint());
    const act = madeButton("first", text("challenge.do"), () => this.doHint(entry, place));
    const close = madeButton("", text("challenge.close"), () => this.closeHint());
    const title = text("challenge.hint.title", { number: this.level });
    this.showCard(title, [made("p", "", words)], [close, this.level < HINTS ? more : act]);
    this.hinted = entry;
    app.request();
  }

  wordsOfHint([kind, name, given], { settings, value }) {
    const { level } = this;
    if (kind !== "edit") {
      const fields = { features: { wanted: featureName(name) }, layers: { layer: name + 1, wanted: given } };
      return text(`challenge.hint.${kind}.${level}`, fields[kind] ?? { wanted: name }); // prettier-ignore
    }
    const home = homeOf(settings, name);
    if (level === 1 && home.isOutput) return text("challenge.hint.output");
    const fields = { ...home, way: this.wayTo(given, value[name]), now: written(value[name]), wanted: written(given) }; // prettier-ignore
    return text(`challenge.hint.edit.${level}`, fields);
  }

  /** The color toward which a weight is to move. */
  wayTo(wanted, value) {
    return text(`challenge.toward.${wanted > value ? "orange" : "blue"}`);
  }

  closeHint() {
    setShown(this.card, false);
    this.hinted = null;
    this.playground.app.request();
  }

  /** Mark the cube of a hint in the picture. */
  point(app, { value }) {
    const [kind, row, wanted] = this.hinted ?? [];
    const place = kind === "edit" && this.level > 1 && !this.card.hidden && app.picture.placeOf({ row }); // prettier-ignore
    setShown(this.tag, Boolean(place));
    if (!place) return;
    const { x, y, half } = place;
    const size = `${2 * half}px`;
    Object.assign(this.tag.style, { left: `${x - half}px`, top: `${y - half}px`, width: size, height: size }); // prettier-ignore
    setWords(this.tag.firstElementChild, this.wayTo(wanted, value[row]));
  }

  /** Do what a hint says. */
  async doHint(entry, place) {
    const [kind, name, given] = entry;
    const { playground } = this;
    this.closeHint();
    if (kind === "edit") await playground.app.edit(name, given);
    else if (kind === "pause") playground.app.player.play(this.film(name));
    else {
      const { settings } = after(place, entry);
      const { features, hidden, lr, l2 } = settings;
      playground.change({ features: { features }, layers: { hidden }, lr: { lr }, l2: { l2 } }[kind]);
    }
  }
}

/** A weight as cubes write it. */
function written(value) {
  return typeset(said(value));
}
