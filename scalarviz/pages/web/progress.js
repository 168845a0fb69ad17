// The sentence of a training that plays; as pictures/presenter/captions/progress.py.

import { generalNumber } from "./format.js";
import { text } from "./texts.js";

/** The sentence of a training that plays; `rest` forgets it. */
export class Progress {
  constructor(told) {
    this.told = told; // of the page: the seconds of a sentence, and what changes are called
    this.rest();
  }

  rest() {
    this.until = -Infinity;
  }

  /** Return the sentence at a time in seconds; `verdict` returns how much is right, or "". */
  at(now, state, losses, verdict) {
    if (now >= this.until) {
      this.words = progressOf(this.told, state, losses, verdict());
      this.until = now + this.told.seconds;
    }
    return this.words;
  }
}

/** Return how many samples are right, else the loss, and how the loss has changed. */
function progressOf({ mean, changes }, { step, loss }, losses, verdict) {
  let said = verdict || text("captions.playing.loss", { loss: generalNumber(loss, 3) });
  const since = Math.floor(step / 2);
  const count = Math.min(mean, since);
  const [earlier, now] = [since, step].map((end) => {
    let sum = 0;
    for (let i = end - count; i < end; i++) sum += losses.at(i);
    return sum / count;
  });
  if (count && Number.isFinite(now) && earlier > 0) {
    const way = Object.keys(changes).find((name) => now <= changes[name] * earlier) ?? "more";
    const it = text(`captions.playing.it.${verdict ? "verdict" : "loss"}`);
    said = text(`captions.playing.since.${way}`, { said, it, since });
  }
  return text("captions.playing", { step, said });
}
