// Starts a playground: unpacks its kernels, and begins with the network of its link.

import { Playground } from "./build.js";
import { dress, markupOfPage } from "./app.js";
import { dataOfPage, fail, failWith } from "./dom.js";
import { readBuild } from "./packed_link.js";
import { text } from "./texts.js";
import { unzipped } from "./zipped.js";

async function start() {
  const data = await dataOfPage();
  if (typeof WebAssembly === "undefined") return fail(text("page.lack.wasm"));
  const markup = markupOfPage();
  document.body.classList.add("playground");
  dress(data.build.base);
  const module = await WebAssembly.compile(await unzipped(data.module));
  const playground = new Playground({ ...data, module }, markup);
  const { hash } = location;
  const link = await readBuild(hash);
  await playground.beginAnew(link.settings, link.value);
  addEventListener("hashchange", () => playground.follow(location.hash));
  if (await playground.followChallenge(hash)) return undefined;
  const waits = playground.firstMinute.isOpen || playground.app.calm;
  if (!(await playground.pursue(link)) && !waits) playground.app.play();
  return undefined;
}

if (typeof document !== "undefined") start().catch(failWith);
