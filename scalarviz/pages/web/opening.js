// What all pages with a picture begin with: their look, their picture, their app.

import { App } from "./app.js";
import { byId, isFramed, made } from "./dom.js";
import { failWith } from "./page_data.js";
import { Picture } from "./picture.js";
import { text } from "./texts.js";

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
