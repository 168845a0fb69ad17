// The branches of a training, as training/session/branches.py: going back and changing something starts one.
//
// All of them together stay within a number of bytes: keyframes of branches that were not shown for
// the longest time are thinned, then the branch itself is dropped.

import { begunBy } from "./changes.js";
import { LossRecord } from "./loss_record.js";

const FEW_FRAMES = 8; // of a branch that is not shown; with so few it is rather dropped as a whole
const MANY_FRAMES = 64; // of the branch that is shown, until others are dropped
const MOST_FRAMES = 2 ** 12;
const MOST_MEASURED = 2 ** 13; // of a branch; then every other one is kept

/** Return whether two places have the same step and operation. */
export function isSamePlace(one, other) {
  return one !== undefined && one.step === other.step && one.operation === other.operation;
}

/** Return whether a place is earlier than another one, without regard to changes. */
export function isEarlier(one, other) {
  return one.step < other.step || (one.step === other.step && one.operation < other.operation);
}

/** Return whether a place is earlier than another one, including the changes applied there. */
export function isBefore(one, other) {
  return isEarlier(one, other) || (isSamePlace(one, other) && one.applied < other.applied);
}

/** A branch: the place where it left its parent, its journal since step 0, and its end. */
export class Branch {
  constructor(key, parent, fork, journal, end) {
    Object.assign(this, { key, parent, fork, journal, end });
    this.number = key;
    this.losses = new LossRecord(fork.step); // of its own steps
    this.frames = []; // keyframes of its own steps, in order
    this.measured = []; // metrics on arrival at its own steps, {step, values}, in order
    this.sparse = 1; // these are so many times as far apart as the first ones were
    this.gap = 1; // least number of steps between two of them
    this.shown = 0; // grows each time that it is chosen
  }

  /** This branch and its ancestors, nearest first. */
  get lineage() {
    const found = [];
    for (let branch = this; branch; branch = branch.parent) found.push(branch);
    return found;
  }

  /** Whether the branch contains no steps that are not part of its parent. */
  get isEmpty() {
    return this.parent !== null && this.end.step === this.fork.step;
  }

  /** The size of the keyframes and losses in bytes. */
  get bytes() {
    const each = this.frames.length ? this.frames[0].saved.byteLength : 0; // all are alike
    return each * this.frames.length + this.losses.bytes;
  }

  /** Drop every second keyframe; the first one is kept. */
  thin() {
    this.frames = this.frames.filter((_, i) => i % 2 === 0);
    this.gap *= 2;
  }
}

/** All branches and the shown one; `memory` limits the bytes of their keyframes and losses. */
export class Branches {
  constructor(start, memory) {
    this.memory = memory;
    this.keys = 0;
    this.turns = 0;
    this.version = 0; // grows when another branch is begun, chosen, changed by hand or dropped
    this.isThinned = false; // whether a page has more metrics than are kept
    this.dropped = []; // numbers of branches that were dropped for want of memory
    this.all = [];
    this.take(new Branch(this.keys++, null, start, [], start));
  }

  /** Show a branch; add it to the list with the next number if it is new. */
  take(branch) {
    if (!this.all.includes(branch)) {
      branch.number = Math.max(-1, ...this.all.map((each) => each.number)) + 1;
      this.all.push(branch);
    }
    this.turns += 1;
    branch.shown = this.turns;
    this.now = branch;
    this.version += 1;
  }

  /** Return the branch `count` positions after the shown one in the list. */
  after(count) {
    return this.all[(this.all.indexOf(this.now) + count) % this.all.length];
  }

  /** Start a branch at a place of the shown branch, with the changes before this place. */
  fork(place) {
    const isParent = (each) => each.parent === null || isBefore(each.fork, place);
    const parent = this.now.lineage.find(isParent);
    const journal = this.now.journal.slice(0, place.applied);
    this.take(new Branch(this.keys++, parent, place, journal, place));
    return this.now;
  }

  /** Remove a branch from the list if it is empty, not shown, and not a parent. */
  leave(branch) {
    const isNeeded = this.all.some((each) => each.parent === branch);
    if (branch === this.now || !branch.isEmpty || isNeeded) return;
    this.all = this.all.filter((each) => each !== branch);
    this.version += 1;
  }

  /** Return the first step at which two branches may differ. */
  parting(one, other) {
    let step = Infinity;
    const common = other.lineage.find((each) => one.lineage.includes(each));
    for (const branch of [one, other]) {
      for (const each of branch.lineage) {
        if (each === common) break;
        step = Math.min(step, each.fork.step);
      }
    }
    return step;
  }

  // ---- losses, of the branch that is shown -------------------------------------------------------

  /** The step after the last one with a loss. */
  get end() {
    return this.now.losses.end;
  }

  /** Return the branch that stores the loss of a step. */
  ownerOfLoss(step) {
    return this.now.lineage.find(({ losses, parent }) => step >= losses.first || parent === null);
  }

  write(step, losses) {
    for (let i = 0, end = losses.length; i < end;) {
      const owner = this.ownerOfLoss(step + i);
      const stop = this.now.lineage
        .map((each) => each.losses.first)
        .filter((first) => first > step + i);
      const next = Math.min(end, ...stop.map((first) => first - step));
      owner.losses.write(step + i, losses.slice(i, next));
      i = next;
    }
  }

  /** Return the losses beginning at a step, in the form for pages. */
  since(step) {
    const records = this.now.lineage.map(({ losses }) => losses).reverse();
    const found = new LossRecord(Math.max(step, records[0].first));
    records.forEach((each, i) => found.append(each, records[i + 1]?.first));
    return found.told;
  }

  // ---- metrics ---------------------------------------------------------------------------------

  /** Return whether to measure the metrics at a step, given the interval `every`. */
  wantsMeasured(step, every) {
    const { measured, sparse } = this.ownerOf(step);
    return step % (every * sparse) === 0 && !(measured.at(-1)?.step >= step);
  }

  /** Store the metrics of a step that is reached for the first time. */
  measure(step, values, every) {
    const owner = this.ownerOf(step);
    owner.measured.push({ step, values });
    if (owner.measured.length <= MOST_MEASURED) return;
    owner.sparse *= 2;
    owner.measured = owner.measured.filter((each) => each.step % (every * owner.sparse) === 0);
    this.isThinned = true;
  }

  /** Return the metrics of the shown branch after a step: {from, steps, values of each metric}. */
  measuredAfter(since, count) {
    const { lineage } = this.now;
    const from = this.isThinned ? lineage.at(-1).fork.step : since;
    this.isThinned = false;
    let found = [];
    let end = Infinity;
    for (const { measured, fork } of lineage) {
      found = measured.filter(({ step }) => step > from && step <= end).concat(found);
      end = Math.min(end, fork.step);
    }
    const values = Array.from({ length: count }, (_, k) =>
      Float64Array.from(found, (each) => each.values[k]),
    );
    return { from, steps: Float64Array.from(found, ({ step }) => step), values };
  }

  // ---- keyframes -------------------------------------------------------------------------------

  /** Return the latest keyframe of the shown branch at or before a step. */
  before(step) {
    let most = step;
    for (const { frames, fork } of this.now.lineage) {
      const frame = frames.findLast((each) => each.step <= most);
      if (frame) return frame;
      most = Math.min(most, fork.step);
    }
    return undefined;
  }

  /** Return the branch that contains the arrival at a step. */
  ownerOf(step) {
    return this.now.lineage.find(({ fork, parent }) => parent === null || step > fork.step);
  }

  /** Return whether to store a keyframe at a step, at least `apart` steps after the last one. */
  wants(step, apart) {
    const owner = this.ownerOf(step);
    const last = owner.frames.at(-1) ?? this.before(step);
    return last === undefined || step - last.step >= Math.max(owner.gap, apart);
  }

  /** Add a keyframe {step, applied, loss, saved}; drop others if the memory is exceeded. */
  add(frame) {
    const owner = this.ownerOf(frame.step);
    owner.frames.push(frame);
    if (owner.frames.length > MOST_FRAMES) owner.thin();
    for (let used = this.used; used > this.memory && this.free();) used = this.used;
  }

  /** The size of all branches in bytes. */
  get used() {
    return this.all.reduce((sum, branch) => sum + branch.bytes, 0);
  }

  /** Free some memory; return whether that was possible. */
  free() {
    const others = this.all.filter((each) => each !== this.now).sort((a, b) => a.shown - b.shown);
    const rich = others.find(({ frames }) => frames.length > FEW_FRAMES);
    const own = this.now.frames.length;
    if (rich) rich.thin();
    else if (own > MANY_FRAMES) this.now.thin();
    else if (others.length) this.drop(others[0]);
    else if (own > 2) this.now.thin();
    else return false;
    return true;
  }

  /** Drop a branch that is not shown; the child that left it last inherits the common part. */
  drop(branch) {
    const children = this.all.filter((each) => each.parent === branch);
    const later = (best, each) => (best && !isBefore(best.fork, each.fork) ? best : each);
    const heir = children.reduce(later, null);
    if (heir) {
      const { fork, losses } = heir;
      heir.losses = new LossRecord(branch.losses.first);
      heir.losses.append(branch.losses, fork.step);
      heir.losses.append(losses);
      const measured = branch.measured.filter(({ step }) => step <= fork.step);
      const frames = branch.frames.filter(({ step }) => step <= fork.step);
      heir.measured = [...measured, ...heir.measured];
      heir.frames = [...frames, ...heir.frames];
      heir.sparse = Math.max(heir.sparse, branch.sparse);
      heir.gap = Math.max(heir.gap, branch.gap);
      Object.assign(heir, { parent: branch.parent, fork: branch.fork });
    }
    for (const each of children) if (each !== heir) each.parent = heir;
    this.all = this.all.filter((each) => each !== branch);
    this.dropped.push(branch.number);
    this.version += 1;
  }

  // ---- for the page ----------------------------------------------------------------------------

  /** The data of the branches for the page, in the order of their numbers. */
  get told() {
    return this.all.map((branch) => {
      const { key, number, parent, fork, end, losses } = branch;
      const loss = losses.at(losses.end - 1);
      const begun = { start: fork.step, operation: fork.operation, is_first: parent === null };
      return { key, number, ...begun, done: begunBy(branch), end: end.step, loss };
    });
  }

  /** The data that another worker needs to continue with these branches, see `takeUp`. */
  get kept() {
    return this.all.map(({ key, number, parent, fork, journal, end }) => ({
      key, number, parent: parent ? parent.key : null, fork, journal, end,
    })); // prettier-ignore
  }

  /** Restore the branches of another worker; losses and keyframes are computed again. */
  takeUp(kept, key) {
    const [root] = this.all;
    const made = new Map();
    for (const each of kept) {
      const branch = new Branch(each.key, null, each.fork, each.journal, each.end);
      branch.number = each.number;
      made.set(each.key, branch);
    }
    for (const { key: own, parent } of kept) made.get(own).parent = made.get(parent) ?? null;
    this.all = [...made.values()];
    this.keys = Math.max(...made.keys()) + 1;
    const first = this.all.find(({ parent }) => parent === null);
    first.frames = root.frames;
    this.take(made.get(key));
  }
}
