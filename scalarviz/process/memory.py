"""How much memory this machine has: what cannot fit is refused before it is asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path

from scalarviz.errors import InputError

# Where Linux says what a container may use: the newer way, then the older one.
LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
LARGEST = 2**47  # bytes that a program can speak of, on most systems
LOSS = 8  # bytes
UNITS = ("bytes", "KB", "MB", "GB", "TB", "PB", "EB")


@cache
def memory_size() -> int:
    """Bytes of memory that this process can have; 0 where the system does not say so simply."""
    try:
        found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    except (AttributeError, ValueError, OSError):
        found = []
    for limit in LIMITS:
        try:
            found.append(int(Path(limit).read_text(encoding="ascii")))
        except (OSError, ValueError):  # there is no such file, or it says "max"
            continue
    return min(found, default=0)


@contextmanager
def enough_memory(needed: int, what: str, remedy: str) -> Iterator[None]:
    """Refuse what takes more bytes than there are, before or when it is asked for.

    `what` says what they are for, and `remedy` what to do instead.
    """
    there_is = memory_size()
    text = f"{what} would take {in_units(needed)} of memory"
    if needed > (there_is or LARGEST):
        has = f"this machine has {in_units(there_is)}" if there_is else "no machine has that"
        raise InputError(f"{text}, and {has}: {remedy}")
    try:
        yield
    except MemoryError as error:
        raise InputError(f"{text}, more than there is left: {remedy}") from error


def room_for_losses(steps: int, networks: int = 1) -> AbstractContextManager[None]:
    """`enough_memory` for the loss of every step of some networks."""
    count = f"{steps:,} steps of {networks:,} networks" if networks > 1 else f"{steps:,} steps"
    return enough_memory(LOSS * steps * networks, f"the losses of {count}", "take fewer steps")


def check_losses(steps: int, networks: int = 1) -> None:
    """Refuse more steps than those whose losses can be kept."""
    with room_for_losses(steps, networks):
        pass


def most(size: int) -> int:
    """How many things of so many bytes fit into memory."""
    return (memory_size() or LARGEST) // size


def in_units(count: int) -> str:
    """Bytes as people say them."""
    power = min(max(0, (count.bit_length() - 1) // 10), len(UNITS) - 1)
    number = count / 1024**power
    digits = 1 if power and number < 1e4 else 0
    return f"{number:,.{digits}f} {UNITS[power]}"
