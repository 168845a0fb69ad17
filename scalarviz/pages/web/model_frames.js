// The frames of a followed model: a click or a tap opens and closes them, and so do buttons that keys
// and screen readers reach.

import { byId } from "./dom.js";
import { madeButton } from "./events.js";
import { frames_seen } from "./story/diagram.js";
import { text } from "./texts.js";

/** Opens and closes the frames of a picture. */
export class ModelFrames {
  constructor(app) {
    this.app = app;
    this.firsts = new Map(); // by index of a shown layout, the one that its shape began with
    this.buttons = new Map(); // by key of a frame
    const canvas = byId("cubes");
    app.listen(canvas, "pointermove", ({ offsetX, offsetY }) => {
      canvas.style.cursor = this.at(offsetX, offsetY) ? "pointer" : "";
    });
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

  /** Open or close the frame at a pixel; return whether there is one. */
  tap(x, y) {
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
    const next = [here, first]
      .map((at) => layouts[at].frames?.[key])
      .concat(first)
      .find(isWanted);
    if (next === undefined) return app.tell(text("page.frame.left_out"));
    firsts.set(next, first);
    for (const each of shapes) if (each[1] === here) each[1] = next;
    picture.chosen = null; // although something may be pinned
    return app.request();
  }

  /** Place a button over each frame; it is visible while it has the focus. */
  show() {
    const { seen, buttons } = this;
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
