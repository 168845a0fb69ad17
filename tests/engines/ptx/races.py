"""Races: two threads at one place, one of which writes, and nothing says which comes first.

Threads of a block know what the others did before the barrier that all of them have passed; blocks,
what others did before the last barrier of the grid, or before they released what this one has
acquired. Time is counted in intervals of a block, from one of its barriers to the next.
"""

from __future__ import annotations

from collections.abc import Callable


class Race(Exception):
    """Two threads share a place without a barrier in between."""


class Races:
    """Who has read and written each cell of memory, in a launch; `place` names a cell."""

    def __init__(self, blocks: int, threads: int, place: Callable[[int], str]) -> None:
        self._threads, self._place = threads, place
        # known[a][b]: block a knows what block b did in the intervals before this one.
        self._known = [[0] * blocks for _ in range(blocks)]
        self._writers: dict[int, tuple[int, int, bool]] = {}  # thread, interval, whether atomic
        self._readers: dict[int, dict[int, int]] = {}  # interval of the last read by each thread
        self._released: dict[int, list[int]] = {}

    def read(self, me: int, cell: int) -> None:
        known = self._known[me // self._threads]
        if cell in self._writers:
            other, interval, _ = self._writers[cell]
            if other != me and interval >= known[other // self._threads]:
                self._found(me, "reads", cell, other, "written")
        now = known[me // self._threads]
        if cell in self._readers:
            self._readers[cell][me] = now
        else:
            self._readers[cell] = {me: now}

    def read_constant(self, me: int, cell: int) -> None:
        """Note a load that may see what was there before the launch, whoever met since."""
        if cell in self._writers:
            self._found(me, "reads as a constant", cell, self._writers[cell][0], "written")

    def write(self, me: int, cell: int, is_atomic: bool = False) -> None:
        known = self._known[me // self._threads]
        if cell in self._writers:
            other, interval, was_atomic = self._writers[cell]
            unordered = other != me and interval >= known[other // self._threads]
            if unordered and not (was_atomic and is_atomic):
                self._found(me, "writes", cell, other, "written")
        for other, interval in self._readers.pop(cell, {}).items():
            if other != me and interval >= known[other // self._threads]:
                self._found(me, "writes", cell, other, "read")
        self._writers[cell] = me, known[me // self._threads], is_atomic

    def combine(self, me: int, cell: int) -> None:
        """Note an atomic operation, which comes before or after all others."""
        self.write(me, cell, True)

    def _found(self, me: int, verb: str, cell: int, other: int, done: str) -> None:
        this, that = [
            f"thread {i % self._threads} of block {i // self._threads}" for i in (me, other)
        ]
        raise Race(f"{this} {verb} {self._place(cell)}, {done} by {that} since they last met")

    # ---- barriers

    def meet_block(self, block: int) -> None:
        """All threads of a block have come to a barrier."""
        self._known[block][block] += 1

    def meet_grid(self) -> None:
        """All threads have come to a barrier."""
        now = [known[block] + 1 for block, known in enumerate(self._known)]
        self._known = [now.copy() for _ in now]

    def release(self, me: int, cell: int) -> None:
        """Let whoever acquires this cell know what the block of a thread knows."""
        known = self._known[me // self._threads]
        before = self._released.get(cell, known)
        self._released[cell] = [max(pair) for pair in zip(known, before, strict=True)]

    def acquire(self, me: int, cell: int) -> None:
        block = me // self._threads
        released = self._released.get(cell, self._known[block])
        self._known[block] = [max(pair) for pair in zip(self._known[block], released, strict=True)]
