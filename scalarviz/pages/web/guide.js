// Leads through the tour: takes its steps when they are due, and says its sentences; and through the
// operations of a slow step.

import { byId, isTouched, setShown } from "./dom.js";
import { text } from "./texts.js";
import { readyState } from "./facts.js";
import { Tour, has_learned, tour_caption } from "./story/guide.js";

const LONGEST = 0.5; // seconds of the tour from one picture to the next
const MOST_STILL = 30; // hundreds of steps that the last part takes without motion

/** Begin the tour of an app at the next step. */
export async function showTour(app) {
  await endStep(app);
  const tour = new Tour(app.spec.engine.moments.map(({ kind }) => kind));
  tour.first = app.state.step;
  tour.seconds = 0; // of the tour: a slow machine has more time
  tour.leads = false; // whether its steps are under way
  tour.latency = Infinity; // seconds that an answer of the worker takes apart from its steps
  Object.assign(app, { tour, tourPart: "stand" });
  setShown(byId("skip"), true);
  setShown(byId("next"), app.calm);
  app.request();
}

/** Return how many operations of the tour are done in the last state. */
function doneIn(app) {
  return app.doneIn(app.state) - app.tour.first * app.counts.length;
}

/** Do what is due at a time in seconds; without motion `leadOn` does it. */
export async function leadTour(app, now) {
  const { tour, player } = app;
  const passed = now - (tour.last ?? now);
  tour.last = now;
  app.tourPart = tour.part(doneIn(app));
  if (tour.leads || app.calm) return;
  tour.seconds += Math.min(passed, LONGEST);
  if (app.state.stopped || tour.is_over(tour.seconds, learnedIn(app))) return endWith(app);
  const [steps, operations] = tour.due(tour.seconds);
  if (!steps && !operations) return;
  tour.count(steps, operations);
  tour.leads = true;
  const began = performance.now();
  const [count, unit] = steps ? [steps, "step"] : [operations, "operation"];
  await player.ask("advance", { count, unit });
  tour.leads = false;
  const took = (performance.now() - began) / 1000;
  if (steps) tour.took(steps, took - tour.latency);
  else tour.latency = Math.min(tour.latency, took);
}

/** Whether the losses of an app are far lower than at first. */
export function learnedIn({ losses, curve }) {
  return has_learned((step) => losses.at(step), curve.first, losses.end);
}

/** End the tour: train, unless motion is unwanted, and say what one can do. */
function endWith(app) {
  app.endTour();
  if (!app.calm && !app.state.stopped) app.play(app.spec.recording ? null : app.spec.page.clock);
  app.tell(text(isTouched() ? "page.tour.touch" : "captions.tour.end"));
}

/** Go on to the next part of the tour at once, as a still picture. */
export async function leadOn(app) {
  const { tour, player } = app;
  if (tour.leads) return;
  tour.leads = true;
  const done = doneIn(app);
  const end = [...tour.ends.values()].find((each) => each > done);
  if (end) {
    await player.ask("advance", { count: end - done, unit: "operation" });
  } else {
    const goesOn = (k) => app.tour === tour && !(k && learnedIn(app)) && !app.state.stopped;
    for (let k = 0; k < MOST_STILL && goesOn(k); k++) {
      await player.ask("advance", { count: 100, unit: "step" });
    }
    if (app.tour === tour) endWith(app);
  }
  tour.leads = false;
}

/** Return how many samples are right, as the exhibit says it; "" if that has no meaning. */
export function verdictIn(app, state) {
  return (state.probe?.length && app.exhibit?.verdict(state).words) || "";
}

/** Return the sentence of the present part of the tour about a state. */
export function tourSentence({ tourPart, spec: { facts } }, state) {
  return tour_caption(tourPart, facts, readyState(facts, state)).title;
}

/** End the tour; the rest of its first step is done at once. */
export async function skipTour(app) {
  if (!app.tour) return;
  await endStep(app);
  endWith(app);
}

/** End what goes on by itself, and do the rest of a step that has begun. */
async function endStep(app) {
  app.act();
  if ((await app.player.rest())?.operation)
    await app.player.ask("advance", { count: 1, unit: "step" });
}

/** Do the operations up to the end of a step slowly; a second time in half the time. */
export async function slowStep(app) {
  app.act();
  const { slow, motion, player } = app;
  app.slowing = true;
  const { operation = 0 } = (await player.rest()) ?? {};
  for (const seconds of app.spec.scene.pace.slow[app.slowly].slice(operation)) {
    if (slow !== app.slow) return;
    motion.given = seconds;
    await player.ask("advance", { count: 1, unit: "operation" });
    await new Promise((done) => setTimeout(done, 1000 * seconds));
  }
  if (slow !== app.slow) return;
  app.act();
  app.slowly = 1;
}
