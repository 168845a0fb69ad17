// Which samples moved a weight most over the last steps; as training/session/replays.py.

const REPEATED_STEPS = 30; // steps that are repeated at most
const REPEATED_FOR = 50; // milliseconds for them
const NOTABLE_SHARE = 0.05; // of all that moved it: the first part at least
const LEAST_SHARE = 0.005; // and any other one
const SAMPLES_TOLD = 3; // samples that are told

/**
 * Return the samples that pushed a weight most: {samples, shares, steps}; null where it is unknown.
 *
 * twin  another engine, in which the last steps are repeated
 * uses  the places of the weight: {source, target, written, read}, `read` null for a bias
 */
export function samplesMoved(clock, twin, uses) {
  const { step, branches, journal } = clock;
  if (!twin.spec.table || step === clock.first || clock.operation > 0) return null;
  const end = performance.now() + REPEATED_FOR;
  const amounts = new Map();
  let first = step;
  while (first > clock.first && step - first < REPEATED_STEPS && performance.now() < end) {
    first -= 1;
    const frame = branches.before(first);
    const next = journal[frame.applied];
    if (next && next.step < step) break; // a change of the user
    twin.restore(frame.saved);
    twin.train(first - twin.step);
    addParts(twin, uses, amounts);
  }
  const total = [...amounts.values()].reduce((sum, each) => sum + each, 0);
  if (!(total > 0)) return null;
  const most = [...amounts]
    .sort((a, b) => b[1] - a[1] || a[0] - b[0])
    .slice(0, SAMPLES_TOLD)
    .filter((each) => each[1] >= LEAST_SHARE * total);
  if (!most.length || most[0][1] < NOTABLE_SHARE * total) return null;
  const shares = most.map(([, amount]) => amount / total);
  return { samples: most.map(([row]) => row), shares, steps: step - first };
}

/** Add to the amounts of samples, by their rows, what each adds to the gradient in the next step. */
function addParts(twin, uses, amounts) {
  twin.begin();
  twin.spec.moments.slice(0, -1).forEach((_, k) => twin.perform(k));
  for (let i = 0; i < twin.batch; i++) {
    let part = 0;
    for (const { source, target, written, read } of uses) {
      const [x, g] = [twin.values(source, i), twin.gradients(target, i)];
      written.forEach((place, k) => (part += (read ? x[read[k]] : 1) * g[place]));
    }
    const { row } = twin.sample(i);
    amounts.set(row, (amounts.get(row) ?? 0) + Math.abs(part));
  }
}
