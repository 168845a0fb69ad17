"""The counter-based random generator: each draw can be repeated independently of the others.

Draw number `index` of a stream at a step depends only on the seed, not on earlier draws, the
engine, or the number of threads. It is Philox 4x32 with ten rounds (Salmon et al., "Parallel random
numbers: as easy as 1, 2, 3", 2011), with the same results on Python integers, on numpy arrays of
    int64 and in kernels: a product that overflows 64 bits keeps the required bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import shorten
from scalarviz.core.formulas.elementary import cos, log, pi, sqrt
from scalarviz.errors import InputError

MASK = 0xFFFFFFFF
ROUNDS = 10

# Streams separate draws for different purposes.
STREAM_INITIAL = 0
STREAM_ORDER = 1
STREAM_PICKS = 2
STREAM_POINTS = 3
STREAM_DROPOUT = 4  # plus 8 times the position of the layer's state

LARGEST_TABLE = 2**31  # limit of shuffled samples


def philox(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any) -> tuple[Any, Any, Any, Any]:
    """Return four random 32-bit words from a counter of four words and a key of two."""
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
    """Return a 32-bit word as a number strictly between 0 and 1."""
    return (word + 0.5) * (1.0 / 4294967296.0)


def uniform(u: float, low: float, high: float) -> float:
    """Return a number between `low` and `high`, from u between 0 and 1."""
    return low + (high - low) * u


def normal(u: float, v: float, mean: float, deviation: float) -> float:
    """Return a normally distributed number, from u and v between 0 and 1 (Box-Muller transform)."""
    return mean + deviation * sqrt(-2.0 * log(u)) * cos(2.0 * pi * v)


def scramble(x: Any, mask: Any, shift: Any, k0: Any, k1: Any, k2: Any, k3: Any) -> Any:
    """Return the image of x under a permutation of 0 to `mask` that depends on four keys.

    `mask` is a power of two minus one; `shift` is at least half its number of bits, rounded up.
    """
    x = ((x ^ (k0 & mask)) * (k1 | 1)) & mask
    x = x ^ (x >> shift)
    x = ((x ^ (k2 & mask)) * (k3 | 1)) & mask
    x = x ^ (x >> shift)
    x = ((x ^ ((k1 >> 7) & mask)) * (k2 | 1)) & mask
    x = x ^ (x >> shift)
    return ((x ^ ((k3 >> 7) & mask)) * (k0 | 1)) & mask


def drop_word(number: Any, sample: Any, step: Any, place: Any, low: Any, high: Any) -> Any:
    """Return the random number that decides whether dropout drops a number of a sample.

    `place` is the position of the layer's state; `low` and `high` are the halves of the seed.
    """
    return unit(philox(number, sample, step & MASK, STREAM_DROPOUT + 8 * place, low, high)[0])


class SealedSeed:
    """A seed that can only be passed on, to check that a function does not use it in other ways.

    Attributes:
        number: the seed
        opened: number of times that `check_seed` read the seed
        read: whether the seed was used in any other way, which raises TypeError
    """

    def __init__(self, number: int) -> None:
        self.number, self.opened, self.read = number, 0, False

    def _refuse(self, *others: object) -> Any:
        self.read = True
        raise TypeError("this seed can only be passed on")

    __eq__ = __hash__ = __bool__ = __index__ = __int__ = __float__ = __array__ = _refuse
    __str__ = __format__ = _refuse

    def __repr__(self) -> str:  # also inside a list made by the user's function
        self.read = True
        return "SealedSeed()"


def check_seed(seed: object) -> int:
    """Return the seed as an int; raise InputError unless it fits into 64 bits."""
    if isinstance(seed, SealedSeed):
        seed.opened += 1
        return seed.number
    if isinstance(seed, (int, np.integer)) and not isinstance(seed, bool) and 0 <= seed < 2**64:
        return int(seed)
    raise InputError(f"seed must be an integer from 0 to 2**64 - 1, not {shorten(seed)}")


def unit_pairs(
    seed: int, stream: int, step: int, first: int, count: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return two independent arrays of numbers between 0 and 1, for `count` draws from `first`."""
    index = np.arange(first, first + count, dtype=np.int64)
    words = philox(index & MASK, index >> 32, step & MASK, stream, seed & MASK, seed >> 32)
    return unit(words[0]), unit(words[1])


def shuffled(
    seed: int, epoch: int, places: npt.NDArray[np.int64], count: int
) -> npt.NDArray[np.int64]:
    """Return the sample indices at `places` in the shuffled order of an epoch of `count` samples.

    Each place is computed independently: numbers are permuted until they are below `count`.
    """
    keys = philox(0, 0, epoch & MASK, STREAM_ORDER, seed & MASK, seed >> 32)
    bits = (count - 1).bit_length()
    mask, shift = (1 << bits) - 1, (bits + 1) >> 1
    result: npt.NDArray[np.int64] = scramble(places.astype(np.int64), mask, shift, *keys)
    while (result >= count).any():
        result = np.where(result < count, result, scramble(result, mask, shift, *keys))
    return result
