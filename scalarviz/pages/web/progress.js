// The sentence of a training that plays; as story/captions.py.

import { generalNumber } from "./format.js";
import { text } from "./texts.js";

/** Return how many samples are right, else the loss, and how the loss has changed.
 *
 * changed  of the state: the first step whose loss is computed after the last change of a user
 */
export function progressOf({ mean, changes }, { step, loss, changed = 0 }, losses, verdict) {
  if (!step && !verdict) return text("captions.before");
  let said = verdict || text("captions.playing.loss", { loss: generalNumber(loss, 3) });
  const half = Math.floor(Math.max(0, step - changed) / 2);
  const unit = 10 ** (String(half).length - 1);
  const since = changed + Math.floor(half / unit) * unit; // of one digit: it stays for a while
  const count = Math.min(mean, since - changed);
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
