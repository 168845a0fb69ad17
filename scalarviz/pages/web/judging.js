// Which guesses at a question are right, and what is said to the others; as
// pages/lessons/questions.py.

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

// One line that a learner fills in: an expression of numbers and names, read and never run as code.

const LONGEST_LINE = 200; // characters
const SIGNS = {
  "−": "-", "–": "-", "·": "*", "×": "*", "÷": "/", "²": "**2", "³": "**3", "^": "**",
}; // prettier-ignore
const TOKEN = /\s*(?:(\d+\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?)|([a-z_]\w*)|(\*\*|[-+*/(),]))/iy;
const CALLS = {
  exp: [1, Math.exp], log: [1, Math.log], tanh: [1, Math.tanh], sqrt: [1, Math.sqrt],
  abs: [1, Math.abs], relu: [1, (x) => Math.max(x, 0)], max: [2, Math.max], min: [2, Math.min],
}; // prettier-ignore

/** Return a line with the signs of a program for those of mathematics. */
function plainSigns(line) {
  return line.replace(/[−–·×÷²³^]/g, (sign) => SIGNS[sign]);
}

/** Return the parts of a line: numbers, names and signs; throw an error if it has others. */
function tokensOf(line, names) {
  const plain = plainSigns(line).trim();
  const tokens = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < plain.length) {
    const found = TOKEN.exec(plain);
    if (!found || plain.length > LONGEST_LINE) throw Error();
    const token = found[1] ? Number(found[1]) : (found[2] ?? found[3]);
    const begins = token === "(" || found[2];
    if (begins && tokens.length && isEnd(tokens.at(-1), names)) tokens.push("*"); // 2(y - t)y
    tokens.push(token);
  }
  return tokens;
}

/** Whether a factor ends with a part. */
function isEnd(token, names) {
  return typeof token === "number" || token === ")" || Object.hasOwn(names, token);
}

/** Reads the parts of a line by the rules of Python: signs bind less than powers. */
class Reader {
  constructor(tokens, names) {
    this.tokens = tokens;
    this.names = names;
    this.at = 0;
  }

  takes(...signs) {
    return signs.includes(this.tokens[this.at]) ? this.tokens[this.at++] : "";
  }

  needs(sign) {
    if (!this.takes(sign)) throw Error();
  }

  sum() {
    let value = this.product();
    for (let sign; (sign = this.takes("+", "-"));)
      value += this.product() * (sign === "+" ? 1 : -1);
    return value;
  }

  product() {
    let value = this.signed();
    for (let sign; (sign = this.takes("*", "/"));) {
      const next = this.signed();
      value = sign === "*" ? value * next : value / next;
    }
    return value;
  }

  signed() {
    const sign = this.takes("+", "-");
    if (!sign) return this.power();
    return sign === "-" ? -this.signed() : this.signed();
  }

  power() {
    const value = this.single();
    return this.takes("**") ? value ** this.signed() : value;
  }

  single() {
    const token = this.tokens[this.at++];
    if (typeof token === "number") return token;
    if (token === "(") {
      const value = this.sum();
      this.needs(")");
      return value;
    }
    if (Object.hasOwn(this.names, token)) return this.names[token];
    if (!Object.hasOwn(CALLS, token)) throw Error();
    const [count, call] = CALLS[token];
    this.needs("(");
    const values = [this.sum()];
    while (this.takes(",")) values.push(this.sum());
    this.needs(")");
    if (values.length !== count) throw Error();
    return call(...values);
  }
}

/** Return the value of a line; throw an error with a sentence if it is no expression of the names. */
export function lineValue(line, names) {
  try {
    const reader = new Reader(tokensOf(line, names), names);
    const value = reader.sum();
    if (reader.at < reader.tokens.length) throw Error();
    return value;
  } catch {
    throw new Error(text("lesson.no_line", { names: Object.keys(names).join(", ") }));
  }
}
