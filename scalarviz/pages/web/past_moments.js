// The moments of a training that a page asks for: its keyframes, the present, and moments between
// them, which a second engine computes again.

import { LossPlane } from "./loss_plane.js";
import { evenSteps, momentsUpTo, overTime } from "./over_time.js";

const OF_A_PLANE = 60; // milliseconds of computing a landscape for an answer
const WHILE_PLAYING = 15; // milliseconds of computing a landscape for an answer while it plays
const FILLING = 20; // milliseconds of training for an answer; the page asks again for the rest
const FILLED_BYTES = 2 ** 25; // bytes of numbers between keyframes

/** Answers for a clock; `openTwin` returns a promise of a second engine. */
export class PastMoments {
  constructor(clock, openTwin) {
    this.clock = clock;
    this.openTwin = openTwin;
    this.twin = null;
    this.filled = new Map(); // by the key of a branch, moments of its own by their steps
    this.standsIn = null; // key of the branch at whose last filled moment the second engine stands
    this.sorted = null;
    this.plane = null; // of the landscape
    this.made = ""; // what the plane was made of
    this.grown = 0; // the steps of the path then
    this.isHeld = false; // whether its ball is being dragged
  }

  /** Return the second engine, which then stands anywhere. */
  async openedTwin() {
    this.twin ??= await this.openTwin();
    this.standsIn = null;
    return this.twin;
  }

  /**
   * Return what `overTime` does of the branch that is shown, or a landscape, and whether there is
   * `more` to come.
   */
  async answer(args, isPlaying) {
    const found = await this.moments(args.moments, isPlaying);
    if (args.order === "landscape") return this.landscape(args.pins, found, isPlaying);
    const sorted = args.keeps ? this.sorted : null;
    const seen = overTime(found.moments, this.clock.begun, { ...args, sorted });
    this.sorted = seen.sorted ?? this.sorted;
    return { ...seen, sorted: null, more: found.more };
  }

  /** Return the known moments of the branch, at most so many, and whether there is `more` to come. */
  async moments(most, isPlaying) {
    const { clock } = this;
    const { engine, branches } = clock;
    const count = Math.min(most, Math.max(2, Math.floor(FILLED_BYTES / (8 * engine.value.length))));
    const steps = evenSteps(clock.first, clock.branch.end.step, count);
    const more = !isPlaying && (await this.fill(steps));
    const { value, grad } = engine;
    const lists = [{ moments: [{ step: clock.step, value, grad }], end: Infinity }];
    let end = Infinity;
    for (const { key, frames, fork } of branches.now.lineage) {
      const own = [...(this.filled.get(key)?.values() ?? [])].sort((a, b) => a.step - b.step);
      lists.push({ moments: frames, end }, { moments: own, end });
      end = Math.min(end, fork.step);
    }
    const found = momentsUpTo(steps, lists).map((each) =>
      each.saved ? engine.numbersOf(each) : each,
    );
    return { moments: found, more };
  }

  /** Return the loss over a plane as far as it is computed, and the path of the branch in it. */
  async landscape(pins, { moments, more }, isPlaying) {
    const { clock } = this;
    const { engine, step } = clock;
    const { value, grad } = engine;
    const isAsked = this.plane?.pins.join() === pins.join();
    const path = () => moments.flatMap((each) => this.plane.placeOf(each.value));
    const isLeft = () => moments.some((each) => !this.plane.shows(this.plane.placeOf(each.value)));
    const made = [clock.branch.key, clock.branch.end.step, pins.length ? step : ""].join();
    const steps = clock.branch.end.step - clock.first;
    // Directions are those of a path: one that is twice as long has others.
    const grows = !pins.length && steps > 2 * this.grown && !more;
    const rests = !isPlaying || (grows && !this.grown);
    const isDue = rests && made !== this.made && !this.isHeld && this.plane?.done === 1;
    const isOut = () => (pins.length ? !this.plane.holds(value) : grows) || isLeft();
    if (!isAsked && more) return { plane: null, heads: [], more };
    if (!isAsked || (isDue && isOut())) {
      Object.assign(this, { made, grown: steps });
      this.plane = new LossPlane(
        await this.openedTwin(),
        moments,
        { value, grad, frozen: engine.frozen },
        pins,
      );
    }
    const { plane } = this;
    this.standsIn = null; // the second engine computes losses
    plane.portion(isPlaying ? WHILE_PLAYING : OF_A_PLANE);
    return {
      plane: { span: plane.span, shares: plane.shares, rows: pins, losses: plane.losses.slice(), done: plane.done }, // prettier-ignore
      steps: Float64Array.from(moments, (each) => each.step), path: Float64Array.from(path()),
      at: plane.placeOf(value), heads: [], more: plane.done < 1,
    }; // prettier-ignore
  }

  /** Compute numbers at steps that are not known, for a while; return whether some are left. */
  async fill(steps) {
    const { branches } = this.clock;
    const end = performance.now() + FILLING;
    for (const step of steps) {
      const { key } = branches.ownerOf(step);
      if (!this.filled.has(key)) this.filled.set(key, new Map());
      const known = this.filled.get(key);
      const frame = branches.before(step);
      const next = branches.now.journal[frame.applied];
      const isChanged = next !== undefined && next.step < step; // by the user, in between
      if (frame.step === step || known.has(step) || isChanged) continue;
      if (performance.now() > end) return true;
      const goesOn = this.standsIn === key && frame.step < this.twin.step && this.twin.step < step;
      const twin = goesOn ? this.twin : await this.openedTwin();
      if (!goesOn) twin.restore(frame.saved);
      twin.train(step - twin.step);
      this.standsIn = key;
      known.set(step, { step, value: twin.value.slice(), grad: twin.grad.slice() });
      if (known.size > 2 * steps.length)
        for (const each of known.keys()) if (!steps.includes(each)) known.delete(each);
    }
    return false;
  }
}
