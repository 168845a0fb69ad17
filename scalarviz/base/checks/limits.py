"""Limits on what a file may cost to read: memory, time, counts of parts.

A file may come from anywhere, and a small one can describe something large. So sizes are checked
from the headers, before memory is allocated. Every function that reads a file has an argument
`limit`, in bytes, which replaces LIMIT and scales the limits that are derived from it.
"""

from __future__ import annotations

from collections import Counter
from typing import final

from scalarviz.base.checks.numbers import size
from scalarviz.base.process.memory import in_units
from scalarviz.errors import InputError

LIMIT = 640 * 2**20  # bytes: of the numbers that a file describes, and of the file
MADE = 128 * 2**20  # bytes: of the data sets that a run file describes without containing them
GROWTH = 8  # factor by which a run file may always grow: a stored byte becomes a float64

# Prices, in bytes of the limit, of what costs time. LIMIT pays for
LAYER = LIMIT // 40_000  # layers of a network
NODE = LIMIT // 4096  # nodes of an ONNX graph
WAVE = LIMIT // 2**21  # numbers of the frequency encodings in one
PART = LIMIT // 2**19  # names, lists and other parts of an ONNX file

# Fixed limits: a file beyond them is not of its kind.
LARGEST_HEADER = 2**24  # bytes: the header of a safetensors file
MOST_PARTS = 3 * 2**20  # lists, objects and items in the header
LARGEST_DIRECTORY = 2**20  # bytes: the directory of an NPZ file
LONGEST_ARRAY_HEADER = 10_000  # characters: dtype and shape in an NPY header
LONGEST_LINE = 2**22  # characters: one line of a CSV file
MOST_SCANS = 64  # of a JPEG picture
MOST_CONDITIONS = 20  # at which a training stops
LONGEST_CONDITION = 200  # letters
LONGEST_MARK = 1000  # letters of what is said of a step at which some conditions held
MOST_PRODUCTS = {"python": 5 * 10**5}  # multiply-adds to recompute a step in the middle of ...
PRODUCTS = 10**9  # ... which a run was saved; on other engines


REMEDY = "make it smaller, or, if you know where the file is from, pass limit="


@final
class Budget:
    """Keeps account of the bytes that the content of one file takes.

    limit  bytes, at least 1; None, the default: `usual`
    usual  bytes; by default LIMIT
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
        """Add `count` of `what` ("layers"), at `price` bytes each; raise InputError if too many."""
        self._counts[what] += count
        count, most = self._counts[what], self.limit // price
        if count > most:
            raise InputError(
                f"it has {count:,} {what}, and a limit of {in_units(self.limit)} permits {most:,}: "
                f"{REMEDY}{count * price}"
            )
