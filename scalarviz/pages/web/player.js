// Plays the training: its speed, and commands to the worker, one at a time.

const SLOW = 36; // operations a second, up to which they are done one by one: more cannot be seen
const PATIENCE = 2; // seconds for a worker to stop, until another one takes its place

const TRAVELS = new Set(["advance", "back", "seek"]); // they change nothing, so that others replace them
const DONE_EACH = new Set(["undo", "redo", "new weights", "branches"]); // each counts
const ANYWHERE = new Set(["reset", "undo", "redo", "new weights"]); // wherever the training stands

/** The speeds in steps per second, or operations per second; null means as fast as possible.
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

/** Base class of training runs of a page: `ask` sends commands, `onstate` receives states. */
export class TrainingClient {
  /** @type {(state: any) => void} */
  onstate = () => {};
  /** @type {(error: any) => void} receives an error with the key of a message */
  onfault = () => {};
  /** @type {(words: string, fields?: any) => void} receives a message, or its key and fields */
  onrefused = () => {};
  shared = false; // whether others play and pause it, too
  asked = new Map(); // by number of a command, {resolve, reject} of its promise
  numbers = 0;
  /** @type {(error?: any) => void} */
  open;
  /** @type {(error: any) => void} */
  giveUp;
  /** Promise that is fulfilled by the first state, or rejected if training is not possible. */
  opened = new Promise((open, giveUp) => Object.assign(this, { open, giveUp }));

  fulfil(id, found) {
    this.asked.get(id)?.resolve(found);
    this.asked.delete(id);
  }
}

/** Playback and commands for the training run of a client. */
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
    /** @type {(stops: number) => number} returns the number of operations up to a later stop */
    this.walkTo = (stops) => stops;
    this.latest = new Map(); // by name of a command, the arguments that wait for the one under way
  }

  /** Send a command; if the worker fails, `onfault` of the client reports it. */
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

  /** Send a command; of several waiting ones, as from a dragged slider, only the last is sent. */
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

  /** Go to another moment of the training; the promise is fulfilled when no such command waits.
   *
   * Only one such command runs at a time. Waiting moves of the same unit are added up; otherwise
   * the latest command replaces waiting ones.
   */
  navigate(name, args = {}) {
    if (ANYWHERE.has(name) && this.going) this.drop();
    this.waiting = joined(this.waiting, { name, args });
    this.going ??= this.goOn();
    return this.going;
  }

  /** Pause after all requested moves; return the state. */
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

  /** Drop waiting moves, and stop the current one. */
  drop() {
    if (!this.going) return;
    this.waiting = this.waiting.filter(({ name }) => !TRAVELS.has(name));
    this.ask("pause");
  }

  /** The speed in operations per second; null if playback is by steps. */
  get operations() {
    const { operations, steps } = this.speeds[this.speed];
    if (operations) return operations;
    return steps !== null && steps * this.moments <= SLOW ? steps * this.moments : null;
  }

  /** Start playback; show `film` first if it is given. */
  play(film = null) {
    this.drop();
    this.playing = true;
    this.start(film);
  }

  /** If a film is playing, continue at the chosen speed. */
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

  /** Send a command to play or pause; for a shared training run, its state decides. */
  async turn(name, args = {}) {
    this.turns += 1;
    await this.ask(name, args);
    this.turns -= 1;
    this.share();
  }

  /** Adopt whether a shared training run is playing, unless this page plays by operations. */
  share() {
    if (!this.client.shared || this.turns || (this.playing && this.walks)) return;
    this.playing = this.told;
  }

  /** Stop playback because the training run cannot be reached. */
  halt() {
    this.playing = this.told = false;
    this.walk += 1;
    this.waiting = [];
  }

  /** Pause while the page is hidden, and resume afterwards, unless the training run is shared. */
  setHidden(isHidden) {
    if (this.client.shared) return;
    if (!isHidden && this.resumes) this.play();
    this.resumes = isHidden && (this.resumes || this.playing);
    if (isHidden) this.pause();
  }

  /** Start playback at the chosen speed, after a film if it is given. */
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

  /** Choose a speed by its index in `speeds`. */
  setSpeed(place) {
    if (place === this.speed || !this.speeds[place]) return; // as of a slider of the other unit
    this.speed = place;
    if (this.playing) this.start();
  }

  /** Set the unit: for operations and neurons, playback is by operation, otherwise by steps. Both
   * have separate speeds.
   */
  setUnit(unit) {
    const speeds = unit === "operation" || unit === "neuron" ? OPERATION_SPEEDS : SPEEDS;
    if (speeds === this.speeds) return;
    this.speeds = speeds;
    [this.speed, this.other] = [this.other, this.speed];
    if (this.playing) this.start();
  }

  /** Handle a new state; playback stops at the end of a film or if a number is not finite. Return
   * whether a film has ended.
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

/** Add a command to the waiting ones; moves of the same unit are added up. */
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

/** Return the index in SPEEDS that is nearest to a speed in steps per second. */
export function nearestSpeed(steps) {
  if (steps === null || steps === undefined || steps > 2e4) return SPEEDS.length - 1;
  const off = ({ steps: each }) => (each ? Math.abs(Math.log(each / steps)) : Infinity);
  return SPEEDS.reduce((best, each, i) => (off(each) < off(SPEEDS[best]) ? i : best), 3);
}

function waited(milliseconds) {
  return new Promise((done) => setTimeout(done, Math.max(0, milliseconds)));
}

/** An error with the key of the message that a page shows. */
export class TrainingError extends Error {
  constructor(key, message) {
    super(message);
    this.key = key;
  }
}
