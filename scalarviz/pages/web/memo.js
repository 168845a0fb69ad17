// What is made of a state once, however often a frame asks for it.

const madeOf = new WeakMap(); // by state

/** Return what `make` makes of a state, or has made of it for the same words and target. */
export function onceOf(state, words, { row = null, neuron = null }, make) {
  const key = `${words} ${row} ${neuron}`;
  if (!madeOf.has(state)) madeOf.set(state, new Map());
  const known = madeOf.get(state);
  if (!known.has(key)) known.set(key, make());
  return known.get(key);
}
