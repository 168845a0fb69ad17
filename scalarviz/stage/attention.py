"""Attention: how far what is out of focus has fallen back.

Of plain numbers: pages have it in JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

from typing import final

FALL, RISE = 0.25, 0.4  # seconds until all else has fallen back from a focus, and is back again


@final
class Attention:
    """How far what is out of focus has fallen back.

    moves  whether it still changes by itself
    """

    def __init__(self) -> None:
        self.moves = False
        self._level, self._at, self._goal = 0.0, 0.0, 0.0

    def follow(self, focused: bool, now: float, calm: bool) -> float:
        """Return how far it has fallen back at a time in seconds, 0 to 1.

        focused  whether anything is in focus from now on
        calm     whether nothing moves: it jumps
        """
        goal = 1.0 if focused else 0.0
        passed: float = max(0.0, now - self._at)
        level: float = self._level + (passed / FALL if self._goal > 0.0 else -passed / RISE)
        level = goal if calm else min(1.0, max(0.0, level))
        self._level, self._at, self._goal, self.moves = level, now, goal, level != goal
        return level * level * (3.0 - 2.0 * level)
