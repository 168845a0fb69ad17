"""The random numbers behind initial numbers; those of many small networks can be drawn together."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from scalarviz.core.formulas.randomness import MASK, STREAM_INITIAL, philox, unit, unit_pairs

Pairs = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]

FIRST_ROWS = 128  # that are drawn at once: numpy needs 0.1 ms however few there are
MOST_ROWS = 2**18  # that are kept

_kept: dict[int, Pairs] = {}  # the pairs of the first rows, by seed


def initial_pairs(seed: int, first: int, count: int) -> Pairs:
    """Return `unit_pairs` of the initial numbers on `count` rows of a bank from `first` on."""
    end = first + count
    if end <= FIRST_ROWS:
        draw_together([seed], end)
    pairs = _kept.get(seed)  # another thread may have dropped them
    if pairs is None or end > len(pairs[0]):
        return unit_pairs(seed, STREAM_INITIAL, 0, first, count)
    return pairs[0][first:end], pairs[1][first:end]


def draw_together(seeds: Iterable[int], rows: int) -> None:
    """Draw the pairs of the first `rows` rows for several seeds, and keep them for a while."""
    missing = [seed for seed in seeds if seed not in _kept or len(_kept[seed][0]) < rows]
    if not missing:
        return
    halves = np.array([(seed & MASK, seed >> 32) for seed in missing], np.int64)
    rows = max(rows, FIRST_ROWS)
    index = np.arange(rows, dtype=np.int64)
    words = philox(index & MASK, index >> 32, 0, STREAM_INITIAL, halves[:, :1], halves[:, 1:])
    if (len(_kept) + len(missing)) * rows > MOST_ROWS:
        _kept.clear()
    _kept.update(zip(missing, zip(unit(words[0]), unit(words[1]), strict=True), strict=True))
