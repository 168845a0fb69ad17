// The training behind a page: commands come as messages, states go back.
//
// A state is sent only when the page has taken the last one, and with every answer to a command.

import { CHANGES } from "./changes.js";
import { Clock } from "./clock.js";
import { Engine } from "./engine.js";
import { Metrics } from "./metrics.js";
import { PastMoments, samplesMoved } from "./past_moments.js";
import { writtenBy } from "./written_by.js";

const BETWEEN_STATES = 1000 / 30; // milliseconds
const PORTION = 8; // milliseconds of training until messages are looked at
const LONGEST_WAIT = 100;
const JUMPS = ["reset", "undo", "redo", "branches", "new weights"]; // to numbers that may be far from those shown
const FACTORS = { "double rate": 2, "halve rate": 0.5 }; // of the learning rate

// What changes nothing and is answered without a state.
const QUESTIONS = {
  evaluate: ({ clock }, { inputs }) => Float32Array.from(clock.engine.evaluate(inputs)),
  survey: ({ clock }, { inputs }) => Float32Array.from(clock.engine.survey(inputs)),
  moved: async ({ clock, past }, { uses }) =>
    samplesMoved(clock, await past.openedTwin(), uses) ?? {},
  past: ({ past, isPlaying }, args) => past.answer(args, isPlaying),
  names: ({ clock, knownNames }, args) => writtenBy(clock, knownNames, args),
  ahead: async ({ clock, past }) => aheadOf(clock, await past.openedTwin()),
};

/** Trains for a page; `post(message, transfer)` sends it a message, `soon(work)` defers work. */
export class Server {
  constructor(post, soon) {
    this.post = post;
    this.soon = soon;
    this.clock = null;
    this.past = null; // all weights over time
    this.waiting = []; // commands
    this.goal = null; // {target, command, shows}: a moment to go to, of a command
    this.speed = undefined; // steps a second while it plays; null: as fast as it goes
    this.film = null; // {steps, seconds}: where it stands first, and for how long each
    this.began = 0;
    this.due = 0; // steps due since `began` that were taken
    this.sent = 0; // when the last state was sent
    this.known = 0; // losses that the page has
    this.version = -1; // of the branches that the page has
    this.knownNames = new Set(); // those for training, once names are written
    this.taken = true;
    this.awake = false; // whether `work` is under way, or about to begin
    this.timer = 0;
  }

  /** Handle a message from the page. */
  receive(message) {
    if (message.taken) this.taken = true;
    else if (message.name === "pause") this.pause(message);
    else this.waiting.push(message);
    this.wake();
  }

  get isPlaying() {
    return this.speed !== undefined;
  }

  wake() {
    if (this.awake) return;
    this.awake = true;
    this.soon(() => this.work());
  }

  /** Work for a limited time, then let messages arrive. */
  async work() {
    clearTimeout(this.timer);
    let wait = 0;
    try {
      if (this.goal) this.pursue();
      else if (this.waiting.length) await this.run(this.waiting.shift());
      else if (this.isPlaying) wait = this.play();
    } catch (error) {
      this.fail(error); // and never wake again
      return;
    }
    this.awake = false;
    const isBusy = this.goal || this.waiting.length || this.isPlaying;
    if (wait > 0) this.timer = setTimeout(() => this.wake(), Math.min(wait, LONGEST_WAIT));
    else if (isBusy) this.wake();
  }

  async run(command) {
    const { name, args } = command;
    const { clock } = this;
    if (name === "open") return this.open(command);
    const jumps = JUMPS.includes(name);
    if (jumps || (name === "seek" && args.step !== clock.step)) clock.jumps += 1;
    if (jumps) this.speed = undefined;
    if (name === "play") {
      this.speed = args.speed ?? null;
      const left = args.film?.steps.filter((step) => step >= clock.step) ?? [];
      this.film = args.film ? { ...args.film, steps: left.length ? left : [clock.step] } : null;
      this.catchUp();
    } else if (name === "advance") {
      clock.focus = args.sample ?? clock.focus;
      return this.pursue({ target: clock.after(args.count, args.unit), command, shows: true });
    } else if (name === "back" || name === "seek") {
      const { count, unit, step, operation = 0, shows = false } = args;
      const target = name === "back" ? clock.after(-count, unit) : clock.arrival(step, operation);
      clock.towards(target);
      return this.pursue({ target, command, shows });
    } else if (name === "sample") {
      const { batch } = clock.engine;
      clock.focus = args.sample ?? (Math.min(clock.focus, batch - 1) + args.by + batch) % batch;
      clock.shown.sample = null;
    } else if (name === "own input") {
      clock.shown.own = args.inputs; // of the user's own; null: the sample in focus again
    } else if (name in QUESTIONS) {
      const answers = await QUESTIONS[name](this, args);
      return this.post({ id: command.id, answers }, buffersIn(answers));
    } else if (name in CHANGES) {
      clock.change({ kind: name, ...args });
    } else if (name in FACTORS) {
      clock.change({ kind: "learning rate", rate: scaled(clock.engine.rate, FACTORS[name]) });
    } else if (name === "new weights") {
      clock.begin((clock.seed ?? clock.engine.spec.initial.seed) + 1);
    } else if (name === "branches") {
      clock.choose(args.key ?? clock.branches.after(args.by).key, args.step);
    } else if (name === "reset" && !clock.journal.length) {
      clock.seek(clock.first); // the same training: no branch
    } else if (jumps) {
      clock[name]();
    }
    return this.answer(command);
  }

  /** Create the engine, and go to the moment that a former worker had reached. */
  async open(command) {
    const { module, image, held, spec, resume } = command.args;
    const engine = await Engine.open(module, image, spec);
    const metrics = spec.metrics ? new Metrics(engine, spec.metrics, held) : null;
    this.clock = new Clock(engine, { metrics });
    this.past = new PastMoments(this.clock, () => Engine.open(module, image, spec));
    this.known = this.clock.first;
    if (resume) {
      this.clock.branches.takeUp(resume.branches, resume.key);
      this.clock.branch.journal = resume.journal;
      this.clock.focus = resume.focus;
      return this.pursue({ target: resume.place, command, shows: false });
    }
    return this.answer(command);
  }

  /** Continue toward a moment; reply to its command when it is reached. */
  pursue(goal = this.goal) {
    this.speed = undefined;
    this.goal = goal;
    if (this.clock.forward(goal.target, performance.now() + PORTION)) {
      this.goal = null;
      this.answer(goal.command);
    } else if (goal.shows) {
      this.show();
    }
  }

  /** Train the steps that are due; return how many milliseconds to wait. */
  play() {
    const { clock, speed } = this;
    const now = performance.now();
    const seconds = (now - this.began) / 1000;
    const goal =
      this.film?.steps[Math.floor(seconds / this.film.seconds)] ?? this.film?.steps.at(-1);
    if (this.film?.steps.at(-1) <= clock.step) {
      this.speed = undefined; // where a film ends
      this.send();
      return 0;
    }
    const steps = speed === null ? 2 ** 40 : Math.floor(seconds * speed) - this.due;
    const first = clock.step;
    if (steps > 0 || this.film) {
      clock.forward(clock.after(this.film ? goal - first : steps, "step"), now + PORTION);
      clock.shown.at = clock.place(); // the sample stays the same, also in a pause
      this.due += clock.step - first;
    }
    if (speed !== null && !this.film && performance.now() - now > PORTION) this.catchUp();
    if (clock.stopped) {
      this.speed = undefined;
      this.send();
      return 0;
    }
    if (clock.step !== first) this.show();
    if (this.film) return clock.step < goal ? 0 : BETWEEN_STATES;
    if (speed === null) return 0;
    return Math.max(1, 1000 * ((this.due + 1) / speed) - (performance.now() - this.began));
  }

  /** Skip steps that are overdue because training is too slow. */
  catchUp() {
    this.began = performance.now();
    this.due = 0;
  }

  pause(command) {
    this.speed = undefined;
    const { goal } = this;
    this.goal = null;
    if (goal) this.answer(goal.command);
    if (this.clock) this.answer(command);
    else this.waiting.push({ ...command, name: "state" });
  }

  // ---- answers ----------------------------------------------------------------------------------

  /** Send a state if the page has received the last one, at most 30 times per second. */
  show() {
    if (this.taken && performance.now() - this.sent >= BETWEEN_STATES) this.send();
  }

  answer(command) {
    this.send(command.id);
  }

  /** Send a state; `id` is the id of the command to which it replies, or null. */
  send(id = null) {
    const { clock } = this;
    const { journal, focus, branch, branches } = clock;
    const state = clock.state(this.known, { playing: this.isPlaying || this.goal !== null });
    this.known = clock.branches.end;
    this.taken = false;
    this.sent = performance.now();
    const resume = { journal, focus, place: clock.place(), key: branch.key };
    if (this.version !== branches.version) resume.branches = branches.kept;
    this.version = branches.version;
    this.post({ id, state, resume }, buffersIn(state));
  }

  /** Report to the page that training cannot continue. */
  fail(error) {
    this.post({ fault: String(error?.message ?? error) }, []);
  }
}

/** Return the state after the next step, computed by a second engine. */
function aheadOf({ engine }, twin) {
  twin.restore(engine.save());
  const next = new Clock(twin);
  for (let k = 0; k < next.operations; k++) next.advance(1, "operation");
  return next.state();
}

/** Return a learning rate times a factor, or unchanged if the result is invalid. */
function scaled(rate, factor) {
  const found = Number((rate * factor).toPrecision(6));
  return found > 0 && found < Infinity ? found : rate;
}

/** Return the buffers of all arrays in a state. */
function buffersIn(value, found = []) {
  if (ArrayBuffer.isView(value)) found.push(value.buffer);
  else if (value !== null && typeof value === "object") {
    for (const each of Object.values(value)) buffersIn(each, found);
  }
  return found;
}

/** Return a function that defers work until messages have arrived; a timer would be slower. */
function deferring() {
  const { port1, port2 } = new MessageChannel();
  const waiting = [];
  port1.onmessage = () => waiting.shift()();
  return (work) => {
    waiting.push(work);
    port2.postMessage(0);
  };
}

if (typeof WorkerGlobalScope !== "undefined") {
  const post = (message, transfer) => self.postMessage(message, transfer);
  const server = new Server(post, deferring());
  self.onmessage = ({ data }) => server.receive(data);
}
