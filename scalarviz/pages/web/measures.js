// The metrics that the loss curve shows: those from before the page, and those that the worker measures.

import { unpacked } from "./packed.js";
import { generalNumber } from "./formats.js";
import { isShown } from "./loss_scale.js";
import { text } from "./texts.js";

/** The values of the metrics of a page; `given` is the part `measured` of its spec, or undefined. */
export class Measures {
  constructor(given) {
    this.series = (given?.series ?? []).map(({ name, share, steps, values }) => ({
      name, share, steps: [...unpacked(steps)], values: [...unpacked(values)],
    })); // prettier-ignore
    this.hasPast = Boolean(given?.apart);
  }

  /** Take up what a state has measured: values after a step, in place of those that were there.
   *
   * They are those of all series at the same `steps`, or what Python names: each `series` by itself.
   */
  take({ measured }) {
    if (!measured) return;
    const { from, steps, values, series } = measured;
    const news = series ?? this.series.map((each, k) => ({ ...each, steps, values: values[k] }));
    this.series = news.map((each) => {
      const old = this.series.find(({ name }) => name === each.name) ?? { steps: [], values: [] };
      const end = countUpTo(old.steps, from);
      const added = (name) => [...old[name].slice(0, end), ...each[name]];
      return { ...each, steps: added("steps"), values: added("values") };
    });
  }

  /** The values on the scale of the losses. */
  get losses() {
    return this.series.flatMap(({ share, values }) => (share ? [] : values.filter(isShown)));
  }

  /** Return the name of each series with its last value up to a step, and its step if earlier. */
  wordsAt(step) {
    return this.series.map(({ name, share, steps, values }) => {
      const known = countUpTo(steps, step);
      if (!known || Number.isNaN(values[known - 1])) return name;
      const value = values[known - 1];
      const said = `${name} ${share ? `${generalNumber(100 * value, 3)}%` : generalNumber(value, 3)}`;
      const at = steps[known - 1];
      return at === step ? said : text("chart.measured", { said, step: at });
    });
  }

  /** Return the points of a series for the scales of a plot; `up` is that of shares. */
  static points({ share, steps, values }, x, y, up) {
    const place = (value) => (share ? up : y)(value);
    return steps
      .map((step, i) => [x(step), place(values[i])])
      .filter(([, at]) => Number.isFinite(at));
  }
}

/** Fill losses from before the page into a record: those of some steps, and the last one. */
export function fillPast(record, given, end) {
  unpacked(given.losses).forEach((loss, i) =>
    record.write(Math.min((i + 1) * given.apart, end) - 1, [loss]),
  );
}

/** How many of some steps are at or before one. */
function countUpTo(steps, step) {
  return steps.findLastIndex((each) => each <= step) + 1;
}
