// A playground: settings become a network. Each change starts a new training run from the current
// weights.

import { layoutOf } from "./layout_maker.js";
import { appAnew, appOf, pictureOf } from "./app.js";
import { DataTiles, InputShelf, LayerLine, LearningFields, OWN } from "./build_parts.js";
import { Challenges } from "./challenge_box.js";
import { Client } from "./client.js";
import { specOf } from "./dense_page.js";
import { byId, failWith, isNews, made, remember, remembered, setShown, setWords } from "./dom.js";
import { madeButton, takesKey } from "./events.js";
import { drawnWeights, grownNumbers, grownWeights, growthSeed } from "./growth.js";
import { followLink, putOnClipboard } from "./links.js";
import { OwnPoints } from "./own_points.js";
import { generalNumber } from "./numbers.js";
import { readBuild, writeBuild } from "./packed_link.js";
import {
  ACTIVATIONS,
  BATCHES,
  FEATURES,
  INITIALIZERS,
  MOST_LAYERS,
  MOST_NEURONS,
  RATES,
  SHAPES,
  sizes_of,
} from "./story/build_link.js";
import { pythonOf } from "./take_to_python.js";
import { text } from "./texts.js";

const DRAG = 1500; // milliseconds between two moves of a slider that are one change
const MOST_PAST = 50; // changes that can be undone
const STEPS_BACK = 30; // to return to if numbers become too large
const MOST_TEST = 450; // test points on the map
const PENALTIES = [0, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1];

/** The page: `data` are those that Python wrote, `markup` its elements as they were. */
export class Playground {
  constructor({ build, module, worker }, markup) {
    this.build = build;
    this.module = module;
    this.markup = markup;
    const url = URL.createObjectURL(new Blob([worker], { type: "text/javascript" }));
    this.makeWorker = () => new Worker(url);
    this.now = null; // {settings, spec, image, held, resume}: the training that is shown
    this.past = []; // those before it, and those undone
    this.future = [];
    this.wanted = null; // the settings of the last change, until it is made
    this.going = Promise.resolve(); // fulfilled when nothing leads to another training
    this.busy = 0; // what leads there
    this.moved = ""; // the setting of a slider that is dragged
    this.rests = 0;
    this.app = null;
    this.hasBuilt = false;
    this.link = ""; // the last one to be followed
    this.stopped = null; // the state for which a way back was offered
    this.hidesTest = false;
    this.makeParts();
    this.challenges = new Challenges(this, build.challenges);
  }

  makeParts() {
    const bend = (place, name) => this.change({ activation: this.settings.activation.with(place, name) }); // prettier-ignore
    this.layers = new LayerLine(byId("layers"), ACTIVATIONS, {
      resize: (place, by) => this.resize(place, by),
      bend,
      add: () => this.addLayer(),
    });
    this.tiles = new DataTiles(byId("tiles"), [...SHAPES, OWN], (shape) => this.choose(shape));
    this.own = new OwnPoints({
      change: (settings) => this.change(settings),
      tell: (words) => this.app.tell(words),
    });
    const features = Object.entries(this.build.tables.features);
    const labels = Object.fromEntries(features.map(([name, { label }]) => [name, label]));
    this.shelf = new InputShelf(byId("shelf"), FEATURES, labels, (name) => this.toggleInput(name));
    const rows = [["opt", [...RATES.keys()], (name) => this.titleOf(name)], ["lr"], ["batch", BATCHES], ["init", INITIALIZERS], ["l1", PENALTIES], ["l2", PENALTIES]]; // prettier-ignore
    this.learning = new LearningFields(byId("learning"), rows, (name, value) => this.learn(name, value)); // prettier-ignore
    const draw = madeButton("", text("build.new_weights"), () => this.app.run("new weights"));
    const more = madeButton("", text("build.more_settings"), () => this.showMore());
    byId("learning").append(draw, more);
    this.opener = madeButton("opener", made("span", "", made("b"), made("i")));
    this.opener.dataset.panel = "learning";
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
    byId("more-points").addEventListener("click", () => this.showSliders(!remembered("sliders")));
    byId("share").addEventListener("click", () => this.copyLink());
    byId("to-python").addEventListener("click", () => this.showPython());
    byId("copy-python").addEventListener("click", () => this.copyPython());
    byId("python").addEventListener("keydown", (event) => event.stopPropagation());
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
    const { hidden, activation, features } = this.settings;
    if (hidden.length === MOST_LAYERS) return;
    const size = Math.min(hidden.at(-1) ?? features.length, MOST_NEURONS);
    this.change({ hidden: [...hidden, size], activation: [...activation, activation.at(-1) ?? "tanh"] }); // prettier-ignore
  }

  toggleInput(name) {
    const { features } = this.settings;
    const isOn = (each) => features.includes(each) !== (each === name);
    const next = FEATURES.filter(isOn);
    if (next.length) this.change({ features: next });
  }

  /** Train on a data set, or on the visitor's points if the name is `OWN`. */
  choose(shape) {
    this.change(shape === OWN ? this.own.begun(this.settings) : { shape, points: "" });
  }

  /** Use the tool for own points at a place of the map; say whether there are any. */
  point(place) {
    const isOwn = this.settings.points !== "";
    if (isOwn) this.own.use(this.settings, place);
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
    return { now: { ...this.now, resume: this.app.client.resume }, past, future };
  }

  /** Show a training that was kept. */
  async travelTo({ now, past, future }) {
    Object.assign(this, { past, future });
    await this.show(now);
  }

  /** Start with settings, and with these weights instead of the initial ones. */
  async begin(settings, value = null) {
    await this.show(this.entryOf(settings, value));
    return this.app;
  }

  /** Follow another link in this page. */
  async follow(hash) {
    this.link = hash;
    if (await this.challenges.follow(hash)) return;
    const { settings, value, rest, bad } = await readBuild(hash);
    if (this.link !== hash) return; // another one came
    this.change(settings, { isFresh: true, given: value });
    await this.going;
    if (rest.length > 1) await followLink(this.app, rest);
    if (bad) this.app.tell(bad);
  }

  /** The data of a training with settings, from its first step. */
  entryOf(settings, value = null) {
    const { base, tables } = this.build;
    const { spec, image, held } = specOf(base, tables, settings, { value, most: MOST_TEST });
    const { facts } = spec;
    const layoutAt = (shape) => layoutOf(facts, shape);
    spec.scene = { ...spec.scene, layouts: [], shapes: [], walls: [], layoutAt };
    spec.page = { ...spec.page, title: base.page.title };
    return {
      settings,
      spec,
      image,
      held: bytesOfSamples(held),
      resume: null,
      isGiven: value !== null,
      networkSeed: settings.seed,
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
    const how = challenges.now ? { ...asked, isFresh: true } : asked;
    const what = Object.keys(fields).join();
    const follows = what === this.moved; // as a slider that is still dragged: one change
    this.moved = ["noise", "share"].includes(what) ? what : "";
    clearTimeout(this.rests);
    this.rests = setTimeout(() => (this.moved = ""), DRAG);
    const settings = { ...this.settings, ...fields };
    const waiting = this.wanted?.isTaken === false ? this.wanted.steps : [];
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
    const grown = wanted.steps.reduce((last, each) => grownBy(last, each, state.step), {
      ...now,
      value: state.value,
      rows: Array.from(state.value, (_, row) => row),
      isFresh: false,
      isGiven: this.hasOwnWeights,
    });
    const next = this.entryOf(wanted.settings, grown.value);
    Object.assign(next, { isGiven: grown.isGiven, networkSeed: grown.networkSeed });
    if (!grown.isFresh) this.goOn(next, grown, state);
    const kept = wanted.follows ? [] : [{ ...now, resume: app.client.resume }];
    this.past = [...this.past, ...kept].slice(-MOST_PAST);
    this.future = [];
    this.hasBuilt = true;
    await this.show(next, plays);
    if (this.wanted === wanted) this.wanted = null;
    this.showSettings();
    this.say(grown, state.value.length);
  }

  /** Start a training run at the step of a state, with its losses and the slots of its optimizer. */
  goOn({ spec, image, settings }, { rows }, { step, slots, value }) {
    const { now } = this;
    const { engine, facts, page } = spec;
    page.earlier = this.app.losses.told;
    const isSame = settings.opt === now.settings.opt;
    engine.count = isSame ? now.spec.engine.count + step - now.spec.engine.step : 0;
    engine.step = step;
    facts.first = engine.count - step;
    const [place, length] = engine.arrays.slots;
    const numbers = new Float32Array(image.buffer, length ? place - engine.first : 0, length);
    engine.optimizers[0].slots.forEach((name, k) => {
      if (!isSame || !slots[name]) return;
      numbers.set(grownNumbers(slots[name], rows, value.length), k * rows.length);
    });
  }

  /** Show a training, and play it on; the last one stays until its first state is there. */
  async show(entry, plays = false) {
    const { spec, image, held, resume } = entry;
    spec.page.title = this.challenges.place?.title ?? this.build.base.page.title;
    const client = new Client(this.makeWorker, { module: this.module, image, held, spec, resume });
    this.challenges.guard(client);
    const states = [];
    client.onstate = (state) => states.push(state);
    await client.opened;
    const before = this.app;
    this.now = entry;
    this.app = before
      ? appAnew(before, this.markup, spec, client)
      : appOf(spec, client, pictureOf(spec));
    before?.client.end();
    this.app.around = this;
    this.place();
    this.challenges.attach(this.app);
    for (const state of states) this.app.take(state);
    if (plays) this.app.player.play();
    this.app.draw();
  }

  /** Put into the new elements of the page what stays of it. */
  place() {
    byId("picture").after(byId("legend"));
    byId("back").before(byId("undo"), byId("redo"));
    byId("back").after(byId("play"));
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
  }

  /** Whether the weights may differ from the initial ones. */
  get hasOwnWeights() {
    const { state, client } = this.app;
    return this.now.isGiven || state.step > 0 || client.resume.journal.length > 0;
  }

  /** Copy a link to the current network to the clipboard, and say so. */
  async copyLink() {
    const { value } = this.app.state;
    const link = await writeBuild(this.settings, this.hasOwnWeights ? value : null);
    const done = await putOnClipboard(location.href.split("#")[0] + link);
    this.app.tell(text(done ? "page.link.copied" : "page.link.kept", { link }));
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
    this.enqueue(() => this.travel(this.past, this.future));
  }

  redo() {
    this.enqueue(() => this.travel(this.future, this.past));
  }

  /** Go to the last training of a list, and keep the present one in another list. */
  async travel(from, to) {
    if (!from.length) return;
    const plays = this.app.player.playing;
    await this.app.player.rest();
    to.push({ ...this.now, resume: this.app.client.resume });
    await this.show(from.pop(), plays);
  }

  // What is seen.

  showSettings() {
    const settings = this.settings ?? this.now.settings;
    for (const part of [this.layers, this.tiles, this.shelf, this.learning]) part.show(settings);
    writeBuild(settings).then((link) => this.write(this.challenges.place?.link ?? link));
    const { noise, share, shape, points, opt, batch, l1, l2 } = settings;
    document.body.classList.toggle("given", points !== "");
    byId("noise").value = noise;
    byId("test-share").value = Math.round(100 * (1 - share));
    setWords(byId("noise-words"), generalNumber(noise, 2));
    setWords(byId("share-words"), `${byId("test-share").value} %`);
    const sizes = sizes_of(settings).join(" → ");
    const learns = text("build.learns", {
      sizes,
      what: text(`build.learned.${points ? OWN : shape}`),
    });
    const task = this.hasBuilt ? learns : text("build.task");
    setWords(document.querySelector(".task p"), this.challenges.place?.name ?? task);
    const penalty = l1 || l2 ? `L${l1 ? 1 : 2} ${l1 || l2}` : "";
    const [name, more] = this.opener.firstElementChild.children;
    setWords(name, this.titleOf(opt));
    setWords(more, [text("build.batch_of", { batch }), penalty].filter(Boolean).join(", "));
  }

  /** Write a link to the address; a browser may refuse that if it happens often. */
  write(link) {
    try {
      if (link !== location.hash) history.replaceState(null, "", link);
    } catch {
      // The next change writes it.
    }
  }

  /** Follow a picture: the boxes of layers stand over it, and both losses beside the curve. */
  seen(app, state) {
    if (app.picture.placed && app.picture.see) this.layers.place(app.picture);
    byId("undo").disabled = !app.state.undoable && !this.past.length;
    byId("redo").disabled = !app.state.redoable && !this.future.length;
    if (!this.wanted) this.followLearning(this.settings, app.theme);
    const { answers, data } = app.exhibit ?? {};
    if (answers) this.judge(answers, data);
    this.warn(app, state);
    this.challenges.seen(app, state);
  }

  followLearning(settings, theme) {
    const { opt, lr, batch } = settings;
    if (isNews(this.opener, [opt, lr, batch])) this.showSettings();
    if (!isNews(this.tiles, [settings, theme])) return;
    this.tiles.show(settings); // in the colors of the theme
    this.shelf.show(settings);
    this.own.show();
  }

  /** Say how many test points are right, and the mean losses of all points. */
  judge(answers, { targets, held }) {
    const own = targets.map((target, i) => [target, answers[i]]);
    const parts = [own.slice(0, held), own.slice(held)];
    const meanOf = (pairs) => pairs.reduce((sum, [t, a]) => sum + 0.5 * (a - t) ** 2, 0) / pairs.length; // prettier-ignore
    const right = parts[1].filter(([target, answer]) => target * answer > 0).length;
    setShown(this.test, parts[1].length > 0);
    setWords(this.test, text("build.test", { right, count: parts[1].length }));
    ["learn", "test"].forEach((name, i) => {
      setShown(this.losses[i], parts[i].length > 0);
      setWords(this.losses[i], text(`build.loss.${name}`, { loss: meanOf(parts[i]).toFixed(2).replace(/^0/, "") })); // prettier-ignore
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
    this.app?.resize();
  }

  /** Keys: 1 to 5 choose data, + and − the neurons of the layer in use, [ and ] that layer. */
  press(event) {
    const target = event.target instanceof Element ? event.target : document.body;
    if (event.ctrlKey || event.altKey || event.metaKey || takesKey(target, event.key)) return;
    const boxes = this.layers.shown ?? [];
    const now = boxes.findIndex(({ element }) => element.contains(target));
    const number = Number(event.key) - 1;
    const acts = {
      "+": () => this.resize(now < 0 ? boxes.length - 1 : now, 1),
      "-": () => this.resize(now < 0 ? boxes.length - 1 : now, -1),
      "[": () => boxes.at(now < 0 ? -1 : now - 1)?.number.focus(),
      "]": () => boxes[(now + 1) % boxes.length]?.number.focus(),
      f: () => this.open("inputs"),
    };
    const act = number in SHAPES ? () => this.choose(SHAPES[number]) : acts[event.key]; // prettier-ignore
    if (!act || (!boxes.length && event.key !== "f" && !(number >= 0))) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }
}

/** The weights after one more change of settings, at a step: of each, which one it was at first, or -1. */
function grownBy(last, { settings, how }, step) {
  const { isFresh, given = null, layer } = how;
  if (isFresh) {
    const value = given ?? drawnWeights(settings);
    const isGiven = given !== null;
    return { settings, value, rows: Array.from(value, () => -1), isFresh, isGiven, networkSeed: settings.seed }; // prettier-ignore
  }
  const seed = growthSeed(settings.seed, last.networkSeed, step);
  const { value, rows } = grownWeights(last.settings, settings, last.value, { seed, layer });
  const isSame = rows.length === last.value.length && rows.every((from, row) => from === row);
  return {
    ...last,
    settings,
    value,
    rows: Array.from(rows, (from) => (from < 0 ? -1 : last.rows[from])),
    isGiven: last.isGiven || !isSame || settings.seed !== last.settings.seed,
    networkSeed: isSame ? last.networkSeed : seed,
  };
}

/** The bytes of samples as `Metrics` reads them: inputs, then targets. */
function bytesOfSamples(/** @type {number[][]} */ [inputs, targets]) {
  const parts = [Float32Array.from(inputs), Float64Array.from(targets)];
  const bytes = new Uint8Array(parts[0].byteLength + parts[1].byteLength);
  bytes.set(new Uint8Array(parts[0].buffer));
  bytes.set(new Uint8Array(parts[1].buffer), parts[0].byteLength);
  return bytes;
}
