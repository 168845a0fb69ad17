// Follows links to moments of a page, and makes them.

import { badParts, linkLimits, readLink, shownMoment, writeLink } from "./link.js";
import { nearestSpeed } from "./player.js";
import { text } from "./texts.js";

const PROGRESS = 250; // milliseconds between two words on how far it is

/** Go to the moment of a link, and say in one sentence what of it means nothing here.
 *
 * Returns whether the link asks for a moment or against the tour. What users do ends it.
 */
export async function followLink(app, hash) {
  const link = readLink(hash, linkLimits(app.spec));
  const { step, operation, pinned, sample, hide, play, theme, tour, guess, bad, over } = link;
  document.documentElement.dataset.hide = hide.join(" ");
  app.setSheet(false);
  app.chip.clear();
  if (theme) app.setTheme(theme);
  const stands = step !== null || pinned || play || sample !== null || tour === "no" || guess;
  if (stands) {
    app.act();
    const mine = app.slow;
    const pressed = app.pressed;
    const goesOn = () => app.slow === mine && app.pressed === pressed;
    app.pin(pinned);
    await app.player.pause();
    if (sample !== null) await app.player.ask("focus", { sample });
    if (step !== null) await arriveAt(app, { step, operation: operation ?? 0 }, goesOn);
    if (goesOn() && play) {
      if (app.unit === "operation") app.setUnit("step");
      app.player.setSpeed(nearestSpeed(play));
      app.player.play();
    }
    if (goesOn() && guess && !app.guess.isOn) await app.guess.toggle();
  }
  const told = [
    ...(bad.length ? [text("page.link.bad", { parts: badParts(bad) })] : []),
    ...(over.length ? [text("page.link.over", { parts: badParts(over) })] : []),
  ];
  if (told.length) app.tell(told.join(" "));
  return stands;
}

/** Seek a moment, and say how far it is; `goesOn()` says whether it is still wanted. */
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

/** Put the address of the present moment on the clipboard, and say so. */
export async function copyLink(app) {
  const hide = (document.documentElement.dataset.hide ?? "").split(" ").filter(Boolean);
  const link = writeLink({ ...shownMoment(app.state), pinned: app.pinned, hide });
  const changed = app.client.resume?.journal?.length > 0;
  const done = await putOnClipboard(location.href.split("#")[0] + link);
  app.setSheet(false);
  if (done) {
    app.tell(text(changed ? "page.link.copied.changed" : "page.link.copied"));
  } else {
    app.tell(text("page.link.kept", { link }));
  }
}

/** Put words on the clipboard; return whether the browser allows it. */
async function putOnClipboard(words) {
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
