// Whether the numbers of a training grow beyond all bounds, as they do at a rate that is too large.

const BEYOND = 1000; // times the largest loss and weight of the beginning
const BEGINNING = 8; // steps

/** Follows states; `take` returns whether a rate is to be told of, once for each. */
export class Growing {
  constructor() {
    this.loss = this.value = 1; // the largest ones of the beginning
    this.seen = 0; // its losses
    this.step = NaN; // of the last state
    this.told = "";
  }

  take({ step, loss, losses, value, rate, jumps }) {
    if (Number.isNaN(this.step)) this.value = largest(value, 1);
    for (const each of losses.values) {
      if (this.seen < BEGINNING && each < Infinity) this.loss = Math.max(this.loss, each);
      this.seen += 1;
    }
    const hasTrained = step > this.step;
    this.step = step;
    const mark = `${rate} ${jumps}`;
    if (!hasTrained || mark === this.told) return false;
    if (!(loss > BEYOND * this.loss) && largest(value, 0) <= BEYOND * this.value) return false;
    this.told = mark;
    return true;
  }
}

function largest(values, least) {
  return values.reduce((top, each) => Math.max(top, Math.abs(each)), least);
}
