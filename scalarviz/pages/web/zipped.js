// What bundle.py packed into the page: base64 of gzip, whose checksum tells damage.

/** The bytes of a text in base64. */
export function bytesIn(words) {
  const letters = atob(words);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

/** Return the bytes of a packed text, none of an empty one; throw an error with a key. */
export async function unzipped(words) {
  if (!words) return new Uint8Array(0);
  try {
    const stream = new Blob([bytesIn(words)]).stream();
    const whole = new Response(stream.pipeThrough(new DecompressionStream("gzip")));
    return new Uint8Array(await whole.arrayBuffer());
  } catch (error) {
    throw Object.assign(new Error(`${error}`), { key: "page.html.damaged" });
  }
}

/** Return the text that was packed. */
export async function unzippedText(words) {
  return new TextDecoder().decode(await unzipped(words));
}
