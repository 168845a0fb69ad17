// What a learner answered in a lesson: stored on this device, given as a file or a link, sent to a
// class.

import { tokenIn } from "./link_channels.js";
import { text } from "./texts.js";
import { bytesIn, lettersOf } from "./zipped.js";

const LINKED = "#answers="; // before a record in an address

/** Return the record that a URL fragment contains, or "". */
function wordsIn(hash) {
  if (!hash.startsWith(LINKED)) return "";
  return new TextDecoder().decode(bytesIn(hash.slice(LINKED.length)));
}

/** Return whether a stored or linked record is valid; an older page may have written it. */
function isKept({ name, answers, guessed, id = "" }) {
  const lists = Object.values(answers).map(({ guesses }) => guesses);
  const words = [name, id, ...lists.flat()];
  return (
    lists.every(Array.isArray) &&
    words.every((word) => typeof word === "string") &&
    Object.values(answers).every(({ right, shown }) => right === !!right && shown === !!shown) &&
    [guessed.right, guessed.asked].every(Number.isInteger)
  );
}

/** The answers to a lesson by key, {guesses, right, shown}, and the number of right guesses. */
export class LessonAnswers {
  constructor(lesson, format, hash) {
    this.lesson = lesson;
    this.format = format;
    this.place = `${format} ${lesson}`;
    this.forget();
    try {
      const kept = JSON.parse(wordsIn(hash) || localStorage.getItem(this.place));
      const { name, answers, guessed, id = this.id } = kept;
      if (kept.lesson === lesson && isKept(kept))
        Object.assign(this, { name, answers, guessed, id });
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
    this.id = Math.random().toString(36).slice(2); // two pupils may have one name
    this.name = "";
    this.answers = {};
    this.guessed = { right: 0, asked: 0 };
  }

  /** Return the record of all answers, as `scalarviz collect` reads it. */
  record() {
    const { format, lesson, name, answers, guessed, id } = this;
    return { format, version: 1, lesson, name, answers, guessed, id };
  }

  /** Return a link that contains all answers. */
  link(address) {
    const bytes = new TextEncoder().encode(JSON.stringify(this.record()));
    return `${address.split(/[?#]/)[0]}${LINKED}${lettersOf(bytes)}`;
  }
}

// Sends the answers to the server of a class.

const LONGEST_SENDING = 20000; // milliseconds

/** Send the record of a learner; throw an Error with a message for the user if this fails. */
export async function sendAnswers(record) {
  const lost = new Error(text("page.sending.lost"));
  if (!location.origin.startsWith("http")) throw lost; // a page that was saved as a file
  const socket = new WebSocket(`${location.origin.replace("http", "ws")}/socket`);
  const late = setTimeout(() => socket.close(), LONGEST_SENDING);
  const said = await new Promise((resolve) => {
    socket.onopen = () => socket.send(JSON.stringify({ token: tokenIn(location), record }));
    socket.onmessage = ({ data }) => resolve(JSON.parse(data));
    socket.onclose = () => resolve({ error: lost.message });
  });
  clearTimeout(late);
  socket.close();
  if (said.error) throw new Error(said.error);
}
