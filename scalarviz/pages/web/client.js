// The page's end of a training that runs in a worker.

import { TrainingError } from "./training_error.js";

const AGAIN = 3; // times that a worker is begun again before it has answered

/** A training in a worker: `ask` sends commands, `onstate` gets its states.
 *
 * `makeWorker` returns a new worker. If one fails, another goes on from the last state; `onfault`
 * gets an error with the key of a sentence.
 */
export class Client {
  constructor(makeWorker, { module, image, held, spec, memory = undefined }) {
    this.makeWorker = makeWorker;
    this.given = { module, image, held, spec: spec.engine ?? spec, memory };
    /** @type {(state: any) => void} */
    this.onstate = () => {};
    /** @type {(error: any) => void} */
    this.onfault = () => {};
    this.shared = false; // nobody else plays it
    this.asked = new Map(); // by number: {resolve, reject}
    this.numbers = 0;
    this.resume = null;
    this.failures = 0;
    /** Fulfilled by the first state, rejected if no worker can give one. */
    this.opened = new Promise((/** @type {any} */ resolve, reject) => {
      this.open = resolve;
      this.giveUp = reject;
    });
    this.opened.catch(() => {}); // an error only for those who wait
    this.begin();
  }

  /** Send a command; the promise is fulfilled after the state that it leads to. */
  ask(name, args = {}) {
    return new Promise((resolve, reject) => this.send(name, args, { resolve, reject }));
  }

  /** End the worker at once. */
  end() {
    this.worker.terminate();
  }

  send(name, args, waiting) {
    this.numbers += 1;
    this.asked.set(this.numbers, waiting);
    this.worker.postMessage({ id: this.numbers, name, args });
  }

  begin() {
    this.worker = this.makeWorker();
    this.worker.onmessage = ({ data }) => this.receive(data);
    this.worker.onerror = (event) => {
      event?.preventDefault?.(); // else the page would take it for an error of its own
      this.fail(event?.message ?? "");
    };
    const ignore = () => {};
    this.send("open", { ...this.given, resume: this.resume }, { resolve: ignore, reject: ignore });
  }

  receive({ id, state, resume, fault, answers }) {
    if (fault !== undefined) return this.fail(fault);
    if (answers) return this.fulfil(id, answers);
    this.failures = 0;
    this.open();
    this.resume = { ...this.resume, ...resume }; // branches come when they have changed
    this.worker.postMessage({ taken: true });
    this.onstate(state);
    return this.fulfil(id, state);
  }

  fulfil(id, found) {
    this.asked.get(id)?.resolve(found);
    this.asked.delete(id);
  }

  /** Go on with a new worker, unless that has failed too often. */
  fail(message) {
    this.worker.terminate();
    this.failures += 1;
    const lost = this.failures >= AGAIN;
    const error = new TrainingError(lost ? "page.fault.lost" : "page.fault.again", message);
    const asked = [...this.asked.values()];
    this.asked.clear();
    if (lost) this.giveUp(error);
    else this.begin();
    for (const { reject } of asked) reject(error);
    this.onfault(error);
  }
}
