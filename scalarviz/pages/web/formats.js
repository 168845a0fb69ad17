// Numbers and formulas of captions, digit for digit as story/formats.py and
// base/texts/decimals.py
// write them.

export const FEW_DIGITS = 2; // digits of numbers; more only where differences would vanish
export const MOST_DIGITS = 6;
const FINEST = 9;
const MOST_ALIKE = 5; // digits up to which a number is written alike in a whole caption
const TRIES = 6;
export const LEAST_POWER = -6; // of ten: from here to below the next, numbers are plain decimals
export const MOST_POWER = 6;

let digitsNow = null; // of the caption that is being made: {least, writings}

/** Return 10 to a whole power, exactly as it is read from text. */
export function powerOfTen(exponent) {
  return Number(`1e${exponent}`);
}

/** Return a written number; Python writes infinities as inf. */
export function numberOf(writing) {
  if (writing === "inf") return Infinity;
  return writing === "-inf" ? -Infinity : Number(writing);
}

/** Return what `make` returns, with each number written with the same digits everywhere. */
export function writtenAlike(make) {
  const before = digitsNow;
  const digits = (digitsNow = { least: new Map(), writings: new Map() });
  let made;
  try {
    for (let i = 0; i < TRIES; i++) {
      digits.writings.clear();
      made = make();
      let enough = true;
      const more = [];
      for (const [key, needed] of digits.writings) {
        if (needed.size < 2) continue;
        const least = Math.min(MOST_ALIKE, Math.max(...needed.values()));
        more.push([key, least]);
        enough &&= (digits.least.get(key) ?? 0) >= least;
      }
      if (enough) break;
      for (const [key, least] of more) digits.least.set(key, least);
    }
  } finally {
    digitsNow = before;
  }
  return made;
}

/** Return what `make` returns, with digits that do not depend on other numbers. */
export function writtenApart(make) {
  const before = digitsNow;
  digitsNow = null;
  try {
    return make();
  } finally {
    digitsNow = before;
  }
}

/** Return a name for a number: numbers that differ by rounding only, or in sign, are one. */
function keyOf(value) {
  return Number.isFinite(value) ? exponential(Math.abs(value), 5) : String(Math.abs(value));
}

/** Return how many digits a number has, at least the given ones. */
function digitsOf(value, digits) {
  return digitsNow === null ? digits : Math.max(digits, digitsNow.least.get(keyOf(value)) ?? 0);
}

/** Remember how a number has been written. */
function keep(value, writing, digits) {
  if (digitsNow === null) return;
  const key = keyOf(value);
  if (!digitsNow.writings.has(key)) digitsNow.writings.set(key, new Map());
  digitsNow.writings.get(key).set(writing.replace(/^-+/, ""), digits);
}

/** Return a number with some digits, or as many as it has elsewhere in the caption. */
export function said(value, digits = FEW_DIGITS) {
  const most = digitsOf(value, digits);
  const writing = rounded(value, most);
  keep(value, writing, most);
  return writing;
}

/** Return a number with some digits: 0.15, -1.3, 1234, 1.4e-8, and never -0. */
export function rounded(value, digits = FEW_DIGITS) {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (value === 0) return "0";
  const [mantissa, power] = exponential(value, digits - 1).split("e");
  const exponent = Number(power);
  if (!isPlain(exponent)) return `${stripped(mantissa)}e${exponent}`;
  return stripped(fixed(value, Math.max(0, digits - 1 - exponent)));
}

/** Whether numbers with this exponent of ten are written as plain decimals. */
export function isPlain(exponent) {
  return LEAST_POWER <= exponent && exponent < MOST_POWER;
}

/** Return a number without zeros that say nothing. */
export function stripped(number) {
  return number.includes(".") ? number.replace(/\.?0+$/, "") : number;
}

/** Return a number for a cube or a sphere, as `short` of base/texts/decimals.py. */
export function shortNumber(value, digits = 2) {
  const size = Math.abs(value);
  if (!(size < powerOfTen(MOST_POWER))) return rounded(value, 1);
  const words = fixed(value, Math.max(0, digits + 1 - String(Math.trunc(size)).length));
  if (Number(words)) return onCube(words);
  return value ? onCube(fixed(0, digits)) : "0"; // never -.00
}

/** Return words with numbers as cubes and spheres have them: without a zero before the point. */
export function onCube(words) {
  return words.replace(/(^|[^\d.])0\.(?=\d)/g, "$1.");
}

/** Return words with true minus signs: of numbers, exponents and differences, in no name as 3-8-3. */
export function trueMinus(words) {
  if (!words.includes("-")) return words;
  const signs = words.replace(/(^|[^\w.)\]-])-(?=[.\d(]|inf\b)/g, "$1−").replace(/ - /g, " − ");
  return signs.replace(/(\de)-(?=\d)/g, "$1−");
}

/** Return a number with some decimals, and without a sign if it rounds to zero. */
export function withDecimals(value, decimals) {
  const words = value.toFixed(decimals);
  return Number(words) === 0 ? (0).toFixed(decimals) : words;
}

/** Return a number with an exponent; halves are rounded to the even digit, as Python does. */
function exponential(value, decimals) {
  const half = halfAt(value, decimals + 1);
  return half === null ? value.toExponential(decimals) : Number(half).toExponential(decimals);
}

/** Return a number with some decimals; halves are rounded to the even digit. */
export function fixed(value, decimals) {
  if (Math.abs(value) >= 1e21) return BigInt(value) + (decimals ? "." + "0".repeat(decimals) : "");
  const [, power] = value.toExponential().split("e");
  const half = halfAt(value, decimals + 1 + Number(power));
  if (half === null) return value.toFixed(decimals);
  const sign = value < 0 ? "-" : "";
  return sign + Math.abs(Number(half)).toFixed(decimals);
}

/**
 * Return the smaller neighbour, as text, of a number that lies exactly in the middle of two numbers
 * with `count` digits, if its last digit is even; else null, since JavaScript rounds halves up.
 */
function halfAt(value, count) {
  const [mantissa, power] = value.toExponential().split("e");
  const digits = mantissa.replace(/[-.]/g, "");
  if (count < 0 || digits.length !== count + 1 || !digits.endsWith("5")) return null;
  const all = value.toExponential(60).split("e")[0].replace(/[-.]/g, "");
  if (!/^0*$/.test(all.slice(count + 1))) return null;
  const kept = digits.slice(0, -1) || "0";
  if (Number(kept.slice(-1)) % 2) return null;
  return `${value < 0 ? "-" : ""}${kept}e${Number(power) - count + 1}`;
}

/** Return a number with so many digits in all, as Python's format "g". */
export function generalNumber(value, digits = 6) {
  if (!Number.isFinite(value) || value === 0) return rounded(value);
  const [mantissa, power] = exponential(value, Math.max(digits, 1) - 1).split("e");
  const exponent = Number(power);
  if (-4 <= exponent && exponent < digits)
    return stripped(fixed(value, Math.max(0, digits - 1 - exponent)));
  const size = String(Math.abs(exponent)).padStart(2, "0");
  return `${stripped(mantissa)}e${exponent < 0 ? "-" : "+"}${size}`;
}

/** Return how many digits a written number has. */
export function figures(writing) {
  return writing
    .split("e")[0]
    .replace(/^[-0.]+/, "")
    .replaceAll(".", "").length;
}

/** Return what a 1 in the last digit of `rounded(value, digits)` is worth. */
export function lastPlace(value, digits) {
  if (value === 0) return powerOfTen(-MOST_DIGITS);
  const exponent = Number(exponential(value, digits - 1).split("e")[1]);
  const isWhole = 0 <= exponent && exponent < MOST_POWER;
  return powerOfTen(Math.min(exponent - digits + 1, isWhole ? 0 : exponent));
}

/** Return two numbers with as many digits as tell one from the other. */
export function bothSaid(old, fresh) {
  const digits = digitsOf(fresh, digitsOf(old, digitsBetween(old, fresh)));
  return [said(old, digits), said(fresh, digits)];
}

/** Return the number of digits that tell two numbers from each other. */
export function digitsBetween(old, fresh) {
  let digits = FEW_DIGITS;
  while (old !== fresh && digits < FINEST && rounded(old, digits) === rounded(fresh, digits)) {
    digits += 1;
  }
  return digits;
}

/**
 * Return numbers and their result as written, with as few digits as make them agree, and whether
 * they do.
 *
 * compute  computes the result from the numbers
 * exact    which of the numbers are not rounded
 */
export function agreeing(values, compute, result, least = FEW_DIGITS, exact = []) {
  const isNumber = Number.isFinite(result);
  if (isNumber) {
    for (const wanted of new Set([digitsOf(result, least), least])) {
      for (let digits = least; digits <= FINEST; digits++) {
        const shown = writings(values, digits, exact);
        const found = valueOf(compute, shown);
        for (let fewer = Math.max(digits, wanted); fewer >= wanted; fewer--) {
          const ending = rounded(result, fewer);
          if (Math.abs(found - numberOf(ending)) < 0.4999 * lastPlace(result, fewer)) {
            keepAll(values, shown, digits, exact);
            keep(result, ending, fewer);
            return [shown, ending, true];
          }
        }
      }
    }
  }
  const digits = least + Number(isNumber);
  const shown = writings(values, digits, exact);
  keepAll(values, shown, digits, exact);
  return [shown, said(result, digits), !isNumber];
}

/** Return numbers with some digits, and exact ones with more. */
function writings(values, digits, exact) {
  return values.map((value, i) =>
    rounded(value, exact[i] ? Math.max(digits, MOST_DIGITS) : digitsOf(value, digits)),
  );
}

/** Remember how numbers have been written that are not exact. */
function keepAll(values, shown, digits, exact) {
  values.forEach((value, i) => {
    if (!exact[i]) keep(value, shown[i], digitsOf(value, digits));
  });
}

/** Return what numbers as they are written give. */
export function valueOf(compute, shown) {
  return compute(shown.map(numberOf));
}

/** Return an exactly rounded sum, by keeping what each addition loses; as Python's fsum. */
export function exactSum(values) {
  const parts = [];
  for (const value of values) {
    if (!Number.isFinite(value)) return values.reduce((sum, each) => sum + each, 0);
    let x = value;
    let count = 0;
    for (let y of parts) {
      if (Math.abs(x) < Math.abs(y)) [x, y] = [y, x];
      const high = x + y;
      const low = y - (high - x);
      if (low) parts[count++] = low;
      x = high;
    }
    parts.length = count;
    parts.push(x);
  }
  let i = parts.length - 1;
  let high = i < 0 ? 0 : parts[i];
  let low = 0;
  while (i > 0 && low === 0) {
    const x = high;
    const y = parts[--i];
    high = x + y;
    low = y - (high - x);
  }
  if (i > 0 && low * parts[i - 1] > 0) {
    const doubled = low * 2;
    const next = high + doubled;
    if (doubled === next - high) high = next;
  }
  return high;
}

/** Return a formula of a table with the signs of a text: ×, and ² for a square. */
export function pretty(formula) {
  const signs = besides(formula.replaceAll("**", "^").replaceAll("*", "×"), "×");
  return signs.replace(/\^2(?![\d.])/g, "²").replaceAll("- -", "+ ");
}

/** Return a formula with a sign in products that have none, as in 2 (p - t). */
function besides(formula, sign) {
  return formula.replace(/(\d|\)|\b[aptz]) (?=\(|[aptz]\b)/g, `$1 ${sign} `);
}

/** Return a number that a sign or a power stands beside: a negative one in brackets. */
export function inBrackets(writing) {
  return writing.startsWith("-") ? `(${writing})` : writing;
}

/** Return a formula with written numbers in place of known names. */
export function fillNumbers(formula, numbers) {
  const filled = besides(formula, "*").replace(/\b[A-Za-z_]\w*\b\^?/g, (found, at, whole) => {
    const name = found.replace(/\^$/, "");
    if (!(name in numbers)) return found;
    const isPower = found !== name;
    const holds = isPower || whole.slice(0, at).endsWith("-");
    return (holds ? inBrackets(numbers[name]) : numbers[name]) + (isPower ? "^" : "");
  });
  return pretty(filled.replace(/\^(-[\d.]+(?:e-?\d+)?)/g, "^($1)"));
}

const TYPED = /^([+-]\s*)?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** Return the decimal number that a user has typed, with a comma or a point; NaN for anything else. */
export function numberTyped(words) {
  const given = words
    .trim()
    .replace(",", ".")
    .replace(/[\u2212\u2013]/, "-");
  return TYPED.test(given) ? Number(given.replace(/\s/g, "")) : NaN;
}
