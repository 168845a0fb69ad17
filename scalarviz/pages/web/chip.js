// The chip with a short message over the picture, and the same words for screen readers.

import { made, setShown, setWords } from "./dom.js";
import { madeButton } from "./pressing.js";

const SHOWN = 4; // seconds for which a message stands
const READ = 15; // letters that are read in a second: longer ones stand longer
const OFFERED = 10; // with a button

/** Shows messages in an element; `spoken` is the live region. */
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

  /** Show a message for some seconds; `action` is the text of a button that calls `act`. */
  tell(words, action = "", act = () => {}) {
    this.stand(words);
    this.stays = false;
    this.act = act;
    setWords(this.button, action);
    setShown(this.button, action !== "");
    const seconds = Math.max(action ? OFFERED : SHOWN, words.length / READ);
    this.timer = setTimeout(() => this.hide(), 1000 * seconds);
  }

  /** Show a message until another one comes, or `hide` is called. */
  stand(words) {
    clearTimeout(this.timer);
    this.stays = true;
    setShown(this.button, false);
    setWords(this.words, words);
    setWords(this.spoken, words);
    setShown(this.element, true);
  }

  /** Hide a message, if it is still the one that is shown. */
  drop(words) {
    if (this.words.textContent === words) this.hide();
  }

  /** Hide a message that goes away by itself. */
  clear() {
    if (!this.stays) this.hide();
  }

  hide() {
    clearTimeout(this.timer);
    setShown(this.element, false);
    setWords(this.spoken, "");
  }
}
