// A playground: settings become a network. Each change starts a new training run from the current
// weights.

import { layoutOf } from "./layout_maker.js";
import { appAnew, appOf, pictureOf } from "./app.js";
import { DataTiles, InputShelf, LayerLine, LearningFields, OWN } from "./build_parts.js";
import { Challenges } from "./challenge_box.js";
import { isSamePlace } from "./branches.js";
import { Client } from "./client.js";
import { CloseUp } from "./close_up.js";
import { specOf } from "./dense_page.js";
import { CsvError, tableOfFile } from "./csv.js";
import {
  byId,
  failWith,
  isNews,
  isPhone,
  made,
  remember,
  remembered,
  setShown,
  setWords,
} from "./dom.js";
import { followDrops, keyOf, madeButton, takesKey } from "./events.js";
import { FirstMinute } from "./first_minute.js";
import { answersEach, lossOf, ready } from "./formulas.js";
import { drawnWeights, grownNumbers, grownWeights, growthSeed } from "./growth.js";
import { leadsTo, leftFor, partsOf, placed, replayed, stepsOf } from "./journey.js";
import { followLink, giveLink, putOnClipboard, writeLink } from "./links.js";
import { OwnColours } from "./own_colours.js";
import { OwnPoints } from "./own_points.js";
import { generalNumber } from "./numbers.js";
import { batchOf, readBuild, writeBuild } from "./packed_link.js";
import {
  ACTIVATIONS,
  BATCHES,
  COLOURS,
  DEFAULTS,
  FEATURES,
  INITIALIZERS,
  LONGEST,
  MOST_LAYERS,
  MOST_NEURONS,
  RATES,
  SHAPES,
  TABLE,
  sizes_of,
  task_of,
} from "./story/build_link.js";
import { MOST_STEPS, parts_between } from "./story/journal.js";
import { METRIC_ROWS } from "./story/metric_functions.js";
import { pythonOf } from "./take_to_python.js";
import { plural, text } from "./texts.js";

const DRAG = 1500; // milliseconds between two moves of a slider that are one change
const MOST_PAST = 200; // changes that can be undone
const STEPS_BACK = 30; // to return to if numbers become too large
const MOST_LETTERS = 28; // of the name of a file
const MEASURED = 50; // steps between two test losses of the curve
const MOST_TEST = 450; // test points on the map
const PROPOSED = { hidden: [8], activation: ["tanh"], share: 0.8, batch: 10 }; // for a table
const USUAL = {
  sides: { hidden: [4, 2], lr: 0.03, batch: 10 },
  colours: { hidden: [8], lr: 0.5, batch: 8 },
}; // by task
const DATA = ["shape", "noise", "share", "points", "colours", "seed"]; // other losses are not compared with
const TRAINS = ["play", "advance", "operation on", "slow step", "go"]; // commands
const NETWORK = ["features", "hidden", "activation"];
const accuracy = METRIC_ROWS.find(({ name }) => name === "accuracy");
const PENALTIES = [0, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1];

/** The page: `data` are those that Python wrote, `markup` its elements as they were. */
export class Playground {
  constructor({ build, module, worker }, markup) {
    this.build = build;
    this.module = module;
    this.markup = markup;
    const url = URL.createObjectURL(new Blob([worker], { type: "text/javascript" }));
    this.makeWorker = () => new Worker(url);
    this.runs = 0; // counts trainings
    this.now = null; // the training that is shown, see `entryOf`
    this.past = []; // those before it, and those undone
    this.future = [];
    this.wanted = null; // the settings of the last change, until it is made
    this.going = Promise.resolve(); // fulfilled when nothing leads to another training
    this.busy = 0; // what leads there
    this.goal = null; // the step to go to, until it is reached
    this.moved = ""; // the setting of a slider that is dragged
    this.rests = 0;
    this.app = null;
    this.hasBuilt = false;
    this.link = ""; // the last one to be followed
    this.home = ""; // the link of the playground around a challenge
    this.addressed = undefined; // the challenge of the address, or null; undefined: none is written
    this.stopped = null; // the state for which a way back was offered
    this.hidesTest = false;
    this.tested = null; // {probe, found}: what was last found by `testedIn`
    this.closeUp = new CloseUp();
    this.makeParts();
    this.challenges = new Challenges(this, build.challenges);
    this.firstMinute = new FirstMinute(this);
  }

  makeParts() {
    const bend = (place, name) => this.change({ activation: this.settings.activation.with(place, name) }); // prettier-ignore
    this.layers = new LayerLine(byId("layers"), ACTIVATIONS, {
      resize: (place, by) => this.resize(place, by),
      bend,
      add: () => this.addLayer(),
      show: (place) => this.closeUp.show(place),
    });
    this.tiles = new DataTiles(byId("tiles"), [...SHAPES, OWN], (shape) => this.choose(shape));
    this.own = new OwnPoints({
      change: (settings) => this.take(settings),
      collect: (drawn) => this.collect(drawn),
      tell: (words) => this.app.tell(words),
    });
    this.colours = new OwnColours({
      take: (fields) => this.take(fields),
      tell: (words) => this.app.tell(words),
    });
    const features = Object.entries(this.build.tables.features);
    const labels = Object.fromEntries(features.map(([name, { label }]) => [name, label]));
    this.shelf = new InputShelf(byId("shelf"), FEATURES, labels, (name) => this.toggleInput(name));
    const rows = [["opt", [...RATES.keys()], (name) => this.titleOf(name)], ["lr"], ["batch", BATCHES], ["init", INITIALIZERS], ["l1", PENALTIES], ["l2", PENALTIES]]; // prettier-ignore
    this.learning = new LearningFields(byId("learning"), rows, (name, value) => this.learn(name, value)); // prettier-ignore
    const draw = madeButton("", text("build.new_weights"), () => this.app.run("new weights"));
    const more = madeButton("", text("build.more_settings"), () => this.showMore());
    byId("learning").append(draw, more, made("p", "", text("build.learning.words")));
    this.opener = madeButton("opener", made("span", "", made("b"), made("i")));
    this.opener.dataset.panel = "learning";
    this.what = made("button", "what", text("build.panel.words"));
    this.what.dataset.panel = "words";
    this.test = made("p", "test");
    this.losses = [made("b"), made("span")];
    const sliders = { noise: ["noise", 1], "test-share": ["share", 100] };
    for (const [id, [name, factor]] of /** @type {[string, any][]} */ (Object.entries(sliders))) {
      byId(id).addEventListener("input", ({ target }) => {
        const value = Number(target.value) / factor;
        this.change({ [name]: name === "share" ? Number((1 - value).toFixed(1)) : value });
      });
    }
    byId("new-points").addEventListener("click", () => this.change({ seed: this.settings.seed + 1 })); // prettier-ignore
    byId("test-points").addEventListener("click", () => this.showTest(byId("test-points").ariaPressed === "false")); // prettier-ignore
    byId("set-points").addEventListener("click", () => this.setPoints());
    byId("set-colours").addEventListener("click", () => this.take({ shape: COLOURS[0] }));
    byId("choose-csv").addEventListener("click", () => byId("csv-file").click());
    byId("csv-file").addEventListener("change", ({ target }) => {
      this.takeFile(target.files[0]);
      target.value = ""; // the same file can be chosen again
    });
    followDrops(document, (file) => this.takeFile(file));
    byId("more-points").addEventListener("click", () => this.showSliders(!remembered("sliders")));
    byId("share").addEventListener("click", () => this.copyLink());
    byId("to-python").addEventListener("click", () => this.showPython());
    byId("copy-python").addEventListener("click", () => this.copyPython());
    document.addEventListener("click", ({ target }) => {
      const button = /** @type {any} */ (target).closest("button[data-panel]");
      if (button) this.open(button.dataset.panel);
    });
    addEventListener("keydown", (event) => this.press(event), { capture: true });
    this.showSliders(remembered("sliders") ?? false);
    this.open("");
  }

  titleOf(optimizer) {
    return this.build.tables.image.optimizers[optimizer].title;
  }

  // Settings.

  /** The current settings, with the learning settings that were changed during training. */
  get settings() {
    if (this.wanted) return this.wanted.settings;
    const { state, spec } = this.app ?? {};
    if (!state) return this.now.settings;
    const { optimizer = 0, size, rate } = state;
    const opt = spec.engine.optimizers[optimizer].name;
    return { ...this.now.settings, opt, lr: rate, batch: size ?? this.now.settings.batch };
  }

  resize(place, by) {
    const { hidden, activation } = this.settings;
    const count = hidden[place] + by;
    if (count > MOST_NEURONS) return;
    if (count > 0) this.change({ hidden: hidden.with(place, count) });
    else
      this.change({ hidden: hidden.toSpliced(place, 1), activation: activation.toSpliced(place, 1) }, { layer: place }); // prettier-ignore
  }

  addLayer() {
    const { hidden, activation } = this.settings;
    if (hidden.length === MOST_LAYERS) return;
    const size = Math.min(sizes_of(this.settings).at(-2), MOST_NEURONS);
    this.change({ hidden: [...hidden, size], activation: [...activation, activation.at(-1) ?? "tanh"] }); // prettier-ignore
  }

  toggleInput(name) {
    const { features } = this.settings;
    const isOn = (each) => features.includes(each) !== (each === name);
    const next = FEATURES.filter(isOn);
    if (next.length) this.change({ features: next });
  }

  /** Train on a data set, or offer all other data if the name is `OWN`. */
  choose(shape) {
    if (shape !== OWN) return this.take({ shape });
    byId("csv-fault").replaceChildren();
    byId("own-data").showModal();
  }

  /** Train on the points that were drawn last; without any, let the user draw some. */
  async setPoints() {
    const { own, settings } = this;
    if (own.last) return this.take(own.fitting(own.last, settings.batch));
    if (!isPlane(settings)) this.take({ shape: SHAPES[0] });
    await this.going;
    return this.own.collect([]);
  }

  /** Show in OUT points that lack a color, until which nothing learns; null shows the data. */
  collect(drawn) {
    byId("own-data").close();
    this.app.exhibit.drawn = drawn;
    if (drawn) this.app.player.pause();
    this.showSettings();
    this.app.request();
  }

  /** Say why a command is not possible while points of one color are missing; return whether so. */
  refuses(name) {
    const isRefused = this.app.exhibit.drawn && TRAINS.includes(name);
    if (isRefused) this.app.tell(text("build.own.few"));
    return isRefused;
  }

  /** Train on other data; an unchanged network becomes the usual one for them. */
  take(fields) {
    byId("own-data").close();
    this.app.exhibit.drawn = null;
    const { settings } = this;
    const { table, colours } = settings;
    const usual = (name) => [name, DEFAULTS.get(name)];
    const ended = [...(table || colours ? ["batch"] : []), ...(table ? ["share"] : [])];
    const next = { ...withoutData(settings), ...this.own.ended(settings), ...Object.fromEntries(ended.map(usual)), ...fields }; // prettier-ignore
    this.change({ ...next, ...proposed(settings, task_of(next)), ...fields });
  }

  /** Train on the table in a file, or say what is wrong with it. */
  async takeFile(file, leavesOut = false) {
    if (this.challenges.now) return this.app.tell(text("csv.challenge"));
    try {
      const { settings, notes } = await tableOfFile(file, leavesOut);
      this.take({ ...settings, ...PROPOSED });
      await this.going;
      if (notes.length) this.app.tell(notes.join(" "));
    } catch (error) {
      if (!(error instanceof CsvError)) throw error;
      const leave = [plural("csv.leave", error.bad), () => this.takeFile(file, true)];
      this.tellFault(error.message, ...(error.bad ? leave : []));
    }
  }

  /** Show what is wrong with a file in the dialog, or over the page if it is closed. */
  tellFault(words, ...action) {
    const buttons = action.length ? [madeButton("", ...action)] : [];
    byId("csv-fault").replaceChildren(words, ...buttons);
    if (!byId("own-data").open) this.app.tell(words, ...action);
  }

  /** Use the tool for own points at a place of the map; say whether there are any. */
  point(place) {
    const { drawn } = this.app.exhibit;
    const isOwn = drawn !== null || this.settings.points !== "";
    if (isOwn) this.own.use(this.settings, place, drawn);
    return isOwn;
  }

  /** Change a setting of learning: in the training, or by another one. */
  learn(name, value) {
    const { app } = this;
    if (name === "lr" && !this.challenges.now) app.run("learning rate", value);
    else if (name === "batch") app.run("batch", Number(value));
    else if (name === "opt") this.change({ opt: value, lr: RATES.get(value) });
    else if (name === "init") this.change({ init: value }, { isFresh: true });
    else this.change({ [name]: Number(value) });
  }

  // Trainings.

  /** Begin with settings, and with nothing to undo. */
  async beginAnew(settings, value) {
    await this.travelTo({ now: this.entryOf(settings, value), past: [], future: [] });
  }

  /** The training that is shown, and those to undo and to redo. */
  async kept() {
    const { past, future } = this;
    await this.app.player.rest();
    return { now: this.left(), past, future };
  }

  /** Show a training that was kept. */
  async travelTo({ now, past, future }) {
    Object.assign(this, { past, future });
    await this.show(now);
  }

  /** Begin or leave a challenge as a link says; return whether nothing else is to be followed. */
  async followChallenge(hash) {
    this.link = hash;
    this.addressed = undefined; // the address stays until then
    const isDone = await this.challenges.follow(hash);
    if (this.link !== hash) return true; // another one came
    this.addressed = this.challenges.now;
    this.showSettings();
    return isDone;
  }

  /** Follow another link in this page. */
  async follow(hash) {
    if (await this.followChallenge(hash)) return;
    this.firstMinute.number = Infinity; // they are about the first network
    const link = await readBuild(hash);
    if (this.link !== hash) return; // another one came
    this.change(link.settings, { isFresh: true, given: link.value });
    await this.going;
    await this.pursue(link);
  }

  /** Make the changes of a link, and go to its moment; return whether it has any. */
  async pursue({ changes, kernels, rest, bad }) {
    if (changes.length) {
      this.enqueue(() => this.replay(changes));
      await this.going;
    }
    const parts = new URLSearchParams(rest.slice(1));
    const [step, operation] = ["step", "op"].map((name) => Number(parts.get(name) ?? 0));
    if (parts.has("step") && step < this.app.spec.engine.step) await this.goTo(step);
    if (changes.length && isSamePlace(this.app.state, { step, operation }))
      for (const name of ["step", "op"]) parts.delete(name); // it is there, after the changes made there
    const stands = parts.size > 0 && (await followLink(this.app, `#${parts}`));
    const isOther = kernels && kernels !== this.build.kernels ? text("build.kernels") : "";
    if (bad || isOther) this.app.tell(`${bad} ${isOther}`.trim());
    return stands || changes.length > 0;
  }

  /** Train through changes from the first step of the present training. */
  async replay(changes) {
    await this.app.player.rest();
    const runs = await replayed(this.now, changes, {
      open: (entry) => this.clientOf(entry),
      after: (entry, state, steps) => this.after(entry, state, steps).next,
    });
    this.past = [...this.past, ...runs.slice(0, -1)].slice(-MOST_PAST);
    this.future = [];
    this.hasBuilt = true;
    await this.show(runs.at(-1));
  }

  /** A training with settings, from its first step.
   *
   * spec, image, held  its data
   * resume, losses     where its worker continues, and the losses and metrics up to there, or null
   * at                 where it was left
   * origin, parts      settings and weights of the first step, and the changes since, as in links
   * key, before, from  its number, the number of the training that it continues, and the place there
   */
  entryOf(settings, value = null) {
    const { base, tables } = this.build;
    const { spec, image, held, judged } = specOf(base, tables, settings, {
      value,
      most: MOST_TEST,
    });
    const { facts, engine } = spec;
    if (engine.metrics) engine.metrics = { ...engine.metrics, every: MEASURED };
    for (const each of Object.values(facts.buffers))
      if (each.role === "hidden") each.names = Array.from({ length: each.size }, (_, i) => neuronName(i, each)); // prettier-ignore
    const layoutAt = (room, followed) =>
      layoutOf(facts, room, facts.tint !== "", !facts.tint, followed);
    spec.scene = { ...spec.scene, layouts: [], shapes: [], walls: [], layoutAt };
    spec.page = { ...spec.page, title: base.page.title };
    return {
      settings,
      spec,
      image,
      judged,
      held: bytesOfSamples(held),
      resume: null,
      at: null,
      isGiven: value !== null,
      networkSeed: settings.seed,
      origin: { settings, value },
      parts: [],
      key: (this.runs += 1),
      before: null,
      from: null,
    };
  }

  /** Change some settings. Changes that wait are made one after the other, and shown together.
   *
   * asked  isFresh: all weights are drawn again, or are those `given`; layer: the place of the layer
   *        that is removed
   */
  change(fields, asked = {}) {
    const { challenges } = this;
    if (!challenges.allows(fields)) return;
    const settings = { ...this.settings, ...fields };
    settings.batch = batchOf(settings);
    const { table } = this.settings;
    const isOther = settings.table !== table || task_of(settings) !== task_of(this.settings);
    const how = challenges.now || isOther ? { ...asked, isFresh: true } : asked;
    const what = Object.keys(fields).join();
    const waiting = this.wanted?.isTaken === false ? this.wanted.steps : [];
    const isDragged = what === this.moved; // a slider that moves on: one change
    const follows = waiting.length ? this.wanted.follows : isDragged;
    this.moved = ["noise", "share"].includes(what) ? what : "";
    clearTimeout(this.rests);
    this.rests = setTimeout(() => (this.moved = ""), DRAG);
    this.wanted = { settings, steps: [...waiting, { settings, how }], follows, isTaken: false };
    this.showSettings();
    this.enqueue(() => this.make());
  }

  /** Do something that starts another training run, after all pending changes. */
  enqueue(work) {
    this.busy += 1;
    this.going = this.going.then(work).catch(failWith);
    this.going.then(() => (this.busy -= 1));
  }

  /** Begin a training with the settings that are wanted where the present one stands. */
  async make() {
    const { now, app, wanted } = this;
    if (!wanted || wanted.isTaken) return; // a later change has been made already
    wanted.isTaken = true;
    const plays = app.player.playing;
    const state = await app.player.rest();
    const left = this.left();
    const { next, grown } = this.after(left, state, wanted.steps);
    const isKept = !wanted.follows || state.step > now.spec.engine.step;
    if (!isKept && next.before) Object.assign(next, { before: now.before, from: now.from });
    const kept = isKept ? [{ ...left, isBetween: wanted.follows }] : [];
    this.past = [...this.past, ...this.future.reverse(), ...kept].slice(-MOST_PAST); // none is lost
    this.future = [];
    this.hasBuilt = true;
    await this.show(next, plays);
    this.app.exhibit.drawn = app.exhibit.drawn;
    if (this.wanted === wanted) this.wanted = null;
    this.showSettings();
    this.say(grown, state.value.length);
  }

  /** The present training, as it is left `at` a place; it will be shown with all its steps. */
  left() {
    const { client, losses, state, curve } = this.app;
    const { series } = curve.measures;
    const { place: at, journal } = client.resume;
    const isBack = state.last > at.step;
    const place = isBack ? { step: state.last, operation: 0, applied: journal.length } : at;
    return { ...this.now, resume: { ...client.resume, place }, at, losses, measured: { series } };
  }

  /** The training after changes of settings of one that was left at a state: {next, grown}. */
  after(left, state, steps) {
    const { step, operation, value, rate: lr } = state;
    const grown = steps.reduce(grownBy, {
      ...left,
      settings: { ...left.settings, lr, batch: state.size ?? left.settings.batch },
      place: { step, operation },
      value,
      rows: Array.from(value, (_, row) => row),
      isFresh: false,
      isSame: true,
      isGiven: left.isGiven || step > 0 || left.resume.journal.length > 0,
      parts: partsOf(left),
    });
    const next = this.entryOf(grown.settings, grown.value);
    for (const name of ["isGiven", "networkSeed", "origin", "parts"]) next[name] = grown[name];
    if (!grown.isFresh) goOn(next, left, grown, state);
    return { next, grown };
  }

  clientOf({ spec, image, held, resume }) {
    return new Client(this.makeWorker, { module: this.module, image, held, spec, resume });
  }

  /** Show a training, and play it on; the last one stays until its first state is there. */
  async show(entry, plays = false) {
    const { spec } = entry;
    spec.page.title = this.challenges.place?.title ?? this.build.base.page.title;
    const client = this.clientOf(entry);
    this.challenges.guard(client);
    const states = [];
    client.onstate = (state) => states.push(state);
    await client.opened;
    const before = this.app;
    const pointer = before?.curve.pointer ?? null; // it drags on
    const focused = document.activeElement?.id;
    this.now = entry;
    this.app = before
      ? appAnew(before, this.markup, spec, client)
      : appOf(spec, client, pictureOf(spec));
    before?.client.end();
    this.app.around = this;
    this.app.curve.widen(this.reach);
    const { app } = this;
    app.curve.measures.now = () => this.testedIn(app, entry)?.loss ?? NaN;
    if (pointer !== null) this.app.curve.hold(pointer);
    this.place();
    if (!before) this.firstMinute.begin(location.hash);
    this.challenges.attach(this.app);
    for (const state of states) this.app.take(state);
    const { at, resume } = entry;
    if (at && !isSamePlace(at, resume.place)) await this.app.player.ask("seek", at);
    if (plays) this.app.player.play();
    this.app.draw();
    if (focused) byId(focused)?.focus(); // a button that was moved
  }

  /** Put into the new elements of the page what stays of it. */
  place() {
    byId("picture").after(byId("legend"));
    if (isPhone()) byId("sheet").prepend(this.what);
    else byId("legend").before(this.firstMinute.card, this.what);
    byId("back").before(byId("undo"), byId("redo"));
    if (!isPhone()) byId("back").after(byId("play"));
    byId("more").before(this.opener);
    byId("loss").before(...this.losses);
    byId("exhibit").querySelector(".yet").after(this.test);
    this.app.exhibit.hidesTest = this.hidesTest;
    this.showSettings();
  }

  /** Report which weights were kept after a change, and offer to start again. */
  say({ rows, isFresh }, before) {
    const stay = rows.filter((row) => row >= 0).length;
    const counts = { stay, count: rows.length, fresh: rows.length - stay, gone: before - stay };
    const kind = counts.fresh ? "more" : counts.gone ? "fewer" : "same";
    const words = text(`build.weights.${isFresh ? "fresh" : kind}`, counts);
    if (isFresh) this.app.tell(words);
    else this.app.tell(words, text("build.again"), () => this.change({}, { isFresh: true }));
    const { hidden } = this.now.settings;
    const old = this.past.at(-1)?.settings.hidden ?? [];
    const place = hidden.findIndex((count, i) => count !== old[i]);
    if (hidden.length !== old.length || place < 0) return;
    const { element, number } = this.layers.shown[place];
    setWords(byId("told"), `${element.ariaLabel}: ${number.ariaValueText}. ${words}`);
  }

  /** The unit of the arrow keys; within a step, operations. */
  get unit() {
    const { state, unit } = this.app;
    return state.operation > 0 && unit === "step" ? "operation" : unit;
  }

  /** Whether the weights may differ from the initial ones. */
  get hasOwnWeights() {
    const { state, client } = this.app;
    return this.now.isGiven || state.step > 0 || client.resume.journal.length > 0;
  }

  /** Copy a link to this moment to the clipboard, and report it. */
  async copyLink() {
    const link = await this.linkNow();
    if (!link || link.length > LONGEST) return this.app.tell(text("build.long.table"));
    return giveLink(this.app, link);
  }

  /** The link to this moment: the first network and all changes; if there are too many, the weights. */
  async linkNow() {
    const { settings, hasOwnWeights, build, app } = this;
    const { origin } = this.now;
    const moment = app.client.resume.place;
    const words = partsOf(this.left()).join(";");
    if (moment.step > MOST_STEPS || !leadsTo(origin.settings, words, settings))
      return writeBuild(settings, hasOwnWeights ? app.state.value : null);
    const rest = moment.step || moment.operation ? writeLink(moment) : "#";
    const k = words || rest.length > 1 ? build.kernels : "";
    return writeBuild(origin.settings, origin.value, rest, { do: words, k });
  }

  /** Show a Python program with this network, its data and its learning settings. */
  showPython() {
    const value = this.hasOwnWeights ? this.app.state.value : null;
    setWords(byId("python").querySelector("pre"), pythonOf(this.settings, value));
    byId("python").showModal();
  }

  async copyPython() {
    byId("python").close(); // what is outside of an open dialog cannot be selected
    const done = await putOnClipboard(byId("python").querySelector("pre").textContent);
    this.app.tell(text(done ? "build.python.copied" : "build.python.kept"));
  }

  /** Begin again at step 0, with the weights of the seed where the network was changed. */
  reset() {
    if (this.app.spec.engine.step) this.change({}, { isFresh: true });
    else this.app.still("reset");
  }

  /** Begin again with the weights of the next seed. */
  drawWeights() {
    if (this.app.spec.engine.step) this.change({}, { isFresh: true });
    this.enqueue(() => this.app.newWeights());
  }

  undo() {
    if (this.app.exhibit.drawn) return this.collect(null);
    return this.enqueue(() => this.travel(this.past, this.future));
  }

  redo() {
    this.enqueue(() => this.travel(this.future, this.past));
  }

  /** Go to the last training of a list, or to one with a key; those before it go to another list. */
  async travel(from, to, key = null) {
    if (!from.length) return;
    const plays = this.app.player.playing;
    await this.app.player.rest();
    let entry = this.left();
    do {
      const next = from.pop();
      to.push(next.before === entry.key ? leftFor(entry, next) : entry);
      entry = next;
    } while (from.length && (key ? entry.key !== key : entry.isBetween));
    await this.show(entry, plays);
  }

  // Steps of other trainings.

  /** The trainings that the present one continues, the nearest first. */
  get earlier() {
    return chainOf(this.past, (last, each) => last.before === each.key, this.now);
  }

  /** The undone trainings that continue the present one, the nearest first. */
  get later() {
    return chainOf(this.future, (last, each) => last.key === each.before, this.now);
  }

  /** The steps to which the curve leads, and the losses after the present training. */
  get reach() {
    const { earlier, later } = this;
    const first = (earlier.at(-1) ?? this.now).spec.engine.step;
    if (!later.length) return { first };
    return { first, later: { start: later[0].spec.engine.step, losses: later.at(-1).losses } };
  }

  /** Go to a step, maybe of another training, or surely of a later one; the last goal holds. */
  goTo(step, isLater = false) {
    const { state, spec } = this.app;
    const isHere = step >= spec.engine.step && (step <= state.last || !this.future.length);
    if (isHere && !isLater && !this.busy) return this.app.goTo(step);
    this.goal = { step, isLater };
    this.enqueue(() => this.arrive());
    return this.going;
  }

  async arrive() {
    const { goal, app, now, past, future, earlier, later } = this;
    this.goal = null;
    if (goal === null) return; // an earlier call went there
    const { step, isLater } = goal;
    const holds = (each) => each.spec.engine.step <= step;
    const isBack = step < now.spec.engine.step;
    const run = isBack ? (earlier.find(holds) ?? earlier.at(-1)) : later.findLast(holds);
    if (run && isBack) await this.travel(past, future, run.key);
    else if (run && (isLater || step > app.state.last)) await this.travel(future, past, run.key);
    await this.app.goTo(step);
  }

  /** Go to the last step of the training before; return false where the present one is not at its first. */
  goBack() {
    const { state, spec } = this.app;
    const [run] = this.earlier;
    if (!run || state.step > spec.engine.step || state.operation) return false;
    this.enqueue(() => this.travel(this.past, this.future, run.key));
    return true;
  }

  // What is seen.

  showSettings() {
    const settings = this.settings ?? this.now.settings;
    const isDrawing = Boolean(this.app?.exhibit.drawn);
    for (const part of [this.layers, this.tiles, this.shelf, this.learning, this.colours, this.own]) part.show({ ...settings, isDrawing }); // prettier-ignore
    writeBuild(settings).then((link) => this.write(this.challenges.place?.link ?? link ?? "#"));
    const { noise, share, shape, points, colours, table, opt, batch, l1, l2 } = settings;
    const kinds = { drawing: isDrawing, given: isDrawing || points !== "", tabled: table !== "", coloured: task_of(settings) === "colours" }; // prettier-ignore
    for (const [name, isOn] of Object.entries(kinds)) document.body.classList.toggle(name, isOn);
    if (!isPlane(settings) && document.body.dataset.panel === "inputs") this.open("");
    if (table) setWords(byId("table-words"), wordsOfTable(settings));
    byId("noise").value = noise;
    byId("test-share").value = Math.round(100 * (1 - share));
    setWords(byId("noise-words"), generalNumber(noise, 2));
    setWords(byId("share-words"), `${byId("test-share").value} %`);
    const sizes = sizes_of(settings).join(" → ");
    const learns = text("build.learns", {
      sizes,
      what: table
        ? tableName(table)
        : text(`build.learned.${points ? OWN : colours ? "colours" : shape}`),
    });
    const task = this.hasBuilt ? learns : text("build.task");
    const words = isPhone() ? sizes : task;
    setWords(document.querySelector(".task p"), this.challenges.place?.name ?? words);
    const penalty = l1 || l2 ? `L${l1 ? 1 : 2} ${l1 || l2}` : "";
    const [name, more] = this.opener.firstElementChild.children;
    const { field } = this.challenges; // the only one that may be changed
    setWords(name, field ? text(`build.learning.${field}`) : this.titleOf(opt));
    const all = [text("build.batch_of", { batch }), penalty].filter(Boolean).join(", ");
    setWords(more, field ? String(settings[field] || text("build.none")) : all);
  }

  /** Write a link to the address; a browser may refuse that if it happens often.
   *
   * Challenges and the playground are different entries of the history.
   */
  write(link) {
    const { now } = this.challenges;
    if (this.addressed === undefined) return; // a link is followed
    const isOther = now !== this.addressed;
    this.addressed = now;
    if (!now) this.home = link;
    try {
      if (link !== location.hash) history[isOther ? "pushState" : "replaceState"](null, "", link);
    } catch {
      // The next change writes it.
    }
  }

  /** Follow a picture: the boxes of layers stand over it, and both losses beside the curve. */
  seen(app, state) {
    if (app !== this.app) return; // a picture of the last network
    if (app.picture.placed && app.picture.see) this.layers.place(app.picture);
    if (!this.wanted) this.followLearning(this.settings, app.theme);
    const tested = this.testedIn(app, this.now);
    if (tested) this.judge(tested);
    this.closeUp.follow(app);
    this.warn(app, state);
    this.challenges.seen(app, state);
    this.firstMinute.seen(app);
  }

  followLearning(settings, theme) {
    if (isNews(this.opener, [settings, theme])) this.showSettings(); // in the colors of the theme
  }

  /** What `testedIn` finds for the state of a picture, computed once; null without answers. */
  testedIn({ state }, entry) {
    const probe = state?.probe;
    if (!probe) return null;
    if (this.tested?.probe !== probe) this.tested = { probe, found: testedIn(probe, entry) };
    return this.tested.found;
  }

  /** Say how many test points are right, and the mean losses of all points. */
  judge({ learn, loss, right, count, isSorted }) {
    setShown(this.test, isSorted);
    setWords(this.test, text("build.test", { right: Math.round(right * count), count }));
    Object.entries({ learn, test: loss }).forEach(([name, mean], i) => {
      setShown(this.losses[i], Number.isFinite(mean) && (i === 0 || count > 0));
      setWords(this.losses[i], text(`build.loss.${name}`, { loss: mean.toFixed(2).replace(/^0/, "") })); // prettier-ignore
    });
  }

  /** If numbers have become too large, offer to go back and to lower the rate. */
  warn(app, { stopped, step, rate }) {
    if (!stopped || this.stopped === app.state) return;
    this.stopped = app.state;
    const back = Math.max(app.spec.engine.step, step - STEPS_BACK);
    const slower = Number((rate / 10).toPrecision(2));
    app.tell(text("build.lost", { step, rate }), text("build.lost.back", { step: back, rate: slower }), async () => {
      await app.still("seek", { step: back, operation: 0 });
      app.setRate(slower);
    }); // prettier-ignore
  }

  showTest(isShown) {
    byId("test-points").ariaPressed = String(isShown);
    this.hidesTest = this.app.exhibit.hidesTest = !isShown;
    this.app.request();
  }

  showSliders(isShown) {
    remember("sliders", isShown);
    document.body.classList.toggle("slides", isShown);
    byId("more-points").ariaExpanded = String(isShown);
  }

  showMore() {
    this.open("");
    this.app.run("more");
  }

  /** Open a panel, or close it if it is open; "" closes all. */
  open(name) {
    const { dataset } = document.body;
    const opened = dataset.panel === name ? "" : name;
    dataset.panel = opened;
    for (const each of /** @type {any} */ (document.querySelectorAll("button[data-panel]")))
      if (each.dataset.panel) each.ariaExpanded = String(each.dataset.panel === opened);
    if (opened) setWords(byId("panel-title"), text(`build.panel.${opened}`));
    if (["words", "learning"].includes(opened)) byId(opened).scrollIntoView({ block: "nearest" });
    this.app?.resize();
  }

  /** Keys: 1 to 5 choose data, + and − the neurons of the layer in use, [ and ] that layer; Escape closes panels. */
  press(event) {
    const target = event.target instanceof Element ? event.target : document.body;
    if (event.ctrlKey || event.altKey || event.metaKey || takesKey(target, event.key)) return;
    const boxes = this.layers.shown ?? [];
    const now = boxes.findIndex(({ element }) => element.contains(target));
    const number = Number(event.key) - 1;
    const ofLayers = {
      "+": () => this.resize(now < 0 ? boxes.length - 1 : now, 1),
      "-": () => this.resize(now < 0 ? boxes.length - 1 : now, -1),
      "[": () => boxes.at(now < 0 ? -1 : now - 1).number.focus(),
      "]": () => boxes[(now + 1) % boxes.length].number.focus(),
    };
    const acts = {
      f: () => isPlane(this.settings) && this.open("inputs"),
      ...(boxes.length && ofLayers),
      ...(document.body.dataset.panel && { Escape: () => this.open("") }),
    };
    const act = number in SHAPES ? () => this.choose(SHAPES[number]) : acts[keyOf(event)]; // prettier-ignore
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }
}

/** Whether a network answers about points of the plane. */
function isPlane(settings) {
  return !settings.table && task_of(settings) === "sides";
}

/** Settings with a data set of the plane. */
function withoutData({ shape, ...settings }) {
  const usual = (name) => [name, DEFAULTS.get(name)];
  const names = ["points", "colours", ...TABLE, ...(COLOURS.includes(shape) ? ["shape"] : [])];
  return { shape, ...settings, ...Object.fromEntries(names.map(usual)) };
}

/** What is usual for another task, of what is usual for the present one. */
function proposed(settings, task) {
  const [now, next] = [task_of(settings), task].map((each) => USUAL[each]);
  if (!now || !next || now === next) return {};
  const fields = Object.keys(now).filter((name) => String(settings[name]) === String(now[name]));
  const found = Object.fromEntries(fields.map((name) => [name, next[name]]));
  const activation = next.hidden.map(() => settings.activation[0]);
  return found.hidden ? { ...found, activation } : found;
}

/** What a table is called. */
function tableName({ file }) {
  if (file.length > MOST_LETTERS) return `${file.slice(0, MOST_LETTERS)}…`;
  return file || text("build.learned.table");
}

/** The size of a table, in words. */
function wordsOfTable({ table, names, classes }) {
  const parts = [
    plural("build.table.lines", table.lines.length),
    table.columns
      ? text("build.table.some", { count: names.length - 1, all: table.columns })
      : plural("build.table.inputs", names.length - 1),
    classes.length ? text("build.table.classes", { count: classes.length }) : "",
  ];
  return `${tableName(table)}: ${parts.filter(Boolean).join(", ")}`;
}

/** The weights after one more change of settings: of each, which one it was at first, or -1. */
function grownBy(last, { settings, how }) {
  const { isFresh, given = null, layer = null } = how;
  const place = last.isFresh || isFresh ? { step: 0, operation: 0 } : last.place;
  if (isFresh) {
    const value = given ?? drawnWeights(settings);
    const isGiven = given !== null;
    const origin = { settings, value: given };
    return { settings, value, rows: Array.from(value, () => -1), isFresh, isGiven, networkSeed: settings.seed, origin, parts: [], place }; // prettier-ignore
  }
  const parts = placed(parts_between(last.settings, settings, layer), place);
  const steps = parts.length > 1 && !how.isOne ? stepsOf(last.settings, parts) : null;
  if (steps) return { ...steps.reduce(grownBy, last), settings }; // one after the other, as in a link
  const seed = growthSeed(settings.seed, last.networkSeed, place.step);
  const { value, rows } = grownWeights(last.settings, settings, last.value, { seed, layer });
  const isSame = rows.length === last.value.length && rows.every((from, row) => from === row);
  return {
    ...last,
    settings,
    value,
    rows: Array.from(rows, (from) => (from < 0 ? -1 : last.rows[from])),
    isSame: last.isSame && settings.opt === last.settings.opt,
    isGiven: last.isGiven || !isSame || settings.seed !== last.settings.seed,
    networkSeed: isSame ? last.networkSeed : seed,
    parts: [...last.parts, ...parts],
  };
}

/** Start a training at the step of a state of the last one, with its losses, frozen weights and slots. */
function goOn(next, left, { rows, isSame }, { step, slots, value, frozen }) {
  const { engine, facts, page } = next.spec;
  Object.assign(next, { before: left.key, from: { place: left.at, key: left.resume.key } });
  const isOther = (name) => String(next.settings[name]) !== String(left.settings[name]);
  const { marks = [], changed = 0 } = left.spec.page;
  const isNew = DATA.some(isOther);
  page.marks = isNew ? [...new Set([...marks, step])] : marks;
  page.changed = isNew || NETWORK.some(isOther) ? step : changed;
  if (!isNew && page.measured) page.measured = left.measured;
  page.earlier = left.losses.told;
  engine.count = isSame ? left.spec.engine.count + step - left.spec.engine.step : 0;
  engine.step = step;
  facts.first = engine.count - step;
  const arrayOf = (kind, [place, length]) => new kind(next.image.buffer, length ? place - engine.first : 0, length); // prettier-ignore
  arrayOf(Uint8Array, engine.arrays.frozen).set(grownNumbers(frozen, rows, value.length));
  const numbers = arrayOf(Float32Array, engine.arrays.slots);
  engine.optimizers[0].slots.forEach((name, k) => {
    if (!isSame || !slots[name]) return;
    numbers.set(grownNumbers(slots[name], rows, value.length), k * rows.length);
  });
}

/** The mean losses of all samples, and the test samples that are right, from the answers of now. */
function testedIn(probe, { judged, spec }) {
  const { task, first, parts } = judged;
  const { reads, outputs: size } = spec.page.exhibit;
  const own = probe.subarray(first * size);
  const end = parts[0].length * size;
  const [learn, loss] = [own.subarray(0, end), own.subarray(end)].map((some, i) =>
    lossOf(ready(spec.facts.loss), some, parts[i].flat(), parts[i].length),
  );
  const count = parts[1].length;
  const isSorted = count > 0 && (task === "sides" || task === "classes");
  const right = isSorted ? accuracy.value(answersEach(own.subarray(end), reads, size), parts[1]) : NaN; // prettier-ignore
  return { learn, loss, right, count, isSorted };
}

/** The trainings at the end of a list of which each follows the one before, the last one first. */
function chainOf(list, follows, now) {
  const found = [];
  for (const each of list.toReversed()) {
    if (follows(found.at(-1) ?? now, each)) found.push(each);
  }
  return found;
}

/** The name of a hidden neuron: neurons and layers count from 1, as the boxes of layers do. */
function neuronName(place, { layer }) {
  const unit = text("captions.unit.neuron", { number: place + 1 });
  return layer ? text("captions.unit.of_layer", { unit, layer: Number(layer) + 1 }) : unit;
}

/** The bytes of samples as `Metrics` reads them: inputs, then targets. */
function bytesOfSamples(/** @type {number[][]} */ [inputs, targets]) {
  const parts = [Float32Array.from(inputs), Float64Array.from(targets)];
  const bytes = new Uint8Array(parts[0].byteLength + parts[1].byteLength);
  bytes.set(new Uint8Array(parts[0].buffer));
  bytes.set(new Uint8Array(parts[1].buffer), parts[0].byteLength);
  return bytes;
}
