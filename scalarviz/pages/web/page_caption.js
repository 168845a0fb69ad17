// The caption of a page: of the tour, an operation, a training that plays, or one at rest.

import { captionOf, progressOf, restWords, withPieces } from "./captions.js";
import { walkedIn } from "./by_neuron.js";
import { byId, isTouched } from "./dom.js";
import { tourSentence, verdictIn } from "./guide.js";
import { captionWith } from "./equations.js";
import { sentenceOfOwn } from "./own.js";
import { text } from "./texts.js";

const HASTY = 0.45; // seconds for an operation below which its caption cannot be read

/** Return the caption of a page for the state that it draws.
 *
 * number  that of the neuron that its moment has come to, from 1; 0: all are there
 */
export function captionFor(app, state, number) {
  const { spec } = app;
  if (app.tourPart)
    return captionWith(
      tourSentence(app, state),
      app.tour && app.calm ? text("page.tour.still") : "",
    );
  const isPlaying = app.player.playing;
  const walks = state.moment >= 0 || state.operation > 0;
  const hasty = isPlaying && (app.player.operations === null || app.player.operations > 1 / HASTY);
  if (walks && !hasty) {
    const moment = spec.scene.moments[state.moment];
    const neuron = walkedIn(moment, number);
    const about = app.guess.question ?? app.pinned ?? {};
    const found = captionOf(spec, state, neuron ? { neuron } : about);
    const isEarly = neuron && moment.kind === "forward" && number < moment.neurons[1];
    return isEarly ? withPieces({ ...found, lines: found.lines.slice(0, 1) }) : found;
  }
  if (isPlaying) {
    const { every } = app.wave;
    const lit = every > 1 ? text("captions.playing.every", { count: every }) : "";
    return captionWith(
      progressOf(spec.say.progress, state, app.losses, verdictIn(app, state)),
      lit,
    );
  }
  if (state.own) return captionWith(sentenceOfOwn(spec.say, state, app.own.name));
  const looks = document.documentElement.classList.contains("looks"); // and cannot change it
  if (!state.step) {
    const isHeaded = byId("about").checkVisibility();
    const untrained = isTouched() ? "page.untrained.touch" : "page.untrained";
    const words = text(looks ? "page.looks" : untrained);
    return captionWith(spec.page.came || words, isHeaded ? "" : spec.page.about);
  }
  const rest = spec.recording ? "page.rest.recorded" : "captions.rest.hint";
  const hint = text(looks ? "page.looks" : isTouched() ? "page.rest.touch" : rest);
  return captionWith(Number.isNaN(state.loss) ? spec.page.about : restWords(state), hint);
}
