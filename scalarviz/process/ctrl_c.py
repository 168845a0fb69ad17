"""Ctrl-C while many steps are taken: heard where it may be, held back elsewhere."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType
from typing import Any, Self, final


@final
class CtrlC:
    """While it lasts, signals wait from `hold` on until `listen`, which raises what has waited.

    Until the first `hold` it costs nothing. While it listens, the first signal goes to the handler
    of before, such as the one that raises KeyboardInterrupt; what comes after that one waits. What
    waits at the end is heard then, unless a KeyboardInterrupt leaves already. Only the main thread
    hears signals; elsewhere it does nothing.
    """

    def __init__(self) -> None:
        self._before: Callable[[int, FrameType | None], Any] | None = None
        self._listening = False
        self._waits = False

    def __enter__(self) -> Self:
        return self

    def hold(self) -> None:
        """Have signals wait from now on."""
        self._listening = False
        before = signal.getsignal(signal.SIGINT) if self._before is None else None
        if callable(before):
            try:
                signal.signal(signal.SIGINT, self._hear)
            except ValueError:  # this is not the main thread
                return
            self._before = before

    def listen(self) -> None:
        """Hear what has waited, and what comes from now on."""
        self._listening = True
        if self._waits:
            self._hear(signal.SIGINT, None)

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if self._before is None:
            return
        signal.signal(signal.SIGINT, self._before)
        if self._waits and not (kind and issubclass(kind, KeyboardInterrupt)):
            self._before(signal.SIGINT, None)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self._waits = not self._listening
        if self._before is not None and self._listening:
            self._listening = False
            self._before(number, frame)
            self._listening = True
