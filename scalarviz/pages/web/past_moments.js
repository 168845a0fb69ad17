// The past of a training that a page asks for: moments, and samples that moved a weight. A second
// engine computes again what is between keyframes.

import { overTime } from "./over_time.js";
import { even_steps, last_known } from "./story/past_places.js";

const FILLING = 20; // milliseconds of training for an answer; the page asks again for the rest
const FILLED_BYTES = 2 ** 24; // bytes of numbers between keyframes

/** Computes the history of weights; `openTwin` opens a second engine. */
export class PastMoments {
  constructor(clock, openTwin) {
    this.clock = clock;
    this.openTwin = openTwin;
    this.twin = null;
    this.filled = new Map(); // by the key of a branch, moments of its own by their steps
    this.standsIn = null; // key of the branch at whose last filled moment the second engine stands
  }

  /** Return the second engine, whose present step is arbitrary. */
  async openedTwin() {
    this.twin ??= await this.openTwin();
    this.standsIn = null;
    return this.twin;
  }

  /** Return the history of the shown branch, see `overTime`; `more` states whether it is incomplete. */
  async answer(args, isPlaying) {
    const found = await this.moments(args.moments, isPlaying);
    return { ...overTime(found.moments, args), more: found.more };
  }

  /** Return up to `most` known moments of the branch; `more` states whether some are missing. */
  async moments(most, isPlaying) {
    const { clock } = this;
    const { engine, branches } = clock;
    const count = Math.min(most, Math.max(2, Math.floor(FILLED_BYTES / (4 * engine.value.length))));
    const steps = even_steps(clock.first, clock.branch.end.step, count);
    const more = !isPlaying && (await this.fill(steps));
    const known = [{ step: clock.step, value: engine.value }];
    let end = Infinity;
    for (const { key, frames, fork } of branches.now.lineage) {
      const own = [...frames, ...(this.filled.get(key)?.values() ?? [])];
      known.push(...own.filter((each) => each.step <= end));
      end = Math.min(end, fork.step);
    }
    known.sort((a, b) => a.step - b.step);
    const found = last_known(steps, known).map((each) => each.saved ? engine.numbersOf(each) : each); // prettier-ignore
    return { moments: found, more };
  }

  /** Compute missing numbers at some steps for a limited time; return whether some are left. */
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
      known.set(step, { step, value: twin.value.slice() });
      if (known.size > 2 * steps.length)
        for (const each of known.keys()) if (!steps.includes(each)) known.delete(each);
    }
    return false;
  }
}

// Which samples moved a weight most over the last steps; as training/session/replays.py.

const REPEATED_STEPS = 30; // steps that are repeated at most
const REPEATED_FOR = 50; // milliseconds for them

/**
 * Return how much each sample has moved a weight: {amounts, steps}; null if unknown.
 *
 * twin  second engine, in which the last steps are repeated
 * uses  uses of the weight: {source, target, written, read}; `read` is null for a bias
 */
export function samplesMoved(clock, twin, uses) {
  const { step, branches, journal } = clock;
  if (!twin.spec.table || step === clock.first || clock.operation > 0) return null;
  const end = performance.now() + REPEATED_FOR;
  const amounts = new Map();
  let first = step;
  while (first > clock.first && step - first < REPEATED_STEPS && performance.now() < end) {
    first -= 1;
    const frame = branches.before(first);
    const next = journal[frame.applied];
    if (next && next.step < step) break; // a change of the user
    twin.restore(frame.saved);
    twin.train(first - twin.step);
    addParts(twin, uses, amounts);
  }
  return { amounts: [...amounts], steps: step - first };
}

/** Add the contribution of each sample to the gradient in the next step to its amount. */
function addParts(twin, uses, amounts) {
  twin.begin();
  twin.spec.moments.slice(0, -1).forEach((_, k) => twin.perform(k));
  for (let i = 0; i < twin.batch; i++) {
    let part = 0;
    for (const { source, target, written, read } of uses) {
      const [x, g] = [twin.values(source, i), twin.gradients(target, i)];
      written.forEach((place, k) => (part += (read ? x[read[k]] : 1) * g[place]));
    }
    const { row } = twin.sample(i);
    amounts.set(row, (amounts.get(row) ?? 0) + Math.abs(part));
  }
}
