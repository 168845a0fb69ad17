"""A word in the terminal if a window takes long to open.

with opening():
    watch(show)  # calls `opening_over` with the first picture
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer

from scalarviz.base.messages import inform
from scalarviz.base.texts import text

LATE = 2.0  # seconds

_timer: Timer | None = None


def has_display() -> bool:
    """Return whether there is a screen to open a window on."""
    if sys.platform != "linux":
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


@contextmanager
def opening() -> Iterator[None]:
    """Say that a window is being opened if that takes longer than LATE."""
    global _timer
    _timer = Timer(LATE, inform, [text("start.opening")])
    _timer.daemon = True
    if has_display():
        _timer.start()
    try:
        yield
    finally:
        opening_over()


def opening_over() -> None:
    """Note that a window has its first picture, or that there will be none: nothing is said."""
    if _timer is not None:
        _timer.cancel()
