// Challenges in the page of a playground: the list of all, the line with the sentence and the meter,
// hints, and the card when one is solved. Their elements are in pages/challenge.html.

import {
  after,
  isAllowed,
  isDue,
  judge,
  movesOf,
  nextOf,
  noted,
  numbersOf,
  takes,
} from "./challenge.js";
import { byId, isNews, made, remember, remembered, setShown, setWords } from "./dom.js";
import { madeButton } from "./events.js";
import { putOnClipboard } from "./links.js";
import { counterOf, readChallenge, turned, writeChallenge } from "./own_challenge.js";
import { readBuild } from "./packed_link.js";
import { typeset } from "./story/decimals.js";
import { said } from "./story/formats.js";
import { homes_of, uses_of, weight_title } from "./story/names.js";
import { text } from "./texts.js";

const SECONDS = 8; // that a training to the last step takes
const WATCHED = 30; // where the first pause counts
const FRAMES = 30; // a second
const HINTS = 3; // on one entry of a way: where, which, and how far
const SOLVED = "solved"; // what the browser remembers
const FREE = ["list", "close", "begin", "make", "copy", "try"]; // acts without a challenge

/** All challenges of a page, and the one that is played. */
export class Challenges {
  /** @param {any} playground @param {any[]} table the rows of pages/challenges.json */
  constructor(playground, table) {
    this.playground = playground;
    this.table = table;
    this.now = null; // the row that is played
    this.first = null; // {settings, value} with which it begins
    this.before = null; // the training before it, with those to undo
    this.hinted = null; // the entry of the way that a hint is on
    this.isOver = this.isTried = false; // whether it was judged, and whether anything was done
    this.drags = [];
    this.hints = this.level = 0; // all, and those on one entry
    const known = [remembered(SOLVED)].flat();
    this.solved = new Set(table.map(({ id }) => id).filter((id) => known.includes(id)));
    this.line = byId("challenge");
    this.card = byId("challenge-card");
    this.list = byId("challenge-list");
    this.maker = byId("challenge-maker");
    this.tag = made("div", "challenge-mark", made("span"));
    this.tag.hidden = true;
    this.acts = {
      list: () => this.showList(),
      close: () => this.close(),
      begin: (number) => this.enter(table[number - 1]),
      next: () => this.enter(table[this.number]),
      again: () => this.begin(this.now),
      leave: () => this.leave(),
      on: () => this.leave(true),
      undo: () => playground.app.run("undo"),
      hint: () => this.giveHint(),
      do: () => this.doHint(),
      send: () => this.send(this.place.link),
      make: () => this.make(),
      copy: () => this.send(this.made),
      try: () => this.follow(this.made),
    };
    document.addEventListener("click", ({ target }) => {
      const { act, number } =
        /** @type {any} */ (target).closest("button[data-act]")?.dataset ?? {};
      const isReady = this.first || FREE.includes(act);
      if (act && playground.app && isReady) this.acts[act](number);
    });
    this.show();
  }

  get number() {
    return this.table.indexOf(this.now) + 1;
  }

  /** The title of the page, and what stands after the # of its address; null without a challenge. */
  get place() {
    const { now, number, table } = this;
    if (!now) return null;
    const title = text(number ? "challenge.title" : "challenge.own", { number, count: table.length }); // prettier-ignore
    return { title, name: now.n ?? this.say("name"), link: now.link ?? `#c=${number}` };
  }

  /** A text on a challenge, with the numbers of its goal. */
  say(part, { id, goal, by } = this.now) {
    const [[, , wanted], [, , also] = []] = goal;
    const { held: count, targets } = this.playground.app.exhibit.data;
    const tests = targets.length - count;
    return text(`challenge.${id}.${part}`, { wanted, also, by, count, tests });
  }

  /** The setting of learning that may be changed: its name; "" without one. */
  get field() {
    return this.now?.may.find((each) => ["lr", "l2"].includes(each)) ?? "";
  }

  showList() {
    const rows = this.table.map((each, i) => {
      const sign = this.solved.has(each.id) ? " ✓" : "";
      const button = made("button", "", `${i + 1}. ${this.say("name", each)}${sign}`);
      Object.assign(button.dataset, { act: "begin", number: i + 1 });
      return made("li", "", button);
    });
    const count = { count: this.solved.size, all: rows.length };
    this.list.querySelector("ol").replaceChildren(...rows);
    setWords(this.list.querySelector("p"), text("challenge.solved_of", count));
    this.list.showModal();
  }

  /** Begin the challenge that a link names, or leave one by the link of the playground around it;
   * return whether this was done. Another link ends a challenge.
   */
  async follow(hash) {
    const number = Number(new URLSearchParams(hash.slice(1)).get("c"));
    const row = this.table[number - 1] ?? (await readChallenge(hash));
    const isBack = this.now !== null && hash === this.playground.home;
    if (row) await this.begin(row);
    else if (this.now) this.leave(!isBack);
    await this.playground.going;
    return row !== null || isBack;
  }

  /** Begin a challenge, and move the focus to its sentence. */
  async enter(row) {
    await this.begin(row);
    this.line.focus();
  }

  /** Begin a challenge after pending changes. */
  async begin(row) {
    const { playground } = this;
    this.close();
    playground.enqueue(async () => {
      if (!this.now) this.before = await playground.kept();
      this.now = row;
      playground.wanted = null; // changes that were asked for before
      this.first = this.hinted = null;
      Object.assign(this, { drags: [], hints: 0, level: 0, isTried: false });
      const { settings, value } = await readBuild(`#${row.start}`);
      await playground.beginAnew(settings, value);
      this.first = { settings, value: Float32Array.from(playground.app.state.value) };
      this.show();
    });
    await playground.going;
    playground.app.pin(null);
  }

  /** Leave the challenge; with `isKept` its network stays, and Undo leads to what was before. */
  leave(isKept = false) {
    const { playground, before } = this;
    playground.enqueue(async () => {
      this.now = this.first = null;
      this.show();
      const kept = await playground.kept();
      const past = [...before.past, before.now, ...kept.past];
      await playground.travelTo(isKept ? { ...kept, past } : before);
    });
  }

  /** Show or hide all of the challenge. */
  show() {
    const { now } = this;
    document.body.classList.toggle("challenging", now !== null);
    document.body.dataset.may = now?.may.join(" ") ?? "";
    setShown(this.line, now !== null);
    this.close();
    if (now) setWords(this.line.querySelector("p"), now.say ?? this.say("say"));
  }

  /** Close the lists, and the card of a hint. */
  close() {
    this.list.close();
    this.maker.close();
    this.showHint(null);
    setShown(this.card, false);
  }

  // A challenge for others: three weights of the present network are turned round.

  async make() {
    const { playground, maker } = this;
    const { settings, app } = playground;
    const [words, ...buttons] = maker.querySelectorAll("p, [data-act=copy], [data-act=try]");
    const show = (key, more) => setWords(words, text(`challenge.make.${key}`, more));
    const enable = (isOn) => buttons.forEach((each) => (each.disabled = !isOn));
    this.close();
    enable(false);
    show("search");
    maker.showModal();
    const { state } = app;
    const counter = await counterOf(playground.module, playground.entryOf(settings, state.value));
    const found = await turned(counter, async () => {
      await new Promise((done) => setTimeout(done));
      return maker.open;
    });
    if (!found) return show("none");
    const { value, right, count } = counter;
    const more = { wanted: found.goal[0][2], count, right: right() };
    const row = { n: text("challenge.mend.name"), say: text("challenge.mend.say", more), ...found };
    this.made = await writeChallenge(row, settings, value);
    show("found", more);
    return enable(true);
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
    this.seek = (step) => ask("seek", { step });
  }

  /** Let an app play to the last step, if at all. */
  attach(app) {
    byId("picture").append(this.tag);
    this.isOver = false;
    const isTest = this.now?.goal.some(([what]) => what.startsWith("test")) ?? true;
    app.exhibit.hidesTest ||= !isTest;
    if (!isTest) app.curve.measures.named = () => []; // nor the line of their loss
    document.body.classList.toggle("untested", !isTest);
    const { player } = app;
    const [play, tell] = [player.play.bind(player), app.tell.bind(app)];
    player.play = (film) => {
      if (!this.now) play(film);
      else if (this.now.by) play(film ?? this.film());
    };
    app.tell = (words, ...action) => tell(words, ...(this.now ? [] : action));
  }

  /** The steps at which a training is shown on its way to the last one. */
  film(end = this.now.by) {
    const count = (this.now.tries ? WATCHED : SECONDS) * FRAMES;
    const steps = Array.from({ length: count + 1 }, (_, i) => Math.round((end * i) / count));
    return { steps, seconds: 1 / FRAMES };
  }

  /** Follow a picture and its answers to all points. */
  seen(app, state) {
    const { now, first, playground } = this;
    const { answers, data } = app.exhibit ?? {};
    if (!now || !first || !answers) return;
    const place = this.placeNow;
    const numbers = numbersOf(place.settings, answers, data.targets, data.held);
    const verdict = judge(now, numbers);
    const moves = movesOf(now, first, place).length;
    if (now.may.includes("drag"))
      this.drags = noted(this.drags, first.value, state.value, numbers.right);
    this.isTried ||= moves > 0 || state.step > 0;
    this.mark(app);
    const { playing } = app.player;
    if (
      !isNews(this.line, [now.id, verdict, moves, state.step, playing, playground.busy, !app.held])
    )
      return;
    this.showNumbers(verdict, moves, data);
    if (this.isOver && !verdict.solved && !now.by && !app.held) {
      this.isOver = false; // what solved it is undone, or more is changed
      setShown(this.card, false);
    }
    const moment = { step: state.step, playing: playing || state.playing, ...verdict };
    if (this.isOver || playground.busy || moves > (now.moves ?? Infinity)) return;
    if (isDue(now, moment) && !app.held) this.end(state, verdict, moves); // not during a drag
  }

  /** The settings and weights that are shown. */
  get placeNow() {
    const { now, app } = this.playground;
    return { settings: now.settings, value: app.state.value };
  }

  /** Show the numbers of the goal, and the moves that are left. */
  showNumbers({ parts, solved }, moves, { held, targets }) {
    const { line } = this;
    const [{ what, number, wanted }] = parts;
    const all = { right: held, test: targets.length - held }[what];
    const [meter, fill, mark] = line.querySelectorAll(".meter, .meter i, .meter u");
    fill.style.width = `${100 * (all ? number / all : Math.min(1, wanted / number))}%`;
    mark.style.left = `${100 * (all ? wanted / all : 1)}%`;
    const ariaLabel = this.wordsOf(parts);
    Object.assign(meter, { ariaLabel, ariaValueNow: String(number), ariaValueMax: String(all ?? wanted) }); // prettier-ignore
    setWords(line.querySelector("b"), ariaLabel);
    line.classList.toggle("won", solved);
    const left = this.now.moves - moves;
    const canGoOn =
      !left && !solved && (this.now.may.includes("drag") || this.now.may.includes("lr"));
    const key = left < 0 ? "too_many" : canGoOn ? "go_on" : "left";
    const words = text(`challenge.${key}`, { left, moves: this.now.moves, count: -left });
    setWords(line.querySelector("span"), this.now.moves ? words : "");
    line.querySelector("[data-act=undo]").disabled = byId("undo").disabled;
  }

  wordsOf(parts) {
    const all = parts.map(({ what, number, wanted }) =>
      text(`challenge.goal.${what}`, { number: Number(number.toFixed(3)), wanted }),
    );
    return all.join("; ");
  }

  // How it ends.

  end({ step }, { solved, parts }, moves) {
    const { playground } = this;
    if (!solved && !step) return; // more can be tried
    this.isOver = true; // until there is another training
    const { player } = playground.app;
    if (player.playing) player.pause().then(() => this.seek(step)); // where it reached the goal
    if (solved && !this.isTried) playground.app.tell(text("challenge.free"));
    else if (solved) this.win(parts, moves);
    else playground.app.chip.stand(text("challenge.missed", { step, words: this.wordsOf(parts) }));
  }

  win(parts, moves) {
    const { now, playground, hints } = this;
    playground.app.chip.hide();
    playground.app.pin(null);
    playground.open("");
    if (now.id) this.solved.add(now.id);
    remember(SOLVED, [...this.solved]);
    const isKept = Array.isArray(remembered(SOLVED));
    const way = now.way.filter(([kind]) => kind !== "pause").length;
    const rows = this.drags.map(({ row, from, to, right }) => {
      const words = [weight_title(playground.app.spec.facts, row), written(from), "→", written(to), text("challenge.right", { count: right })]; // prettier-ignore
      return made("tr", "", ...words.map((each) => made("td", "", each)));
    });
    if (rows.length) rows.unshift(made("caption", "", text("challenge.brought")));
    const words = [text("challenge.best", { moves, hints, way }), isKept ? "" : text("challenge.kept_not")]; // prettier-ignore
    const title = `✓ ${text("challenge.solved")}: ${this.wordsOf(parts)}`;
    const body = [made("table", "", ...rows), made("p", "", words.join(" "))];
    this.showCard(title, body, this.number < this.table.length ? ["next", "send", "on"] : ["send", "on"]); // prettier-ignore
  }

  /** Put the address of a challenge on the clipboard. */
  async send(hash) {
    this.maker.close(); // what is outside of an open dialog cannot be selected
    const link = location.href.split("#")[0] + hash;
    const done = await putOnClipboard(link);
    this.playground.app.tell(text(done ? "challenge.copied" : "page.link.kept", { link }));
  }

  /** Show the card, with buttons of which the first one is the usual one. */
  showCard(title, body, acts) {
    const buttons = acts.map((act, i) => {
      const button = madeButton(i ? "" : "first", text(`challenge.act.${act}`), () => {});
      button.dataset.act = act;
      return button;
    });
    this.card.replaceChildren(made("h2", "", title), ...body, made("div", "buttons", ...buttons));
    setShown(this.card, true);
  }

  // Hints: the region, the cube, and which way; each is counted.

  giveHint() {
    const { app } = this.playground;
    const entry = nextOf(this.now, this.first, this.placeNow);
    if (!entry) return app.tell(text("challenge.hint.none"));
    this.level = isNews(this.card, entry) ? 1 : Math.min(HINTS, this.level + 1);
    this.hints += 1;
    app.pin(null);
    const words = text(`challenge.hint.${entry[0]}.${this.level}`, this.fieldsOf(entry));
    const title = text("challenge.hint.title", { number: this.level });
    const act = this.level < HINTS ? "hint" : "do";
    this.showCard(title, [made("p", "", words)], [act, "close"]);
    return this.showHint(entry);
  }

  /** Mark what a hint on an entry of the way is about; null: nothing. */
  showHint(entry) {
    this.hinted = entry;
    document.body.dataset.hint = entry?.[0] ?? "";
    this.playground.app?.request();
  }

  /** What a hint says. */
  fieldsOf([kind, name, given]) {
    if (kind === "layers") return { layer: name + 1, wanted: given };
    if (kind !== "edit")
      return { wanted: this.playground.build.tables.features[name]?.label ?? name };
    const now = this.placeNow.value[name];
    return { way: wayTo(given, now), now: written(now), wanted: written(given) };
  }

  /** Mark in the picture the cubes of a neuron, one of them, or also which way it goes. */
  mark({ picture, state, spec }) {
    const [kind, row, wanted] = this.hinted ?? [];
    const rows = kind !== "edit" ? [] : this.level > 1 ? [row] : rowsBeside(spec.facts, row);
    const places = rows.map((each) => picture.placeOf({ row: each }));
    setShown(this.tag, places.length > 0 && !places.includes(null));
    if (this.tag.hidden) return;
    const end = (axis, sign) => sign * Math.max(...places.map((at) => sign * at[axis] + at.half));
    const [left, right, top, bottom] = [end("x", -1), end("x", 1), end("y", -1), end("y", 1)];
    const sides = { left, top, width: right - left, height: bottom - top };
    for (const [side, length] of Object.entries(sides)) this.tag.style[side] = `${length}px`;
    setWords(this.tag.firstElementChild, this.level < HINTS ? "" : wayTo(wanted, state.value[row]));
  }

  /** Do what a hint says. */
  async doHint() {
    const { playground, hinted, placeNow } = this;
    const [kind, name, given] = hinted;
    this.close();
    if (kind === "edit") await playground.app.edit(name, given);
    else if (kind === "pause") playground.app.player.play(this.film(name));
    else {
      const { settings } = after(placeNow, hinted);
      const field = kind === "layers" ? "hidden" : kind;
      playground.change({ [field]: settings[field] });
    }
  }
}

/** The weights of the neuron to which a weight belongs. */
function rowsBeside(facts, row) {
  const [home] = homes_of(facts, row);
  const unitOf = (each) => uses_of(facts, home, each)[0][0];
  const rows = Array.from({ length: home.count }, (_, i) => home.weights + i);
  return rows.filter((each) => unitOf(each) === unitOf(row));
}

/** The color toward which a weight is to move. */
function wayTo(wanted, value) {
  return text(`challenge.toward.${wanted > value ? "orange" : "blue"}`);
}

/** A weight as cubes write it. */
function written(value) {
  return typeset(said(value));
}
