// Runs the body of a function, which comes by standard input, on the engine of a folder.
import fs from "node:fs";
import { Client } from "../../scalarviz/pages/web/client.js";
import { Clock } from "../../scalarviz/pages/web/clock.js";
import { Engine } from "../../scalarviz/pages/web/engine.js";
import { PastMoments, samplesMoved } from "../../scalarviz/pages/web/past_moments.js";
import { Server } from "../../scalarviz/pages/web/worker.js";

const [folder] = process.argv.slice(2);
const spec = JSON.parse(fs.readFileSync(`${folder}/spec.json`, "utf8"));
const [module, image] = ["module", "image"].map((name) => fs.readFileSync(`${folder}/${name}`));
const open = () => Engine.open(module, image, spec);
const engine = await open();

const same = (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)) === 0;

/** A worker without a thread: messages are copied, and come later. */
class FakeWorker {
  constructor() {
    const answer = (message, transfer) => {
      const copy = structuredClone(message, { transfer });
      setImmediate(() => this.isEnded || this.onmessage({ data: copy }));
    };
    this.server = new Server(answer, setImmediate);
    this.isEnded = false;
  }

  postMessage(message) {
    const copy = structuredClone(message);
    setImmediate(() => this.isEnded || this.server.receive(copy));
  }

  terminate() {
    this.isEnded = true;
  }
}

const workers = [];
const makeWorker = () => {
  workers.push(new FakeWorker());
  return workers.at(-1);
};
const client = () => new Client(makeWorker, { module, image, spec: { engine: spec } });
const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

const plain = (key, value) =>
  ArrayBuffer.isView(value) ? Array.from(value, number) : number(value);
const number = (value) =>
  typeof value === "number" && !Number.isFinite(value) ? `${value}` : value;

const AsyncFunction = (async () => {}).constructor;
const known = {
  engine,
  spec,
  same,
  open,
  Clock,
  PastMoments,
  samplesMoved,
  client,
  workers,
  sleep,
};
const body = new AsyncFunction(...Object.keys(known), fs.readFileSync(0, "utf8"));
const found = await body(...Object.values(known));
process.stdout.write(JSON.stringify(found ?? null, plain), () => process.exit(0));
