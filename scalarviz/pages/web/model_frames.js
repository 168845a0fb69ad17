// The frames of a followed model: a click or a tap opens and closes them, and so do buttons that keys
// and screen readers reach. The maps of a probe in them are large when pointed at or tapped.

import { unpackedAll } from "./arrays.js";
import { byId } from "./dom.js";
import { madeButton } from "./events.js";
import { frames_seen, LEGIBLE } from "./story/diagram.js";
import { map_at } from "./story/probe_maps.js";
import { PIXEL } from "./story/plates.js";
import { text } from "./texts.js";

const LETTERS = 12; // of the names in a frame, in pixels of its layout
const FILLED = 0.95; // of the picture, by an enlarged frame

/** Opens and closes the frames of a picture. */
export class ModelFrames {
  constructor(app) {
    this.app = app;
    this.firsts = new Map(); // by index of a shown layout, the one that its shape began with
    this.buttons = new Map(); // by key of a frame
    this.opened = null; // key of a frame, until it is drawn
    this.probes = unpackedAll(app.spec.page.probe ?? []);
    const canvas = byId("cubes");
    app.listen(canvas, "pointermove", ({ offsetX, offsetY }) => {
      canvas.style.cursor = this.at(offsetX, offsetY) ? "pointer" : "";
      this.pointAt(offsetX, offsetY);
    });
  }

  /** Return the last probe of the page up to a state, [step, rows by module], or null. */
  probeOf({ step }) {
    return this.probes.findLast(([each]) => each <= step) ?? null;
  }

  /** Enlarge the map at a pixel; return whether it was not yet. */
  pointAt(x, y) {
    const { picture } = this.app;
    const map =
      picture.see && this.probes.length ? map_at(picture.see, picture.placed, x, y) : null;
    if (map === picture.map) return false;
    picture.map = map;
    this.app.request();
    return map !== null;
  }

  /** Return [key, isOpen, box] of each frame. */
  get seen() {
    const { see, placed } = this.app.picture;
    return see ? frames_seen(see, placed) : [];
  }

  /** Return the frame that a click at a pixel opens or closes. */
  at(x, y) {
    return this.seen.findLast(([, , box]) => box.has(x, y));
  }

  /** Open or close the frame at a pixel, or enlarge a map; return whether there is one. */
  tap(x, y) {
    if (this.pointAt(x, y)) return true;
    const found = this.at(x, y);
    if (found) this.turn(found);
    return found !== undefined;
  }

  /** Open or close a frame: by Python, or with a layout of the page, where others may close. */
  turn([key, isOpen]) {
    const { app, firsts } = this;
    const { picture, spec } = app;
    if (spec.linked) return app.player.ask("frame", { key, opens: !isOpen });
    const { layouts, shapes } = picture.scene;
    const here = picture.layouts.indexOf(picture.laid);
    const first = firsts.get(here) ?? here;
    const look = isOpen ? "closed" : "frame";
    const isWanted = (at) =>
      layouts[at]?.marks.some((each) => each.key === key && each.look === look);
    const ways = [here, first].map((at) => layouts[at].frames?.[key]).concat(first);
    const next = ways.find(isWanted);
    if (next === undefined) return app.tell(text("page.frame.left_out"));
    if (next !== ways[0]) app.tell(text("page.frame.others"));
    firsts.set(next, first);
    for (const each of shapes) if (each[1] === here) each[1] = next;
    picture.chosen = null; // although something may be pinned
    picture.eyes.framed = true;
    this.opened = isOpen ? null : key;
    return app.request();
  }

  /** Enlarge a frame that was just opened if its words are too small to read. */
  enlarge(key) {
    const { see, placed, eyes } = this.app.picture;
    const mark = placed.marks.find((each) => each.key === key && each.look === "frame");
    const [first, last] = mark.points.map((each) => see.one(each));
    if (LETTERS * PIXEL * first.unit > LEGIBLE) return;
    const { x, y, width, height } = eyes.inner;
    const middle = [x + width / 2, y + height / 2];
    eyes.move(middle[0] - (first.x + last.x) / 2, middle[1] - (first.y + last.y) / 2);
    const factor = Math.min(width / (last.x - first.x), height / (last.y - first.y));
    this.app.move("zoom", FILLED * factor, ...middle);
  }

  /** Place a button over each frame; it is visible while it has the focus. */
  show() {
    const { seen, buttons, opened } = this;
    this.opened = null;
    if (opened !== null) this.enlarge(opened);
    for (const [key, button] of buttons)
      if (!seen.some(([each]) => each === key)) {
        button.remove();
        buttons.delete(key);
      }
    for (const [key, isOpen, box] of seen) {
      if (!buttons.has(key)) buttons.set(key, this.buttonFor(key));
      const button = buttons.get(key);
      button.ariaExpanded = isOpen;
      const sides = { left: box.x, top: box.y, width: box.width, height: box.height };
      for (const [name, side] of Object.entries(sides)) button.style[name] = `${side}px`;
    }
  }

  buttonFor(key) {
    const turn = () => this.turn(this.seen.find(([each]) => each === key));
    const button = madeButton("ring", "", turn);
    Object.assign(button.style, { background: "none", opacity: 0, padding: 0, minHeight: 0 });
    button.addEventListener("focus", () => (button.style.opacity = 1));
    button.addEventListener("blur", () => (button.style.opacity = 0));
    button.ariaLabel = key;
    byId("picture").append(button);
    return button;
  }
}
