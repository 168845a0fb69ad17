// Texts that people read, by key, as in scalarviz/base/texts: the only place where a page has them.

import * as py from "./python.js";

const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/gu; // letters without a look of their own; some turn those around them

let knownTexts = {};

/** Take the texts of the page, by key. */
export function setTexts(table) {
  knownTexts = table;
}

/** Return the text of a key with its fields filled in; the key itself if there is none. */
export function text(key, fields = {}) {
  const words = knownTexts[key];
  if (words === undefined) return key;
  return words.replace(/\{(\w+)(?::([^}]*))?\}/g, (whole, name, format) =>
    name in fields ? written(fields[name], format) : whole,
  );
}

/** Return the text KEY.one for a count of 1, otherwise KEY.many; its field `count` is the count. */
export function plural(key, count, fields = {}) {
  return text(`${key}.${count === 1 ? "one" : "many"}`, { ...fields, count });
}

/** Return what a user wrote as it can stand in a sentence: its first letters, with dots for the others. */
export function shortened(words, most) {
  const letters = [...words.replace(UNSEEN, "\ufffd")];
  return letters.length > most ? `${letters.slice(0, most).join("")}…` : letters.join("");
}

/** Return a field as its format says; without one, a fraction as JavaScript writes it. */
function written(value, format) {
  return format ? py.format(value, format) : String(value);
}

/** The text of a row of a table, which has its English in the row. */
export function row_text(key, words) {
  const found = text(key);
  return found === key ? words : found;
}
