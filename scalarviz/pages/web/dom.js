// Elements of the page, and the data that it contains. Words become text, never HTML.

import { setTexts, text } from "./texts.js";
import { unzippedText } from "./zipped.js";

/** @returns {any} the element of an id */
export function byId(id) {
  return document.getElementById(id);
}

/** @returns {any} a new element with a class and with words and elements in it */
export function made(tag, name = "", ...inside) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  element.append(...inside);
  return element;
}

/** What this browser remembers by a name for all pages; null for nothing. */
export function remembered(name) {
  try {
    return JSON.parse(localStorage.getItem(`scalarviz ${name}`));
  } catch {
    return null; // it keeps nothing
  }
}

/** Let this browser remember something by a name for all pages, if it keeps anything. */
export function remember(name, thing) {
  try {
    localStorage.setItem(`scalarviz ${name}`, JSON.stringify(thing));
  } catch {
    // as without
  }
}

/** Show or hide an element. */
export function setShown(element, isShown) {
  if (element.hidden === isShown) element.hidden = !isShown;
}

/** Write words into an element, if they are others than those that stand there. */
export function setWords(element, words) {
  if (element.textContent !== words) element.textContent = words;
}

const shownBy = new WeakMap(); // what each element shows

/** Whether an element is to show something else than the last time. */
export function isNews(element, shown) {
  const mark = JSON.stringify(shown);
  const isSame = shownBy.get(element) === mark;
  shownBy.set(element, mark);
  return !isSame;
}

/** Return the value of a custom property of the style, such as "--ink". */
export function styled(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Whether the page is shown within another one. */
export function isFramed() {
  return window.parent !== window;
}

/** Whether the page is used by fingers, most likely without keys. */
export function isTouched() {
  return matchMedia("(hover: none)").matches;
}

/** Return the length of the style's unit in logical pixels: 1 on a window of usual size. */
export function unitLength() {
  return parseFloat(getComputedStyle(document.body).fontSize) / 14;
}

/** Draw an image onto a canvas, which gets its size; `colorOf` gives the bytes of a pixel. */
export function putImage(canvas, width, height, colorOf) {
  Object.assign(canvas, { width, height });
  const context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  for (let i = 0; i < width * height; i++) image.data.set([...colorOf(i), 255], 4 * i);
  context.putImageData(image, 0, 0);
}

/** Resize a canvas to its place in the page; return its context, scaled to logical pixels. */
export function fitted(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = canvas;
  const pixels = { width: Math.round(width * ratio), height: Math.round(height * ratio) };
  if (canvas.width !== pixels.width || canvas.height !== pixels.height)
    Object.assign(canvas, pixels);
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}

// The data of the page, and one sentence instead of the page if they are damaged.

/** Return the data that stand in the page: those packed as one part, and those of their own.
 *
 * @returns {Promise<any>}
 */
export async function dataOfPage() {
  byId("waiting").remove(); // which a page says that is cut off before its loader
  try {
    const { plain, ...parts } = JSON.parse(byId("data").textContent);
    const data = { ...JSON.parse(await unzippedText(plain)), ...parts };
    setTexts(data.texts);
    addEventListener("error", (event) => failWith(event.error ?? event.message));
    addEventListener("unhandledrejection", (event) => failWith(event.reason));
    return data;
  } catch (error) {
    setShown(byId("failure"), true); // which says that they are damaged
    throw error;
  }
}

/** Show one sentence instead of the page, and a button that loads it again. */
export function fail(words) {
  byId("failure").querySelector("p").textContent = words;
  setShown(byId("failure"), true);
}

/** Show what went wrong, where nothing knows better. */
export function failWith(error) {
  console.error(error);
  if (!byId("failure").hidden) return;
  fail(
    error?.key ? text(error.key) : text("page.failed", { error: error?.message ?? String(error) }),
  );
}
