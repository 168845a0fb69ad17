// Plays the training: its speed, and commands to the worker, one at a time.

const SLOW = 36; // operations a second, up to which they are done one by one: more cannot be seen
const PATIENCE = 2; // seconds for a worker to stop, until another one takes its place

const TRAVELS = new Set(["advance", "back", "seek"]); // they change nothing, so that others replace them
const DONE_EACH = new Set(["undo", "redo", "new weights", "branches"]); // each counts
const ANYWHERE = new Set(["reset", "undo", "redo", "new weights"]); // wherever the training stands

/** Steps a second, or operations for those that say so; null: as fast as it goes.
 *
 * @type {any[]}
 */
// prettier-ignore
export const SPEEDS = [
  { operations: 0.5 }, { operations: 1 }, { operations: 3 },
  ...[1, 3, 10, 30, 100, 300, 1000, 3000, 10000].map((steps) => ({ steps })),
  { steps: null },
];

// Where the unit is the operation, one after the other is done, so fast that it is seen.
const OPERATION_SPEEDS = [0.5, 1, 3, 10, 30].map((operations) => ({ operations }));
const WALK = 1; // the place of the first of these speeds

/** The training of a page, wherever it runs: `ask` sends commands, `onstate` gets its states. */
export class TrainingClient {
  /** @type {(state: any) => void} */
  onstate = () => {};
  /** @type {(error: any) => void} gets an error with the key of a sentence */
  onfault = () => {};
  /** @type {(words: string, fields?: any) => void} gets a sentence, or its key and fields */
  onrefused = () => {};
  shared = false; // whether others play and pause it, too
  asked = new Map(); // by number of a command, {resolve, reject} of its promise
  numbers = 0;
  /** @type {(error?: any) => void} */
  open;
  /** @type {(error: any) => void} */
  giveUp;
  /** Fulfilled by the first state, rejected if there cannot be one. */
  opened = new Promise((open, giveUp) => Object.assign(this, { open, giveUp }));

  fulfil(id, found) {
    this.asked.get(id)?.resolve(found);
    this.asked.delete(id);
  }
}

/** The training behind a client. */
export class Player {
  constructor(client, { moments, speed }) {
    this.client = client;
    this.moments = moments;
    this.playing = false;
    this.film = null; // the film that it plays until the user does something
    this.walks = false; // whether it plays by operations, one command after the other
    this.speeds = SPEEDS; // of the unit by which it plays
    this.speed = nearestSpeed(speed); // a place in them
    this.other = WALK; // the place in those of the other unit
    this.walk = 0; // counts walks: a former one ends when it is not the present one any more
    this.waiting = []; // where to go in the training, for `navigate`: {name, args}
    this.going = null; // a promise while there is anything of it
    this.resumes = false; // whether it plays on when the page is seen again
    this.turns = 0; // plays and pauses of this page that are not answered yet
    this.told = false; // whether the last state of a shared training plays
    this.ahead = async () => ({}); // what is to be known of an operation before it
    /** @type {(stops: number) => number} number of operations that lead to a later stop */
    this.walkTo = (stops) => stops;
    this.latest = new Map(); // by name of a command, the arguments that wait for the one under way
  }

  /** Send a command; a worker that fails is told of by `onfault` of the client. */
  async ask(name, given = {}) {
    let args = given;
    try {
      if (args.unit === "stop") {
        const stops = name === "back" ? -args.count : args.count;
        args = { count: Math.abs(this.walkTo(stops)), unit: "operation" };
      }
      const walks = name === "advance" && args.unit === "operation";
      return await this.client.ask(name, walks ? { ...args, ...(await this.ahead()) } : args);
    } catch (error) {
      if (!(error instanceof TrainingError)) throw error;
      this.playing = false;
      return null;
    }
  }

  /** Send a command of which only the last one counts, such as those of a slider that is dragged. */
  async askLatest(name, args) {
    const waits = this.latest.has(name);
    this.latest.set(name, args);
    if (waits) return;
    while (this.latest.get(name) !== null) {
      const now = this.latest.get(name);
      this.latest.set(name, null);
      await this.ask(name, now);
    }
    this.latest.delete(name);
  }

  /** Go elsewhere in the training; the promise is fulfilled when nothing of that kind waits.
   *
   * One such command is under way at a time. Of those that wait, moves of one unit are added up, and
   * the newest one replaces others.
   */
  navigate(name, args = {}) {
    if (ANYWHERE.has(name) && this.going) this.drop();
    this.waiting = joined(this.waiting, { name, args });
    this.going ??= this.goOn();
    return this.going;
  }

  /** Pause where everything is done that was asked for; return the state there. */
  async rest() {
    await this.going;
    await this.pause();
    return this.ask("state");
  }

  async goOn() {
    while (this.waiting.length) {
      await this.pause();
      const next = this.waiting.shift();
      if (next) await this.ask(next.name, next.args);
    }
    this.going = null;
  }

  /** Drop moves that wait, and end the one under way where it is. */
  drop() {
    if (!this.going) return;
    this.waiting = this.waiting.filter(({ name }) => !TRAVELS.has(name));
    this.ask("pause");
  }

  /** Return how many operations a second are due; null: by steps. */
  get operations() {
    const { operations, steps } = this.speeds[this.speed];
    if (operations) return operations;
    return steps !== null && steps * this.moments <= SLOW ? steps * this.moments : null;
  }

  /** Play; `film`, if there is one, first. */
  play(film = null) {
    this.drop();
    this.playing = true;
    this.start(film);
  }

  /** Play at the present speed, if a film plays. */
  endFilm() {
    if (this.film && this.playing) this.start();
  }

  async pause() {
    if (!this.playing) return;
    this.playing = false;
    this.walk += 1;
    const late = setTimeout(() => this.client.fail(""), 1000 * PATIENCE);
    await this.turn("pause");
    clearTimeout(late);
  }

  /** Play or pause by a command; others may do the same to a shared training, so its answer counts. */
  async turn(name, args = {}) {
    this.turns += 1;
    await this.ask(name, args);
    this.turns -= 1;
    this.share();
  }

  /** Follow a shared training, which others play and pause, too, unless this page walks in it. */
  share() {
    if (!this.client.shared || this.turns || (this.playing && this.walks)) return;
    this.playing = this.told;
  }

  /** End what this page plays, where its training cannot be reached. */
  halt() {
    this.playing = this.told = false;
    this.walk += 1;
    this.waiting = [];
  }

  /** Pause while nobody can see the page, and play on after it, unless others see the training. */
  setHidden(isHidden) {
    if (this.client.shared) return;
    if (!isHidden && this.resumes) this.play();
    this.resumes = isHidden && (this.resumes || this.playing);
    if (isHidden) this.pause();
  }

  /** Start what plays at the present speed, after a film if there is one. */
  async start(film = null) {
    const walk = (this.walk += 1);
    this.film = film;
    this.walks = !film && this.operations !== null;
    if (!this.walks) {
      await this.turn("play", { speed: this.speeds[this.speed].steps, film });
      return;
    }
    await this.ask("pause");
    while (walk === this.walk) {
      const began = performance.now();
      await this.ask("advance", { count: 1, unit: "operation" });
      await waited(1000 / this.operations - (performance.now() - began));
    }
  }

  /** Choose a speed by its place in `speeds`. */
  setSpeed(place) {
    if (place === this.speed) return;
    this.speed = place;
    if (this.playing) this.start();
  }

  /** Play by one operation after the other if that or the neuron is the unit, else by steps, each at
   * its own speed.
   */
  setUnit(unit) {
    const speeds = unit === "operation" || unit === "neuron" ? OPERATION_SPEEDS : SPEEDS;
    if (speeds === this.speeds) return;
    this.speeds = speeds;
    [this.speed, this.other] = [this.other, this.speed];
    if (this.playing) this.start();
  }

  /** Note what the training says: it has stopped by itself where a number was not finite, or at the
   * end of a film; return whether it was that.
   */
  see(state) {
    this.told = state.playing;
    const ends = this.playing && this.film && !this.turns && !state.playing && !state.stopped;
    if (ends || (this.playing && state.stopped)) {
      this.playing = false;
      this.walk += 1;
    }
    this.share();
    return ends;
  }
}

/** Return commands that wait, with one more; moves forward and back by one unit are added up. */
function joined(waiting, next) {
  const way = ({ name, args }) => ({ advance: args.count, back: -args.count })[name];
  const isSame = (each) => each.name === next.name || (way(each) && way(next));
  const isLike = (each) => isSame(each) && each.args.unit === next.args.unit;
  const kept = waiting.filter((each) => isLike(each) || !TRAVELS.has(each.name));
  const last = kept.at(-1);
  if (!last || !isLike(last) || DONE_EACH.has(next.name)) return [...kept, next];
  const count = way(next) && way(last) + way(next);
  if (count === 0) return kept.slice(0, -1);
  if (!count) return [...kept.slice(0, -1), next];
  const args = { ...next.args, count: Math.abs(count) };
  return [...kept.slice(0, -1), { name: count < 0 ? "back" : "advance", args }];
}

/** Return the place in SPEEDS that is nearest to some steps a second. */
export function nearestSpeed(steps) {
  if (steps === null || steps === undefined || steps > 2e4) return SPEEDS.length - 1;
  const off = ({ steps: each }) => (each ? Math.abs(Math.log(each / steps)) : Infinity);
  return SPEEDS.reduce((best, each, i) => (off(each) < off(SPEEDS[best]) ? i : best), 3);
}

function waited(milliseconds) {
  return new Promise((done) => setTimeout(done, Math.max(0, milliseconds)));
}

/** An error that a page shows by the key of a text. */
export class TrainingError extends Error {
  constructor(key, message) {
    super(message);
    this.key = key;
  }
}
