// A picture of the user's own: a file that is chosen or dropped, looked at before it is decoded.

import { shortened, text } from "./texts.js";

const MOST_BYTES = 32e6;
const MOST_PIXELS = 4096; // along a side
const HEAD_BYTES = 1 << 20; // bytes in which the size stands
const MOST_LETTERS = 40; // of a name
const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
const JPEG_SIZES = [0xc0, 0xc1, 0xc2, 0xc3, 0xc5, 0xc6, 0xc7, 0xc9, 0xca, 0xcb, 0xcd, 0xce, 0xcf];

/**
 * Return the colors of a file as bytes, three for each pixel, of a picture of some size.
 *
 * Of a picture of another shape the middle is taken. Throws an Error with a sentence for one that
 * is no PNG or JPEG, too large, or broken.
 */
export async function colorsOfFile(file, [wide, high]) {
  const name = shortened(file.name, MOST_LETTERS);
  const refuse = (key, more = {}) => {
    throw new Error(text(`own.picture.${key}`, { name, ...more }));
  };
  if (file.size > MOST_BYTES) refuse("bytes", { size: file.size / 1e6, most: MOST_BYTES / 1e6 });
  const start = file.slice(0, HEAD_BYTES);
  const head = new Uint8Array(await start.arrayBuffer().catch(() => refuse("broken")));
  const size = sizeOf(head);
  if (!size) return refuse("kind");
  const [width, height] = size;
  if (Math.max(...size) > MOST_PIXELS) refuse("pixels", { width, height, most: MOST_PIXELS });
  if (Math.min(...size) < 1) refuse("broken");
  const image = await createImageBitmap(file).catch(() => refuse("broken"));
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width: wide, height: high });
  const context = canvas.getContext("2d");
  context.fillRect(0, 0, wide, high); // black shows through
  context.imageSmoothingQuality = "high";
  const part = Math.min(image.width / wide, image.height / high);
  const [across, down] = [part * wide, part * high];
  const [left, top] = [(image.width - across) / 2, (image.height - down) / 2];
  context.drawImage(image, left, top, across, down, 0, 0, wide, high);
  image.close();
  const pixels = context.getImageData(0, 0, wide, high).data;
  return pixels.filter((_, i) => i % 4 < 3);
}

/** Return [width, height] as they stand in the head of a PNG or JPEG file; null for others. */
function sizeOf(head) {
  const at = (i) => 256 * head[i] + head[i + 1];
  if (PNG.every((each, i) => head[i] === each)) {
    return head.length < 24 ? [0, 0] : [65536 * at(16) + at(18), 65536 * at(20) + at(22)];
  }
  if (head[0] !== 0xff || head[1] !== 0xd8) return null;
  let place = 2;
  while (place + 9 < head.length && head[place] === 0xff) {
    if (JPEG_SIZES.includes(head[place + 1])) return [at(place + 7), at(place + 5)];
    place += head[place + 1] === 0xff ? 1 : 2 + Math.max(2, at(place + 2));
  }
  return [0, 0];
}
