"""What a file may cost, which may come from anywhere and may be small and stand for much.

What becomes of a file is judged from its headers, before memory is taken for it. All limits are
here. Every function that reads a file has an argument `limit`, in bytes, which takes the place of
LIMIT, and of the others that are derived from it.
"""

from __future__ import annotations

from collections import Counter
from typing import final

from scalarviz.checks.numbers import size
from scalarviz.errors import InputError
from scalarviz.process.memory import in_units

LIMIT = 640 * 2**20  # bytes: of the numbers that a file becomes, and of the file
MADE = 128 * 2**20  # bytes: of the data sets that a run file does not hold, but has made
GROWTH = 8  # by how much a run file may grow in any case: a stored byte becomes a float64

# What costs time has a price, in bytes of the limit: LIMIT pays for so many.
LAYER = LIMIT // 40_000  # layers of a network
NODE = LIMIT // 4096  # nodes of an ONNX graph
WAVE = LIMIT // 2**21  # numbers of the frequency encodings in one
PART = LIMIT // 2**19  # names, lists and whatever else an ONNX file consists of

# These cannot be raised: what is beyond them is no file of its kind.
LARGEST_HEADER = 2**24  # bytes: the description in a file of ours
MOST_PARTS = 3 * 2**20  # lists, objects and items in it
LARGEST_DIRECTORY = 2**20  # bytes: the names of what is in an NPZ file
LONGEST_ARRAY_HEADER = 10_000  # letters: a type and a shape as numpy writes them
LONGEST_LINE = 2**22  # letters: one line of a CSV file
MOST_SCANS = 64  # of a JPEG picture
MOST_PRODUCTS = {"python": 5 * 10**5}  # that are made again, of a step in the middle of which ...
PRODUCTS = 10**9  # ... a run was saved; on other engines than these


REMEDY = "make it smaller, or, if you know where the file is from, pass limit="


@final
class Budget:
    """The bytes that what is read from one file may take; each part is judged before it is made."""

    def __init__(self, limit: object = None, usual: int = LIMIT) -> None:
        self.limit = usual if limit is None else size(limit, "limit")
        self._taken = 0
        self._counts: Counter[str] = Counter()

    def take(self, count: int, what: str) -> None:
        """Refuse what takes more bytes than are left; `what` says what they are for."""
        self._taken += count
        if self._taken > self.limit:
            whole = f", {in_units(self._taken)} in all" if self._taken > count else ""
            raise InputError(
                f"{what} would take {in_units(count)} of memory{whole}, and the limit is "
                f"{in_units(self.limit)}: {REMEDY}{self._taken}"
            )

    def allow(self, count: int, what: str, price: int) -> None:
        """Refuse more of something than the limit pays for; `what` is its name: "layers"."""
        self._counts[what] += count
        count, most = self._counts[what], self.limit // price
        if count > most:
            raise InputError(
                f"it has {count:,} {what}, and a limit of {in_units(self.limit)} permits {most:,}: "
                f"{REMEDY}{count * price}"
            )
