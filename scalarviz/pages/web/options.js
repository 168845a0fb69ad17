// The options behind "…": optimizer, batch size, what cubes show, and weights of another seed.

import { SINCE_START } from "./frame.js";
import { byId, setShown } from "./dom.js";
import { fillOptions } from "./pressing.js";
import { channelName } from "./legend.js";
import { plural } from "./texts.js";

const CHANNELS = ["value", "gradient", "last change"];

/** Return the names of what cubes can show of a state. */
export function channelsOf(state) {
  const channels = state.light && !state.before ? CHANNELS.slice(0, 2) : CHANNELS;
  return [...channels, ...(state.begun ? [SINCE_START] : []), ...Object.keys(state.slots ?? {})];
}

/** The fields; `run` is called with the name and the arguments of a command. */
export class Options {
  constructor(spec, run) {
    this.spec = spec;
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
    const titles = optimizers.map(({ title }, i) => [i, title]);
    const sizes = batches.map((count) => [count, plural("counts.samples", count)]);
    const channels = channelsOf(state).map((name) => [name, channelName(name)]);
    fillOptions(byId("optimizer"), state.optimizer, titles);
    fillOptions(byId("size"), state.size, sizes);
    fillOptions(byId("channel"), channel, channels);
  }
}
