"""Memory of this machine: InputError for what cannot fit, before it is allocated."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from scalarviz.errors import InputError

# Files with the memory limit of a container, cgroup v2 and v1.
LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
LARGEST = 2**47  # bytes of address space on most systems
LOSS = 8  # bytes of a loss
UNITS = ("bytes", "KB", "MB", "GB", "TB", "PB", "EB")


@cache
def memory_size() -> int:
    """Return the bytes of memory available to this process; 0 if unknown."""
    try:
        found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    except (AttributeError, ValueError, OSError):
        found = []
    for limit in LIMITS:
        try:
            found.append(int(Path(limit).read_text(encoding="ascii")))
        except (OSError, ValueError):  # no such file, or it contains "max"
            continue
    return min(found, default=0)


def fits(needed: int) -> bool:
    """Return whether so many bytes can be allocated on this machine at all."""
    return needed <= (memory_size() or LARGEST)


@contextmanager
def enough_memory(needed: int, what: str, remedy: str) -> Iterator[None]:
    """Context manager around an allocation: raise InputError if memory does not suffice.

    needed  bytes
    what    what they are for, in the error
    remedy  what to do instead, in the error
    """
    text = f"{what} would take {in_units(needed)} of memory"
    if not fits(needed):
        there_is = memory_size()
        has = f"this machine has {in_units(there_is)}" if there_is else "no machine has that"
        raise InputError(f"{text}, and {has}: {remedy}")
    try:
        yield
    except MemoryError as error:
        raise InputError(f"{text}, more than there is left: {remedy}") from error


def room_for_losses(steps: int, networks: int = 1) -> AbstractContextManager[None]:
    """`enough_memory` for the losses of `steps` steps of `networks` networks."""
    count = f"{steps:,} steps of {networks:,} networks" if networks > 1 else f"{steps:,} steps"
    return enough_memory(LOSS * steps * networks, f"the losses of {count}", "take fewer steps")


def empty_losses(steps: int) -> npt.NDArray[np.float64]:
    """Return an array for the losses of `steps` steps; raise InputError if memory is too small."""
    check_losses(steps)
    try:
        return np.empty(steps)
    except MemoryError:
        with room_for_losses(steps):
            raise


def check_losses(steps: int, networks: int = 1) -> None:
    """Raise InputError if memory does not suffice for the losses of `steps` steps."""
    if not fits(LOSS * steps * networks):  # the error's text takes longer than a step
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
