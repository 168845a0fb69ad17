// Names of the neurons that a sentence or a card names, beside their spheres; as scene/callout.py.

import { CALLOUT, boxAround, freePlace, lead } from "./callout.js";
import { areAt } from "./focus.js";
import { LABELS } from "./labels.js";
import { row3 } from "./space.js";
import { text } from "./texts.js";

const NAMES = [
  "captions.unit.neuron",
  "captions.unit.wave",
  "captions.end.output",
  "captions.end.input",
];

/** Write names beside spheres, where they cover nothing. */
export function drawSpoken(view, taken) {
  const { paper, see, frame, palette, scale } = view;
  const { told, places } = spokenIn(frame);
  const written = paper.words.join(" ").toLowerCase();
  const size = LABELS.size * scale;
  for (const line of places.length ? frame.layout.neurons : []) {
    const isTold = line.names.length || line.isImages ? [] : areAt(line, places);
    for (const [place, is] of isTold.slice(0, line.count).entries()) {
      const names = is ? NAMES.map((key) => text(key, { number: place, name: place })) : [];
      for (const words of names) {
        if (!told.includes(words) || written.includes(words)) continue;
        const subject = boxAround(see, line, place);
        if (!subject) continue;
        /** @type {[number, number]} */
        const sides = [paper.measure(words, { size }), 1.1 * size];
        const box = freePlace(view, taken, subject, sides, 2 * CALLOUT.farthest * scale);
        taken.boxes.push(box);
        lead(view, box, subject, palette.quiet);
        const look = { size, color: palette.ink, outline: palette.ground };
        paper.text(box.x, box.y + 0.9 * size, words, look);
      }
    }
  }
}

/** What the caption and the card say, and where the neurons stand that these are about. */
function spokenIn({ layout, moment, caption, named, pinnedRow, pinnedNeuron }) {
  const said = moment && caption;
  const neurons = [...(said?.neurons ?? []), pinnedNeuron].filter(Boolean);
  const rows = [...(said?.rows ?? []).slice(0, 1), pinnedRow].filter((row) => row >= 0);
  const lines = neurons.map((neuron) => [layout.lineOf(neuron), neuron[1]]);
  const places = lines.filter(([line]) => line).map(([line, place]) => line.point(place));
  for (const row of rows) {
    const { fan, unit } = layout.fanOf(row) ?? {};
    if (fan) places.push(row3(fan.starts, fan.unitBefore(row)), row3(fan.ends, unit));
  }
  return { told: `${said?.title ?? ""} ${named}`.toLowerCase(), places };
}
