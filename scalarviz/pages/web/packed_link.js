// The settings and weights of a playground in a link: what stands after the # of its address.
//
//   v=1&shape=spiral&hidden=6,4&w=...&step=120

import { text } from "./texts.js";
import { packed, unpackedBytes } from "./zipped.js";
import {
  count_of,
  DEFAULTS,
  is_setting,
  largest_batch,
  lines_in,
  LONGEST,
  MOST_BYTES,
  read_build,
  sentence_on,
  TABLE,
  value_in,
  write_build,
} from "./story/build_link.js";
import { changes_in } from "./story/journal.js";

const CUT = /truncated|without reaching|Z_BUF_ERROR/; // what browsers say of data without an end
const SENTENCES = 3; // about what is wrong, of many

/** Read a link: its settings, weights, changes, and the rest, a moment that `readLink` reads. Nothing fails.
 *
 * settings  of all names in story/build_link.py, with which training begins; `table` is a Table, or ""
 * value     Float32Array of the initial weights; null: drawn from the seed
 * changes   those during training, see story/journal.py
 * kernels   hash of the kernels with which it was trained, or ""
 * rest      the other parts, from # on
 * bad       what is wrong, in sentences, or ""
 */
export async function readBuild(/** @type {string} */ hash) {
  const isLong = hash.length > LONGEST;
  const parts = [...new URLSearchParams(isLong ? "" : hash.replace(/^#/, ""))];
  const [found, wrong] = read_build(parts);
  const bad = [...wrong];
  const { w, do: words, k: kernels, ...settings } = structuredClone(Object.fromEntries(found));
  const wrongTable = settings.table ? await openTable(settings) : "";
  const [value, wrongWeights] = w ? await unpacked(w, count_of(settings)) : [null, ""];
  const changes = words ? changes_in(settings, words) : [];
  if (isLong) bad.push(text("build.long", { most: LONGEST, count: hash.length }));
  if (wrongTable) bad.push(text(`build.${wrongTable}`));
  if (wrongWeights) bad.push(text(`build.${wrongWeights}`));
  if (!changes) bad.push(sentence_on("do", words));
  if (parts.some(([name]) => name === "c")) bad.push(text("challenge.bad"));
  if (bad.length) bad.splice(SENTENCES, Infinity, text("build.rest"));
  const rest = new URLSearchParams(parts.filter(([name]) => name !== "c" && !is_setting(name)));
  return { settings, value, changes: changes ?? [], kernels, rest: `#${rest}`, bad: bad.join(" ") };
}

/** The lines of a table; its last column is learned. */
export class Table {
  constructor(lines, file = "", how = null, columns = 0) {
    this.columns = columns; // of inputs in the file, if some are left out
    this.lines = lines;
    this.file = file; // its name, if it is known
    this.how = how; // arguments with which Python reads the same lines of the file; null: it cannot
    this.words = null; // packed
    this.number = Table.count++;
  }

  static count = 0;

  /** The table as a link has it, or null. */
  async packed() {
    const numbers = this.lines.flat();
    this.words ??= 4 * numbers.length > MOST_BYTES ? "" : await packed(numbers);
    return value_in("table", this.words);
  }

  /** Its number, by which settings are compared. */
  toJSON() {
    return this.number;
  }
}

/** Put the lines of a table into settings in place of packed ones, or remove a damaged table; return
 * the key of a sentence that says what is wrong, or "". */
async function openTable(settings) {
  const [numbers, wrong] = await unpacked(settings.table);
  const lines = numbers ? lines_in([...numbers], settings) : [];
  for (const name of lines.length ? [] : TABLE) settings[name] = DEFAULTS.get(name);
  if (lines.length) settings.table = new Table(lines);
  settings.batch = batchOf(settings);
  return lines.length ? wrong : "cut.table";
}

/** The size of a batch: at most all samples. */
export function batchOf(settings) {
  return Math.min(settings.batch, largest_batch(settings, settings.table ? settings.table.lines.length : 0)); // prettier-ignore
}

/** Return a link, from # on; null for a table that is too long. `rest` is a moment, as `writeLink`
 * writes it, `done` may have `do` and `k`. */
export async function writeBuild(settings, value = null, rest = "#", done = {}) {
  const table = settings.table && (await settings.table.packed());
  if (table === null) return null;
  const w = value ? await packed(value) : "";
  const words = write_build({ ...settings, table, w, do: "", k: "", ...done });
  return `#${words}${rest.length > 1 ? "&" : ""}${rest.slice(1)}`;
}

/** Return [numbers, what is wrong]: `count` packed numbers, or any number of them, and ""; or null and
 * the key of a sentence. */
async function unpacked(words, count = 0) {
  const letters = words.length % 4 === 1 ? words.slice(0, -1) : words; // one alone means nothing
  let bytes;
  try {
    bytes = await unpackedBytes(letters);
  } catch ({ message, code, cause }) {
    return [null, CUT.test(`${message} ${code} ${cause?.code}`) ? "cut" : "damaged"];
  }
  const length = count || bytes.length / 4;
  const isWhole = bytes.length === 4 * length && Number.isInteger(length);
  if (!isWhole || bytes.length > Math.max(MOST_BYTES, 4 * count)) return [null, "miscounted"];
  const view = new DataView(bytes.buffer);
  const value = Float32Array.from({ length }, (_, i) => view.getFloat32(4 * i, true));
  return value.every(Number.isFinite) ? [value, ""] : [null, "not_finite"];
}
