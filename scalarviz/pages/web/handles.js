// What is changed by hand in the picture: a weight by its cube, an input by its sphere or a slider;
// as faces/controller/pointer.py.

import { answersFor } from "./exhibit.js";
import { Handle, SMALLEST_HANDLE, input_at } from "./story/dragging.js";
import { both, said } from "./story/formats.js";
import { cardOf } from "./cards.js";
import { numberAt } from "./arrays.js";
import { moved_answer } from "./story/guide.js";
import { text } from "./texts.js";
import { made, setShown, setWords } from "./dom.js";
import { madeButton } from "./events.js";

const FINGER = 22; // pixels around what is pinned in which a finger takes it

/** Return the functions hold, drag and drop with which `followPointers` drags cubes and inputs. */
export function draggingIn(app) {
  const { player } = app;

  /**
   * Return a handle for what can be dragged at a position: an input or a large cube, and with a
   * finger only the pinned item.
   */
  function hold(x, y, isFinger) {
    if (app.spec.recording || !app.state) return null;
    const taken = app.pinned ?? app.offered;
    const pinned = isFinger && app.picture.placeOf(taken ?? {});
    const isNear = pinned && Math.hypot(x - pinned.x, y - pinned.y) < FINGER;
    const found = isNear ? taken : app.picture.at(x, y);
    if (isFinger && !isNear) return null;
    const input = app.own.handleOf(found, app.state);
    if (input) return input;
    if (!(found?.row >= 0)) return null;
    const isLarge = app.picture.pairs?.some(([box]) => box.has(x, y));
    const isSmall = !isLarge && 2 * app.picture.placeOf(found).half < SMALLEST_HANDLE;
    if (!isNear && isSmall) return null;
    const value = numberAt(app.state, found.row);
    if (!Number.isFinite(value)) return null;
    return new Handle(found.row, value, app.picture.frame.scale, answersIn(app));
  }

  function drag(handle, up) {
    app.act();
    if (!handle.inputs && player.playing && !player.client.shared) {
      handle.plays = true; // again when it is dropped: all edits of a drag are undone together
      player.pause();
    }
    holdFirst(app, handle);
    if (handle.inputs) app.own.drag(handle, up);
    else {
      app.point({ row: handle.row }); // wherever the pointer is
      app.hold(true);
      player.askLatest("edit", { row: handle.row, value: handle.value_at(up) });
    }
  }

  async function drop(handle, up) {
    letGo(app);
    if (handle.inputs) return;
    const value = handle.value_at(up);
    await player.ask("edit", { row: handle.row, value }); // after those that wait
    app.hold(false);
    if (handle.plays) player.play(player.film);
    tellChange(app, handle.row, handle.value, value, handle.answers);
  }

  return { hold, drag, drop };
}

// What was before a hand drags something, as Stage.hold.

const STAYS = 1500; // milliseconds that what a hand has changed stays marked

/** Record what the page shows before a drag, once, while paused between two steps. */
function holdFirst(app, handle) {
  const { state, player } = app;
  if (handle.holds || player.playing || state.operation) return;
  handle.holds = true;
  clearTimeout(app.heldLater);
  const answer = Array.from(state.values?.[app.spec.facts.outputs] ?? []);
  const first = state.probe && Float64Array.from([...state.probe, ...answer]);
  const neuron = handle.inputs ? [app.spec.facts.inputs, handle.input] : null;
  const weights = Float64Array.from(state.value);
  const values = Object.fromEntries(
    Object.entries(state.values).map(([name, each]) => [name, Float64Array.from(each)]),
  );
  app.held = { row: handle.inputs ? -1 : handle.row, neuron, weights, values, first };
}

/** After a drag, show the former state for a moment longer. */
function letGo(app) {
  if (!app.held) return;
  clearTimeout(app.heldLater);
  app.heldLater = setTimeout(() => app.change({ held: null }), STAYS);
}

/** Set a weight to a typed value, and show the same message as after a drag. */
export async function typedIn(app, row, value) {
  const [old, answers] = [numberAt(app.state, row) ?? NaN, answersIn(app)];
  await app.edit(row, value);
  if (!app.spec.recording && value !== old) tellChange(app, row, old, value, answers);
}

/** Show what the user has changed; unless playing, offer to continue training. */
function tellChange(app, row, before, after, answers) {
  const { player } = app;
  const { name } = cardOf(app.spec, app.state, { row });
  const [old, fresh] = both(before, after);
  const repair = player.playing ? "" : text("notices.repair");
  const goOn = () => player.playing || player.play();
  const now = answersIn(app);
  const moves = answers && now && moved_answer(app.spec.facts, answers, now, old, fresh);
  app.tell(moves || text("notices.dragged", { name, old, new: fresh }), repair, goOn);
}

/** Return the outputs for the current sample if paused between two steps, otherwise null. */
function answersIn({ state, spec, player }) {
  return state.operation || player.playing ? null : answersFor(state, spec.page.exhibit);
}

// A custom input: the network answers to it until the samples are asked for again.

const MOST_DRAGGED = 64; // inputs whose spheres can be dragged

/**
 * The custom input, with a notice while it is shown; `ask` sends it, or null, to the training.
 *
 * Dragging an input sphere up or down, or the slider on its card, changes one number of it.
 */
export class OwnInput {
  constructor(element, ask, spec, tell) {
    this.ask = ask;
    this.tell = tell;
    this.facts = spec.facts;
    this.slider = null;
    this.inputs = null;
    this.kind = "input"; // of the last one: "color", "point", "digit" or "input"
    this.limits = spec.scene.limits;
    const button = madeButton("", text("own.end"), () => this.set(null));
    this.words = made("span");
    this.element = made("div", "own", this.words, button);
    this.element.hidden = true;
    element.append(this.element);
    this.first = { color: "color", point: "point" }[kindOf(spec)] ?? "input";
  }

  /** Show the output for a custom input of some kind; null shows the samples again. */
  set(inputs, kind = this.first) {
    if (inputs === null && this.inputs === null) return;
    Object.assign(this, { inputs, kind });
    this.ask(inputs);
  }

  /** Show the notice if a state belongs to the custom input; within a step, discard the input. */
  show(state) {
    if (this.inputs !== null && state.operation > 0) {
      this.set(null);
      this.tell(text("own.left"));
    }
    setShown(this.element, state.own === true);
    setWords(this.words, this.name);
  }

  /** The name of the custom input, such as "your color". */
  get name() {
    return text(`own.chip.${this.kind}`);
  }

  // One number of it.

  /** Return a handle for an input neuron that can be dragged, otherwise null. */
  handleOf(thing, state) {
    const place = this.placeIn(thing?.neuron, state);
    return place < 0
      ? null
      : { input: place, value: state.inputs[place], inputs: Array.from(state.inputs) };
  }

  /** Change the input of a handle by a drag, given in pixels upward. */
  drag({ input, value, inputs }, up) {
    this.change(inputs, input, input_at(value, ...this.rangeOf(input), up));
  }

  change(inputs, place, value) {
    this.set(Array.from(inputs).with(place, value));
  }

  /** Return the minimum and maximum of an input. */
  rangeOf(place) {
    return this.limits.map((each) => each[place]);
  }

  placeIn(neuron, state) {
    const [name, place] = neuron ?? [null, -1];
    const { inputs } = state;
    const isInput = name === this.facts.inputs && inputs && place < inputs.length;
    return isInput && inputs.length <= MOST_DRAGGED ? place : -1;
  }

  /** Show a slider on the card of the pinned neuron if it is an input. */
  showSlider(card, state, neuron, act) {
    const place = this.placeIn(neuron, state);
    if (!this.slider && place < 0) return;
    const move = (value) => act() && this.change(this.state.inputs, this.place, value);
    this.slider ??= new InputSlider(card, move);
    this.state = state;
    this.place = place;
    this.slider.show(place < 0 ? null : this.rangeOf(place), state.inputs?.[place] ?? 0);
  }
}

/** A slider for one input on a card. */
class InputSlider {
  constructor(card, change) {
    this.field = made("input");
    Object.assign(this.field, { type: "range", step: "any" });
    this.value = made("output");
    const name = made("span", "", text("own.value"));
    this.label = made("label", "own-slider", name, this.field, this.value);
    this.field.addEventListener("input", () => change(Number(this.field.value)));
    card.append(this.label);
  }

  show(range, value) {
    setShown(this.label, range !== null);
    if (range === null) return;
    if (document.activeElement !== this.field) {
      const [min, max] = range;
      Object.assign(this.field, { min, max, value });
    }
    setWords(this.value, said(value, 3));
  }
}

/** Return the kind of the inputs: "color", "point" or "input". */
function kindOf({ page }) {
  if (page.tint === "rgb") return "color";
  const { kind, features } = page.exhibit ?? {};
  return (kind === "plane" && !features.length) || kind === "pictures" ? "point" : "input";
}
