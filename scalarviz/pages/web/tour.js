// The tour, the first ten seconds of a training, as a schedule; as story/guide.py, which has its sentences.

const TOUR_ENDS = { stand: 1, forward: 3.5, error: 4.5, backward: 7, step: 8, faster: 10 };
const TOUR_SPEEDS = [1, 3, 10, 30, 100, 300, 1000]; // steps a second at the end, equally long
const MORE_TIME = 20; // seconds after the end, in which a slow machine takes the steps that are missing
const LEARNED = 0.1; // of the loss at first: then the tour has shown what it is about
const FIRST = 8; // steps, and the last ones, whose mean loss that is
const LAST = 32;
const AT_ONCE = 0.1; // seconds of steps at once

/** One step in its operations, and then some more, faster and faster. */
export class Tour {
  constructor(moments) {
    const count = moments.length;
    const loss = moments.findIndex((moment) => moment.kind === "loss");
    const { stand, forward, error, backward } = TOUR_ENDS;
    /** Operations that are done at the end of each part. */
    this.ends = { stand: 0, forward: loss, error: loss + 1, backward: count - 1, step: count };
    this.times = [
      stand, // clears the gradients, together with the first operation
      ...spread(stand, forward, loss - 1),
      forward,
      ...spread(error, backward, count - loss - 2),
      backward,
    ];
    this.operations = 0;
    this.steps = 0;
    this.most = 1; // steps at once
  }

  /** Return how many steps, or else how many operations, are due after so many seconds. */
  due(seconds) {
    const operations = this.times.filter((time) => time <= seconds).length - this.operations;
    if (operations) return { count: operations, unit: "operation" };
    const steps = Math.floor(Math.min(stepsAfter(seconds) - this.steps, this.most));
    return { count: steps, unit: "step" };
  }

  /** Note what has been begun. */
  count({ count, unit }) {
    if (unit === "step") this.steps += count;
    else this.operations += count;
  }

  /** Note how long so many steps have taken. */
  took(steps, seconds) {
    this.most = Math.max(1, (AT_ONCE * steps) / Math.max(seconds, 1e-6));
  }

  /** Return the name of the part that is shown when so many operations are done. */
  part(done) {
    return Object.keys(this.ends).find((name) => done <= this.ends[name]) ?? "faster";
  }

  /** Return whether it ends: when it has learned, or takes too long. */
  isOver(seconds, learned) {
    return seconds >= TOUR_ENDS.faster && (learned || seconds > TOUR_ENDS.faster + MORE_TIME);
  }
}

/** Return times for so many operations, the first at the start. */
function spread(start, end, count) {
  return Array.from({ length: Math.max(0, count) }, (_, i) => start + ((end - start) * i) / count);
}

/** Return the number of steps, after the first one, that are done after so many seconds. */
export function stepsAfter(seconds) {
  const each = (TOUR_ENDS.faster - TOUR_ENDS.step) / TOUR_SPEEDS.length;
  let done = TOUR_SPEEDS.at(-1) * Math.max(0, seconds - TOUR_ENDS.faster);
  TOUR_SPEEDS.forEach((speed, i) => {
    done += speed * Math.min(each, Math.max(0, seconds - TOUR_ENDS.step - i * each));
  });
  return Math.floor(done + 1e-9);
}

/** Return whether the losses from a step on are far lower now; also where they are not known. */
export function hasLearned(losses, first) {
  const mean = (from, count) =>
    Array.from({ length: count }, (_, i) => losses.at(from + i)).reduce((a, b) => a + b) / count;
  if (losses.end - first < LAST) return false;
  return !(mean(losses.end - LAST, LAST) > LEARNED * mean(first, FIRST));
}
