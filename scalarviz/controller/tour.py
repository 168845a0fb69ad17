"""Tour: shows the first step of a training operation by operation, once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import final

from scalarviz.engines.codegen.cache_files import cache_folder
from scalarviz.session.session import Session

Do = Callable[[Callable[[], None]], object]

OPENING, OPERATION = 3.0, 1.4  # seconds
MOST = 40  # most operations of a step for a tour
SEEN = "tour-seen"


def was_seen() -> bool:
    """Return whether the tour was shown on this machine before."""
    with suppress(OSError):
        return seen().exists()
    return False


def seen() -> Path:
    return cache_folder() / SEEN


@final
class Tour:
    """Takes a session through one step over time.

    session  the session
    wanted   True, False, or None for the first time on this machine only
    """

    def __init__(self, session: Session, wanted: bool | None) -> None:
        fits = session.step_index == 0 and len(session.operations) <= MOST
        self.active = fits and (not was_seen() if wanted is None else wanted)
        self.session = session
        self._next: float | None = None

    def attend(self, now: float, do: Do = lambda command: command()) -> bool:
        """Do what is due through `do`; return whether the tour has just ended."""
        if not self.active:
            return False
        if self._next is None:
            self._next = now + OPENING
        if now < self._next:
            return False
        if self.session.step_index > 0:
            self._end()
            return True
        do(partial(self.session.advance, 1, "operation"))
        self._next = now + OPERATION * (1.5 if self.session.step_index > 0 else 1.0)
        return False

    def skip(self) -> None:
        """End the tour; the rest of the step is done at once."""
        if self.active:
            if self.session.step_index == 0 and self.session.clock.operation:
                self.session.advance(1)
            self._end()

    def _end(self) -> None:
        self.active = False
        with suppress(OSError):
            seen().touch()
