// What keys and screen readers need beside the buttons: tables of weights, a ring, spoken captions.

import { byId, made, setWords } from "./dom.js";
import { takesAlone } from "./pressing.js";
import { Walls } from "./walls.js";
import { isSameThing, nextTarget, spokenOf, wayOf } from "./walking.js";
import { text } from "./texts.js";

const LEAST_RING = 12; // pixels from the middle of a cube to its ring
const PAGE = 10; // parts of the whole curve that PageUp and PageDown go by: one of so many

/** Ring, tables and spoken words of an app. */
export class Access {
  constructor(app) {
    this.app = app;
    this.focused = null; // what keys have walked to: {row}, the weight whose cell has the focus, or {neuron}
    this.isTold = false; // whether it was said how to walk
    this.ring = made("div", "ring");
    this.ring.hidden = true;
    byId("picture").append(this.ring);
    this.walls = new Walls(byId("walls"), app.spec.say, {
      look: (thing) => this.look(thing),
      pin: ({ row }) => app.pin(app.pinned?.row === row ? null : { row }),
    });
    byId("curve").addEventListener("keydown", (event) => this.seek(event));
    const cubes = byId("cubes");
    cubes.addEventListener("focus", () => this.walk(null));
    cubes.addEventListener("blur", () => this.look(null));
    cubes.addEventListener("keydown", (event) => this.press(event));
    cubes.addEventListener("mousedown", (event) => {
      event.preventDefault(); // arrows go on and back after a click
      window.focus(); // which that keeps from a page in a frame
      /** @type {any} */ (document.activeElement)?.blur();
    });
  }

  /** Go to the next cube or neuron, and say what it is. */
  walk(way) {
    const { app } = this;
    const { placed, see } = app.picture;
    if (!see || !app.state) return;
    const from = this.focused ?? app.pinned;
    const thing = nextTarget(placed, see, from, way);
    this.look(thing);
    if (!this.isTold) app.tell(text("notices.walking"));
    this.isTold = true;
    if (thing) setWords(byId("walked"), spokenOf(app.spec.say, placed, app.state, thing));
  }

  /** Keys while the picture has the focus. */
  press(event) {
    const { app } = this;
    const way = wayOf(event.key);
    const isEnter = event.key === "Enter";
    const leaves = event.key === "Escape" && !app.pinned;
    if (!app.state || !(way || isEnter || leaves) || !takesAlone(event)) return;
    if (way) this.walk(way);
    else if (isEnter) app.pin(isSameThing(app.pinned, this.focused) ? null : this.focused);
    else byId("cubes").blur();
  }

  look(thing) {
    this.focused = thing;
    this.app.change({ hover: thing });
  }

  /** Go to a step by the keys of a slider. */
  seek(event) {
    const { step } = this.app.state;
    const last = this.app.curve.last;
    const some = Math.max(1, Math.round(last / PAGE));
    const ways = {
      Home: 0, End: last, PageDown: step - some, PageUp: step + some, ArrowDown: step - 1, ArrowUp: step + 1,
    }; // prettier-ignore
    if (!(event.key in ways) || !takesAlone(event)) return;
    this.app.run("seek", Math.min(last, Math.max(0, ways[event.key])));
  }

  /** Bring up to date what is drawn and spoken of a state; while it plays nothing is spoken. */
  show(state, title) {
    const { app } = this;
    const place = this.focused && app.picture.placeOf(this.focused);
    this.ring.hidden = !place;
    if (place) {
      const half = Math.max(LEAST_RING, 1.5 * place.half);
      const { style } = this.ring;
      style.left = `${place.x - half}px`;
      style.top = `${place.y - half}px`;
      style.width = style.height = `${2 * half}px`;
    }
    const isBusy = app.player.playing || app.tour;
    // Tables that are seen, which is where no picture is, follow at once.
    if (!isBusy || app.picture.fault) this.walls.show(state, app.pinned?.row ?? -1);
    if (isBusy) return;
    setWords(byId("spoken"), title);
    if (state.exact && place)
      // the number comes after the name
      setWords(byId("walked"), spokenOf(app.spec.say, app.picture.placed, state, this.focused));
  }
}
