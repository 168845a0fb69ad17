// Colors of neurons, their gradients, and which of them are left out; as scene/neuron_images.py.

/** The color of each neuron of a line: its true color if it stands for one, else by its number. */
export function paintedNeurons(name, frame, palette) {
  const values = (frame.whole ?? frame.values)[name];
  const tint = frame.scene.tints[name];
  const clipped = (value) => Math.min(1, Math.max(0, Number.isNaN(value) ? 0 : value));
  if (tint === "grey") return Array.from(values, (each) => [0, 1, 2].map(() => clipped(each)));
  if (tint === "rgb" && values.length === 3) {
    return [0, 1, 2].map((i) => [0, 1, 2].map((k) => (i === k ? clipped(values[i]) : 0)));
  }
  const raw = frame.scene.raw[name]; // of numbers in units of their own, those behind an Affine
  const shown = raw ? (frame.values[raw] ?? []) : values;
  return Array.from(values, (_, i) => palette.map(shown[i] ?? 0, frame.activationScale));
}

/** The buffer whose numbers a line shows: its outputs if they are there, else its sums. */
export function shownIn(line, frame) {
  return line.values in frame.values ? line.values : line.sums;
}

/** The numbers that a line shows: its outputs, and sums where these are not there yet. */
export function heldBy(line, { values }) {
  const outputs = Array.from(values[line.values] ?? []);
  return [...outputs, ...Array.from(values[line.sums] ?? []).slice(outputs.length)];
}

/** The color of each neuron of which `heldBy` has a number. */
export function paintedLine(line, frame, palette) {
  const colorsOf = (name) =>
    name in frame.values
      ? paintedNeurons(name, frame, palette).slice(0, frame.values[name].length)
      : [];
  const outputs = colorsOf(line.values);
  return outputs.length >= line.count
    ? outputs
    : [...outputs, ...colorsOf(line.sums).slice(outputs.length)];
}

/** The places of points that are before the eye. */
export function goodOf(seen) {
  const found = [];
  for (let i = 0; i < seen.x.length; i++) if (Number.isFinite(seen.x[i] + seen.y[i])) found.push(i);
  return found;
}

/** The gradients of a line and their magnitudes, 0.25 to 1; null if they are unknown. */
export function flowsOf(line, frame) {
  const [first, ...rest] = line.buffers.filter((each) => each in frame.flows);
  if (!first) return null;
  let top = 0;
  for (const each of Object.values(frame.flows))
    for (const flow of each) top = Math.max(top, Math.abs(flow));
  if (!Number.isFinite(top) || top === 0) return null;
  const own = Array.from(frame.flows[first]); // and of those that one has not come to:
  const flow = [...own, ...Array.from(frame.flows[rest.at(-1)] ?? []).slice(own.length)];
  const part = (each) => Math.min(1, Math.max(0.25, 1 + Math.log10(Math.abs(each) / top) / 3));
  return { flow, parts: flow.map(part) };
}

/** Which neurons of a line dropout drops. */
export function droppedIn(line, frame) {
  const name = line.buffers.find((each) => each in frame.leftOut);
  return name && line.values in frame.values ? frame.leftOut[name] : null;
}

/** Cross out dropped neurons; hue is reserved for the sign of numbers. */
export function crossOut({ paper, palette }, seen, reach, depth, chosen) {
  for (let i = 0; chosen && i < chosen.length; i++) {
    if (!(chosen[i] > 0) || !Number.isFinite(seen.x[i])) continue;
    const far = 0.707 * reach[i];
    const width = Math.min(3, Math.max(1.2, 0.25 * far));
    for (const side of [1, -1]) {
      const end = (aside) => [seen.x[i] + aside, seen.y[i] + side * aside];
      const ends = [end(-far), end(far)];
      const depths = [depth[i], depth[i]];
      paper.segment(...ends, palette.ground, { width: width + 2, depths });
      paper.segment(...ends, palette.quiet, { width, depths });
    }
  }
}
