// A CSV file as a table to learn, read as data/table_files.py does; its last column is learned.

import { Table } from "./packed_link.js";
import { MOST_CLASSES, MOST_INPUTS, MOST_LINES } from "./story/build_link.js";
import { plural, shortened, text } from "./texts.js";

const MOST_BYTES = 2 ** 24; // of a file
const FEWEST = 10; // lines for each whole number if these are classes
const LONGEST_NAME = 28;
const LONGEST_SAID = 24; // letters of a cell in a sentence
const MISSING = ["", "na", "nan", "n/a", "null", "?", "-"];
const NUMBER = /^\s*[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?|nan)\s*$/i;
const COMMA = /^\s*[+-]?\d+,\d+\s*$/;
const UNNAMED = /[^ -+\--~¡-¬®-῿⁰-퟿]/gu; // commas, and letters that are not seen

/** Why a file is no table, in a sentence; `bad` lines could be left out. */
export class CsvError extends Error {
  constructor(words, bad = 0) {
    super(words);
    this.bad = bad;
  }
}

/** The table in a file: {settings: {table, names, classes}, notes}, or a CsvError.
 *
 * @param {File} file
 * @param {boolean} leavesOut whether lines with cells that cannot be read are left out
 */
export async function tableOfFile(file, leavesOut = false) {
  const name = shortened(file.name, 2 * LONGEST_SAID);
  if (file.size > MOST_BYTES)
    throw new CsvError(text("csv.large", { file: name, most: MOST_BYTES / 2 ** 20 }));
  let words;
  try {
    words = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    words = "\0";
  }
  if (words.includes("\0")) throw new CsvError(text("csv.not_text", { file: name }));
  return tableOf(words, name, file.name, leavesOut);
}

/** The table in a text. */
function tableOf(words, file, path, leavesOut) {
  const rows = rowsOf(words, file);
  if (!rows.length) throw new CsvError(text("csv.empty", { file }));
  const [, first] = rows[0];
  const wide = first.length;
  const isNamed = !first.some(isNumber);
  if (isNamed) rows.shift();
  const all = first.map((_, i) => i).slice(0, -1);
  const used = all.filter((i) => !isNamed || first[i].trim());
  if (!used.length) throw new CsvError(text("csv.narrow", { file }));
  if (!rows.length) throw new CsvError(text("csv.header", { file }));
  const inputs = used.slice(0, MOST_INPUTS);
  const { good, bad, isMissing, isSorted } = divided(rows, [...inputs, wide - 1], wide, file);
  const few = good.length < 2;
  if (bad.length && (few || !leavesOut))
    throw new CsvError(few ? bad[0] : `${bad[0]} ${plural("csv.mend", bad.length)}`, few ? 0 : bad.length); // prettier-ignore
  if (few) throw new CsvError(text("csv.few", { file }));
  const { classes, lines } = learned(good.slice(0, MOST_LINES), isSorted, file);
  const names = [...inputs, wide - 1].map((column, i) => {
    const usual = text(i < inputs.length ? "exhibits.axis.input" : "exhibits.axis.output", { number: i + 1 }); // prettier-ignore
    return named(isNamed ? first[column] : "", usual);
  });
  const twice = names.slice(0, -1).find((name, i) => names.indexOf(name) < i);
  const isPart = inputs.length < all.length;
  const how = [
    isPart ? `, inputs=[${inputs.join(", ")}]` : "",
    bad.length ? ', missing="drop"' : "",
  ];
  const table = new Table(lines, path, bad.length && !isMissing ? null : how.join(""), isPart ? all.length : 0); // prettier-ignore
  const notes = [
    good.length > MOST_LINES ? text("csv.long", { most: MOST_LINES, count: good.length }) : "",
    used.length > inputs.length ? text("csv.wide", { most: MOST_INPUTS, count: used.length }) : "",
    twice === undefined ? "" : text("csv.equal", { name: twice }),
  ];
  return { settings: { table, names, classes }, notes: notes.filter(Boolean) };
}

/** Rows of a CSV text that are not empty: [line, cells], the first one shows the separator. */
function rowsOf(words, file) {
  const first = words.split(/\r\n|[\r\n]/).find((line) => line.trim()) ?? "";
  const separator = ["\t", ";"].find((sign) => first.includes(sign)) ?? ",";
  const parts = new RegExp(`(?:"([^"]*(?:""[^"]*)*)("|$)|(?!")([^${separator}\\r\\n]*))(${separator}|\\r\\n|[\\r\\n]|$)`, "y"); // prettier-ignore
  const rows = [];
  let [line, cells] = [1, /** @type {string[]} */ ([])];
  while (parts.lastIndex < words.length || cells.length) {
    const found = parts.exec(words);
    const [, quoted, closing, plain, end] = found ?? [];
    if (!found || (quoted !== undefined && closing === ""))
      throw new CsvError(text("csv.quotes", { file, line }));
    cells.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    line += quoted?.match(/\r\n|[\r\n]/g)?.length ?? 0;
    if (end === separator) continue;
    if (cells.some((cell) => cell.trim())) rows.push([line, cells]);
    [line, cells] = [line + 1, []];
  }
  return rows;
}

/** Rows whose cells can be read, and a sentence about each of the others before MOST_LINES good ones. */
function divided(rows, columns, wide, file) {
  const goal = columns.at(-1);
  const kind = rows.find(([, cells]) => isName(cells[goal] ?? "") || isNumber(cells[goal] ?? ""));
  const isSorted = kind !== undefined && isName(kind[1][goal]);
  const fits = (cell, column) => (isSorted && column === goal ? isName(cell) : isFinite(cell));
  const [good, bad] = [[], []];
  let isMissing = true; // in all of the others
  for (const [line, cells] of rows) {
    const column = columns.find((each) => !fits(cells[each] ?? "", each));
    const isWide = cells.length !== wide;
    if (!isWide && column === undefined) good.push(columns.map((each) => cells[each].trim()));
    else if (good.length < MOST_LINES) {
      bad.push(isWide ? text("csv.width", { file, line, wide, found: cells.length }) : sentenceOn(cells[column], { file, line, column: column + 1 }, isSorted && column === goal)); // prettier-ignore
      isMissing &&= !isWide && columns.some((each) => isBlank(cells[each]));
    }
  }
  return { good, bad, isMissing, isSorted };
}

/** The sentence on a cell that cannot be read. */
function sentenceOn(cell, place, isGoal) {
  const said = shortened(cell.trim(), LONGEST_SAID);
  if (isBlank(cell)) return text(said ? "csv.missing" : "csv.blank", { ...place, cell: said });
  if (COMMA.test(cell)) return text("csv.comma", { ...place, cell: said });
  return text(isGoal ? "csv.name" : "csv.cell", { ...place, cell: said });
}

/** The names of the classes, none for numbers, and lines of numbers. */
function learned(rows, isSorted, file) {
  const last = rows.map((row) => (isSorted ? row.at(-1) : Number(row.at(-1))));
  const kinds = [...new Set(last)].sort(isSorted ? undefined : (a, b) => a - b);
  if (kinds.length === 1)
    throw new CsvError(text("csv.same", { count: rows.length, name: shortened(String(kinds[0]), LONGEST_SAID) })); // prettier-ignore
  const isWhole = !isSorted && kinds.every((each) => Number.isInteger(each) && each >= 0);
  const isFew = kinds.length === 2 || FEWEST * kinds.length <= rows.length;
  const areClasses = isSorted || (isWhole && isFew && kinds.length <= MOST_CLASSES);
  if (isSorted && kinds.length > MOST_CLASSES)
    throw new CsvError(text("csv.classes", { file, count: kinds.length, most: MOST_CLASSES }));
  const lines = rows.map((row, i) => [
    ...row.slice(0, -1).map((cell) => Math.fround(Number(cell))),
    areClasses ? kinds.indexOf(last[i]) : Math.fround(/** @type {number} */ (last[i])),
  ]);
  return {
    classes: areClasses ? kinds.map((kind, i) => named(String(kind), String(i))) : [],
    lines,
  };
}

/** A cell as a name that a link can hold, or the usual name. */
function named(cell, usual) {
  return shortened(cell.replace(UNNAMED, " ").trim() || usual, LONGEST_NAME - 1);
}

function isNumber(cell) {
  return NUMBER.test(cell);
}

function isFinite(cell) {
  return isNumber(cell) && Number.isFinite(Math.fround(Number(cell)));
}

function isBlank(cell) {
  return MISSING.includes(cell.trim().toLowerCase());
}

function isName(cell) {
  return !isBlank(cell) && !isNumber(cell) && /\p{L}/u.test(cell);
}
