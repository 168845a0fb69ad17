// Elements of the page, and the data that it contains. Words become text, never HTML.

import { setTexts, text } from "./texts.js";
import { unzippedText } from "./zipped.js";

/** @returns {any} the element with an id */
export function byId(id) {
  return document.getElementById(id);
}

/** @returns {any} a new element with a class that contains texts and elements */
export function made(tag, name = "", ...inside) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  element.append(...inside);
  return element;
}

/** Return what this browser has stored for all pages under a name, or null. */
export function remembered(name) {
  try {
    return JSON.parse(localStorage.getItem(`scalarviz ${name}`));
  } catch {
    return null; // it keeps nothing
  }
}

/** Store something under a name for all pages, if the browser allows it. */
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

/** Set the text of an element if it has changed. */
export function setWords(element, words) {
  if (element.textContent !== words) element.textContent = words;
}

const shownBy = new WeakMap(); // what each element shows

/** Return whether the content for an element differs from the last time. */
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

/** Return whether the page is embedded in another page. */
export function isFramed() {
  return window.parent !== window;
}

/** Return whether the page is used on a touch screen, most likely without a keyboard. */
export function isTouched() {
  return matchMedia("(hover: none)").matches;
}

/** Return the length unit of the style in logical pixels: 1 for a window of usual size. */
export function unitLength() {
  return parseFloat(getComputedStyle(document.body).fontSize) / 14;
}

/** Return whether the rules for phones apply, which pages/build.css marks. */
export function isPhone() {
  return styled("--phone") === "1";
}

/** Draw an image onto a canvas of the same size; `colorOf` returns the bytes of a pixel. */
export function putImage(canvas, width, height, colorOf) {
  Object.assign(canvas, { width, height });
  const context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  for (let i = 0; i < width * height; i++) image.data.set([...colorOf(i), 255], 4 * i);
  context.putImageData(image, 0, 0);
}

/** Resize a canvas to its size in the page; return its context, scaled to logical pixels. */
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

/** Return the data in the page: those that are packed together, and those in separate elements.
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

/** Replace the page by a message and a button that reloads the page. */
export function fail(words) {
  byId("failure").querySelector("p").textContent = words;
  setShown(byId("failure"), true);
}

/** Show an unexpected error. */
export function failWith(error) {
  console.error(error);
  if (!byId("failure").hidden) return;
  fail(
    error?.key ? text(error.key) : text("page.failed", { error: error?.message ?? String(error) }),
  );
}
