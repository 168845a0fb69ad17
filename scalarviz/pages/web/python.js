// What Python does, for the modules that ../translator.py makes of it: errors, containers, loops,
// numbers, texts. A dictionary may also be a Map or an object of JSON, a sequence a typed array.

export class ArithmeticError extends Error {}
export class OverflowError extends ArithmeticError {}
export class ZeroDivisionError extends ArithmeticError {}
export class LookupError extends Error {}
export class IndexError extends LookupError {}
export class KeyError extends LookupError {}
export class ValueError extends Error {}
export class AssertionError extends Error {}
class StopIteration extends Error {}

/**
 * Throw an error where only an expression may stand.
 * @returns {never}
 */
function raise(error) {
  throw error;
}

// ---- containers -------------------------------------------------------------------------------

/** Return the object that stands for a key: of equal tuples the first one. */
function own(key, tuples, isNew = false) {
  if (key === null || typeof key !== "object") return key;
  const name = content(key);
  if (isNew && !tuples.has(name)) tuples.set(name, key);
  return tuples.get(name);
}

/** Return a text that equal keys have in common. */
function content(key) {
  if (is_list(key)) return `(${each(key).map(content).join()})`;
  if (is_data(key)) return `${key.constructor.name}${content(Object.values(key))}`;
  return typeof key === "string" ? JSON.stringify(key) : String(key);
}

/** A dictionary, whose keys may be tuples. */
export class Dict extends Map {
  #tuples = new Map(); // by their content

  constructor(pairs = []) {
    super();
    for (const [key, value] of pairs) this.set(key, value);
  }

  get(key) {
    return super.get(own(key, this.#tuples));
  }

  has(key) {
    return super.has(own(key, this.#tuples));
  }

  set(key, value) {
    return super.set(own(key, this.#tuples, true), value);
  }

  delete(key) {
    return super.delete(own(key, this.#tuples));
  }
}

/** A set, which may have tuples. */
class PySet extends Set {
  #tuples = new Map();

  constructor(found = []) {
    super();
    for (const x of each(found)) this.add(x);
  }

  has(x) {
    return super.has(own(x, this.#tuples));
  }

  add(x) {
    return super.add(own(x, this.#tuples, true));
  }
}

/** @type {(x: any) => boolean} */
const is_list = (x) => Array.isArray(x) || ArrayBuffer.isView(x);
/** @type {(x: any) => boolean} */
const is_dict = (x) => x instanceof Map || x?.constructor === Object;
/** @type {(x: any) => boolean} */
const is_data = (x) => x?.constructor?.is_data === true;
/** @type {(x: any) => boolean} */
const is_number = (x) => typeof x === "number" || typeof x === "boolean";

/** Return what a loop goes over, as an array. */
export function each(found) {
  if (Array.isArray(found)) return found;
  return is_dict(found) ? keys(found) : [...found];
}

export const list = (found = []) => [...each(found)];
export const dict = (given = []) => new Dict(is_dict(given) ? items(given) : each(given));
export const set = (found = []) => new PySet(found);
export const keys = (d) => (d instanceof Map ? [...d.keys()] : Object.keys(d));
export const values = (d) => (d instanceof Map ? [...d.values()] : Object.values(d));
export const items = (d) => (d instanceof Map ? [...d] : Object.entries(d));
/** Return a dictionary as an object, for arguments by name. */
export const fields = (d) => (d instanceof Map ? Object.fromEntries(d) : d);
export const fromkeys = (found, value = null) => new Dict(each(found).map((key) => [key, value]));
export const len = (x) => x.length ?? x.size ?? Object.keys(x).length;

/** Whether Python takes a value as true. */
export function truth(x) {
  if (typeof x === "number") return x !== 0;
  return is_list(x) || is_dict(x) || x instanceof Set ? len(x) > 0 : Boolean(x);
}

/** Return the value of `a or b`; b is computed if it is needed. */
export const or_else = (a, make) => (truth(a) ? a : make());
export const and_then = (a, make) => (truth(a) ? make() : a);

export function equal(a, b) {
  if (a === b || (is_number(a) && is_number(b))) return Number(a) === Number(b) || a === b;
  if (is_list(a) && is_list(b))
    return a.length === b.length && each(a).every((x, i) => same(x, b[i]));
  if (is_data(a))
    return a.constructor === b?.constructor && equal(Object.values(a), Object.values(b));
  if (a instanceof Set && b instanceof Set)
    return a.size === b.size && [...a].every((x) => b.has(x));
  if (!is_dict(a) || !is_dict(b) || len(a) !== len(b)) return false;
  return items(a).every(([key, x]) => has(b, key) && equal(x, at(b, key)));
}

/** Whether items are equal; a nan is mostly the same one. */
const same = (a, b) => Object.is(a, b) || equal(a, b);

/** Whether a is less than b; of sequences, the first difference decides. */
export function less(a, b) {
  if (!is_list(a)) return a < b;
  const i = each(a).findIndex((x, place) => place >= b.length || !same(x, b[place]));
  return i < 0 ? a.length < b.length : i < b.length && less(a[i], b[i]);
}

export const less_or_equal = (a, b) => less(a, b) || equal(a, b);

export function has(found, x) {
  if (typeof found === "string") return found.includes(x);
  if (found instanceof Map || found instanceof Set) return found.has(x);
  return is_dict(found) ? Object.hasOwn(found, x) : each(found).some((other) => same(x, other));
}

/** Return found[place]. */
export function at(found, place) {
  if (typeof found === "string" || is_list(found)) return found[index_of(found, place)];
  if (!has(found, place)) throw new KeyError(String(place));
  return found instanceof Map ? found.get(place) : found[place];
}

function index_of(found, place) {
  const i = place < 0 ? found.length + Number(place) : Number(place);
  return i >= 0 && i < found.length ? i : raise(new IndexError("index out of range"));
}

/** Let found[place] be a value. */
export function put(found, place, value) {
  if (found instanceof Map) found.set(place, value);
  else found[is_list(found) ? index_of(found, place) : place] = value;
}

/** Return found[first:last:step]; null for what is left out. */
export function slice(found, first, last, step) {
  const [by, length] = [step ?? 1, found.length];
  const [low, high] = by > 0 ? [0, length] : [-1, length - 1];
  const within = (i) => Math.min(high, Math.max(low, i < 0 ? i + length : i));
  const start = first === null ? (by > 0 ? low : high) : within(first);
  const end = last === null ? (by > 0 ? high : low) : within(last);
  const parts = range(start, end, by).map((i) => found[i]);
  return typeof found === "string" ? parts.join("") : parts;
}

/** A slice of Python that is a value. */
export const span = (start, stop) => [start, stop];

export const get = (d, key, other = null) => (has(d, key) ? at(d, key) : other);

export function setdefault(d, key, value = null) {
  if (!has(d, key)) put(d, key, value);
  return at(d, key);
}

/** Take an item out of a list or a dictionary, and return it. */
export function pop(found, place = -1) {
  if (is_list(found)) return found.splice(index_of(found, place), 1)[0];
  const value = at(found, place);
  if (found instanceof Map) found.delete(place);
  else delete found[place];
  return value;
}

export function update(d, more) {
  for (const [key, value] of items(dict(more))) put(d, key, value);
}

export function index(found, x) {
  const i = typeof found === "string" ? found.indexOf(x) : each(found).findIndex((y) => same(x, y));
  return i < 0 ? raise(new ValueError("not found")) : i;
}

/** Return a copy of an object with other fields. */
export function replace_fields(x, others) {
  return Object.assign(Object.create(Object.getPrototypeOf(x)), x, others);
}

/** Return the value of a cached property, which is made once and is no field. */
export function cached(x, name, make) {
  const value = make();
  Object.defineProperty(x, name, { value });
  return value;
}

/** A variable that a function sets for all that it calls. */
export class ContextVar {
  constructor(value) {
    this.value = value;
  }

  get() {
    return this.value === undefined ? raise(new LookupError("not set")) : this.value;
  }

  /** Return the former value, which `reset` takes. */
  set(value) {
    const before = this.value;
    this.value = value;
    return before;
  }

  reset(before) {
    this.value = before;
  }
}

/** What ends each `with` block that runs, as the call in its line returns it. */
export const within = [];

// ---- loops ------------------------------------------------------------------------------------

export function range(first, end = undefined, step = 1) {
  const [low, high] = end === undefined ? [0, first] : [first, end];
  if (step === 0) throw new ValueError("a step of zero");
  const found = [];
  for (let i = low; step > 0 ? i < high : i > high; i += step) found.push(i);
  return found;
}

export function clear(found) {
  if (Array.isArray(found)) found.length = 0;
  else found.clear();
}

export function zip(found, isStrict = false) {
  const lists = found.map(each);
  const least = lists.length ? Math.min(...lists.map(len)) : 0;
  if (isStrict && lists.some((one) => one.length > least)) throw new ValueError("other lengths");
  return range(least).map((i) => lists.map((one) => one[i]));
}

export const pairwise = (found) =>
  each(found)
    .slice(1)
    .map((x, i) => [found[i], x]);
export const enumerate = (found, start = 0) => each(found).map((x, i) => [i + start, x]);
export const reversed = (found) => list(found).reverse();
export const any = (found) => found_in(found, true);
export const all = (found) => !found_in(found, false);
export const map = (make, ...lists) => zip(lists).map((given) => make(...given));

/** Whether some value is true, or false; those behind it are not computed. */
function found_in(found, wanted) {
  for (const x of is_dict(found) ? keys(found) : found) if (truth(x) === wanted) return true;
  return false;
}

/** Yield what a generator expression does. */
export function* lazy(found, make, test = null) {
  for (const x of each(found)) if (test === null || test(x)) yield make(x);
}

export function next(found, other = undefined) {
  const { done, value } = found.next();
  return !done ? value : other === undefined ? raise(new StopIteration()) : other;
}

export function sorted(found, key = (x) => x, isReverse = false) {
  const pairs = each(found).map((x) => [key(x), x]);
  const order = (a, b) => Number(less(b[0], a[0])) - Number(less(a[0], b[0]));
  return pairs.sort(isReverse ? (a, b) => order(b, a) : order).map(([, x]) => x);
}

/** Return the first item before which no other one comes. */
function first_of(found, key, other, isBefore) {
  const [first, ...more] = each(found);
  if (first === undefined) return other ?? raise(new ValueError("nothing to choose from"));
  return more.reduce((best, x) => (isBefore(key(x), key(best)) ? x : best), first);
}

export const min = (found, key = (x) => x, other = undefined) => first_of(found, key, other, less);
export const max = (found, key = (x) => x, other = undefined) =>
  first_of(found, key, other, (a, b) => less(b, a));

// ---- arithmetic -------------------------------------------------------------------------------

export function add(a, b) {
  if (is_list(a) && is_list(b)) return [...a, ...b];
  const agree = (is_number(a) && is_number(b)) || (typeof a === "string" && typeof b === "string");
  return agree ? a + b : raise(new TypeError("+ of other things"));
}

/** Return what a is after `a += b`; a list is the same one. */
export function add_to(a, b) {
  if (!Array.isArray(a)) return add(a, b);
  a.push(...each(b));
  return a;
}

export function minus(a, b) {
  return is_number(a) && is_number(b) ? a - b : raise(new TypeError("- of other things"));
}

export function mul(a, b) {
  if (is_number(a) && is_number(b)) return a * b;
  const [found, times] = is_number(a) ? [b, a] : [a, b];
  const copies = Array(Math.max(0, Number(times))).fill(found);
  return typeof found === "string" ? copies.join("") : copies.flat();
}

export function div(a, b) {
  return Number(b) === 0 ? raise(new ZeroDivisionError("division by zero")) : a / b;
}

/** Return a % b; a zero has no sign. */
export function mod(a, b) {
  const rest = Number(b) === 0 ? raise(new ZeroDivisionError("modulo by zero")) : a % b;
  return rest === 0 ? 0 : rest < 0 === b < 0 ? rest : rest + Number(b);
}

export function floordiv(a, b) {
  const rest = Number(b) === 0 ? raise(new ZeroDivisionError("division by zero")) : a % b;
  const quotient = (a - rest) / b - Number(rest !== 0 && rest < 0 !== b < 0);
  return quotient - Math.floor(quotient) > 0.5 ? Math.ceil(quotient) : Math.floor(quotient) + 0;
}

export const divmod = (a, b) => [floordiv(a, b), mod(a, b)];

/** Return a ** b; a power of ten is that of its text, others may differ in the last digit. */
export function pow(a, b) {
  if (Number(a) === 0 && b < 0) throw new ZeroDivisionError("a negative power of zero");
  if (a < 0 && Number.isFinite(b) && !Number.isInteger(b)) throw new TypeError("a complex number");
  const isTen = a === 10 && Number.isInteger(b);
  const power = isTen ? Number(`1e${b}`) : Number(a) ** Number(b);
  const isTooLarge = [a, b].every(Number.isFinite) && !Number.isFinite(power);
  return isTooLarge ? raise(new OverflowError("too large")) : power;
}

export const sum = (found, start = 0) => each(found).reduce(add, start);
export const prod = (found, start = 1) => each(found).reduce((a, b) => a * b, start);

// ---- arrays of numpy: rows of numbers, or numbers -----------------------------------------------

const depth_of = (x) => (typeof x === "object" ? 1 + depth_of(x[0]) : 0);

/** Return what a function gives for each number of arrays, of which one may have fewer axes. */
export function elementwise(compute, a, b = 0) {
  const [deep, other] = [depth_of(a), depth_of(b)];
  const found = [];
  for (let i = 0; i < (deep < other ? b : a).length; i++) {
    const x = deep < other ? a : a[i];
    const y = other < deep ? b : b[i];
    found.push(deep > 1 || other > 1 ? elementwise(compute, x, y) : compute(x, y));
  }
  return found;
}

export const transposed = (rows) => Array.from(rows[0], (_, k) => rows.map((row) => row[k]));
export const along = (rows, axis, reduce) =>
  (axis ? rows : transposed(rows)).map((row) => reduce(row));
export const total = (numbers) => numbers.reduce((a, b) => a + Number(b), 0);
export const argmax = (numbers) =>
  numbers.reduce((best, x, i) => (x > numbers[best] ? i : best), 0);

const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const SPECIAL = { inf: Infinity, infinity: Infinity, nan: NaN };

export function float(x) {
  if (typeof x !== "string" || DECIMAL.test(x)) return Number(x);
  const words = strip(x).toLowerCase();
  const special = SPECIAL[words.replace(/^[+-]/, "")];
  if (special !== undefined) return words.startsWith("-") ? -special : special;
  return DECIMAL.test(words) ? Number(words) : raise(new ValueError(`no number: ${x}`));
}

export function int(x) {
  const is_known = typeof x !== "string" || /^[+-]?\d+$/.test(strip(x));
  const number = is_known ? Number(x) : NaN;
  if (Number.isNaN(number)) throw new ValueError(`no whole number: ${x}`);
  return Number.isFinite(number) ? Math.trunc(number) + 0 : raise(new OverflowError("infinity"));
}

export const floor = (x) => int(Math.floor(x));
export const ceil = (x) => int(Math.ceil(x));
/** Return a number with some decimals; without them a whole one, which is never -0. */
export function round(x, digits = null) {
  if (!Number.isFinite(x)) return digits === null ? int(x) : x;
  return digits === null ? int(fixed(Number(x), 0)) : Number(fixed(Number(x), digits));
}

/** Return a function of Math that raises errors as that of Python does. */
function raising(compute) {
  return (...given) => {
    const found = compute(...given);
    if (Number.isFinite(found) || given.some(Number.isNaN)) return found;
    if (Number.isNaN(found)) throw new ValueError("math domain error");
    if (given.some((x) => !Number.isFinite(x))) return found;
    throw found > 0 ? new OverflowError("math range error") : new ValueError("math domain error");
  };
}

export const math = Object.fromEntries(
  "sqrt exp log log10 hypot sin cos tan tanh".split(" ").map((name) => [name, raising(Math[name])]),
);

// ---- texts ------------------------------------------------------------------------------------

const SPACE =
  " \t\n\r\f\v\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" +
  "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a";

/** Return a value as text; a float has no text without a format, since 3.0 is 3 here. */
export function str(x) {
  if (x === null) return "None";
  if (typeof x === "boolean") return x ? "True" : "False";
  if (typeof x !== "number")
    return typeof x === "string" ? x : raise(new TypeError("no text of this"));
  if (Number.isNaN(x)) return "nan";
  if (!Number.isFinite(x)) return x > 0 ? "inf" : "-inf";
  return Number.isInteger(x) ? String(BigInt(x)) : raise(new TypeError(`${x} without a format`));
}

const FORMAT = /^(\+?)(#?)(,?)(?:\.(\d+))?([defg%]?)$/;

const written = new Map(); // texts of numbers by format: a caption tries the same ones with other digits

/** Return a value as its format says, such as "+.2f", ",", ".3g" and ".1e". */
export function format(value, spec) {
  if (typeof value !== "number" || value === 0) return formatted(value, spec); // -0 is not 0
  let known = written.get(spec);
  if (!known || known.size > 1000) written.set(spec, (known = new Map()));
  const found = known.get(value) ?? formatted(value, spec);
  known.set(value, found);
  return found;
}

function formatted(value, spec) {
  if (spec === "") return str(value);
  const found = FORMAT.exec(spec);
  if (!found || !is_number(value)) throw new ValueError(`an unknown format: ${spec}`);
  const [, plus, full, comma, digits = "6", kind] = found;
  let words = number_text(Number(value), kind + full, Number(digits));
  if (comma) words = words.replace(/^-?\d+/, (x) => x.replace(/\B(?=(\d{3})+$)/g, ","));
  return plus && !words.startsWith("-") ? `+${words}` : words;
}

function number_text(x, kind, digits) {
  if (kind === "%") return `${number_text(100 * x, "f", digits)}%`;
  if (!Number.isFinite(x) || !kind || kind === "d") return str(x);
  if (kind === "f") return fixed(x, digits);
  return kind === "e" ? exponential(x, digits) : general(x, Math.max(1, digits), kind === "g#");
}

function fixed(x, digits) {
  if (Math.abs(x) < 1e21) return rounded(x, "toFixed", digits);
  return BigInt(x) + (digits ? `.${"0".repeat(digits)}` : "");
}

function exponential(x, digits) {
  const words = rounded(x, "toExponential", digits);
  return "+-".includes(words.at(-2)) ? `${words.slice(0, -1)}0${words.at(-1)}` : words;
}

/** Return a number with some digits in all, without zeros at its end unless all are wanted. */
function general(x, digits, isFull) {
  const [mantissa, power] = exponential(x, digits - 1).split("e");
  const exponent = Number(power);
  const stripped = (words) =>
    isFull ? words : words.includes(".") ? words.replace(/\.?0*$/, "") : words;
  if (exponent < -4 || exponent >= digits) return `${stripped(mantissa)}e${power}`;
  const sign = mantissa.startsWith("-") ? "-" : "";
  const figures = "0".repeat(Math.max(0, -exponent)) + mantissa.replace(/[-.]/g, "");
  const place = Math.max(0, exponent) + 1;
  return stripped(`${sign}${figures.slice(0, place)}.${figures.slice(place)}`);
}

/** Return a number by toFixed or toExponential, with halves rounded to an even digit. */
function rounded(x, way, digits) {
  const exact = x[way](digits + 1);
  const end = way === "toFixed" ? exact.length : exact.indexOf("e");
  const isHalf = exact[end - 1] === "5" && /^50*(e|$)/.test(x[way](100).slice(end - 1));
  const before = exact.slice(0, end - 1);
  if (isHalf && /[02468]\.?$/.test(before)) return before.replace(/\.$/, "") + exact.slice(end);
  return (Object.is(x, -0) ? "-" : "") + x[way](digits);
}

/** Return a text with fields filled in: {}, {0} and {name}, each with a format behind a colon. */
export function filled(words, given, named = {}) {
  let count = 0;
  return words.replace(/\{\{|\}\}|\{(\w*)(?::([^{}]*))?\}/g, (all_of_it, name, spec = "") => {
    if (name === undefined) return all_of_it[0];
    const value =
      name === "" ? at(given, count++) : /^\d+$/.test(name) ? at(given, name) : at(named, name);
    return format(value, spec);
  });
}

export const filler =
  (words) =>
  (...given) =>
    filled(words, given);

/** Return words without letters of a kind at their beginning, at their end or at both. */
export function strip(words, letters = SPACE, atStart = true, atEnd = true) {
  let [first, end] = [0, words.length];
  while (atStart && first < end && letters.includes(words[first])) first += 1;
  while (atEnd && first < end && letters.includes(words[end - 1])) end -= 1;
  return words.slice(first, end);
}

export const lstrip = (words, letters) => strip(words, letters, true, false);
export const rstrip = (words, letters = SPACE) => strip(words, letters, false, true);

export const replace = (words, old, made) => words.replaceAll(old, () => made);

/** Return what stands before a sign, the sign, and what stands behind it. */
export function partition(words, sign) {
  const i = words.indexOf(sign);
  return i < 0 ? [words, "", ""] : [words.slice(0, i), sign, words.slice(i + sign.length)];
}

// Regular expressions have the flags g and u.

export function fullmatch(expression, words) {
  return new RegExp(`^(?:${expression.source})$`, "u").exec(words);
}

export function findall(expression, words) {
  const groups = (found) => (found.length > 2 ? found.slice(1) : found.at(-1));
  return Array.from(words.matchAll(expression), groups);
}

/** Return words with each match replaced by a text, in which \1 is a group, or by a function. */
export function sub(expression, by, words) {
  const filled_in = (found) => by.replace(/\\(\d)/g, (_, group) => found[group] ?? "");
  const make = typeof by === "string" ? filled_in : by;
  let [made, last] = ["", 0];
  for (const found of words.matchAll(expression)) {
    made += words.slice(last, found.index) + make(found);
    last = found.index + found[0].length;
  }
  return made + words.slice(last);
}
