"""Memory limits: InputError if the memory, or the limit for a file, is not sufficient.

A file may come from an untrusted source, and a small file can describe a huge network. So sizes are
read from headers and checked before memory is allocated. Every function that reads a file has an
argument `limit`, in bytes, which replaces LIMIT and scales the limits derived from it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import size
from scalarviz.errors import InputError

# Files with the memory limit of a container, cgroup v2 and v1.
LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
LARGEST = 2**47  # bytes of address space on most systems
LOSS = 8  # bytes per loss
UNITS = ("bytes", "KB", "MB", "GB", "TB", "PB", "EB")


@cache
def memory_size() -> int:
    """Return the bytes of memory available to this process; 0 if unknown."""
    try:
        found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    except (AttributeError, ValueError, OSError):
        found = []
    for limit in LIMITS:
        with suppress(OSError, ValueError):  # no such file, or it contains "max"
            found.append(int(Path(limit).read_text(encoding="ascii")))
    return min(found, default=0)


def fits(needed: int) -> bool:
    """Return whether `needed` bytes can be allocated on this machine."""
    return needed <= (memory_size() or LARGEST)


@contextmanager
def enough_memory(needed: int, what: str, remedy: str) -> Iterator[None]:
    """Context manager around an allocation: raise InputError if memory is insufficient.

    Args:
        needed: number of bytes
        what: purpose of the memory, for the error
        remedy: what the user can do, for the error
    """
    text = f"{what} would take {in_units(needed)} of memory"
    if not fits(needed):
        there_is = memory_size()
        has = f"this machine has {in_units(there_is)}" if there_is else "no machine has this much"
        raise InputError(f"{text}, and {has}: {remedy}")
    try:
        yield
    except MemoryError as error:
        raise InputError(f"{text}, more than is left: {remedy}") from error


def room_for_losses(steps: int, networks: int = 1) -> AbstractContextManager[None]:
    """Return `enough_memory` for the losses of `steps` steps of `networks` networks."""
    count = f"{steps:,} steps of {networks:,} networks" if networks > 1 else f"{steps:,} steps"
    return enough_memory(LOSS * steps * networks, f"the losses of {count}", "take fewer steps")


def empty_losses(steps: int) -> npt.NDArray[np.float64]:
    """Return an array for the losses of `steps` steps; raise InputError without enough memory."""
    with room_for_losses(steps):
        return np.empty(steps)


def check_losses(steps: int, networks: int = 1) -> None:
    """Raise InputError if memory is insufficient for the losses of `steps` steps."""
    # Formatting the error takes longer than a step.
    if LOSS * steps * networks > (memory_size() or LARGEST):
        with room_for_losses(steps, networks):
            pass


def most(size: int) -> int:
    """Return how many objects of `size` bytes fit into memory."""
    return (memory_size() or LARGEST) // size


def in_units(count: int) -> str:
    """Return a number of bytes with a unit: "1.5 MB"."""
    power = min(max(0, (count.bit_length() - 1) // 10), len(UNITS) - 1)
    number = count / 1024**power
    digits = 1 if power and number < 1e4 else 0
    return f"{number:,.{digits}f} {UNITS[power]}"


# Costs of reading a file: memory, time, numbers of parts.

LIMIT = 640 * 2**20  # bytes: of the numbers described in a file, and of the file
MADE = 128 * 2**20  # bytes: of the data sets described in a run file without being contained
GROWTH = 8  # factor by which a run file may always grow: a stored byte becomes a float64

# Prices of slow items, in bytes of the limit. LIMIT pays for
LAYER = LIMIT // 40_000  # layers of a network
NODE = LIMIT // 4096  # nodes of an ONNX graph
PART = LIMIT // 2**19  # names, lists and other parts of an ONNX file

# Fixed limits: files beyond them are not accepted.
LARGEST_HEADER = 2**24  # bytes: the header of a safetensors file
MOST_PARTS = 3 * 2**20  # lists, objects and items in the header
LARGEST_DIRECTORY = 2**20  # bytes: the directory of an NPZ file
LONGEST_ARRAY_HEADER = 10_000  # characters: dtype and shape in an NPY header
LONGEST_LINE = 2**22  # characters: one line of a CSV file
MOST_SCANS = 64  # scans of a JPEG picture
MOST_CONDITIONS = 20  # steps at which a training stops
LONGEST_CONDITION = 200  # characters
LONGEST_MARK = 1000  # characters in the description of a step at which conditions held
MOST_PRODUCTS = {"python": 5 * 10**5}  # multiply-adds to recompute a step in the middle of ...
PRODUCTS = 10**9  # ... which a run was saved; on other engines


REMEDY = "make it smaller, or, for a file from a trusted source, pass limit="


@final
class Budget:
    """Adds up the bytes needed by the content of one file, and checks them against a limit.

    Args:
        limit: largest number of bytes, at least 1; None (default) means `usual`
        usual: default limit in bytes
    """

    def __init__(self, limit: object = None, usual: int = LIMIT) -> None:
        self.limit = usual if limit is None else size(limit, "limit")
        self._taken = 0
        self._counts: Counter[str] = Counter()

    def take(self, count: int, what: str) -> None:
        """Add `count` bytes for `what`; raise InputError if that exceeds the limit."""
        self._taken += count
        if self._taken > self.limit:
            whole = f", {in_units(self._taken)} in all" if self._taken > count else ""
            raise InputError(
                f"{what} would take {in_units(count)} of memory{whole}, and the limit is "
                f"{in_units(self.limit)}: {REMEDY}{self._taken}"
            )

    def allow(self, count: int, what: str, price: int) -> None:
        """Count `count` objects, called `what`, of `price` bytes; raise InputError if too many."""
        self._counts[what] += count
        count, most = self._counts[what], self.limit // price
        if count > most:
            raise InputError(
                f"it has {count:,} {what}, and a limit of {in_units(self.limit)} permits {most:,}: "
                f"{REMEDY}{count * price}"
            )
