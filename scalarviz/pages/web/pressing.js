// What users press: buttons, options, single keys, and a pen.

import { isNews, made } from "./dom.js";

/** @returns {any} a new button that calls a function */
export function madeButton(name, words, press) {
  const button = made("button", name, words);
  button.addEventListener("click", press);
  return button;
}

/** Give a field one option for each of some pairs of a value and words. */
export function fillOptions(field, chosen, pairs) {
  if (!isNews(field, [chosen, pairs])) return;
  const option = ([value, words]) => new Option(words, value, false, value === chosen);
  field.replaceChildren(...pairs.map(option));
}

/** Whether a key is pressed without others, and thus taken from the page. */
export function takesAlone(event) {
  if (event.ctrlKey || event.altKey || event.metaKey) return false;
  event.preventDefault();
  event.stopPropagation();
  return true;
}

/** Pass on where a pointer presses an element: from 0 to 1, from its upper left corner. */
export function followPen(element, take) {
  const press = (event) => {
    const box = element.getBoundingClientRect();
    take([(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height]);
  };
  element.addEventListener("pointerdown", (event) => {
    element.setPointerCapture(event.pointerId);
    press(event);
  });
  element.addEventListener("pointermove", (event) => event.buttons & 1 && press(event));
}
