// The way that led to a training: the changes in it as a link has them, and their replay.

import { Measures } from "./loss_chart.js";
import { LossRecord } from "./loss_record.js";
import { isSamePlace } from "./branches.js";
import { shortest, write_build } from "./story/build_link.js";
import { LONGEST_JOURNAL, changes_in, edit_part } from "./story/journal.js";

const DIGITS = 9; // of a float32
const LAST_HOLDS = /^(noise|share|points|seed|l1|l2)=/; // of several changes at one place

// The parts of a link for the changes in the journal of a worker.
const WRITTEN = {
  edit: ({ row, value }) => [edit_part(row, shortNumber(value))],
  freeze: ({ rows, on }) => [`${on ? "freeze" : "free"}=${rows[0]}-${rows.at(-1)}`],
  "learning rate": ({ rate }) => [`lr=${shortest(rate)}`],
  batch: ({ size }) => [`batch=${size}`],
  weights: ({ seed }) => [`weights=${seed}`],
};

// The changes in the journal of a worker for parts of a link; all others begin another training.
const READ = {
  edit: ({ first, value }) => ({ kind: "edit", row: first, value }),
  freeze: (change) => ({ kind: "freeze", rows: rowsOf(change), on: true }),
  free: (change) => ({ kind: "freeze", rows: rowsOf(change), on: false }),
  lr: ({ settings }) => ({ kind: "learning rate", rate: plain(settings).lr }),
  batch: ({ settings }) => ({ kind: "batch", size: plain(settings).batch }),
  weights: ({ first }) => ({ kind: "weights", seed: first }),
};

function rowsOf({ first, last }) {
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}

function plain(settings) {
  if (!(settings instanceof Map)) return settings;
  const copied = (value) => (Array.isArray(value) ? [...value] : value);
  return Object.fromEntries([...settings].map(([name, value]) => [name, copied(value)]));
}

/** Return the number with the fewest digits that is the same float32. */
function shortNumber(value) {
  const tried = Array.from({ length: DIGITS }, (_, i) => Number(value.toPrecision(i + 1)));
  return tried.find((each) => Math.fround(each) === Math.fround(value)) ?? value;
}

/** Return parts of a link for changes at a place. */
export function placed(parts, { step, operation }) {
  return parts.map((words) => `${words}@${step}${operation ? `.${operation}` : ""}`);
}

/** Return all changes that led to where a training was left, as parts of a link. */
export function partsOf({ parts, resume, at }) {
  const done = resume.journal.slice(0, at.applied);
  const all = [...parts, ...done.flatMap((each) => placed(WRITTEN[each.kind]?.(each) ?? ["?"], each))]; // prettier-ignore
  const about = (part) => part?.replace(/=.*@/, "@");
  return all.filter((part, i) => !LAST_HOLDS.test(part) || about(part) !== about(all[i + 1]));
}

/** Return whether changes in a link lead from settings to others. */
export function leadsTo(settings, words, wanted) {
  const isShort = words.length <= LONGEST_JOURNAL;
  const changes = words && isShort ? changes_in(settings, words) : [];
  const last = plain(changes?.at(-1)?.settings ?? settings);
  const link = (given) => write_build({ ...given, table: "", w: "", do: "", k: "" });
  return isShort && changes !== null && last.table === wanted.table && link(last) === link(wanted);
}

/** Return a training as it was left when the next one began. */
export function leftFor(entry, { from: { place, key } }) {
  const { resume } = entry;
  const branch = resume.branches.find((each) => each.key === key);
  const isShown = key === resume.key;
  const other = isShown ? resume : { ...resume, key, place, journal: branch?.journal };
  return branch ? { ...entry, at: place, resume: other } : entry;
}

/** Train through changes of a link without showing them.
 *
 * Returns the trainings in order, each with the place that it has reached; the last one ends at the
 * last change, or where numbers became too large.
 *
 * open   returns a client of a training, which continues as its `resume` says
 * after  returns the training after changes of settings, as `Playground.after`
 */
export async function replayed(first, changes, { open, after }) {
  const runs = [first];
  let journal = [];
  let waiting = []; // changes of settings at one place
  const reach = async (run, place) => {
    run.resume = resumeAt(run, journal, { ...place, applied: journal.length });
    const client = open(run);
    const state = await new Promise((resolve) => (client.onstate = resolve));
    Object.assign(run, { resume: client.resume, at: client.resume.place });
    client.end();
    return state;
  };
  const make = async () => {
    const [{ step, operation }] = waiting;
    const run = runs.at(-1);
    const state = await reach(run, { step, operation });
    Object.assign(run, readOf(run, state));
    if (state.stopped) return false;
    runs.push(after(run, state, waiting));
    [journal, waiting] = [[], []];
    return true;
  };
  for (const change of changes) {
    const { kind, step, operation } = change;
    const own = READ[kind]?.(change);
    if (waiting.length && (own || !isSamePlace(waiting[0], change)) && !(await make())) return runs;
    if (own) journal.push({ ...own, step, operation });
    else waiting.push({ ...stepOf(change), step, operation });
  }
  if (waiting.length && !(await make())) return runs;
  const { step, operation } = changes.at(-1);
  const last = runs.at(-1);
  last.at = { step, operation, applied: journal.length };
  last.resume = resumeAt(last, journal, last.at);
  return runs;
}

/** Return each change of settings in parts of a link; null for invalid ones. */
export function stepsOf(settings, parts) {
  return changes_in(settings, parts.join(";"))?.map(stepOf) ?? null;
}

function stepOf({ kind, settings, first: layer }) {
  return { settings: plain(settings), how: { layer: kind === "drop" ? layer : null, isOne: true } };
}

/** Return where a worker continues, with changes in its only branch. */
function resumeAt({ spec }, journal, place) {
  const fork = { step: spec.engine.step, operation: 0, applied: 0 };
  const branch = { key: 0, number: 0, parent: null, fork, journal, end: place };
  return { journal, focus: 0, place, key: 0, branches: [branch] };
}

/** Return the losses and metrics up to a state, as the page of a training has them. */
function readOf({ spec }, state) {
  const { earlier, measured } = spec.page;
  const losses = LossRecord.of(earlier, spec.engine.step);
  losses.take(state);
  const measures = new Measures(measured);
  measures.take(state);
  return { losses, measured: { series: measures.series } };
}
