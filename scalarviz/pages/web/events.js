// What users press and move: buttons, options, a pen, the mouse and fingers on the picture, keys.

import { isFramed, isNews, made } from "./dom.js";
import { DIRECTIONS } from "./story/picking.js";

/** @returns {any} a new button that calls a function */
export function madeButton(name, words, press) {
  const button = made("button", name, words);
  button.addEventListener("click", press);
  return button;
}

/** Fill a select field with options, given as pairs of a value and a text. */
export function fillOptions(field, chosen, pairs) {
  if (!isNews(field, [chosen, pairs])) return;
  const option = ([value, words]) => new Option(words, value, false, value === chosen);
  field.replaceChildren(...pairs.map(option));
}

/** Return the direction of an arrow key, [x, y]; undefined for other keys. */
export function wayOf(key) {
  return DIRECTIONS.get(/^Arrow(\w+)$/.exec(key)?.[1].toLowerCase());
}

/** Prevent the default action of a key if no modifier is pressed; return whether this is so. */
export function takesAlone(event) {
  if (event.ctrlKey || event.altKey || event.metaKey) return false;
  event.preventDefault();
  event.stopPropagation();
  return true;
}

/** Call `take` where a pointer presses an element: from 0 to 1, from the upper left corner. */
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

/** Call `go` with the direction, [x, y], of each arrow key that is pressed on an element. */
export function followArrows(element, go) {
  element.addEventListener("keydown", (event) => {
    const way = wayOf(event.key);
    if (way && takesAlone(event)) go(way);
  });
}

/** Call `take` with a file that is dropped onto an element, or onto the whole page. */
export function followDrops(element, take) {
  for (const name of ["dragover", "drop"])
    element.addEventListener(name, (event) => {
      if (event.dataTransfer?.items[0]?.kind !== "file") return;
      event.preventDefault();
      if (name === "drop" && event.dataTransfer.files[0]) take(event.dataTransfer.files[0]);
    });
}

// Mouse and fingers on the picture: dragging orbits, two fingers zoom and move, a tap picks.
//
// Where the page or the one around it may scroll, one finger up or down and the wheel scroll; the wheel
// zooms after a click into the picture, until the mouse leaves it.

const TAP = 6; // pixels that a pointer may move between down and up of a tap
const LONG = 400; // milliseconds for which a finger rests on a thing before it drags it

/**
 * Pass gestures on a canvas to `orbit`, `pan`, `zoom`, `hover`, `tap` and `home` of a target.
 *
 * If `hold` returns a handle for a position, this is dragged up and down instead: `drag`, and at
 * the end `drop`, are called with the handle and the distance in pixels. `signal` ends all of it.
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

/** Return whether the page, or a page that embeds it, can scroll. */
function mayScroll() {
  return isFramed() || document.documentElement.scrollHeight > innerHeight;
}

// Keys of the page, as stage/commands.py has them.

const TIMES = 10; // by an arrow with Shift

/** Return the name of a pressed key; a letter is a capital with Shift, whatever Caps Lock is. */
export function keyOf({ key, shiftKey }) {
  if (key.length > 1) return key;
  return shiftKey ? key.toUpperCase() : key.toLowerCase();
}

/** Return the command of a key, and its arguments, from the tables `keys` and `ctrl`; or null. */
export function commandOf(event, { keys, ctrl }) {
  const name = (event.ctrlKey || event.metaKey ? ctrl : keys)[keyOf(event)];
  if (event.altKey || !name) return null;
  return event.shiftKey && event.key.startsWith("Arrow") ? [name, TIMES] : [name];
}

/** Return whether an element handles a key itself, such as any key in a field or an open dialog. */
export function takesKey(element, key) {
  if (element.isContentEditable || element.matches("input, select, textarea")) return true;
  if (document.querySelector("dialog[open]")) return true;
  return element.matches("button, a, summary") && (key === " " || key === "Enter");
}
