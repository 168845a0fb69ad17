// The losses of branches that are not shown, as thin lines behind that of the one that is.

import { text } from "./texts.js";

const POINTS = 400; // of a line
const FINGER = 18; // pixels of a finger from a line that is meant
const MOUSE = 8; // of a mouse

/** The lines of all branches but one; `shown` is that one, `list` what the worker tells of all. */
export class BranchLines {
  constructor() {
    this.lines = new Map(); // by key: {steps, low, high, range} of its own steps
    this.shown = null;
    this.list = [];
    this.hover = null;
  }

  /** Take up a state before `losses` do, which still have the steps of the last one. */
  take({ branch = null, branches = [] }, losses) {
    const last = this.list.find(({ key }) => key === this.shown);
    if (branch !== this.shown && last) this.lines.set(last.key, lineOf(losses, last.start));
    Object.assign(this, { shown: branch, list: branches });
    for (const key of this.lines.keys()) {
      if (key === branch || !branches.some((each) => each.key === key)) this.lines.delete(key);
    }
  }

  /** The last step of any branch that has a line. */
  get last() {
    return Math.max(0, ...[...this.lines.values()].map(({ steps }) => steps.at(-1) ?? 0));
  }

  /** The smallest and the largest loss of all lines; [Infinity, -Infinity] without any. */
  get range() {
    const all = [...this.lines.values()].map(({ range }) => range);
    const [lows, highs] = [0, 1].map((k) => all.map((range) => range[k]));
    return [Math.min(Infinity, ...lows), Math.max(-Infinity, ...highs)];
  }

  /** Return the lines as {key, number, points}, for the scales of a plot. */
  drawn(x, y) {
    const shown = this.list.filter(({ key }) => this.lines.has(key));
    return shown.map(({ key, number }) => {
      const { steps, low, high } = this.lines.get(key);
      const points = steps.flatMap((step, i) => {
        const pair = [[x(step), y(high[i])], [x(step), y(low[i])]];
        return high[i] > low[i] ? pair : pair.slice(0, 1);
      }); // prettier-ignore
      return { key, number, points };
    });
  }
}

/** Return the losses of the steps from one on, in few points: {steps, low, high, range}. */
function lineOf(losses, start) {
  const first = Math.max(0, start - 1); // a line begins where it left the other
  const found = { steps: [], low: [], high: [], range: losses.range(first, losses.end) };
  const each = Math.max(1, Math.ceil((losses.end - first) / POINTS));
  for (let from = first; from < losses.end; from += each) {
    const end = Math.min(losses.end, from + each);
    const [low, high] = losses.range(from, end);
    if (low > high) continue;
    found.steps.push(end);
    found.low.push(low);
    found.high.push(high);
  }
  return found;
}

/** Return the line that is meant by a place, or null; one that is nearer to `own` points is none. */
export function lineAt(lines, own, x, y, isFinger) {
  const reach = isFinger ? FINGER : MOUSE;
  let best = { line: null, apart: reach };
  for (const line of lines) {
    const apart = distance(line.points, x, y);
    if (apart < best.apart) best = { line, apart };
  }
  return distance(own, x, y) <= best.apart ? null : best.line;
}

/** Return how far a place is from a line through some points. */
function distance(points, x, y) {
  let best = Infinity;
  for (let i = 0; i < points.length; i++) {
    const [x1, y1] = points[Math.max(0, i - 1)];
    const [x2, y2] = points[i];
    const length = (x2 - x1) ** 2 + (y2 - y1) ** 2;
    const part = length ? ((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / length : 0;
    const inside = Math.min(1, Math.max(0, part));
    best = Math.min(best, Math.hypot(x1 + inside * (x2 - x1) - x, y1 + inside * (y2 - y1) - y));
  }
  return best;
}

/** Return the words for a branch in a list. */
export function branchWords({ number, name, end, loss }) {
  const words = text("branches.listed", { number, name, end });
  return Number.isFinite(loss) ? `${words}, ${text("where.loss", { loss })}` : words;
}
