"""The one random generator: counter-based, so that any draw can be made again by itself.

Draw number `index` of a stream at a step depends on the seed and on nothing else: not on how many
draws came before, on which engine, or in how many threads. It is Philox 4x32 with ten rounds
(Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011), written so that it runs alike
on Python's integers, on numpy arrays of int64 and in a kernel: a product that overflows 64 bits
keeps the bits that are used.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from scalarviz.checks import shorten
from scalarviz.errors import InputError
from scalarviz.formulas.elementary import cos, log, pi, sqrt

MASK = 0xFFFFFFFF
ROUNDS = 10

# Streams keep the draws of different purposes apart.
STREAM_INITIAL = 0


def philox(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any) -> tuple[Any, Any, Any, Any]:
    """Four random 32-bit words from a counter of four words and a key of two."""
    for _ in range(ROUNDS):
        p0 = c0 * 0xD2511F53
        p1 = c2 * 0xCD9E8D57
        c0 = ((p1 >> 32) & MASK) ^ c1 ^ k0
        c1 = p1 & MASK
        c2 = ((p0 >> 32) & MASK) ^ c3 ^ k1
        c3 = p0 & MASK
        k0 = (k0 + 0x9E3779B9) & MASK
        k1 = (k1 + 0xBB67AE85) & MASK
    return c0, c1, c2, c3


def unit(word: Any) -> Any:
    """A 32-bit word as a number strictly between 0 and 1."""
    return (word + 0.5) * (1.0 / 4294967296.0)


def uniform(u: float, low: float, high: float) -> float:
    """A number between `low` and `high`, from u between 0 and 1."""
    return low + (high - low) * u


def normal(u: float, v: float, mean: float, deviation: float) -> float:
    """A normally distributed number, from u and v between 0 and 1 (Box and Muller)."""
    return mean + deviation * sqrt(-2.0 * log(u)) * cos(2.0 * pi * v)


def check_seed(seed: object) -> int:
    """The seed as an integer of at most 64 bits."""
    if isinstance(seed, (int, np.integer)) and not isinstance(seed, bool) and 0 <= seed < 2**64:
        return int(seed)
    raise InputError(f"seed must be an integer from 0 to 2**64 - 1, not {shorten(seed)}")


def unit_pairs(
    seed: int, stream: int, step: int, first: int, count: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Two independent arrays of numbers between 0 and 1, for the draws `first`, `first` + 1, ..."""
    index = np.arange(first, first + count, dtype=np.int64)
    words = philox(index & MASK, index >> 32, step & MASK, stream, seed & MASK, seed >> 32)
    return unit(words[0]), unit(words[1])
