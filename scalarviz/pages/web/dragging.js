// Dragging a weight by its cube, or an input by its sphere, up and down; as faces/controller/dragging.py.

import { answersFor } from "./exhibit.js";
import { bothSaid } from "./formats.js";
import { cardOf } from "./cards.js";
import { numberAt } from "./link_data.js";
import { neuronName } from "./names.js";
import { isSameThing } from "./walking.js";
import { text } from "./texts.js";

const SMALLEST_HELD = 12; // pixels of a cube that can be dragged; elsewhere a drag turns the network
const HELD_REACH = 100; // pixels of a drag that add the scale of the values

/** Return what `followPointers` calls for the cubes and inputs of an app: hold, drag and drop. */
export function draggingIn(app) {
  const { player } = app;

  /**
   * Return what can be dragged at a place: the arrow of a guess, and nothing else then, an input, or a
   * large cube; by a finger what is pinned.
   */
  function hold(x, y, isFinger) {
    if (app.guess.isAsking) return app.guess.hold(x, y);
    if (app.spec.recording || !app.state) return null;
    const found = app.picture.at(x, y);
    if (isFinger && !isSameThing(found, app.pinned)) return null;
    const input = app.own.handleOf(found, app.state);
    if (input) return input;
    if (!(found?.row >= 0) || 2 * app.picture.placeOf(found).half < SMALLEST_HELD) return null;
    const value = numberAt(app.state, found.row);
    return Number.isFinite(value)
      ? { ...found, value, top: app.picture.frame.scale, answers: answersIn(app) }
      : null;
  }

  function drag(handle, up) {
    if (handle.guess) return handle.guess(up);
    app.act();
    if (handle.inputs) app.own.drag(handle, up);
    else {
      app.look({ row: handle.row }); // wherever the pointer is
      app.hold(true);
      player.askLatest("edit", { row: handle.row, value: draggedTo(handle, up) });
    }
  }

  async function drop(handle, up) {
    if (handle.inputs || handle.guess) return;
    const value = draggedTo(handle, up);
    await player.ask("edit", { row: handle.row, value }); // after those that wait
    app.hold(false);
    tellChange(app, handle.row, handle.value, value, handle.answers);
  }

  return { hold, drag, drop };
}

/** Take a value that was typed for a weight, and say so as after a drag. */
export async function typedIn(app, row, value) {
  const [old, answers] = [numberAt(app.state, row) ?? NaN, answersIn(app)];
  await app.edit(row, value);
  if (!app.spec.recording && value !== old) tellChange(app, row, old, value, answers);
}

/** Say what was changed by hand, and offer to train on, unless it plays anyway. */
function tellChange(app, row, before, after, answers) {
  const { player } = app;
  const { name } = cardOf(app.spec, app.state, { row });
  const [old, fresh] = bothSaid(before, after);
  const repair = player.playing ? "" : text("notices.repair");
  const goOn = () => player.playing || player.play();
  const moves = answers && answerWords(app.spec.say, answers, answersIn(app), old, fresh);
  app.tell(moves || text("notices.dragged", { name, old, new: fresh }), repair, goOn);
}

/** Return the outputs for the sample in use at rest between two steps, else null. */
function answersIn({ state, spec, player }) {
  return state.operation || player.playing ? null : answersFor(state, spec.page.exhibit);
}

/** Return how the output goes that a change between two steps has moved most, or "". */
export function answerWords(say, before, after, old, fresh) {
  const moved = Array.from(before, (each, i) => Math.abs((after?.[i] ?? NaN) - each));
  if (!moved.every(Number.isFinite)) return "";
  const place = moved.indexOf(Math.max(...moved));
  const [start, end] = bothSaid(before[place], after[place]);
  const unit = neuronName(say, [say.outputs, place]);
  const what = moved.length === 1 ? text("notices.dragged.answer") : unit;
  return start === end ? "" : text("notices.dragged.moves", { old, new: fresh, what, start, end });
}

/** Return the value of a cube after a drag by so many pixels upwards. */
function draggedTo({ value, top }, up) {
  return up ? Number((value + (up / HELD_REACH) * top).toPrecision(3)) : value;
}
