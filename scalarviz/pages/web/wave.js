// The light of whole steps that follow each other; as stage/motion.py.

const LEAST_KNOWN = 0.3; // of the time over which steps a second are measured, after which they are known
const OF_STEP = 0.8; // of the time from one step to the next

/** Follows the steps of a training that plays, and says how far the light of one has come. */
export class Wave {
  constructor(pace) {
    this.pace = pace; // see scene/pace.py
    this.seen = []; // steps at their times, of the last second or so
    this.lit = 0; // the last step that had a wave
    this.every = 0; // how many steps a wave stands for; 0 while there is none
    this.began = -Infinity;
  }

  /** Show no wave. */
  stop() {
    Object.assign(this, { every: 0, began: -Infinity, seen: [] });
  }

  /** Return the part of a wave that is done at a time in seconds, 0 to 1; null between two. */
  at(step, time) {
    const { eachWave, wave, ofRate } = this.pace;
    const last = this.seen.at(-1);
    if (last && (step < last.step || time - last.time > ofRate)) this.stop();
    if (!this.seen.length) this.lit = step;
    this.seen.push({ step, time });
    while (time - this.seen[0].time > ofRate) this.seen.shift();
    const [first] = this.seen;
    const passed = time - first.time;
    const rate = passed > LEAST_KNOWN * ofRate ? (step - first.step) / passed : 0;
    const isSlow = rate > eachWave;
    const seconds = isSlow ? wave : Math.min(wave, OF_STEP / Math.max(rate, 1e-9));
    let part = (time - this.began) / seconds;
    if (part >= 1 && step > this.lit && rate > 0) {
      this.lit = step;
      this.every = isSlow ? plainCount(rate * seconds) : 1;
      this.began = time;
      part = 0;
    }
    return part < 1 ? part : null;
  }
}

/** A count as it is said: from 20 on a multiple of ten, of two digits before zeros. */
function plainCount(count) {
  const found = Math.round(count);
  const power = found < 20 ? 1 : 10 ** Math.max(1, String(found).length - 2);
  return Math.round(found / power) * power;
}
