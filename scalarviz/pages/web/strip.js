// The operations of a step in plain words, for the strip below the stage.

/** Return a cell for each moment of a step: {part, layer, name, technical, done}. */
export function cellsOf({ say }) {
  return say.cells;
}
