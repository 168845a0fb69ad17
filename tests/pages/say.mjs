// Says what a page says: reads a task from a file, writes the answers.

import { readFileSync } from "node:fs";
import { captionOf } from "../../scalarviz/pages/web/captions.js";
import { cardOf } from "../../scalarviz/pages/web/cards.js";
import { readyFacts } from "../../scalarviz/pages/web/facts.js";
import { setTexts } from "../../scalarviz/pages/web/texts.js";

const WORDS = { NaN, Infinity, "-Infinity": -Infinity };
const numbers = (key, value) =>
  typeof value === "string" && value in WORDS ? WORDS[value] : value;
const words = (key, value) =>
  typeof value === "number" && !Number.isFinite(value) ? String(value) : value;

/** Return a state with typed arrays, as the worker of a page sends them. */
function arrays(value) {
  if (Array.isArray(value) && value.every((each) => typeof each === "number")) {
    return Float64Array.from(value);
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, arrays(each)]));
}

const task = JSON.parse(readFileSync(process.argv[2], "utf8"), numbers);
setTexts(task.spec.texts);
task.spec.facts = readyFacts(task.spec.facts);
const captionWithPieces = (...asked) => {
  const found = captionOf(...asked);
  return { ...found, pieces: found.pieces };
};
const makers = { caption: captionWithPieces, card: cardOf };
const answers = task.states.map(({ state, asked }) => {
  const given = arrays(state);
  return asked.map(([name, target]) => makers[name](task.spec, given, target));
});
process.stdout.write(JSON.stringify(answers, words));
