// The options behind "…": optimizer, batch size, what cubes show, and weights of another seed.

import { SINCE_START } from "./frame.js";
import { byId, made, setShown } from "./dom.js";
import { channelName } from "./legend.js";
import { plural } from "./texts.js";

const CHANNELS = ["value", "gradient", "last change"];

/** Return the names of what cubes can show of a state. */
export function channelsOf(state) {
  return [...CHANNELS, ...(state.begun ? [SINCE_START] : []), ...Object.keys(state.slots ?? {})];
}

/** The fields; `run` is called with the name and the arguments of a command. */
export class Options {
  constructor(spec, run) {
    this.spec = spec;
    this.marks = new Map(); // by id of a field, what it shows
    const { optimizers = [], batches = [] } = spec.engine;
    setShown(byId("optimizers"), optimizers.length > 1);
    setShown(byId("sizes"), batches.length > 1);
    setShown(byId("weights"), Boolean(spec.engine.initial));
    const take = (id, name) => {
      byId(id).addEventListener("change", ({ target }) => run(name, target.value));
    };
    take("optimizer", "setOptimizer");
    take("size", "setSize");
    take("channel", "setChannel");
    byId("weights").addEventListener("click", () => run("newWeights"));
  }

  /** Show what a state has; `channel` is what cubes show. */
  show(state, channel) {
    const { optimizers = [], batches = [] } = this.spec.engine;
    this.fill("optimizer", state.optimizer, optimizers.entries(), ([i, { title }]) => [i, title]);
    this.fill("size", state.size, batches, (count) => [count, plural("counts.samples", count)]);
    this.fill("channel", channel, channelsOf(state), (name) => [name, channelName(name)]);
  }

  /** Give a field one option for each of some things, of which `pair` returns value and words. */
  fill(id, chosen, things, pair) {
    const options = Array.from(things, pair);
    const mark = JSON.stringify([chosen, options]);
    if (this.marks.get(id) === mark) return;
    this.marks.set(id, mark);
    byId(id).replaceChildren(
      ...options.map(([value, words]) => optionOf(value, words, value === chosen)),
    );
  }
}

function optionOf(value, words, isChosen) {
  const option = made("option", "", words);
  option.value = value;
  option.selected = isChosen;
  return option;
}
