"""CtrlC: delays Ctrl-C while kernels run, and delivers it between portions."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType
from typing import Any, Self, final


@final
class CtrlC:
    """Context manager that delays SIGINT from `hold` until `listen`.

    Before the first `hold` it does nothing. After `listen`, the next signal goes to the previous
    handler, which raises KeyboardInterrupt, for instance; further ones are delayed. A delayed
    signal is delivered at the end, unless a KeyboardInterrupt is leaving the block. Does nothing
    outside the main thread, which alone receives signals.
    """

    def __init__(self) -> None:
        self._before: Callable[[int, FrameType | None], Any] | None = None
        self._listening = False
        self._waits = False

    def __enter__(self) -> Self:
        return self

    def hold(self) -> None:
        """Delay signals from now on."""
        self._listening = False
        before = signal.getsignal(signal.SIGINT) if self._before is None else None
        if callable(before):
            try:
                signal.signal(signal.SIGINT, self._hear)
            except ValueError:  # not the main thread
                return
            self._before = before

    def listen(self) -> None:
        """Deliver a delayed signal, and further ones from now on."""
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
