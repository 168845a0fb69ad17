// Leads through the tour: takes its steps when they are due, and says its sentences.

import { answersFor } from "./exhibit.js";
import { byId, isTouched, setShown } from "./dom.js";
import { Tour, tourWords } from "./tour.js";

/** Begin the tour of an app at the next step. */
export async function showTour(app) {
  app.act();
  await app.player.pause();
  if (app.state.operation) await app.player.ask("advance", { count: 1, unit: "step" });
  app.tour = new Tour(app.spec.engine.moments);
  app.tour.began = null;
  app.tour.leads = false; // whether its steps are under way
  app.tour.latency = Infinity; // seconds that an answer of the worker takes apart from its steps
  app.tourPart = "stand";
  setShown(byId("skip"), true);
  app.request();
}

/** Do what is due at a time in seconds. */
export async function leadTour(app, now) {
  const { tour, player } = app;
  tour.began ??= now;
  const seconds = now - tour.began;
  app.tourPart = tour.part(seconds);
  if (tour.leads) return;
  const due = tour.due(seconds);
  if (due.count > 0) {
    tour.count(due);
    tour.leads = true;
    const began = performance.now();
    await player.ask("advance", due);
    tour.leads = false;
    const took = (performance.now() - began) / 1000;
    if (due.unit === "step") tour.took(due.count, took - tour.latency);
    else tour.latency = Math.min(tour.latency, took);
  } else if (tour.isOver(seconds)) {
    app.endTour();
    app.tourPart = "end";
    app.request();
  }
}

/** Return the sentence of the present part of the tour about a state. */
export function tourSentence(app, state) {
  return tourWords(app.tourPart, {
    state,
    answers: answersFor(state, app.spec.page.exhibit),
    verdict: (state.probe?.length && app.exhibit?.verdict(state)) || "",
    tint: app.spec.page.tint,
    touch: isTouched(),
  });
}

/** End the tour; the rest of its first step is done at once. */
export async function skipTour(app) {
  if (!app.tour) return;
  app.act();
  if (app.state.operation) await app.player.ask("advance", { count: 1, unit: "step" });
}
