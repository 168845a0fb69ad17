// Names of the neurons between which the weight of a sentence stands; as pictures/view/spoken.py.

import { Box } from "./camera.js";
import { areAt } from "./focus.js";
import { LABELS } from "./labels.js";
import { row3 } from "./space.js";
import { text } from "./texts.js";

/** Write names below spheres, or where they cover nothing: above, or at a side. */
export function drawSpoken({ paper, see, frame, palette, scale }, taken) {
  const row = frame.caption?.rows?.[0] ?? -1;
  const found = frame.moment && row >= 0 && frame.layout.fanOf(row);
  if (!found) return;
  const { fan, unit } = found;
  const ends = [row3(fan.starts, fan.unitBefore(row)), row3(fan.ends, unit)];
  const size = LABELS.size * scale;
  for (const line of frame.layout.neurons.slice(1)) {
    const told = line.names.length || line.isImages ? [] : areAt(line, ends);
    told.slice(0, line.count).forEach((is, place) => {
      if (!is) return;
      const words = text("captions.unit.neuron", { number: place });
      const { x, y, unit: pixels } = see.one(line.point(place));
      const far = line.radius * pixels;
      const wide = paper.measure(words, { size });
      const aside = far + 6 * scale;
      const boxes = [
        [-0.5 * wide, far + 0.3 * size],
        [-0.5 * wide, -far - 1.3 * size],
        [aside, -0.5 * size],
        [-aside - wide, -0.5 * size],
      ].map(([right, down]) => new Box(x + right, y + down, wide, size));
      const box = boxes.find((each) => !taken.meets(each)) ?? boxes[0];
      taken.boxes.push(box);
      const look = { size, color: palette.ink, outline: palette.ground };
      paper.text(box.x, box.y + 0.86 * size, words, look);
    });
  }
}
