// Which guesses at a question are right, and what is said to the others: as questions.py does.

import { lineValue, plainSigns } from "./filled_line.js";
import { text } from "./texts.js";

// A number, with a point or a comma before its decimals; 1,000 may mean two numbers, and is none.
const NUMBER = /^(?!([+-]\s*)?[1-9]\d{0,2},\d{3}$)([+-]\s*)?(\d+[.,]?\d*|[.,]\d+)(e[+-]?\d+)?$/i;
const ZERO = 1e-12; // an answer up to this is 0, as of a sum whose terms cancel

/** Return a typed number, also a product or a fraction; throw an error with a sentence if it is none. */
function typedNumber(guess) {
  const plain = plainSigns(guess);
  const isProduct = plain.split(/[*/]/).every((part) => NUMBER.test(part.trim()));
  const value = isProduct ? lineValue(plain.replaceAll(",", "."), {}) : NaN;
  if (!Number.isFinite(value)) throw new Error(text("lesson.no_number"));
  return value;
}

/** Whether two numbers are as near as a relative or an absolute tolerance allows. */
function isNear(one, other, relative, absolute) {
  const apart = Math.abs(one - other);
  return (
    Number.isFinite(apart) &&
    apart <= Math.max(relative * Math.max(Math.abs(one), Math.abs(other)), absolute)
  );
}

function lineValues({ names, at }, line) {
  return at.map((row) =>
    lineValue(line, Object.fromEntries(names.map((name, i) => [name, row[i]]))),
  );
}

/** Whether a guess means the same as an answer. */
function agrees(question, guess, answer) {
  const { names, choices, near } = question;
  if (names.length) {
    const wanted = lineValues(question, answer);
    return lineValues(question, guess).every((value, i) => isNear(value, wanted[i], 1e-6, 1e-9));
  }
  if (choices.length) return guess === answer;
  if (typeof answer === "string") return guess.trim().toLowerCase() === answer.trim().toLowerCase();
  const ofZero = Math.abs(answer) <= ZERO ? near : 0;
  return isNear(typedNumber(guess), answer, near, ofZero + ZERO);
}

/** Whether a guess is right; throw an error with a sentence if it is no number, no expression. */
export function isRight(question, guess) {
  return agrees(question, guess, question.answer);
}

/** Whether a number was typed that the answer has at some of the numbers of a question. */
function isOneOfItsNumbers(question, guess) {
  try {
    const value = lineValue(guess, {});
    return lineValues(question, question.answer).some((each) => isNear(value, each, 1e-9, 0));
  } catch {
    return false;
  }
}

/** Return what is said to a wrong guess, as HTML: its reply, or the hint. */
export function replyTo(question, guess) {
  if (question.names.length && isOneOfItsNumbers(question, guess)) return text("predict.letters");
  const isNumber = typeof question.answer === "number";
  try {
    const found = Object.entries(question.replies).find(([wrong]) =>
      agrees(question, guess, isNumber ? typedNumber(wrong) : wrong),
    );
    return found ? found[1] : question.hint;
  } catch {
    return question.hint; // a guess that is kept from another question of this place
  }
}

/** Return a choice in quotation marks, and other guesses as they are. */
export function quoted(words, { choices }) {
  return choices.length ? text("predict.choice", { words }) : words;
}

/** Return the answer in words. */
export function answerWords({ answer }) {
  if (typeof answer !== "number") return answer;
  return String(Number.isInteger(answer) ? answer : Number(answer.toPrecision(4)));
}
