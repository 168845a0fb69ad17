// What keys and screen readers need beside the buttons: tables of weights, a ring, spoken captions.

import { byId, made, setWords } from "./dom.js";
import { Walls } from "./walls.js";

const LEAST_RING = 12; // pixels from the middle of a cube to its ring
const PAGE = 10; // parts of the whole curve that PageUp and PageDown go by: one of so many

/** Ring, tables and spoken words of an app. */
export class Access {
  constructor(app) {
    this.app = app;
    this.focused = null; // the weight whose cell has the focus
    this.ring = made("div", "ring");
    this.ring.hidden = true;
    byId("picture").append(this.ring);
    this.walls = new Walls(byId("walls"), app.spec.say, {
      look: (thing) => this.look(thing),
      pin: ({ row }) => app.pin(app.pinned?.row === row ? null : { row }),
    });
    byId("curve").addEventListener("keydown", (event) => this.seek(event));
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
    if (!(event.key in ways) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
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
    if (app.player.playing || app.tour) return;
    this.walls.show(state.value, app.pinned?.row ?? -1);
    setWords(byId("spoken"), title);
  }
}
