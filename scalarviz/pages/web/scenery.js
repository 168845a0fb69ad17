// What stands on and beside the cubes: neurons, arrow heads, numbers, labels; as scene/picture.py.

import { drawLabels } from "./labels.js";
import { WAY_BACK } from "./lights.js";
import { drawNeurons } from "./neurons.js";
import { drawNumbers } from "./numbers.js";
import { halfSide } from "./scales.js";
import { drawSigns } from "./signs.js";
import { along3, row3 } from "./space.js";
import { drawTied } from "./tied.js";

const HEADS = {
  sphere: 11, // pixels of an arrow head
  image: 8,
  corner: 1.4, // from the middle of a cube as seen to its corners, in halves of its side
};

/** Draw what stands on and beside cubes and spheres; return what other words must not cover. */
export function drawScenery(view) {
  for (const line of view.frame.layout.neurons) drawNeurons(view, line);
  drawHeads(view);
  drawTied(view);
  drawNumbers(view);
  drawSigns(view);
  return drawLabels(view);
}

/** Draw arrow heads where the wires of a sum arrive; while numbers go back, where they arrive then. */
function drawHeads(view) {
  const { frame, see, palette, paper, scale } = view;
  const { layout, moment } = frame;
  const back = moment !== null && WAY_BACK.has(moment.kind);
  for (const bundle of layout.wires) {
    if (bundle.head !== null) headWires(view, bundle, back ? layout.neurons[bundle.neurons] : null);
  }
  const size = HEADS.sphere * scale;
  const cubes = layout.fans.some((fan) => fan.wired) ? cubesSeen(view) : [];
  for (const fan of layout.fans) {
    if (!fan.wired) continue;
    const turned = back && !fan.first; // inputs get no gradient
    const count = turned ? fan.all - (fan.biases >= 0 ? 1 : 0) : fan.units;
    const [places, own, other] = turned
      ? [fan.starts, fan.columns, fan.rows]
      : [fan.ends, fan.rows, fan.columns];
    const middle = middleOf(other);
    for (let i = 0; i < count; i++) {
      const end = see.one(row3(places, i));
      const cube = see.one(along3(row3(own, i), 1, middle));
      const far = Math.max(Math.hypot(end.x - cube.x, end.y - cube.y), 1e-9);
      const way = [(end.x - cube.x) / far, (end.y - cube.y) / far];
      const reach = fan.radius * end.unit + scale;
      const tip = [end.x - way[0] * reach, end.y - way[1] * reach];
      const start = [tip[0] - size * way[0], tip[1] - size * way[1]];
      const between = [(tip[0] + start[0]) / 2, (tip[1] + start[1]) / 2];
      const free = cubes.every(
        ([x, y, radius]) => Math.hypot(x - between[0], y - between[1]) >= radius,
      );
      if (!Number.isFinite(tip[0] + tip[1]) || !(fan.radius * end.unit > size) || !free) continue;
      const color = turned ? palette.accent : palette.quiet;
      paper.arrow(start, tip, color, { head: size, depth: end.depth });
    }
  }
}

/** The mean of points. */
function middleOf(points) {
  const count = points.length / 3;
  const sum = [0, 0, 0];
  points.forEach((each, i) => (sum[i % 3] += each / count));
  return sum;
}

/** x, y and radius of the cubes as seen. */
function cubesSeen({ see, frame }) {
  const found = [];
  for (const plate of frame.layout.plates) {
    const { indices } = plate.cells();
    const seen = see.see(plate.middles());
    indices.forEach((index, i) => {
      const half =
        halfSide(frame.sizes[index], frame.sizeScaleAt(index), frame.scene.shader) * plate.unit;
      found.push([seen.x[i], seen.y[i], HEADS.corner * half * seen.unit[i]]);
    });
  }
  return found;
}

/** Draw an arrow head where each wire of a bundle meets its image; `back`: at its start. */
function headWires({ see, palette, paper, scale }, bundle, back) {
  let [begin, finish, half] = [bundle.start, bundle.end, bundle.head];
  if (back) {
    [begin, finish] = [finish, begin];
    half = bundle.outgoing ? halfOfLine(back) : 0;
  }
  const size = HEADS.image * scale;
  const color = back ? palette.accent : palette.quiet;
  const [start, end] = [see.see(begin), see.see(finish)];
  for (let i = 0; i < end.x.length; i++) {
    const beside = see.one(along3(row3(finish, i), half, [0, 0, 1]));
    const far = Math.max(Math.hypot(end.x[i] - start.x[i], end.y[i] - start.y[i]), 1e-9);
    const way = [(end.x[i] - start.x[i]) / far, (end.y[i] - start.y[i]) / far];
    const across = Math.abs(beside.x - end.x[i]) / Math.abs(way[0]);
    const reaches = [across, (half * end.unit[i]) / Math.abs(way[1])];
    const reach = Math.min(...reaches.filter((each) => !Number.isNaN(each)));
    const before = (Number.isFinite(reach) ? reach : 0) + scale;
    const tip = [end.x[i] - way[0] * before, end.y[i] - way[1] * before];
    if (!Number.isFinite(tip[0] + tip[1])) continue;
    const foot = [tip[0] - size * way[0], tip[1] - size * way[1]];
    paper.arrow(foot, tip, color, { head: size, depth: end.depth[i] });
  }
}

/** Half the side of the images of a line, or the radius of its neurons. */
function halfOfLine(line) {
  return line.isImages ? 0.5 * line.side * Math.max(line.shape[1], line.shape[2]) : line.radius;
}
