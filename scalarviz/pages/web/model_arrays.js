// The numbers of a followed model in a recording, see of_record in recording.py.

/** Multiply the weights and gradients of a moment, which are parts of the largest of their array. */
export function scaleModelArrays({ value, grad }, { sizes, rough, ...scales }) {
  let at = 0;
  sizes.forEach((size, i) => {
    for (const end = at + size; at < end; at++) {
      value[at] *= scales.value[i];
      grad[at] *= rough[i];
    }
  });
}

/** Return a mask of the weights that belong to some arrays, given the sizes of all arrays. */
export function maskOf(arrays, sizes) {
  const masks = sizes.map((size, i) => new Uint8Array(size).fill(Number(arrays.includes(i))));
  return Uint8Array.from(masks.flatMap((mask) => [...mask]));
}
