// Starts a page that trains or plays by itself: unpacks what stands in it, and says what is missing.

import { Client, RecordingClient } from "./client.js";
import { followLink } from "./links.js";
import { showTour } from "./guide.js";
import { appOf, dress, pictureOf } from "./app.js";
import { dataOfPage, fail, failWith } from "./dom.js";
import { text } from "./texts.js";
import { packed, unzipped } from "./zipped.js";

/** Return the data of a page with its short recording, for a browser that cannot train it. */
function recordedOnly({ spec, texts, spare }) {
  const { engine, recording, bytes } = spare;
  const page = { ...spec.page, measured: undefined };
  return { spec: { ...spec, engine, recording, page }, texts, recording: bytes };
}

/** Return a client for the data of a page: for a worker, or for a recording.
 *
 * @returns {Promise<any>}
 */
async function clientFor(data) {
  const { spec, recording, module, image, held, worker } = data;
  if (recording) return new RecordingClient(await unzipped(recording), spec);
  const [code, memory, samples] = await Promise.all([module, image, held ?? ""].map(unzipped));
  const url = URL.createObjectURL(new Blob([worker], { type: "text/javascript" }));
  return new Client(() => new Worker(url), { module: code, image: memory, held: samples, spec });
}

/** Return [client, data, lack]: the client, its data, and the reason if it is a recording. */
async function trainingOf(data, lack) {
  if (lack) return [await clientFor(recordedOnly(data)), recordedOnly(data), lack];
  const client = await clientFor(data); // a worker begins at once
  if (!data.spare) return [client, data, ""];
  try {
    await client.opened;
    return [client, data, ""];
  } catch {
    return trainingOf(data, "page.lack.memory");
  }
}

async function start() {
  for (const link of document.querySelectorAll("a")) link.search = location.search; // a token
  const data = await dataOfPage();
  const trains = !data.spec.recording;
  const lack = trains && typeof WebAssembly === "undefined" ? "page.lack.wasm" : "";
  if (lack && !data.spare) return fail(text(lack));
  dress(data.spec);
  const training = trainingOf(data, lack);
  const picture = pictureOf(data.spec);
  const [client, { spec }, missing] = await training;
  const app = appOf(spec, client, picture);
  await client.ask("state");
  if (missing) {
    const steps = spec.recording.steps.at(-1) - spec.recording.first;
    app.chip.stand(`${text(missing)} ${text("page.spare", { steps })}`); // until another one comes
  }
  const link = document.querySelector("a.build");
  if (link && !missing) link.addEventListener("click", (event) => buildOn(app, link, event));
  addEventListener("hashchange", () => followLink(app, location.hash));
  if (!(await followLink(app, location.hash))) await begin(app);
  return undefined;
}

/** Open the playground of a link with the network as it is now. */
async function buildOn(app, link, event) {
  event.preventDefault();
  const { value } = await app.player.rest();
  const { optimizer = 0, rate, size } = app.state;
  const { name } = app.spec.engine.optimizers[optimizer];
  const parts = new URLSearchParams(link.hash.slice(1));
  const changed = { opt: name, lr: rate, batch: size, w: await packed(value) };
  for (const [part, words] of Object.entries(changed)) parts.set(part, words);
  open(`${link.href.split("#")[0]}#${parts}`);
}

/** Start the tour, or the film of a page, which any user action ends. */
function begin(app) {
  const { film, clock } = app.spec.page;
  if (app.spec.fixed) return undefined; // it has no operations that a tour could show
  for (const kind of ["keydown", "pointerdown"])
    addEventListener(kind, () => app.player.endFilm(), { capture: true, signal: app.life.signal });
  if (!film || app.calm || app.spec.recording || app.looksBack) return showTour(app);
  return app.play(clock);
}

if (typeof document !== "undefined") start().catch(failWith);
