// What a user did, to be undone and done again: changes, resets, and choices of branches.
//
// Nothing that was trained is lost by it: what stands after a change that is undone stays a branch.

const MOST_UNDONE = 100;

/** The actions on a clock: each with where it was `before` and `after`, {branch, place}. */
export class History {
  constructor(clock) {
    this.clock = clock;
    this.past = [];
    this.future = [];
    this.latest = null; // the last change, if nothing was undone since
  }

  /** Note an action; `change` is what it added to the journal, if anything. */
  note(before, change = null) {
    this.past.push({ before, after: this.clock.here, change });
    if (this.past.length > MOST_UNDONE) this.past.shift();
    this.future = [];
    this.latest = change;
  }

  /** Note that the last change goes on with other numbers. */
  goOn(change) {
    this.past.at(-1).change = change;
    this.future = [];
    this.latest = change;
  }

  /** Forget the actions that lead to branches which there are no longer. */
  forget(gone) {
    const leads = ({ before, after }) =>
      gone.has(before.branch) || (after && gone.has(after.branch));
    this.past.splice(0, this.past.findLastIndex(leads) + 1);
    this.future.splice(0, this.future.findLastIndex(leads) + 1);
  }

  /** Undo the last action, and go to its moment; return whether there was one. */
  undo() {
    const entry = this.past.pop();
    if (entry === undefined) return false;
    const { clock } = this;
    this.latest = null;
    entry.after.branch = clock.branch; // maybe another one, which a later undo has begun
    const { branch, place } = entry.before;
    if (entry.change && branch === clock.branch) {
      const isLast =
        clock.branch.end.step === place.step && clock.journal.length === entry.after.place.applied;
      clock.go(place);
      if (isLast) {
        clock.branch.journal = clock.journal.slice(0, place.applied);
        clock.branch.end = place;
        entry.after = null; // it is made anew
      } else {
        entry.before = { branch: clock.fork(), place };
      }
    } else {
      clock.visit(branch, place);
    }
    this.future.push(entry);
    return true;
  }

  /** Do again what was undone last; return whether there was anything. */
  redo() {
    const entry = this.future.pop();
    if (entry === undefined) return false;
    const { clock } = this;
    if (entry.after) {
      clock.visit(entry.after.branch, entry.after.place);
    } else {
      clock.visit(entry.before.branch, entry.before.place);
      clock.put(entry.change);
      entry.after = clock.here;
    }
    this.past.push(entry);
    return true;
  }
}
