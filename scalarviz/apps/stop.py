"""Stop: Ctrl-C as a wish that is heard between two steps, so that nothing is left half done."""

from __future__ import annotations

import signal
from types import FrameType, TracebackType
from typing import Any, Self, final

# SIGTERM and SIGHUP come from whoever ends the program or closes the terminal; Windows has no
# SIGHUP.
HEARD = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@final
class Stop:
    """While it lasts, `asked` becomes true on Ctrl-C; asking again stops at once, wherever it is.

    `code` is what a program that was stopped so should exit with: 130 after Ctrl-C.
    """

    def __init__(self) -> None:
        self.asked = False
        self.code = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in HEARD:
            try:
                self._before[number] = signal.signal(number, self._hear)
            except ValueError:  # only the main thread hears signals
                break
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        self.code = 128 + number
