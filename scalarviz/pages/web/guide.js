// Leads through the tour: takes its steps when they are due, and says its sentences; and through the
// operations of a slow step.

import { byId, isTouched, setShown } from "./dom.js";
import { text } from "./texts.js";
import { readyState } from "./facts.js";
import { Tour, has_learned, tour_caption } from "./story/guide.js";

const LONGEST = 0.5; // seconds of the tour from one picture to the next
const MOST_STILL = 30; // hundreds of steps that the last part takes without motion

/** Start the tour at the next step; the one of a network that writes names waits for Next. */
export async function showTour(app) {
  await endStep(app);
  const { facts, engine } = app.spec;
  /** @type {any} */
  const tour = new Tour(engine.moments.map(({ kind }) => kind));
  tour.waits = app.calm || app.looksBack; // for Next
  const kinds = engine.moments.map(({ operation }) => facts.operations[operation]?.kind);
  if (app.looksBack) tour.ends = new Map([["letter", kinds.indexOf("embedding") + 1], ["looks", kinds.indexOf("row") + 1], ["scores", tour.ends.get("forward")]]); // prettier-ignore
  tour.first = app.state.step;
  tour.seconds = 0; // of the tour: a slow machine has more time
  tour.leads = false; // whether its steps are under way
  tour.latency = Infinity; // seconds that an answer of the worker takes apart from its steps
  Object.assign(app, { tour, tourPart: "stand" });
  setShown(byId("skip"), true);
  setShown(byId("next"), tour.waits);
  if (app.looksBack) await leadOn(app);
  app.request();
}

/** Return how many operations the tour has completed in the last state. */
function doneIn(app) {
  return app.doneIn(app.state) - app.tour.first * app.counts.length;
}

/** Continue the tour with what is due now; with reduced motion, `leadOn` does this. */
export async function leadTour(app, now) {
  const { tour, player } = app;
  const passed = now - (tour.last ?? now);
  tour.last = now;
  app.tourPart = tour.part(doneIn(app));
  if (tour.leads || tour.waits) return;
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

/** Return whether the loss has become much lower since the start. */
export function learnedIn({ losses, curve }) {
  return has_learned((step) => losses.at(step), curve.first, losses.end);
}

/** End the tour: start training unless it was read, and show what the user can do. */
function endWith(app) {
  if (app.looksBack) return app.goTo(app.tour.first); // where a caption says the same
  app.endTour();
  if (!app.calm && !app.state.stopped) app.play(app.spec.recording ? null : app.spec.page.clock);
  return app.tell(text(isTouched() ? "page.tour.touch" : "captions.tour.end"));
}

/** Go to the next part of the tour. */
export async function leadOn(app) {
  const { tour, player } = app;
  if (tour.leads) return;
  tour.leads = true;
  const done = doneIn(app);
  const end = [...tour.ends.values()].find((each) => each > done);
  if (end) {
    await player.ask("advance", { count: end - done, unit: "operation" });
  } else {
    const goesOn = (k) => app.tour === tour && !app.looksBack && !(k && learnedIn(app)) && !app.state.stopped; // prettier-ignore
    for (let k = 0; k < MOST_STILL && goesOn(k); k++) {
      await player.ask("advance", { count: 100, unit: "step" });
    }
    if (app.tour === tour) endWith(app);
  }
  tour.leads = false;
}

/** Return the text of the result plot that states how many samples are right, or "". */
export function verdictIn(app, state) {
  return (state.probe?.length && app.exhibit?.verdict(state).words) || "";
}

/** Return the sentence about a state for the current part of the tour. */
export function tourSentence({ tourPart, spec: { facts } }, state) {
  return tour_caption(tourPart, facts, readyState(facts, state)).title;
}

/** Skip the rest of the tour, and complete the current step immediately. */
export async function skipTour(app) {
  if (!app.tour) return;
  if (!app.looksBack) await endStep(app);
  endWith(app);
}

/** Stop automatic animations, and complete the current step. */
async function endStep(app) {
  app.act();
  if ((await app.player.rest())?.operation)
    await app.player.ask("advance", { count: 1, unit: "step" });
}

/** Execute the rest of a step slowly; later slow steps take half the time. */
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
