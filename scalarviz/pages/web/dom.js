// Elements of the page. Words become text, never HTML.

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

/** Show or hide an element. */
export function setShown(element, isShown) {
  if (element.hidden === isShown) element.hidden = !isShown;
}

/** Write words into an element, if they are others than those that stand there. */
export function setWords(element, words) {
  if (element.textContent !== words) element.textContent = words;
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

/** Return where a pointer is in an element: from 0 to 1, from its upper left corner. */
export function pointerIn(element, event) {
  const box = element.getBoundingClientRect();
  return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
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
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide || canvas.height !== high)
    Object.assign(canvas, { width: wide, height: high });
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}
