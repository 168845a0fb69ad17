// One line that a learner fills in: an expression of numbers and names, read and never run as code.

import { text } from "./texts.js";

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
export function plainSigns(line) {
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
