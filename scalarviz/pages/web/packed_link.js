// The settings and weights of a playground in a link: what stands after the # of its address.
//
//   v=1&shape=spiral&hidden=6,4&w=...&step=120

import { text } from "./texts.js";
import { bytesIn } from "./zipped.js";
import { count_of, is_setting, LONGEST, read_build, write_build } from "./story/build_link.js";

const SENTENCES = 3; // about what is wrong, of many

/** Read a link: its settings, weights, and the rest, a moment that `readLink` reads. Nothing fails.
 *
 * settings  of all names in story/build_link.py
 * value     Float32Array of the weights; null: those of the seed
 * rest      the other parts, from # on
 * bad       what is wrong, in sentences, or ""
 */
export async function readBuild(/** @type {string} */ hash) {
  const isLong = hash.length > LONGEST;
  const parts = [...new URLSearchParams(isLong ? "" : hash.replace(/^#/, ""))];
  const [found, bad] = read_build(parts);
  const { w, ...settings } = structuredClone(Object.fromEntries(found));
  const value = w ? await unpacked(w, count_of(settings)) : null;
  if (isLong) bad.push(text("build.long", { most: LONGEST, count: hash.length }));
  if (w && !value) bad.push(text("build.cut"));
  if (bad.length) bad.splice(SENTENCES, Infinity, text("build.rest"));
  const rest = new URLSearchParams(parts.filter(([name]) => !is_setting(name)));
  return { settings, value, rest: `#${rest}`, bad: bad.join(" ") };
}

/** Return a link, from # on; `rest` is a moment, as `writeLink` writes it. */
export async function writeBuild(settings, value = null, rest = "#") {
  const words = write_build({ ...settings, w: value ? await packed(value) : "" });
  return `#${words}${rest.length > 1 ? "&" : ""}${rest.slice(1)}`;
}

/** Return float32 numbers as base64url of raw deflate. */
async function packed(value) {
  const bytes = await through(new CompressionStream("deflate-raw"), littleEndian(value));
  const letters = btoa(String.fromCharCode(...bytes));
  return letters.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Return `count` packed numbers; null if they are damaged, more or fewer, or not finite. */
async function unpacked(words, count) {
  try {
    const bytes = bytesIn(words.replaceAll("-", "+").replaceAll("_", "/"));
    const opened = await through(new DecompressionStream("deflate-raw"), bytes, 4 * count);
    const view = new DataView(opened.buffer, 0, 4 * count);
    const value = Float32Array.from({ length: count }, (_, i) => view.getFloat32(4 * i, true));
    return opened.length === 4 * count && value.every(Number.isFinite) ? value : null;
  } catch {
    return null;
  }
}

/** Return the bytes of numbers as float32, little endian. */
export function littleEndian(value) {
  const view = new DataView(new ArrayBuffer(4 * value.length));
  value.forEach((number, i) => view.setFloat32(4 * i, number, true));
  return new Uint8Array(view.buffer);
}

/** Return what a stream makes of bytes; throw RangeError if it is more than `most` bytes. */
async function through(stream, bytes, most = Infinity) {
  const parts = [];
  let count = 0;
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    parts.push(part.value);
    count += part.value.length;
    if (count > most) {
      await reader.cancel();
      throw new RangeError(`more than ${most} bytes`);
    }
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}
