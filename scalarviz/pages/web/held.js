// What a hand drags, and all that changes with it; as scene/held.py.

import { MOST_GIVEN, draw_gives, lines_held } from "./story/hands.js";
import { draw_held_cube, draw_rings } from "./story/marks.js";
import { carried } from "./lines.js";

/** Mark what the user drags and everything that changes with it, before and now. */
export function drawHeld({ frame, see, paper, palette }, fans) {
  const { held, layout } = frame;
  if (!held) return;
  draw_held_cube(paper, see, frame, palette);
  const own = layout.fan_of(held.row);
  const reached = own ? [[own[0].after, [own[1]]]] : [];
  const signs = [palette.ends[0], palette.ends[2]];
  for (const [number, units] of lines_held(layout, held.row, held.neuron)) {
    const [fan, seen] = [layout.fans[number], fans[number]];
    const all = Array.from({ length: fan.units }, (_, i) => i);
    reached.push([fan.after, all]);
    if (!seen || fan.is_direct || units.length > 1 || fan.units > MOST_GIVEN) continue;
    const [old, now] = [{ ...frame, ...held }, frame].map((each) => carried(fan, each).terms);
    for (const unit of all) {
      const products = [old[unit][units[0]], now[unit][units[0]]];
      draw_gives(paper, palette, seen.feet[unit][units[0]], products, signs);
    }
  }
  draw_rings(paper, see, frame, palette, reached, frame.border !== null);
}
