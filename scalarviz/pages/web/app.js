// The page at work: states of the training become pictures and words, what users do commands.

import { Access } from "./access.js";
import { BranchLines, BranchList, Curve, LATER } from "./loss_chart.js";
import { branchName } from "./changes.js";
import { exhibitIn } from "./exhibit.js";
import { NeuronMaps } from "./neuron_images.js";
import { ByNeuron, size_at } from "./story/guide.js";
import {
  byId,
  failWith,
  isFramed,
  made,
  remember,
  remembered,
  setShown,
  setWords,
  unitLength,
} from "./dom.js";
import { CaptionBox, captionFor, showSide } from "./caption_box.js";
import { cardOf, pinnedFor, rowsBeside, withBeside } from "./cards.js";
import { CardBox, MovedLine } from "./card_box.js";
import { Chip, Growing } from "./messages.js";
import { can_choose, clearest_sample } from "./story/clearest.js";
import { walk_to } from "./story/traced_weight.js";
import { commandOf, followPointers, takesKey } from "./events.js";
import { Controls, StripBar, arrange, channelsOf, showOptions } from "./controls.js";
import { OwnInput, draggingIn, typedIn } from "./handles.js";
import { numberAt, unpacked } from "./arrays.js";
import { LossRecord } from "./loss_record.js";
import { copyLink } from "./links.js";
import { choice_by_key } from "./story/sequence_choice.js";
import { seam } from "./story/pace.js";
import { leadOn, leadTour, learnedIn, showTour, skipTour, slowStep } from "./guide.js";
import { withLayouts } from "./layout_maker.js";
import { MarksKey } from "./legend.js";
import { ModelFrames } from "./model_frames.js";
import { Motion } from "./motion.js";
import { readyFacts, readyState } from "./facts.js";
import { Past } from "./past_charts.js";
import { Player } from "./player.js";
import { text } from "./texts.js";
import { withProbe } from "./probed_card.js";
import { Writing } from "./writing.js";
import { isSameThing } from "./pointing.js";
import { Picture, isMoved } from "./picture.js";

const LEFT_BY_ESCAPE = "input:is([type=range], [type=checkbox], [type=color]), select"; // without a text
const MOST_BESIDE = 5; // weights that are pinned beside another one

/** The application of a page: everything that the page shows and does. */
export class App {
  constructor({ spec, client, picture, calm, failed }) {
    this.spec = spec;
    this.client = client;
    this.picture = picture;
    this.calm = calm;
    const moments = spec.engine.moments;
    this.player = new Player(client, { moments: moments.length, speed: spec.page.speed });
    this.motion = new Motion(spec.scene.pace, calm);
    this.player.ahead = () => this.clearest();
    this.player.walkTo = (stops) =>
      client.shared ? stops : walk_to(this.spec.facts, this.doneIn(this.state), stops);
    this.clearestNow = 0; // the sample that was chosen last, and not by a user
    this.byNeuron = new ByNeuron();
    /** Number of neurons that each moment shows one by one; 1 if it shows all together. */
    this.counts = spec.scene.moments.map(({ neurons }) => neurons?.[1] ?? 1);
    const { earlier } = spec.page; // losses from before the page, packed by Python or of another app
    const values = earlier?.values.dtype ? unpacked(earlier.values) : earlier?.values;
    this.losses = LossRecord.of(earlier && { ...earlier, values });
    this.growing = new Growing();
    this.state = null;
    this.foot = 0; // of the picture: logical pixels for a caption
    this.hover = this.resting = null;
    this.spoken = -1; // the operation on the last picture
    /** View options that the user has chosen: the fields of Look in scene/look.py. */
    this.look = { ...spec.page.look.now };
    if (remembered("numbers") === true) this.look.numbers = true;
    this.pointed = null; // the piece of the caption under the mouse
    this.held = null; // what a hand drags, and what was before
    this.choice = null; // of a sequence
    this.pinned = null;
    this.offered = null; // a cube that a finger may drag at once
    this.beside = []; // rows that are pinned beside a weight
    this.opened = false;
    this.unit = "step";
    this.tour = null;
    this.tourPart = "";
    this.slow = 0; // counts slow steps
    this.slowing = false; // whether one is under way
    this.slowly = 0; // 1 after a whole one: the next takes half the time
    this.pressed = 0; // counts commands
    this.refused = ""; // the message about the last invalid input
    this.frame = 0;
    /** What builds the network and may undo more than the training: {undo, redo, past, future, reset, drawWeights, copyLink, seen, goTo, goBack}, or null. */
    this.around = null;
    this.drawn = this.isNew = false;
    this.life = new AbortController(); // its signal ends what listens
    this.makeParts();
    client.onstate = (state) => this.take(state);
    client.onfault = (error) => {
      if (error.key === "page.fault.again") this.tell(text(error.key));
      else failed(error);
    };
    Object.assign(picture, { theme: this.theme, calm });
    picture.plays = () => this.player.playing && !this.player.walks;
    client.onrefused = (key, fields) => this.tell(text(key, fields));
    picture.onlost = () => this.chip.stand(text(picture.fault));
    picture.onrestored = () => {
      this.chip.hide();
      this.request();
    };
  }

  makeParts() {
    const { spec } = this;
    this.controls = new Controls((name, ...given) => this.run(name, ...given));
    arrange(spec.page.first);
    setShown(byId("every-weight"), spec.scene.walls.length > 0);
    if (!this.hasNeurons) byId("unit").querySelector("[value=neuron]").remove();
    this.strip = new StripBar(byId("strip"), spec.facts.cells, (done) => this.run("go", done));
    this.lines = new BranchLines();
    const redraw = () => this.request();
    this.curve = new Curve(byId("curve"), spec, this.lines, {
      redraw,
      seek: (step) => this.run("seek", step),
      choose: (key, step) => this.run("branches", key, step),
      enlarge: () => this.run("large curve"),
    });
    this.past = new Past(byId("past"), spec.facts, this.curve, spec.page, {
      redraw,
      names: () => this.writing?.seen,
      ask: (args) => this.player.ask("past", args),
      seek: (step) => this.run("seek", step),
    });
    this.moved = new MovedLine(spec.facts, (args) => this.player.ask("moved", args), redraw);
    this.branchList = new BranchList();
    const ask = (inputs) => this.player.askLatest("own input", { inputs });
    this.own = new OwnInput(byId("picture"), ask, spec, (words) => this.tell(words));
    this.exhibit = exhibitIn(byId("exhibit"), spec.page.exhibit, {
      evaluate: (inputs) => this.player.ask("evaluate", { inputs }),
      own: (inputs, kind) => this.act() && this.own.set(inputs, kind),
      place: (place) => this.around?.point(place),
      tell: (words) => this.tell(words),
    });
    const { names } = spec.page;
    this.writing = names ? new Writing(this, names) : null;
    const isSequence = Boolean(spec.scene.layouts[0]?.sequence);
    /** Whether its network writes names by looking back at letters, which cards explain. */
    this.looksBack = isSequence && Boolean(names);
    if (isSequence) byId("legend-news").before(made("span", "other", text("sequence.other")));
    const survey = (inputs) => this.player.ask("survey", { inputs });
    this.maps = spec.scene.maps.places ? new NeuronMaps(spec.scene, survey) : null;
    this.chip = new Chip(byId("chip"), byId("told"));
    this.access = new Access(this);
    this.modelFrames = new ModelFrames(this);
    this.marks = new MarksKey(() => this.run("marks"));
    this.caption = new CaptionBox(byId("caption"), {
      point: (piece) => this.change({ pointed: piece }),
      pin: (thing) => this.pin(thing),
      open: () => this.change({ opened: !this.opened }),
    });
    this.card = new CardBox(byId("card"), {
      close: () => this.pin(null),
      edit: (row, value) => this.edit(row, value),
      hold: (isHeld) => this.hold(isHeld),
      type: (row, value) => typedIn(this, row, value),
      freeze: (rows, on) => this.act() && this.player.ask("freeze", { rows, on }),
      refuse: (words) => this.refuse(words),
    });
    followPointers(byId("cubes"), {
      orbit: (dx, dy) => this.move("orbit", dx, dy),
      pan: (dx, dy) => this.move("move", dx, dy),
      zoom: (factor, x, y) => this.move("zoom", factor, x, y),
      home: () => this.run("whole-network"),
      hover: (x, y) => this.point(x < 0 ? null : this.picture.at(x, y), x, y),
      tap: (x, y, isBeside) => this.tap(x, y, isBeside),
      ...draggingIn(this),
    }, this.life.signal); // prettier-ignore
    this.listen(window, "keydown", (event) => this.press(event));
    const used = "input:is([type=range], [type=color])";
    const leave = ({ target }) => target.matches?.(used) && target.blur();
    this.listen(window, "pointerup", leave); // keys go to the page again
    const sizes = new ResizeObserver(() => this.resize());
    for (const each of document.querySelectorAll("#picture, .result")) sizes.observe(each);
    this.listen(document, "visibilitychange", () => this.player.setHidden(document.hidden));
    this.listen(matchMedia("(prefers-color-scheme: light)"), "change", () => this.redress());
    this.listen(window, "beforeprint", () => this.print());
    this.listen(window, "pointerdown", ({ target }) => {
      if (!target.closest("#sheet, #more")) this.setSheet(false);
      if (!target.closest("#marks, #legend, #explain")) this.marks.open(false);
    });
  }

  /** Add an event listener to a target that outlasts the app; `end` removes it. */
  listen(target, name, act) {
    target.addEventListener(name, act, { signal: this.life.signal });
  }

  /** Stop the app, so that another app can use the window. */
  end() {
    this.act();
    this.life.abort();
    this.player.halt();
    this.picture.end();
    cancelAnimationFrame(this.frame);
    this.frame = -1; // so that no other one is requested
  }

  // States.

  /** Show a state that the client has sent. */
  take(state) {
    for (const each of state.branches ?? []) each.name ??= branchName(each, this.spec.engine);
    this.lines.take(state, this.losses);
    this.losses.take(state);
    if (this.spec.page.changed > state.changed) state.changed = this.spec.page.changed;
    if (Number.isNaN(state.loss)) state.loss = this.losses.at(state.step - 1); // of before the page
    this.curve.take(state);
    const news = this.branchList.take(state);
    if (news) this.tell(news);
    const ends = this.player.see(state);
    this.moveTo(state);
    this.follow(state);
    this.state = state;
    void this.writing?.follow(state);
    if (this.growing.take(state)) this.tell(text("page.growing"));
    if (ends) {
      const kind = learnedIn(this) ? "learned" : "steps";
      this.rest = {
        step: state.step,
        words: text(`captions.arrived.${kind}`, { count: state.step }),
      };
      this.chip.stand(this.rest.words);
    } else if (state.step !== this.rest?.step) this.chip.drop(this.rest?.words);
    if (state.stopped) this.tell(text(`page.stopped.${state.stopped.why}`));
    this.request();
  }

  /** Animate the picture to a state, and to the neuron of its operation that is shown. */
  moveTo(state) {
    const neuron = this.byNeuron.at(this.doneIn(state));
    const size = size_at(this.counts, state.operation);
    this.motion.follow(state, performance.now() / 1000, this.player.playing, neuron, size);
    this.request();
  }

  /** Return the number of operations since step 0 that a state has completed. */
  doneIn({ step, operation }) {
    return step * this.counts.length + operation;
  }

  /** Show other quantities with the cubes if a state does not contain the chosen ones. */
  follow(state) {
    if (this.spec.recording) state.begun = this.client.places?.[0].value;
    const known = channelsOf(state);
    const { color, cubes } = this.look;
    if (!known.includes(color)) this.look.color = "value";
    if (!known.includes(cubes)) this.look.cubes = this.look.color;
  }

  /** Set fields of the app, and draw the page again. */
  change(fields) {
    Object.assign(this, fields);
    this.request();
  }

  request() {
    if (!this.frame) this.frame = requestAnimationFrame(() => this.draw());
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = byId("picture");
    if (width < 2 || height < 2) return;
    this.foot = parseFloat(getComputedStyle(byId("picture")).paddingBottom);
    this.picture.resize(width, height, window.devicePixelRatio || 1);
    this.request();
  }

  /** Return what the mouse points at; null if it has not moved since the operation began. */
  touched(moment) {
    if (moment !== this.spoken) this.resting = this.hover;
    this.spoken = moment;
    return moment >= 0 && this.hover === this.resting ? null : this.hover;
  }

  /** Draw the complete page. */
  draw() {
    this.frame = 0;
    const now = performance.now() / 1000;
    if (!this.state) return;
    if (this.tour) leadTour(this, now);
    const { state, neuron, part, seconds, moving } = this.motion.at(now);
    const { classList } = document.body;
    const isNew = !state.step && !state.operation; // its caption has a room that others do without
    if (classList.toggle("untrained", isNew) !== this.isNew) this.resize();
    this.isNew = isNew;
    const caption = captionFor(this, state, neuron);
    const moves = this.picture.draw(state, {
      caption, part, neuron, seconds, hover: this.touched(state.moment), pinned: this.pinned, pointed: this.pointed, box: this.box(),
      beside: this.beside, look: this.look, maps: this.mapsOf(state), marks: this.marks.isOpen, held: this.held, choice: this.choice, named: this.around !== null, arrays: this.spec.facts.arrays,
      probe: this.modelFrames.probeOf(state),
      result: this.exhibit !== null, doors: this.exhibit?.result.doors(byId("cubes")) ?? [], border: this.exhibit?.border,
    }); // prettier-ignore
    this.modelFrames.show();
    setShown(byId("whole"), !this.tour && isMoved(this.picture.eyes));
    this.caption.show(caption, this.opened);
    const isBeside = this.exhibit !== null && this.showSide();
    if (this.picture.taken && this.caption.place(this.picture, isBeside)) this.request();
    this.strip.show(state.operation || (state.moment >= 0 ? state.moment + 1 : 0));
    const { walked, values, flows: gradients } = this.picture.frame ?? {};
    const seen = walked ? { ...state, values, gradients } : state;
    const isWhole = seen === state || this.picture.frame.answers; // all outputs are there
    const told = isWhole ? seen : { ...seen, values: {} };
    const before = this.held?.first ? { first: this.held.first, isHeld: true } : {};
    if (state.fresh) before.former = readyState(this.spec.facts, state).values;
    if (state.probe?.length) this.exhibit?.show({ ...told, ...before });
    const pointedNeuron = (this.hover ?? this.pinned)?.neuron;
    this.maps?.follow(state, pointedNeuron, () => this.request());
    this.curve.draw(this.losses, this.state, state, caption.losses, this.counts.length);
    this.past.draw(this.state, this.picture.palette);
    this.controls.show(this.state, {
      playing: this.player.playing,
      unit: this.unit,
      speed: this.player.speed,
      speeds: this.player.speeds,
      around: this.around,
    });
    showOptions(this.spec.engine, this.state, this.look.color);
    this.marks.show(this.picture);
    this.showCard(seen);
    this.own.show(state);
    setShown(byId("about"), !state.tile); // it says that a cube is a weight
    byId("exhibit").style.setProperty("--seam", seam(this.picture.frame?.moment?.kind, part));
    this.access.show(seen, caption.title);
    if (this.spec.facts.is_graph || state.light) this.client.point(this.pinned); // Python knows more of it
    if (state.exact) this.client.know(state, () => this.request());
    this.around?.seen(this, seen);
    if (!this.drawn) performance.mark("first picture");
    document.body.classList.toggle("drawn", (this.drawn = true));
    if (moving || moves || (this.tour && !this.tour.waits)) this.request();
  }

  /** Show below the result how an operation is computed; return whether this is shown. */
  showSide() {
    const { things } = this.spec.page.exhibit;
    return showSide(byId("exhibit"), this.picture, things ? text(`things.${things}`) : "");
  }

  /** Return the maps of the neurons and the position of the shown sample, or null. */
  mapsOf(state) {
    const maps = this.maps?.now;
    const plane = this.exhibit?.plane;
    const dot = () => this.maps.dot(state) ?? (plane?.state && plane.place());
    return maps ? Object.assign(maps, { dot: dot() }) : null;
  }

  /** Return the part of the picture that is available for the network. */
  box() {
    const [width, height] = this.picture.size;
    const edge = 12 * unitLength();
    const top = 2 * edge; // the name of a band stands above it
    return { x: edge, y: top, width: width - 2 * edge, height: height - edge - top - this.foot };
  }

  showCard(state) {
    const box = byId("card");
    document.body.classList.toggle("carded", this.pinned !== null || !byId("sheet").hidden);
    if (box.hidden === (this.pinned !== null)) {
      box.hidden = this.pinned === null;
      this.resize();
    }
    if (!this.pinned) return;
    const row = this.pinned.row ?? -1;
    const scale = this.picture.frame?.scale ?? 1;
    const { facts } = this.spec;
    let own = cardOf(this.spec, state, this.pinned);
    own = withProbe(facts, own, this.modelFrames.probeOf(state));
    const alone = withBeside(facts, state, own, this.beside);
    const card = this.moved.with(alone, row, state);
    this.card.show(card, row, {
      value: row < 0 ? 0 : numberAt(state, row), scale, layer: rowsBeside(facts, row), frozen: state.frozen ?? [],
    }); // prettier-ignore
    this.card.place(this.picture.placeOf(this.pinned));
    const neuron = this.pinned.neuron ?? null;
    this.exhibit?.plane?.showNeuron(box, this.maps?.now, neuron);
    if (!this.spec.recording) this.own.showSlider(box, state, neuron, () => this.act());
  }

  /** Show a short message for some seconds, with a button if an action is given. */
  tell(...message) {
    this.chip.tell(...message);
  }

  /** Show why an input is invalid; `edit` and `takeRate` remove this message. */
  refuse(words) {
    this.refused = words;
    this.tell(words);
    this.request();
  }

  // What users do.

  /** Keep the scale constant while the user drags a weight; afterwards it may grow. */
  hold(isHeld) {
    this.picture.scales.stops.hold(isHeld);
    if (!isHeld) this.request();
  }

  point(thing, x, y) {
    if (this.looksBack) this.writing.explain(thing, x, y);
    byId("cubes").classList.toggle("on", thing !== null);
    if (this.resting) this.request();
    this.resting = null;
    if (JSON.stringify(thing) !== JSON.stringify(this.hover)) this.change({ hover: thing });
  }

  move(name, ...given) {
    this.picture.eyes?.[name](...given);
    this.request();
  }

  tap(x, y, isBeside = false) {
    if (this.slowing) this.motion.finish();
    if (this.looksBack) this.writing.explain(this.picture.at(x, y), x, y);
    const at = this.around?.closeUp.tapped(this, x, y);
    const found = this.around ? at : this.picture.at(x, y);
    if (!this.looksBack) this.endTour(); // its cards invite to point
    if (found === undefined) return; // the camera moves there
    if (this.modelFrames.tap(x, y)) return;
    if (isBeside && this.pinBeside(found?.row ?? -1)) return;
    if ((!found || found.neuron) && this.takeChoice(this.picture.choiceAt(x, y))) return;
    this.pin(isSameThing(found, this.pinned) ? null : found);
  }

  /** Pin a weight in addition to the pinned one, or unpin it; return whether a weight is pinned. */
  pinBeside(row) {
    if (row < 0 || !(this.pinned?.row >= 0) || row === this.pinned.row) return false;
    const others = this.beside.filter((each) => each !== row);
    const isThere = others.length < this.beside.length;
    this.change({ beside: isThere ? others : [...others, row].slice(-MOST_BESIDE) });
    this.past.view.pin(row);
    return true;
  }

  pin(thing) {
    this.change({ pinned: pinnedFor(this.spec.facts, thing), opened: false, beside: [] });
    if (this.pinned?.row >= 0) this.past.view.pin(this.pinned.row);
  }

  /** Choose a place, a letter or a head of a sequence; return whether there was a choice. */
  takeChoice(choice) {
    if (choice && !this.writing?.append(choice)) this.change({ choice });
    return Boolean(choice);
  }

  press(event) {
    const target = event.target instanceof Element ? event.target : document.body;
    if (event.key === "Escape" && target.matches(LEFT_BY_ESCAPE)) target.blur();
    if (takesKey(target, event.key)) return;
    if (this.slowing) this.motion.finish();
    const command = commandOf(event, this.spec.page);
    const key = event.key.replace("Arrow", "").toLowerCase();
    const isPlain = !(event.shiftKey || event.ctrlKey || event.altKey || event.metaKey);
    if (isPlain && this.takeChoice(choice_by_key(this.picture.frame, key))) return;
    if (!command) return;
    event.preventDefault();
    this.run(...command);
  }

  /** Run the command of a button or key, given its name. */
  run(name, ...given) {
    if (!this.state || this.around?.refuses(name)) return;
    this.pressed += 1;
    this.commands[name](...given);
    this.request();
  }

  /** Stop animations that run automatically, as the user has acted; return true. */
  act() {
    this.endTour();
    this.slow += 1;
    this.slowing = false;
    this.motion.given = 0;
    return true;
  }

  /** Return the clearest sample for a step by operations, unless the user has chosen a sample. */
  async clearest() {
    const { state, client } = this;
    const { facts, recording } = this.spec;
    const isChosen = state.focus !== 0 && state.focus !== this.clearestNow;
    if (recording || client.shared || state.operation || isChosen) return {};
    if (!can_choose(facts, state.value.length, state.size)) return {};
    const next = await client.ask("ahead");
    if (!next?.fresh) return {};
    const found = clearest_sample(facts, readyState(facts, next), next.fresh);
    this.clearestNow = found ?? this.clearestNow;
    return found === null ? {} : { sample: found };
  }

  goTo(step) {
    return this.still("seek", { step, operation: 0 });
  }

  /** Go to another moment of the training, and show all neurons there. */
  async still(name, args) {
    this.act();
    this.byNeuron.shown.clear();
    this.chip.clear();
    await this.player.navigate(name, args);
  }

  get commands() {
    const { player } = this;
    const still = (name, args) => this.still(name, args);
    const one = this.unit === "neuron" ? "neuron" : "operation";
    const { recording, page: { film, clock } } = this.spec; // prettier-ignore
    return {
      play: () => this.act() && (player.playing ? player.pause() : this.play(film && !recording && !this.state.step ? clock : null)), // prettier-ignore
      advance: (count = 1, unit = this.around?.unit ?? this.unit) => {
        if (this.tour?.waits) leadOn(this);
        else if (unit === "neuron") this.goByNeuron(count);
        else still("advance", { count, unit: unit === "operation" ? "stop" : unit });
      },
      back: (count = 1, unit = this.around?.unit ?? this.unit) => {
        if (this.around?.goBack()) return;
        if (unit === "neuron") this.goByNeuron(-count);
        else still("back", { count, unit: unit === "operation" ? "stop" : unit });
      },
      "operation on": () => this.commands.advance(1, one),
      "operation back": () => this.commands.back(1, one),
      seek: (step) => (this.around ?? this).goTo(step),
      go: (done) => still("seek", this.placeOf(done)),
      reset: () => (this.around ? this.around.reset() : still("reset")),
      undo: () => (this.state.undoable || !this.around ? still("undo") : this.around.undo()),
      redo: () => (this.state.redoable || !this.around ? still("redo") : this.around.redo()),
      branches: (key, step) => this.chooseBranch(key, step),
      optimizer: (number) => this.act() && player.ask("optimizer", { number: Number(number) }),
      batch: (size) => this.act() && player.ask("batch", { size: Number(size) }),
      color: (color) => this.choose({ color, cubes: color }),
      "new weights": () => (this.around ? this.around.drawWeights() : this.newWeights()),
      unit: (unit) => this.setUnit(unit),
      speed: (place) => player.setSpeed(place),
      "learning rate": (rate) => this.setRate(rate),
      "double rate": () => this.takeRate(() => player.ask("double rate")),
      "halve rate": () => this.takeRate(() => player.ask("halve rate")),
      before: () => player.ask("sample", { by: -1 }),
      after: () => player.ask("sample", { by: 1 }),
      point: () => byId("cubes").focus(),
      "type a value": () => this.editPinned(),
      "slow step": () => slowStep(this),
      tour: () => showTour(this),
      skip: () => skipTour(this),
      next: () => leadOn(this),
      theme: () => this.setTheme(this.theme === "dark" ? "light" : "dark"),
      "large curve": () => {
        this.setSheet(false); // on a phone it covers the weights
        this.past.toggle();
      },
      marks: () => this.toggleMarks(),
      keys: () => this.setSheet(byId("sheet").hidden, true),
      more: () => this.setSheet(byId("sheet").hidden),
      "whole-network": () => this.picture.home(),
      reload: () => location.reload(),
      "copy link": () => (this.around ? this.around.copyLink() : copyLink(this)),
      "look at everything": () => this.close(),
      ...this.ticks,
    };
  }

  /** The commands that toggle view options. */
  get ticks() {
    const rows = Object.entries(this.spec.page.look.ticks);
    const flipped = (field) => () => {
      this.choose({ [field]: !this.look[field] });
      remember(field, this.look[field]);
    };
    return Object.fromEntries(rows.map(([field, command]) => [command, flipped(field)]));
  }

  /** Set view options, and draw the page again. */
  choose(fields) {
    Object.assign(this.look, fields);
    this.request();
  }

  /** Return the position after `done` operations of the shown step. */
  placeOf(done) {
    const count = this.spec.engine.moments.length;
    const { step, operation, moment } = this.state;
    const begun = operation || moment < 0 ? step : step - 1; // the step whose operations are shown
    return done === count ? { step: begun + 1, operation: 0 } : { step: begun, operation: done };
  }

  play(film = null) {
    this.byNeuron.shown.clear();
    this.moveTo(this.state);
    this.player.play(film);
  }

  /** Show more or fewer neurons of the last operation; when none are left, change the operation. */
  async goByNeuron(by) {
    const { player } = this;
    this.act();
    this.chip.clear();
    if (player.playing) await player.rest();
    const done = this.doneIn(this.state);
    const count = this.byNeuron.go(this.counts, done, by, player.going !== null);
    if (count)
      player.navigate(count > 0 ? "advance" : "back", {
        count: Math.abs(count),
        unit: "operation",
      });
    else this.moveTo(this.state);
  }

  /** Whether operations can be shown neuron by neuron. */
  get hasNeurons() {
    return this.spec.scene.moments.some(({ neurons }) => neurons);
  }

  /** Set the unit of the arrow keys; for operations and neurons, playback is by operation. */
  setUnit(wanted) {
    const unit = wanted === "neuron" && !this.hasNeurons ? "operation" : wanted;
    this.player.setUnit(unit);
    this.change({ unit });
  }

  /** Set a weight; the promise is fulfilled when this is done. */
  edit(row, value) {
    this.act();
    this.chip.drop(this.refused);
    return this.player.askLatest("edit", { row, value });
  }

  setRate(rate) {
    if (!(rate > 0) || !Number.isFinite(rate)) {
      this.controls.rate = null;
      this.refuse(text("page.no_rate", { rate: this.state.rate }));
      return;
    }
    this.takeRate(() => this.player.askLatest("learning rate", { rate }));
  }

  takeRate(ask) {
    this.act();
    this.chip.drop(this.refused);
    ask();
  }

  /** Restart with the initial weights of the next seed. */
  async newWeights() {
    await this.still("new weights");
    this.tell(text("page.weights", { seed: this.state.seed }));
  }

  /** Open the input field for the value of the pinned weight, at its cube. */
  editPinned() {
    if (this.spec.recording) this.tell(text("page.recorded.refused"));
    else if (this.pinned?.row >= 0) this.card.focus(this.picture.placeOf(this.pinned));
    else this.tell(text("notices.pin_first"));
  }

  /** Switch to a branch, by default to the next one. */
  async chooseBranch(key, step) {
    const { branches = [] } = this.state;
    if (key === LATER) return this.around.goTo(step, true);
    const isNext = key === undefined;
    if (isNext && this.spec.recording) return this.tell(text("page.recorded.refused"));
    if (isNext && branches.length < 2) return this.tell(text("notices.one_branch"));
    await this.still("branches", isNext ? { by: 1 } : { key: Number(key), step });
    return this.tellBranch();
  }

  /** Show a message that names the shown branch. */
  tellBranch() {
    const { branch, branches = [] } = this.state;
    const numbers = branches.map(({ number }) => number);
    const now = branches.find(({ key }) => key === branch);
    const last = Math.max(...numbers);
    if (now) this.tell(text("notices.switched", { number: now.number, last, name: now.name }));
  }

  close() {
    this.player.drop();
    if (this.tour) skipTour(this);
    else if (!byId("sheet").hidden) this.setSheet(false);
    else if (this.marks.isOpen) this.marks.open(false);
    else if (this.slowing) this.act();
    else if (this.past.view.close()) return;
    else if (this.past.isOpen) this.past.toggle();
    else if (this.pinned) this.pin(null);
    else if (this.own.inputs) this.own.set(null);
    else this.picture.home();
  }

  toggleMarks() {
    this.setSheet(false);
    this.marks.open(!this.marks.isOpen);
  }

  setSheet(isOpen, isWhole = false) {
    setShown(byId("sheet"), isOpen);
    byId("others").open ||= isWhole;
    byId("more").setAttribute("aria-expanded", isOpen);
    const sheet = byId("sheet");
    this.request(); // it has a card's place
    if (!isOpen) return;
    sheet.focus(); // Tab leads to what is first in it
    sheet.scrollTop = isWhole ? sheet.scrollHeight : 0; // the list of keys is at its end
  }

  get theme() {
    const chosen = document.documentElement.dataset.theme;
    if (chosen) return chosen;
    return matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark";
  }

  setTheme(name) {
    document.documentElement.dataset.theme = name;
    this.redress();
  }

  /** Use the light theme and a copy of the picture until the page has been printed. */
  print() {
    const { dataset } = document.documentElement;
    const { theme = "" } = dataset;
    this.setTheme("light");
    cancelAnimationFrame(this.frame);
    this.draw();
    const copy = byId("cubes").cloneNode();
    copy.id = "printed";
    copy.getContext("2d").drawImage(byId("cubes"), 0, 0);
    byId("cubes").after(copy);
    addEventListener("afterprint", () => {
      copy.remove();
      if (theme) dataset.theme = theme;
      else delete dataset.theme;
      this.redress();
    }, { once: true }); // prettier-ignore
  }

  redress() {
    this.picture.theme = this.theme;
    this.request();
  }

  /** End the tour; any action of the user does this. */
  endTour() {
    this.tour = null;
    this.tourPart = "";
    for (const id of ["skip", "next"]) setShown(byId(id), false);
  }
}

// How every page with a picture begins: its look, its picture, its app.

/** Set the theme of the page, and mark whether it is embedded in another page. */
export function dress({ page: { theme } }) {
  const { classList, dataset } = document.documentElement;
  if (theme) dataset.theme = theme;
  classList.toggle("framed", isFramed());
}

/** Return the picture for a spec; if it cannot be drawn, show tables and the reason. */
export function pictureOf({ scene, facts }) {
  const picture = new Picture(byId("cubes"), withLayouts(scene, facts));
  const { fault } = picture;
  document.documentElement.classList.toggle("tables", fault !== "");
  if (fault) byId("walls").append(made("p", "", text(fault)));
  return picture;
}

/** Create the app for a spec, a client and a picture, and return it. */
export function appOf(spec, client, picture) {
  const { classList } = document.documentElement;
  classList.toggle("recorded", Boolean(spec.recording || spec.fixed));
  classList.toggle("fixed", Boolean(spec.fixed));
  const calm = spec.page.calm || matchMedia("(prefers-reduced-motion: reduce)").matches;
  const ready = { ...spec, facts: readyFacts(spec.facts) };
  const app = new App({ spec: ready, client, picture, calm, failed: failWith });
  globalThis.scalarviz = app; // for the console: scalarviz.state
  app.resize();
  return app;
}

/** Return an app in place of another one, with what its user has chosen.
 *
 * The elements of the page are created again from its markup, but those with `data-stays`.
 */
export function appAnew(app, markup, spec, client = app.client) {
  const { picture, pinned, unit, look, player } = app;
  const [isOpen, isWhole] = [!byId("sheet").hidden, byId("others").open];
  const focused = document.activeElement?.id;
  app.end();
  renew(markup);
  byId("cubes").replaceWith(picture.canvas); // which knows its shaders
  setWords(byId("title"), spec.page.title);
  setWords(byId("about"), spec.page.about);
  const next = appOf(spec, client, pictureOf(spec));
  next.picture.takeUp(picture);
  const { speed, other } = player;
  next.setUnit(unit);
  Object.assign(next.player, { speed, other, playing: player.playing, told: player.told });
  next.choose(look);
  if (!(pinned?.row >= spec.facts.rows)) next.pin(pinned);
  next.setSheet(isOpen, isWhole);
  if (focused) byId(focused)?.focus();
  return next;
}

/** Return a copy of the page's elements, before anything is written into them. */
export function markupOfPage() {
  const markup = document.body.cloneNode(true);
  for (const script of /** @type {any} */ (markup).querySelectorAll("script")) script.remove();
  return markup;
}

/** Put new elements into the page, in their order around those that stay. */
function renew(markup) {
  for (const each of document.body.querySelectorAll(":scope > :not([data-stays])")) each.remove();
  let last = null;
  for (const each of [...markup.cloneNode(true).children]) {
    const next = "stays" in each.dataset ? byId(each.id) : each;
    if (next === each && last) last.after(each);
    else if (next === each) document.body.prepend(each);
    last = next;
  }
}
