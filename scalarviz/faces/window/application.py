"""The QApplication, and how it shares the interpreter with a training."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from PySide6.QtWidgets import QApplication

# Python's switch interval in seconds. With a longer one, waiting threads starve: NumPy releases the
# lock more often than that, but too briefly for them to take it.
SWITCH = 0.0001


@contextmanager
def quick_turns() -> Iterator[None]:
    """Shorten Python's switch interval, so that controls respond while a training plays."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def application() -> QApplication:
    """Return the QApplication, created if needed."""
    found = QApplication.instance()
    if isinstance(found, QApplication):
        return found
    # With EGL, Qt can draw in the same process as pictures without a window. Without EGL, Qt uses
    # another platform.
    os.environ.setdefault("QT_XCB_GL_INTEGRATION", "xcb_egl")
    made = QApplication(["scalarviz"])
    made.setApplicationDisplayName("scalarviz")
    made.setStyle("Fusion")
    return made
