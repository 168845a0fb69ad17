// The line of a card that tells which samples moved its weight most.

import { owns, usesOf } from "./names.js";
import { plural } from "./texts.js";

const LATER = 300; // milliseconds until Python is asked again

function wordsOfSamples({ samples, shares, steps }) {
  const told = shares.map((each, k) => `${samples[k]} (${Math.round(100 * each)}%)`);
  return plural("card.moved_most", steps, { samples: told.join(", ") });
}

/** Asks for the samples of the pinned weight, at rest; `ask` asks, `redraw` is called when it is answered. */
export class MovedLine {
  constructor(say, ask, redraw) {
    this.say = say;
    this.ask = ask;
    this.redraw = redraw;
    this.asked = "";
    this.words = "";
  }

  /** Return the blocks of a card with the line, once that is known. */
  with(card, row, state) {
    if (row < 0 || state.playing || state.operation > 0 || this.say.told || state.light)
      return card;
    const asked = [row, state.branch, state.step, state.undoable].join();
    if (asked !== this.asked) this.find(asked, row);
    const blocks = this.words
      ? [...card.blocks, { words: this.words, look: "quiet" }]
      : card.blocks;
    return { ...card, blocks };
  }

  async find(asked, row) {
    Object.assign(this, { asked, words: "" });
    const homes = this.say.operations.filter((each) => owns(each, row));
    if (!homes.every(({ kind }) => kind === "affine" || kind === "convolution")) return;
    const uses = homes.map((each) => ({ source: each.source, target: each.target, ...usesOf(this.say, each, row) })); // prettier-ignore
    const found = await this.ask({ row, uses });
    if (asked !== this.asked || !found) return;
    if (found.words === null)
      setTimeout(() => asked === this.asked && this.find(asked, row), LATER);
    this.words = found.words ?? (found.samples ? wordsOfSamples(found) : "");
    this.redraw();
  }
}
