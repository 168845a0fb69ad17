// What users press and move: buttons, options, a pen, the mouse and fingers on the picture, keys.

import { isFramed, isNews, made } from "./dom.js";
import { DIRECTIONS } from "./story/picking.js";

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

/** The way of an arrow key, [x, y]; undefined for other keys. */
export function wayOf(key) {
  return DIRECTIONS.get(/^Arrow(\w+)$/.exec(key)?.[1].toLowerCase());
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

/** Pass on the ways of the arrow keys, [x, y], that are pressed on an element. */
export function followArrows(element, go) {
  element.addEventListener("keydown", (event) => {
    const way = wayOf(event.key);
    if (way && takesAlone(event)) go(way);
  });
}

// Mouse and fingers on the picture: dragging orbits, two fingers zoom and move, a tap picks.
//
// Where the page or the one around it may scroll, one finger up or down and the wheel scroll; the wheel
// zooms after a click into the picture, until the mouse leaves it.

const TAP = 6; // pixels that a pointer may move between down and up of a tap
const LONG = 400; // milliseconds for which a finger rests on a thing before it drags it

/**
 * Passes gestures on a canvas to `orbit`, `pan`, `zoom`, `hover`, `tap` and `home` of a target.
 *
 * What `hold` returns for a place, and whether it is touched by a finger, is dragged up and down
 * instead: `drag` gets it and the pixels, `drop` too at the end. `signal` ends all of it.
 */
export function followPointers(canvas, target, signal) {
  const listen = (name, act, more = {}) => canvas.addEventListener(name, act, { signal, ...more });
  const down = new Map(); // by id of the pointer, where it is
  let moved = 0;
  let chosen = false; // whether the mouse has clicked here since it came
  let rests = 0; // the timer of a finger that has not moved yet
  let held = null; // {thing, y, far}: what is dragged, where it was taken, and how far up it is

  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  listen("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    chosen = true;
    if (!down.size) moved = 0;
    const [x, y] = at(event);
    const holds = event.button === 0 && !event.shiftKey && !down.size;
    const isFinger = event.pointerType !== "mouse";
    const take = (isPinned) => {
      const thing = target.hold(x, y, isPinned);
      held = thing && { thing, y, far: 0 };
    };
    if (held) target.drop(held.thing, held.far); // a second finger
    held = null;
    clearTimeout(rests);
    if (holds) take(isFinger);
    if (holds && isFinger && !held)
      rests = setTimeout(() => {
        target.hover(x, y);
        take(false);
      }, LONG);
    down.set(event.pointerId, [x, y]);
  });

  listen("pointermove", (event) => {
    const now = at(event);
    const old = down.get(event.pointerId);
    if (!old) return target.hover(...now);
    const [dx, dy] = [now[0] - old[0], now[1] - old[1]];
    moved += Math.hypot(dx, dy);
    if (moved < TAP && down.size === 1) return undefined;
    clearTimeout(rests);
    if (held) {
      held.far = held.y - now[1];
      return target.drag(held.thing, held.far);
    }
    canvas.classList.add("turning");
    if (down.size === 1) {
      const pans = event.shiftKey || event.buttons & 6;
      (pans ? target.pan : target.orbit)(dx, dy);
    } else {
      const [other] = [...down].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
      const before = Math.hypot(old[0] - other[0], old[1] - other[1]);
      const after = Math.hypot(now[0] - other[0], now[1] - other[1]);
      const middle = [(now[0] + other[0]) / 2, (now[1] + other[1]) / 2];
      if (before > 1 && after > 1) target.zoom(after / before, ...middle);
      target.pan(dx / 2, dy / 2);
    }
    down.set(event.pointerId, now);
    return undefined;
  });

  const end = (event) => {
    if (!down.delete(event.pointerId)) return;
    clearTimeout(rests);
    if (down.size) {
      moved = Infinity; // the last of two fingers is no tap
      return;
    }
    canvas.classList.remove("turning");
    if (moved < TAP && event.type === "pointerup") target.tap(...at(event), event.shiftKey);
    else if (held) target.drop(held.thing, held.far); // a cancelled event has no place
    held = null;
  };
  const stay = (event) => held && event.preventDefault(); // what a finger drags scrolls no page
  for (const name of ["touchstart", "touchmove"]) listen(name, stay, { passive: false });
  listen("pointerup", end);
  listen("pointercancel", end);
  listen("pointerleave", () => {
    if (down.size) return;
    chosen = false;
    target.hover(-1, -1);
  });
  listen("dblclick", () => target.home());
  listen("contextmenu", (event) => event.preventDefault());
  listen(
    "wheel",
    (event) => {
      if (mayScroll() && !chosen && !event.ctrlKey) return;
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 16 : 1;
      target.zoom(Math.exp((-event.deltaY * lines) / 500), ...at(event));
    },
    { passive: false },
  );
}

/** Whether the page or one around it may scroll. */
function mayScroll() {
  return isFramed() || document.documentElement.scrollHeight > innerHeight;
}

// Keys of the page, as stage/commands.py has them.

const TIMES = 10; // by an arrow with Shift

/** Return the command of a key, with what it is called with, of the `keys` and `ctrl` of a page; null without one. */
export function commandOf(event, { keys, ctrl }) {
  const name = (event.ctrlKey || event.metaKey ? ctrl : keys)[event.key];
  if (event.altKey || !name) return null;
  return event.shiftKey && event.key.startsWith("Arrow") ? [name, TIMES] : [name];
}

/** Whether an element takes a key itself: a field takes all, a button those that press it. */
export function takesKey(element, key) {
  if (element.matches("input[type=text], input[type=number], select")) return key !== "Escape";
  if (element.matches("input[type=range]")) return key.startsWith("Arrow");
  return element.matches("button, summary") && (key === " " || key === "Enter");
}
