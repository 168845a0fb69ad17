// What bundle.py packed into the page, letters of gzip, whose checksum tells damage; and numbers in
// links.

// Each stands for its place; five are four bytes. As base85, with "," and "." for "<" and "&".
const LETTERS =
  "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%.()*+-;,=>?@^_`{|}~";

/** Decode a text of base64 or base64url to bytes. */
export function bytesIn(words) {
  const letters = atob(words.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

/** Decode a text of letters to bytes. */
function bytesOf(words) {
  const places = new Uint8Array(128);
  for (let i = 0; i < LETTERS.length; i++) places[LETTERS.charCodeAt(i)] = i;
  const four = new DataView(new ArrayBuffer(4 * Math.ceil(words.length / 5)));
  for (let i = 0; i < words.length; i += 5) {
    let number = 0;
    for (let k = i; k < i + 5; k++)
      number = 85 * number + (k < words.length ? places[words.charCodeAt(k)] : 84);
    four.setUint32((i / 5) * 4, number);
  }
  return new Uint8Array(four.buffer, 0, Math.floor((4 * words.length) / 5));
}

/** Return the bytes of a packed text; throw an Error with a message key if it is damaged. */
export async function unzipped(words) {
  if (!words) return new Uint8Array(0);
  try {
    return await through(new DecompressionStream("gzip"), bytesOf(words));
  } catch (error) {
    throw Object.assign(new Error(`${error}`), { key: "page.html.damaged" });
  }
}

/** Unpack a text. */
export async function unzippedText(words) {
  return new TextDecoder().decode(await unzipped(words));
}

/** Return float32 numbers as base64url of raw deflate. */
export async function packed(value) {
  return packedBytes(littleEndian(value));
}

/** Return bytes as base64url of raw deflate. */
export async function packedBytes(bytes) {
  return lettersOf(await through(new CompressionStream("deflate-raw"), bytes));
}

/** Return packed bytes; it raises what the browser says of damaged ones. */
export async function unpackedBytes(words) {
  const stream = new DecompressionStream("deflate-raw");
  const made = new Response(stream.readable).arrayBuffer();
  made.catch(() => {}); // the writer knows why
  const writer = stream.writable.getWriter();
  await Promise.all([writer.write(bytesIn(words)), writer.close()]);
  return new Uint8Array(await made);
}

/** Return bytes as base64url. */
export function lettersOf(bytes) {
  const letters = btoa(String.fromCharCode(...bytes));
  return letters.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Return what a stream makes of bytes. */
async function through(stream, bytes) {
  const made = new Response(new Blob([bytes]).stream().pipeThrough(stream));
  return new Uint8Array(await made.arrayBuffer());
}

/** Return the bytes of numbers as float32, little endian. */
export function littleEndian(value) {
  const view = new DataView(new ArrayBuffer(4 * value.length));
  value.forEach((number, i) => view.setFloat32(4 * i, number, true));
  return new Uint8Array(view.buffer);
}
