// What all pages begin with: their data, their app, and one sentence instead where that fails.

import { App } from "./app.js";
import { byId, isFramed, made, setShown } from "./dom.js";
import { Picture } from "./picture.js";
import { setTexts, text } from "./texts.js";
import { unzippedText } from "./zipped.js";

/** Return the data that stand in the page: those packed as one part, and those of their own.
 *
 * @returns {Promise<any>}
 */
export async function dataOfPage() {
  byId("waiting").remove(); // which a page says that is cut off before its loader
  try {
    const { plain, ...parts } = JSON.parse(byId("data").textContent);
    const data = { ...JSON.parse(await unzippedText(plain)), ...parts };
    setTexts(data.texts);
    addEventListener("error", (event) => failWith(event.error ?? event.message));
    addEventListener("unhandledrejection", (event) => failWith(event.reason));
    return data;
  } catch (error) {
    setShown(byId("failure"), true); // which says that they are damaged
    throw error;
  }
}

/** Be light or dark as a spec says, and know whether the page stands in another one. */
export function dress({ page: { theme } }) {
  const { classList, dataset } = document.documentElement;
  if (theme) dataset.theme = theme;
  classList.toggle("framed", isFramed());
}

/** Return the picture of a spec; without one there are the tables of all weights, and why. */
export function pictureOf({ scene }) {
  const picture = new Picture(byId("cubes"), scene);
  const { fault } = picture;
  document.documentElement.classList.toggle("tables", fault !== "");
  if (fault) byId("walls").append(made("p", "", text(fault)));
  return picture;
}

/** Return the app of a spec, a client and a picture. */
export function appOf(spec, client, picture) {
  document.documentElement.classList.toggle("recorded", Boolean(spec.recording));
  const calm = spec.page.calm || matchMedia("(prefers-reduced-motion: reduce)").matches;
  const app = new App({ spec, client, picture, calm, failed: failWith });
  globalThis.scalarviz = app; // for the console: scalarviz.state
  app.resize();
  return app;
}

/** Show one sentence instead of the page, and a button that loads it again. */
export function fail(words) {
  byId("failure").querySelector("p").textContent = words;
  setShown(byId("failure"), true);
}

/** Show what went wrong, where nothing knows better. */
export function failWith(error) {
  console.error(error);
  if (!byId("failure").hidden) return;
  fail(
    error?.key ? text(error.key) : text("page.failed", { error: error?.message ?? String(error) }),
  );
}
