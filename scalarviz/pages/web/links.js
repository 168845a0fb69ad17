// Moments by link: what stands after the # of a page's address, how it is followed, and how it is
// made.
//
//   step=120&op=7&pin=42&hide=controls

import { shortened, text } from "./texts.js";
import { nearestSpeed } from "./player.js";
import { FURTHEST, read_part } from "./story/moments.js";

const LONGEST_SAID = 24; // letters of a part that is not understood
const PARTS_NAMED = 6; // such parts that are named

/** Return the valid ranges for the parts of a link to a page, for read_part. */
export function linkLimits({ engine, facts, page, recording }) {
  const { moments, sizes, step = 0 } = engine;
  const sized = ({ values, sums, count, one }) => [values || sums, count + Number(one ?? 0)];
  return {
    look: new Map(Object.entries(page.look.words)), first: step, operations: moments.length + 1, rows: facts.rows, batch: recording ? 0 : sizes.batch,
    sizes: new Map(facts.lines.map(sized)), end: 1 + (recording ? recording.steps.at(-1) : FURTHEST),
  }; // prettier-ignore
}

/** Return the moment that a link refers to; missing parts are null or empty:
 *
 * step, operation   step, and number of completed operations in it
 * pinned            {row} or {neuron: [buffer, index]}
 * sample            index of the sample in focus
 * hide              names of hidden parts of the page
 * play              steps per second
 * tour              "no"
 * look              view options: true, false or a name
 * bad               parts that are invalid in this page, shortened
 * over              parts that a later part overrides
 */
export function readLink(hash, limits) {
  const found = {
    step: null, operation: null, pinned: null, sample: null, hide: [], play: null, look: {},
    tour: null, bad: [], over: [],
  }; // prettier-ignore
  const from = new Map(); // by field, the part that says it
  for (const [name, given] of new URLSearchParams(hash.replace(/^#/, ""))) {
    const read = read_part(name, given.trim(), limits);
    const part = shortened(given ? `${name}=${given}` : name, LONGEST_SAID);
    const field = { op: "operation", pin: "pinned", neuron: "pinned" }[name] ?? name;
    if (read === null) {
      found.bad.push(part);
      continue;
    }
    if (from.has(field)) found.over.push(from.get(field));
    from.set(field, part);
    if (limits.look.has(name))
      found.look[name] = ["yes", "no"].includes(read) ? read === "yes" : read;
    else found[field] = field === "pinned" ? { [name === "pin" ? "row" : name]: read } : read;
  }
  if (found.operation !== null) found.step ??= limits.first;
  return found;
}

/** Return a text that lists the invalid parts of a link, shortened if there are many. */
export function badParts(bad) {
  const named = bad.slice(0, PARTS_NAMED).join(", ");
  const rest = bad.length - PARTS_NAMED;
  return rest > 0 ? text("page.link.more", { parts: named, count: rest }) : named;
}

/** Return the link to a moment, beginning with #; `readLink` is the inverse.
 *
 * @param {any} place
 */
export function writeLink(place) {
  const { step, operation, pinned, sample, hide = [], look = {} } = place;
  const said = {
    step: String(step ?? ""), op: operation, pin: String(pinned?.row ?? ""),
    neuron: pinned?.neuron?.join(":"), sample, hide: hide.join(","),
  }; // prettier-ignore
  for (const [name, value] of Object.entries(look))
    said[name] = typeof value === "boolean" ? (value ? "yes" : "no") : value;
  const parts = Object.entries(said).filter(([, value]) => value);
  const plain = (value) => encodeURIComponent(value).replaceAll("%2C", ",").replaceAll("%3A", ":");
  return `#${parts.map(([name, value]) => `${name}=${plain(value)}`).join("&")}`;
}

/** Return the moment that a state shows; after the last operation, the step is still the same. */
export function shownMoment({ step, operation, moment, focus }) {
  const ended = operation === 0 && moment >= 0;
  if (!ended) return { step, operation, sample: focus };
  return { step: step - 1, operation: moment + 1, sample: focus };
}

// Follows links to moments of a page, and makes them.

const PROGRESS = 250; // milliseconds between two words on how far it is

/** Go to the moment of a link, and show a message about its invalid parts.
 *
 * Returns whether the link specifies a moment or disables the tour. Any user action interrupts it.
 */
export async function followLink(app, hash) {
  const link = readLink(hash, linkLimits(app.spec));
  const { step, operation, pinned, sample, hide, play, tour, look, bad, over } = link;
  document.documentElement.dataset.hide = hide.join(" ");
  app.setSheet(false);
  app.chip.clear();
  app.choose(look);
  if (look.theme) app.setTheme(look.theme);
  const stands = step !== null || pinned || play || sample !== null || tour === "no";
  if (stands) {
    app.act();
    const mine = app.slow;
    const pressed = app.pressed;
    const goesOn = () => app.slow === mine && app.pressed === pressed;
    app.pin(pinned);
    await app.player.pause();
    if (sample !== null) await app.player.ask("sample", { sample });
    if (step !== null) await arriveAt(app, { step, operation: operation ?? 0 }, goesOn);
    if (goesOn() && play) {
      if (app.unit === "operation") app.setUnit("step");
      app.player.setSpeed(nearestSpeed(play));
      app.player.play();
    }
  }
  const told = [
    ...(bad.length ? [text("page.link.bad", { parts: badParts(bad) })] : []),
    ...(over.length ? [text("page.link.over", { parts: badParts(over) })] : []),
  ];
  if (told.length) app.tell(told.join(" "));
  return stands;
}

/** Go to a moment, and show the progress; `goesOn()` returns whether to continue. */
async function arriveAt(app, { step, operation }, goesOn) {
  const last = app.spec.engine.moments.length;
  let told = "";
  const progress = setInterval(() => {
    if (!goesOn()) return app.player.ask("pause");
    told = text("page.link.going", { step: app.state.step, goal: step });
    return app.tell(told);
  }, PROGRESS);
  const arrived = await app.player.ask("seek", { step, shows: true });
  clearInterval(progress);
  app.chip.drop(told);
  if (!arrived || !goesOn()) return;
  // After its last operation a step is shown as it was walked.
  const walks = operation === last ? 1 : 0;
  const state = await app.player.ask("seek", { step, operation: operation - walks });
  if (operation && state && state.step !== step) {
    await app.player.ask("seek", { step, operation: 0 }); // which a recording has, as a whole
    return;
  }
  if (walks) await app.player.ask("advance", { count: 1, unit: "operation" });
}

/** Copy the URL of the present moment to the clipboard, and show a message. */
export async function copyLink(app) {
  const hide = (document.documentElement.dataset.hide ?? "").split(" ").filter(Boolean);
  const { now, words } = app.spec.page.look;
  const isChosen = ([name, value]) => name in words && name !== "theme" && value !== now[name];
  const look = Object.fromEntries(Object.entries(app.look).filter(isChosen));
  const link = writeLink({ ...shownMoment(app.state), pinned: app.pinned, hide, look });
  const changed = app.client.resume?.journal?.length > 0;
  await giveLink(app, link, changed ? "page.link.copied.changed" : "page.link.copied");
  app.setSheet(false);
}

/** Put the URL of a link on the clipboard, and say so; if the browser forbids it, show the link. */
export async function giveLink(app, link, copied = "page.link.copied") {
  const done = await putOnClipboard(location.href.split("#")[0] + link);
  app.tell(text(done ? copied : "page.link.kept", { link }));
}

/** Copy a text to the clipboard; return whether the browser allows this. */
export async function putOnClipboard(words) {
  const field = document.createElement("textarea");
  field.value = words;
  Object.assign(field.style, { position: "fixed", top: 0, opacity: 0 });
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy"); // works from disk and within frames, too
  field.remove();
  if (done || document.featurePolicy?.allowsFeature("clipboard-write") === false) return done;
  try {
    await navigator.clipboard.writeText(words);
    return true;
  } catch {
    // The browser, or who was asked by it, forbids it: the link is shown instead, to be copied.
    return false;
  }
}
