// What a learner answered in a lesson: stored on this device, and given as a link.

import { bytesIn, lettersOf } from "./zipped.js";

const FORMAT = "scalarviz answers";
const LINKED = "#answers="; // before a record in an address

/** Return the record that a URL fragment contains, or "". */
function wordsIn(hash) {
  if (!hash.startsWith(LINKED)) return "";
  return new TextDecoder().decode(bytesIn(hash.slice(LINKED.length)));
}

/** Return whether a stored or linked record is valid; an older page may have written it. */
function isKept({ name, answers }) {
  const lists = Object.values(answers).map(({ guesses }) => guesses);
  const words = [name, ...lists.flat()];
  return (
    lists.every(Array.isArray) &&
    words.every((word) => typeof word === "string") &&
    Object.values(answers).every(({ right, shown }) => right === !!right && shown === !!shown)
  );
}

/** The answers to a lesson by key, {guesses, right, shown}. */
export class LessonAnswers {
  constructor(lesson, hash) {
    this.lesson = lesson;
    this.place = `${FORMAT} ${lesson}`;
    this.forget();
    try {
      const kept = JSON.parse(wordsIn(hash) || localStorage.getItem(this.place));
      const { name, answers } = kept;
      if (kept.lesson === lesson && isKept(kept)) Object.assign(this, { name, answers });
    } catch {
      // nothing is kept here, or this browser keeps nothing
    }
  }

  of(key) {
    return this.answers[key] ?? { guesses: [], right: false, shown: false };
  }

  isOpen(key) {
    const { right, shown } = this.of(key);
    return !right && !shown;
  }

  put(key, more) {
    this.answers[key] = { ...this.of(key), ...more };
    this.keep();
  }

  keep() {
    try {
      localStorage.setItem(this.place, JSON.stringify(this.record()));
    } catch {
      // it stays while the page is open
    }
  }

  forget() {
    this.name = "";
    this.answers = {};
  }

  /** Return the record of all answers. */
  record() {
    const { lesson, name, answers } = this;
    return { format: FORMAT, version: 1, lesson, name, answers };
  }

  /** Return a link that contains all answers. */
  link(address) {
    const bytes = new TextEncoder().encode(JSON.stringify(this.record()));
    return `${address.split(/[?#]/)[0]}${LINKED}${lettersOf(bytes)}`;
  }
}
