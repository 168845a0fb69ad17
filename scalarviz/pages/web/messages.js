// Short messages over the picture, with the same words for screen readers; and when one says that a
// rate is too large.

import { made, setShown, setWords } from "./dom.js";
import { madeButton } from "./events.js";

const SHOWN = 4; // seconds for which a message stands
const READ = 15; // letters that are read in a second: longer ones stand longer
const OFFERED = 10; // with a button

/** Shows messages in an element; `spoken` is the live region for screen readers. */
export class Chip {
  constructor(element, spoken) {
    this.element = element;
    this.spoken = spoken;
    this.words = made("span");
    this.button = madeButton("", "", () => {
      this.hide();
      this.act();
    });
    this.button.hidden = true;
    this.act = () => {};
    element.append(this.words, this.button);
  }

  /** Show a message for some seconds; `action` is the label of a button that calls `act`. */
  tell(words, action = "", act = () => {}) {
    this.stand(words);
    this.stays = false;
    this.act = act;
    setWords(this.button, action);
    setShown(this.button, action !== "");
    const seconds = Math.max(action ? OFFERED : SHOWN, words.length / READ);
    this.timer = setTimeout(() => this.hide(), 1000 * seconds);
  }

  /** Show a message until another message replaces it, or `hide` is called. */
  stand(words) {
    clearTimeout(this.timer);
    this.stays = true;
    setShown(this.button, false);
    setWords(this.words, words);
    setWords(this.spoken, words);
    setShown(this.element, true);
  }

  /** Hide a message if it is still shown. */
  drop(words) {
    if (this.words.textContent === words) this.hide();
  }

  /** Hide a message that would disappear automatically. */
  clear() {
    if (!this.stays) this.hide();
  }

  hide() {
    clearTimeout(this.timer);
    setShown(this.element, false);
    setWords(this.spoken, "");
  }
}

// Whether the numbers of a training grow beyond all bounds, as they do at a rate that is too large.

const BEYOND = 1000; // times the largest loss and weight of the beginning
const BEGINNING = 8; // steps

/** Detects a growing loss; `take` returns whether to warn, once for each learning rate. */
export class Growing {
  constructor() {
    this.loss = this.value = 1; // the largest ones of the beginning
    this.seen = 0; // its losses
    this.step = NaN; // of the last state
    this.told = "";
  }

  take({ step, loss, losses, value, rate, jumps }) {
    if (Number.isNaN(this.step)) this.value = largest(value, 1);
    for (const each of losses.values) {
      if (this.seen < BEGINNING && each < Infinity) this.loss = Math.max(this.loss, each);
      this.seen += 1;
    }
    const hasTrained = step > this.step;
    this.step = step;
    const mark = `${rate} ${jumps}`;
    if (!hasTrained || mark === this.told) return false;
    if (!(loss > BEYOND * this.loss) && largest(value, 0) <= BEYOND * this.value) return false;
    this.told = mark;
    return true;
  }
}

function largest(values, least) {
  return values.reduce((top, each) => Math.max(top, Math.abs(each)), least);
}
