// Starts the page: unpacks what stands in it, and says in one sentence what is missing.

import { App } from "./app.js";
import { byId, setShown } from "./dom.js";
import { Client } from "./client.js";
import { followLink } from "./follow.js";
import { Picture } from "./picture.js";
import { setTexts, text } from "./texts.js";

// The smallest module with an instruction on vectors: `v128.const`, then `drop`.
const VECTORS = [
  0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 10, 23, 1, 21, 0, 253, 12,
  ...Array(16).fill(0), 26, 11,
]; // prettier-ignore

/** Return what the browser lacks for training as the key of a sentence; "" if nothing. */
export function lackOf() {
  if (typeof WebAssembly === "undefined") return "page.lack.wasm";
  if (!WebAssembly.validate(Uint8Array.from(VECTORS))) return "page.lack.vectors";
  if (typeof DecompressionStream === "undefined") return "page.lack.unpacking";
  return typeof Worker === "undefined" ? "page.lack.worker" : "";
}

/** Return the bytes of a text that inline.py packed: base64 of gzip. */
export async function unzipped(words) {
  const letters = atob(words);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Show one sentence instead of the page, and a button that loads it again. */
function fail(words) {
  byId("failure").querySelector("p").textContent = words;
  setShown(byId("failure"), true);
}

/** Show what went wrong, where nothing knows better. */
function failWith(error) {
  console.error(error);
  if (!byId("failure").hidden) return;
  fail(error?.key ? text(error.key) : text("page.failed", { error: error?.message ?? String(error) }));
}

async function start() {
  const data = JSON.parse(byId("data").textContent);
  setTexts(data.texts);
  byId("reload").addEventListener("click", () => location.reload());
  addEventListener("error", (event) => failWith(event.error ?? event.message));
  addEventListener("unhandledrejection", (event) => failWith(event.reason));
  const lack = lackOf();
  if (lack) return fail(text(lack));
  const { spec } = data;
  if (spec.page.theme) document.documentElement.dataset.theme = spec.page.theme;
  const [module, image] = await Promise.all([unzipped(data.module), unzipped(data.image)]);
  const url = URL.createObjectURL(new Blob([data.worker], { type: "text/javascript" }));
  const client = new Client(() => new Worker(url), { module, image, spec }); // begins at once
  const picture = new Picture(byId("cubes"), null, spec.scene);
  if (picture.fault) return fail(text(picture.fault));
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const app = new App({ spec, client, picture, calm, failed: failWith });
  globalThis.scalarviz = app; // for the console: scalarviz.state
  app.resize();
  await client.ask("state");
  addEventListener("hashchange", () => followLink(app, location.hash));
  if (!(await followLink(app, location.hash)) && !calm) await app.showTour();
  return undefined;
}

if (typeof document !== "undefined") start().catch(failWith);
