// Points of curves, each [x, y]; as scene/curve_points.py.

/** Return the finite values of all curves between two steps. */
export function finite_between(first, last, curves) {
  return curves.flatMap(([steps, values]) =>
    values.filter((value, i) => Number.isFinite(value) && first <= steps[i] && steps[i] <= last),
  );
}

/** Return the values of all curves between two steps, from which a scale is computed. */
export function shown_between(first, last, curves) {
  const found = finite_between(first, last, curves);
  return found.some((value) => value < 0) ? found : found.filter((value) => value > 0);
}

/** Return the pixels of all points of a curve; if `share`, on a linear scale from 0 to 1. */
export function pixels({ plot, first, last, losses }, steps, values, { share = false } = {}) {
  const { low, high, is_linear } = losses;
  return steps.map((step, i) => {
    let up = values[i];
    if (!share) up = is_linear ? (up - low) / (high - low) : Math.log10(up / low) / Math.log10(high / low); // prettier-ignore
    const y = plot.bottom - Math.min(1.02, Math.max(-0.02, up)) * plot.height;
    const x = plot.x + ((step - first) / (last - first)) * plot.width;
    return [x, Number.isFinite(up) ? y : NaN];
  });
}

/** Return the pixels of a curve that already has few points. */
export function curve_pixels(scales, steps, values, look) {
  return pixels(scales, steps, values, look);
}

export function draw_thin(canvas, points, color, scale) {
  canvas.line(points, color, { width: scale });
}

export function count_up_to(steps, step) {
  return steps.findLastIndex((each) => each <= step) + 1;
}

export function value_at(steps, values, step) {
  if (steps.length < 2) return values[0] ?? NaN;
  const next = Math.min(Math.max(count_up_to(steps, step), 1), steps.length - 1);
  const part = (step - steps[next - 1]) / (steps[next] - steps[next - 1]);
  return values[next - 1] + Math.min(1, Math.max(0, part)) * (values[next] - values[next - 1]);
}

export function mean_height(points, x, reach) {
  const near = points.filter((each) => Math.abs(each[0] - x) < reach && !Number.isNaN(each[1]));
  return near.reduce((sum, each) => sum + each[1], 0) / near.length;
}

/** Return the distance of a position from a line through some points. */
export function distance(points, x, y) {
  let best = Infinity;
  for (let i = 0; i < points.length; i++) {
    const [x1, y1] = points[Math.max(0, i - 1)];
    const [x2, y2] = points[i];
    const length = (x2 - x1) ** 2 + (y2 - y1) ** 2;
    const part = length ? ((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / length : 0;
    const inside = Math.min(1, Math.max(0, part));
    const apart = Math.hypot(x1 + inside * (x2 - x1) - x, y1 + inside * (y2 - y1) - y);
    if (apart < best) best = apart;
  }
  return best;
}
