// The clock of a training: forward by training, back by a keyframe and replay, to the same bits.
//
// A moment is a step, the number of operations done in it, and the number of changes done in all.

import { Branches, isBefore, isEarlier, isSamePlace } from "./branches.js";
import { CHANGES, goesOn } from "./changes.js";
import { initialNumbers } from "./engine.js";
import { Shown, copiedAll, stateOf } from "./state.js";

const APART = 5; // milliseconds of training between two keyframes, and between two looks at the time
const MOST_STEPS = 100000; // at most in one call of the kernel
const FEW_BEGUN = 20000; // weights of which a state has those with which the training began, too

/** The clock of an engine: moves the training forward and backward in time. */
export class Clock {
  /** Begin at the present step of an engine.
   *
   * memory   maximum bytes for the keyframes and losses of branches
   * metrics  metrics to measure at some steps, or null
   */
  constructor(engine, { memory = 256 * 2 ** 20, metrics = null } = {}) {
    this.engine = engine;
    this.metrics = metrics;
    this.first = engine.step;
    this.operations = engine.spec.moments.length;
    this.operation = 0;
    this.moment = -1; // the last one done in the step shown
    this.applied = 0; // changes of the journal that are done
    this.branches = new Branches(this.place(), memory);
    this.history = new History(this);
    this.stale = this.first; // the first step whose loss has changed since the last state
    this.focus = 0;
    this.loss = NaN; // of the step before this moment
    this.stopped = null; // why the next step is refused
    this.pace = 1; // steps that take about APART
    this.kept = 0; // when the last keyframe was kept
    this.before = null; // weights and slots when the step shown began
    this.shown = new Shown();
    this.jumps = 0; // grows with each jump, after which scales are chosen anew
    this.opened = engine.value.slice(); // the weights of the page
    this.openedState = engine.state.slice();
    const { start } = engine.spec;
    this.started = start ? engine.value.constructor.from(start.value) : this.opened;
    this.startedState = start ? engine.state.constructor.from(start.state) : this.openedState;
    this.isNew = Boolean(start) || (!engine.step && !engine.count); // whether these are of step 0
    this.begunSeed = undefined; // see `begun`
    this.keep();
  }

  /** The number of completed steps. */
  get step() {
    return this.engine.step;
  }

  place() {
    return { step: this.step, operation: this.operation, applied: this.applied };
  }

  /** The shown branch. */
  get branch() {
    return this.branches.now;
  }

  /** The changes in the shown branch, each with its moment: {step, operation, kind, ...}. */
  get journal() {
    return this.branch.journal;
  }

  /** The shown branch and the present moment. */
  get here() {
    return { branch: this.branch, place: this.place() };
  }

  // ---- moving -----------------------------------------------------------------------------------

  /** Advance by a number of operations, steps or epochs. */
  advance(count = 1, unit = "step") {
    this.forward(this.after(count, unit));
  }

  /** Go back by a number of operations, steps or epochs, at most to the start. */
  back(count = 1, unit = "step") {
    this.go(this.after(-count, unit));
  }

  /** Go to a moment, before the changes made there are applied. */
  seek(step, operation = 0) {
    if (!isSamePlace({ step, operation }, this.place())) this.go(this.arrival(step, operation));
  }

  /** Go to the start, and start a branch there. */
  reset() {
    const before = this.here;
    this.go(this.arrival(this.first, 0));
    if (!isBefore(this.place(), this.branch.end)) return;
    this.fork();
    this.history.note(before);
  }

  /** Return the moment `count` units after this one; if negative, before it, at most the start. */
  after(count, unit) {
    const { step, operation } = this;
    const isBack = count < 0;
    if (unit === "operation") {
      const there = step * this.operations + operation + count;
      const all = Math.max(this.first * this.operations, there);
      return this.arrival(Math.floor(all / this.operations), all % this.operations);
    }
    const steps = unit === "epoch" ? this.engine.stepsAnEpoch : 1;
    const begun = isBack && operation > 0 ? step + 1 : step;
    const units = isBack ? Math.ceil(begun / steps) : Math.floor(begun / steps);
    return this.arrival((units + count) * steps, 0);
  }

  /** Return the moment of arrival at a place, before the changes made there are applied. */
  arrival(step, operation) {
    if (step < this.first) return { step: this.first, operation: 0, applied: 0 };
    const place = { step, operation };
    const applied = this.journal.findIndex((change) => !isEarlier(change, place));
    return { ...place, applied: applied < 0 ? this.journal.length : applied };
  }

  /** Go to a moment; a past moment is replayed from a keyframe. */
  go(target) {
    this.towards(target);
    this.forward(target);
  }

  /** Restore the nearest keyframe before a moment, unless the present moment is nearer. */
  towards(target) {
    const ends = this.operation > 0 && !target.operation && target.step === this.step + 1;
    const isNearer = !ends && this.branches.before(target.step)?.step > this.step;
    if (isNearer || isBefore(target, this.place())) this.restore(target.step);
  }

  /** Restore the latest keyframe of the branch at or before a step. */
  restore(step) {
    const frame = this.branches.before(step);
    this.engine.restore(frame.saved);
    this.applied = frame.applied;
    this.loss = frame.loss;
    this.rested();
  }

  rested() {
    this.operation = 0;
    this.moment = -1;
    this.before = null;
    this.stopped = null;
  }

  /** Advance toward a moment, applying changes of the journal; return false if it needs more time.
   *
   * Also stops, and returns true, if a step is invalid. `until` limits the time.
   */
  forward(target, until = Infinity) {
    while (isBefore(this.place(), target)) {
      if (this.applied < target.applied && isSamePlace(this.journal[this.applied], this)) {
        this.apply(this.journal[this.applied]);
        this.applied += 1;
      } else {
        const steps = this.operation === 0 ? this.wholeSteps(target) : 0;
        if (steps > 0) this.takeSteps(steps);
        else this.takeOperation();
        if (this.stopped !== null) return true;
      }
      if (isBefore(this.branch.end, this.place())) this.branch.end = this.place();
      if (performance.now() >= until) break;
    }
    return !isBefore(this.place(), target);
  }

  /** Return how many steps can be taken at once before a moment, a change, or a measurement. */
  wholeSteps(target) {
    const next = this.journal[this.applied];
    const due = this.metrics?.after(this.step) ?? Infinity;
    return Math.min(target.step, next ? next.step : Infinity, due) - this.step;
  }

  /** Measure the metrics that are due on arrival at a step. */
  arrive() {
    const { metrics, branches, step } = this;
    if (!metrics || !branches.wantsMeasured(step, metrics.every)) return;
    branches.measure(step, metrics.measure(), metrics.every);
  }

  takeSteps(most) {
    const count = Math.min(most, Math.max(1, Math.floor(this.pace)), MOST_STEPS);
    const { engine } = this;
    const first = this.step;
    const start = performance.now();
    let done = count > 1 ? engine.train(count - 1) : null;
    let losses = done ? done.losses : new Float64Array(0);
    if (!done?.stopped) {
      this.noteBefore();
      done = engine.train(1);
      this.branches.write(first, losses);
      losses = done.losses;
    }
    this.record(this.step - losses.length, losses);
    const took = (performance.now() - start) / count;
    this.pace = Math.min(Math.max(APART / Math.max(took, 1e-6), 1), 4 * this.pace);
    this.moment = -1;
    this.before.made = this.settings;
    if (done.stopped) return this.stop();
    this.arrive();
    return this.keep();
  }

  /** Execute the operations of an invalid step one by one, up to the one that fails. */
  stop() {
    this.operation = 0;
    while (this.stopped === null) this.takeOperation();
    if (isBefore(this.branch.end, this.place())) this.branch.end = this.place();
  }

  takeOperation() {
    const { engine } = this;
    if (this.operation === 0) {
      this.noteBefore();
      engine.begin();
    }
    const step = this.step;
    this.stopped = engine.perform(this.operation);
    if (this.stopped !== null) return;
    this.moment = this.operation;
    this.operation += 1;
    if (this.operation < this.operations) return;
    this.operation = 0;
    this.before.made = this.settings;
    this.record(step, [engine.loss]);
    this.arrive();
    this.keep();
  }

  /** The settings with which the shown step was computed. */
  get made() {
    const made = (this.operation === 0 && this.before?.made) || this.settings;
    return { ...made, frozen: made.frozen.slice() }; // the state gives its arrays away
  }

  noteBefore() {
    const { step, before } = this;
    const { value, grad, slots } = this.engine;
    const earlier = before?.step === step - 1 ? before.value : null;
    this.before = {
      step,
      value: value.slice(),
      grad: grad.slice(),
      slots: copiedAll(slots),
      earlier,
    };
  }

  /** The settings that the computation of a step needs in addition to its numbers. */
  get settings() {
    const { optimizer, rate, isSteady, count, step, frozen } = this.engine;
    return { optimizer, rate, is_steady: isSteady, counted: count - step, frozen: frozen.slice() };
  }

  /** Store the losses of steps; known losses are unchanged. */
  record(step, losses) {
    const known = Math.max(0, this.branches.end - step);
    this.branches.write(step, losses);
    this.loss = losses.at(-1) ?? this.loss;
    if (known < losses.length) this.stale = Math.min(this.stale, step + known);
  }

  /** Store a keyframe of this moment, unless there is one close to it. */
  keep() {
    const { branches, step, applied, loss } = this;
    const now = performance.now();
    const isLate = now - this.kept >= APART; // slow steps are kept, too
    if (!branches.wants(step, isLate ? 1 : this.pace)) return;
    this.kept = now;
    const all = new Set(branches.all);
    branches.add({ step, applied, loss, saved: this.engine.save() });
    for (const each of branches.all) all.delete(each);
    if (all.size) this.history.forget(all);
  }

  // ---- changes ----------------------------------------------------------------------------------

  /** Restart with the initial weights of a seed. */
  begin(seed) {
    const before = this.here;
    const { latest } = this.history;
    const isAgain =
      latest?.kind === "weights" &&
      isSamePlace(latest, this) &&
      !isBefore(before.place, this.branch.end);
    if (!isAgain) this.go(this.arrival(this.first, 0));
    this.change({ kind: "weights", seed }, before);
  }

  /** The seed of the initial weights; null for the weights of the page. */
  get seed() {
    return (
      this.journal.findLast(({ kind }, k) => kind === "weights" && k < this.applied)?.seed ?? null
    );
  }

  /** The initial weights of this training run. */
  get begun() {
    const { seed, engine } = this;
    if (seed !== this.begunSeed) {
      const count = engine.value.length;
      const drawn = () =>
        engine.value.constructor.from(initialNumbers(engine.spec.initial, seed, count).value);
      this.begunWeights = seed === null ? this.started : drawn();
      this.begunSeed = seed;
    }
    return this.begunWeights;
  }

  /**
   * Make a change; `details` contains its kind, a row of CHANGES. Undo returns to `before`.
   *
   * Edits of one weight at the same moment are undone together. In the middle of a step, weights
   * are changed at its start and its operations are repeated, so that all numbers belong together.
   */
  change(details, before = null) {
    const { step, operation, branch } = this;
    const isWithin = (each) => each.step === step && each.operation > 0;
    const isAgain = operation > 0 && CHANGES[details.kind].again && !this.journal.some(isWithin);
    if (isAgain) {
      const begun = { step, operation: 0, applied: this.applied };
      this.go(begun);
      const forks = ({ parent, fork }) => parent === branch && isBefore(begun, fork);
      if (branch.end.step === step && !this.branches.all.some(forks)) branch.end = begun;
    }
    this.make(details, before);
    if (isAgain) this.advance(operation, "operation");
  }

  make(details, before) {
    if (CHANGES[details.kind].between && this.operation > 0) this.advance(1, "step");
    const change = { ...details, step: this.step, operation: this.operation };
    const last = this.journal[this.applied - 1];
    const isNewest =
      last !== undefined &&
      last === this.history.latest &&
      !isBefore(this.place(), this.branch.end);
    if (isNewest && isSamePlace(last, change) && goesOn(last, change)) {
      change.old = last.old;
      this.applied -= 1;
      this.branch.journal = this.journal.slice(0, -1);
      this.branch.end = this.place();
      this.put(change);
      this.history.goOn(change);
      return;
    }
    const here = before ?? this.here;
    this.put(change);
    this.history.note(here, change);
  }

  /** Add a change to the journal at this moment; if there are later steps, in a new branch. */
  put(change) {
    if (isBefore(this.place(), this.branch.end)) this.fork();
    this.branch.journal = [...this.journal, change];
    this.applied += 1;
    this.apply(change);
    this.stopped = null;
    this.branch.end = this.place();
  }

  apply(change) {
    CHANGES[change.kind].apply(this.engine, change, this);
  }

  // ---- branches ---------------------------------------------------------------------------------

  /** Start a branch at this moment, and return it. */
  fork() {
    this.stale = Math.min(this.stale, this.step);
    return this.branches.fork(this.place());
  }

  /** Switch to the branch with a key, at a step, by default the present one, or at its end. */
  choose(key, step = this.step) {
    const branch = this.branches.all.find((each) => each.key === key);
    if (!branch || branch === this.branch) return;
    const before = this.here;
    this.enter(branch);
    this.go(branch.end.step <= step ? branch.end : this.arrival(step, 0));
    this.history.note(before);
  }

  /** Go to a moment of a branch; the branch shown before is dropped if it is empty. */
  visit(branch, place) {
    const last = this.branch;
    if (branch !== last) {
      this.enter(branch);
      this.branches.leave(last);
    }
    this.go(place);
  }

  /** Show a branch, at the step where it parts from the shown one or earlier. */
  enter(branch) {
    const parting = this.branches.parting(this.branch, branch);
    this.stale = Math.min(this.stale, parting);
    this.branches.take(branch);
    this.restore(Math.min(this.step, parting));
  }

  /** Undo the last action and go to its moment; return false if there is no action. */
  undo() {
    return this.history.undo();
  }

  /** Redo the last undone action; return false if nothing was undone. */
  redo() {
    return this.history.redo();
  }

  /** The values on arrival at this step of all weights that were edited since then. */
  get edited() {
    const found = {};
    for (const { kind, step, row, old } of this.journal.slice(0, this.applied)) {
      if (step === this.step && kind === "edit" && !(row in found)) found[row] = old;
    }
    return found;
  }

  /** The first step whose loss was computed after the last edit of weights; 0 without edits. */
  get changed() {
    const kinds = ["edit", "weights"];
    const done = this.journal.slice(0, this.applied);
    const { step, operation } = done.findLast(({ kind }) => kinds.includes(kind)) ?? {};
    return step === undefined ? 0 : step + (operation > 0 ? 1 : 0);
  }

  // ---- what is shown ----------------------------------------------------------------------------

  /** Return the state for a page that has the losses before step `since`; see `stateOf`. */
  state(since = this.first, more = {}) {
    const from = this.stale < since ? this.first : since; // all anew where those known have changed
    this.stale = Infinity;
    const { told, dropped, now } = this.branches;
    this.branches.dropped = [];
    const { engine, seed } = this;
    const begun = engine.value.length <= FEW_BEGUN ? this.begun.slice() : null;
    const measured = this.metrics && this.branches.measuredAfter(from, this.metrics.names.length);
    return {
      ...stateOf(this, from, more), measured, branch: now.key, branches: told, dropped, begun, seed,
      size: engine.size, optimizer: engine.optimizer, made: this.made, changed: this.changed,
      jumps: this.jumps, undoable: this.history.past.length, redoable: this.history.future.length,
    }; // prettier-ignore
  }
}

// What a user did, to be undone and redone: changes, resets, and choices of branches.
//
// Nothing that was trained is lost by it: what stands after a change that is undone stays a branch.

const MOST_UNDONE = 100;

/** The undo history of a clock: for each action, where it was `before` and `after`. */
export class History {
  constructor(clock) {
    this.clock = clock;
    this.past = [];
    this.future = [];
    this.latest = null; // the last change, if nothing was undone since
  }

  /** Record an action; `change` is the change that it has added to the journal, or null. */
  note(before, change = null) {
    this.past.push({ before, after: this.clock.here, change });
    if (this.past.length > MOST_UNDONE) this.past.shift();
    this.future = [];
    this.latest = change;
  }

  /** Record that the last change was replaced by one with other numbers, as in a drag. */
  goOn(change) {
    this.past.at(-1).change = change;
    this.future = [];
    this.latest = change;
  }

  /** Forget the actions that lead to dropped branches. */
  forget(gone) {
    const leads = ({ before, after }) =>
      gone.has(before.branch) || (after && gone.has(after.branch));
    this.past.splice(0, this.past.findLastIndex(leads) + 1);
    this.future.splice(0, this.future.findLastIndex(leads) + 1);
  }

  /** Undo the last action and go to its moment; return false if there is no action. */
  undo() {
    const entry = this.past.pop();
    if (entry === undefined) return false;
    const { clock } = this;
    this.latest = null;
    entry.after.branch = clock.branch; // maybe another one, which a later undo has begun
    const { branch, place } = entry.before;
    if (entry.change && branch === clock.branch) {
      const isLast =
        clock.branch.end.step === place.step && clock.journal.length === entry.after.place.applied;
      clock.go(place);
      if (isLast) {
        clock.branch.journal = clock.journal.slice(0, place.applied);
        clock.branch.end = place;
        entry.after = null; // it is made anew
      } else {
        entry.before = { branch: clock.fork(), place };
      }
    } else {
      clock.visit(branch, place);
    }
    this.future.push(entry);
    return true;
  }

  /** Redo the last undone action; return false if nothing was undone. */
  redo() {
    const entry = this.future.pop();
    if (entry === undefined) return false;
    const { clock } = this;
    if (entry.after) {
      clock.visit(entry.after.branch, entry.after.place);
    } else {
      clock.visit(entry.before.branch, entry.before.place);
      clock.put(entry.change);
      entry.after = clock.here;
    }
    this.past.push(entry);
    return true;
  }
}
