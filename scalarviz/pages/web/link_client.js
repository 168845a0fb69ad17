// The page's end of a training that is a session of Python, behind the interface of client.js.

import { BankReader, joinedWith, takeExact } from "./arrays.js";
import { TrainingClient } from "./player.js";
import { text } from "./texts.js";
import { bytesIn } from "./zipped.js";

const BUSY = 2000; // milliseconds after which a command without an answer is spoken of
const MOST_EXACT = 10000; // whose exact numbers Python sends
const MOST_SENT = 30000; // numbers in a message, which Python takes; of more samples it is asked in parts

/** A training run in Python, reached through a channel.
 *
 * channel  {send(message), end(), onopen(), onmessage(header, buffers), onclose()}; it may reopen
 * version  version of the description that the page contains
 *
 * The promise of a command that cannot be executed is fulfilled with null.
 */
export class LinkClient extends TrainingClient {
  constructor(channel, { spec, version = 0 }) {
    super();
    this.channel = channel;
    this.version = version;
    this.describe(spec);
    this.shared = true;
    /** @type {(words: string) => void} shows a message */
    this.ontold = () => {};
    /** @type {(words: string) => void} shows a lasting message; "" removes it */
    this.onstand = () => {};
    /** @type {(data: any) => void} called with a new description, just before its first state */
    this.ondescribed = () => {};
    /** @type {(offers: any[]) => void} */
    this.onoffers = () => {};
    /** @type {() => string} returns the picture as the data URL of a PNG */
    this.onpicture = () => "";
    this.described = null; // {spec, texts} that wait for their state
    this.last = 0; // the number of the newest state
    this.frame = 0;
    this.isOpen = false;
    this.stands = ""; // why nothing can be asked, or is answered
    this.late = undefined;
    this.looked = "";
    this.asksRows = false;
    this.looks = false; // whether a command `look` is under way
    this.isOnlooker = false; // whether one only looks on
    channel.onopen = () => this.begin();
    channel.onmessage = (header, buffers) => this.receive(header, buffers);
    channel.onclose = () => this.lose(text("page.linked.lost"));
  }

  describe({ scene, engine }) {
    this.reader = new BankReader(scene);
    this.width = engine.sizes.inputs; // numbers of a sample
  }

  /** Send a command; the promise is fulfilled when the resulting state has arrived.
   *
   * @param {any} args the arguments for a worker, some of which Python does not need
   */
  async ask(name, args = {}) {
    const { inputs, rows, row, on } = args;
    if (name === "moved") return this.askOnce(name, { row });
    if (rows) return this.askOnce(name, { row: rows[0], layer: rows.length > 1, on });
    if (!inputs) return this.askOnce(name, args);
    const each = Math.floor(MOST_SENT / this.width) * this.width;
    const parts = [];
    if (!each) this.onrefused(text("page.linked.wide", { most: MOST_SENT }));
    if (!each) return null;
    for (let from = 0; from < inputs.length; from += each) {
      const part = Float64Array.from(inputs.slice(from, from + each));
      const found = await this.askOnce(name, { inputs: part });
      if (!found || inputs.length <= each) return found;
      parts.push(found);
    }
    return joinedAnswers(parts, name === "survey" ? (parts[0].length * this.width) / each : 1);
  }

  askOnce(name, args) {
    if (!this.isOpen) {
      if (this.stands && !["evaluate", "survey", "past", "look", "exact"].includes(name))
        this.onstand(this.stands);
      return Promise.resolve(null);
    }
    return new Promise((resolve) => this.send(name, args, { resolve }));
  }

  /** Report the pinned item to Python, unless this page may only watch. */
  async point(pinned) {
    const args = { ...pinned };
    const mark = JSON.stringify(args);
    if (mark === this.looked || this.looks || !this.isOpen || this.isOnlooker) return;
    Object.assign(this, { looked: mark, looks: true });
    await this.askOnce("look", args);
    this.looks = false;
  }

  /** Request the exact numbers of the weights that were read in a state, unless they are known. */
  async know({ exact, step, operation }, redraw) {
    if (this.asksRows || !this.isOpen) return; // what is wanted meanwhile waits for the answer
    const rows = Uint32Array.from([...exact.read].slice(0, MOST_EXACT));
    exact.read.clear();
    if (rows.every((row) => exact.known.has(row))) return;
    this.asksRows = true;
    const found = await this.askOnce("exact", { rows });
    this.asksRows = false;
    if (found?.step === step && found.operation === operation) takeExact(exact, found);
    redraw();
  }

  /** Show a state that the page contains. */
  show({ state, buffers }) {
    const bytes = buffers.map((each) => bytesIn(each).buffer);
    this.onstate(this.reader.read(joinedWith(state, bytes)));
  }

  end() {
    this.channel.end();
    this.lose("");
  }

  /** Do nothing, as a page cannot restart a Python session that does not respond. */
  fail() {}

  send(name, args, waiting) {
    this.numbers += 1;
    this.asked.set(this.numbers, waiting);
    this.channel.send({ id: this.numbers, name, args });
    this.wait();
  }

  /** If a command waits for a reply, show after a while that Python is busy. */
  wait() {
    if (this.asked.size) this.late ??= setTimeout(() => this.stand(text("page.linked.busy")), BUSY);
  }

  begin() {
    this.isOpen = true;
    this.forget();
    this.looked = "";
    this.looks = false;
    this.send("open", { version: this.version }, { resolve: () => {} });
  }

  receive(header, buffers) {
    if (!this.isOpen) return;
    const message = joinedWith(header, buffers);
    const { id, ids = [id], state, n, answers, refused, told, description, closed } = message;
    if (closed !== undefined) {
      this.channel.end();
      return this.lose(closed);
    }
    this.settle();
    if (message.looks) {
      this.isOnlooker = true;
      document.documentElement.classList.add("looks"); // without what changes it
    }
    if (told !== undefined) this.ontold(told);
    if (message.picture) this.channel.send({ picture: this.onpicture() });
    if (description) {
      this.described = description;
      this.version = message.version;
    }
    if (state) this.take(state, n);
    if (refused !== undefined) this.onrefused(refused);
    for (const each of ids) this.fulfil(each, state ?? answers ?? null);
    return this.wait();
  }

  take(state, n) {
    if (this.described) {
      const data = this.described;
      this.described = null;
      this.describe(data.spec);
      this.looked = "";
      this.ondescribed(data);
    }
    this.onstate(this.reader.read(state));
    if (state.offers) this.onoffers(state.offers);
    this.open();
    this.last = n;
    // Frames come when they can be seen: a slow page gets fewer states, a hidden one none.
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      if (this.isOpen) this.channel.send({ taken: this.last });
    });
  }

  /** Record that a message from Python has arrived. */
  settle() {
    clearTimeout(this.late);
    this.late = undefined;
    if (this.stands) this.stand("");
  }

  stand(words) {
    this.stands = words;
    this.onstand(words);
  }

  /** Stop sending commands, show the reason, and give up waiting for replies. */
  lose(words) {
    this.settle();
    this.isOpen = false;
    this.forget();
    if (words) this.stand(words);
  }

  /** Fulfill the promises of all waiting commands with null. */
  forget() {
    for (const id of [...this.asked.keys()]) this.fulfil(id, null);
  }
}

/** Join the replies for parts of the samples; each reply is sorted by neuron. */
function joinedAnswers(parts, neurons) {
  const of = (all, i) => [...all.subarray((i * all.length) / neurons, ((i + 1) * all.length) / neurons)]; // prettier-ignore
  const ofNeuron = (_, i) => parts.flatMap((each) => of(each, i));
  return Float32Array.from(Array.from({ length: neurons }, ofNeuron).flat());
}
