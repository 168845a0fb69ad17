// Texts that people read, by key, as in scalarviz/base/texts: the only place where a page has them.

import * as py from "./python.js";

const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/gu; // letters without a look of their own; some turn those around them

let knownTexts = {};

/** Set the texts of the page, by key. */
export function setTexts(table) {
  knownTexts = table;
}

/** Return the text of a key with its fields filled in, or the key if the text is missing. */
export function text(key, fields = {}) {
  const words = knownTexts[key];
  if (words === undefined) return key;
  return words.replace(/\{(\w+)(?::([^}]*))?\}/g, (whole, name, format) =>
    name in fields ? written(fields[name], format) : whole,
  );
}

/** Return the text KEY.one for a count of 1, otherwise KEY.many, with the field `count`. */
export function plural(key, count, fields = {}) {
  return text(`${key}.${count === 1 ? "one" : "many"}`, { ...fields, count });
}

/** Return the text of a user, shortened with dots, for use in a message. */
export function shortened(words, most) {
  const letters = [...words.replace(UNSEEN, "\ufffd")];
  return letters.length > most ? `${letters.slice(0, most).join("")}…` : letters.join("");
}

/** Return the value of a field as text with a format, or by default as JavaScript writes it. */
function written(value, format) {
  return format ? py.format(value, format) : String(value);
}
