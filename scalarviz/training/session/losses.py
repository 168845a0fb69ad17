"""Losses: those of the steps of a branch, exactly of the last ones, in bounded memory."""

from __future__ import annotations

from typing import final

import numpy as np

from scalarviz.base.checks import FloatArray

EXACT = 2**20  # steps at least whose losses are kept as they are
BLOCK = 2**8  # steps of a block at first
MOST_BLOCKS = 2**13  # of which two become one then


@final
class Losses:
    """The losses of a branch from step `first` on: at least the last EXACT of them exactly.

    Of those before, the smallest and the largest of each block of steps are kept. `between` returns
    them by turns for the steps of a block, so that curves, minima and maxima stay right.
    """

    def __init__(self, first: int) -> None:
        self.first = first
        self._count = 0
        # How many came before those in the room, the room, blocks and their size: replaced as a
        # whole, for other threads.
        self._kept = 0, np.empty(64), np.empty((0, 2)), BLOCK

    def __len__(self) -> int:
        return self._count

    def is_exact(self, step: int) -> bool:
        """Whether the loss of a step is known as it was; steps before `first` count as known."""
        return not self.first <= step < self.first + self._kept[0]

    def between(self, start: int, end: int, *, ends: bool = False) -> FloatArray:
        """Return the losses from one place to before another, counted from `first`.

        ends  whether blocks have the smallest and the largest once, not for each of their steps
        """
        end = min(end, self._count)
        before, room, blocks, size = self._kept
        new = room[max(start - before, 0) : max(end - before, 0)]
        if ends:
            past = blocks[start // size : -(-min(end, before) // size)]
            return np.append(past, new) if len(past) else new
        old = np.arange(start, min(end, before))
        return np.append(blocks[old // size, old % 2], new) if len(old) else new

    def parts(self) -> list[FloatArray]:
        """Return arrays with what `between` returns of all steps, without a copy of any."""
        before, room, blocks, size = self._kept
        pairs = np.broadcast_to(blocks[:, np.newaxis], (len(blocks), size // 2, 2))
        return [*pairs, room[: self._count - before]]

    def record(self, step: int, losses: FloatArray) -> None:
        """Append the losses of the steps from `step` on; those recorded already are skipped."""
        new = losses[max(self._count - (step - self.first), 0) :]
        while len(new):
            if self._count - self._kept[0] == 2 * EXACT:
                self._leave()
            before, room, blocks, size = self._kept
            used = self._count - before
            part = new[: 2 * EXACT - used]
            if used + len(part) > len(room):
                larger = np.empty(min(2 * EXACT, max(used + len(part), 2 * len(room))))
                larger[:used] = room[:used]
                room, self._kept = larger, (before, larger, blocks, size)
            room[used : used + len(part)] = part
            self._count += len(part)
            new = new[len(part) :]

    def _leave(self) -> None:
        """Keep only the smallest and largest of blocks of the older half."""
        before, room, blocks, size = self._kept
        left = room[:EXACT].reshape(-1, size)
        blocks = np.concatenate([blocks, np.stack([left.min(axis=1), left.max(axis=1)], axis=1)])
        if len(blocks) >= MOST_BLOCKS and size < EXACT:
            pairs = blocks.reshape(-1, 2, 2)
            blocks = np.stack([pairs[..., 0].min(axis=1), pairs[..., 1].max(axis=1)], axis=1)
            size *= 2
        newer = np.empty(2 * EXACT)
        newer[:EXACT] = room[EXACT:]
        self._kept = before + EXACT, newer, blocks, size
