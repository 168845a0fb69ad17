"""Checks whether a window can be opened, before Qt would abort the program."""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import time
from importlib.util import find_spec
from typing import Any

from scalarviz.base.progress import has_display
from scalarviz.base.shell_commands import pip_command
from scalarviz.errors import DisplayError
from scalarviz.faces.window import libraries

TRIES = 5  # connections to an X server
BETWEEN_TRIES = 0.2  # seconds


def check_window() -> None:
    """Raise DisplayError where no window can be opened: Qt itself would abort the program."""
    if find_spec("PySide6") is None:
        raise DisplayError(
            f"a window needs PySide6, which is not installed: {pip_command('desktop')}"
        )
    if not has_display():
        raise DisplayError("there is no screen to open a window on: run it where DISPLAY is set")
    try:
        from PySide6 import QtOpenGLWidgets
    except ImportError as error:
        raise lack(str(error)) from error
    del QtOpenGLWidgets
    if sys.platform == "linux":
        check_linux()


def check_linux() -> None:
    """Raise DisplayError if a library or the display that Qt needs on X11 is missing."""

    platform = os.environ.get("QT_QPA_PLATFORM", "")
    if os.environ.get("WAYLAND_DISPLAY") or platform not in ("", "xcb"):
        return
    if why := libraries.lack_of_qt() or libraries.lack_of("libxcb.so.1"):
        raise lack(why)
    display = os.environ.get("DISPLAY", "")
    if not connects(display):
        raise DisplayError(f"the screen {display!r} does not answer: set DISPLAY to one that does")


@functools.cache
def connects(display: str) -> bool:
    """Return whether an X server answers; the connection stays open until the process ends.

    An X server may start anew when its last client leaves, and then refuses others for a moment:
    the connection that stays keeps it from doing so before Qt connects.
    """
    xcb: Any = ctypes.CDLL("libxcb.so.1")
    xcb.xcb_connect.restype = ctypes.c_void_p
    xcb.xcb_connect.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
    xcb.xcb_connection_has_error.argtypes = xcb.xcb_disconnect.argtypes = [ctypes.c_void_p]
    for _ in range(TRIES):
        connection = xcb.xcb_connect(os.fsencode(display), None)
        if not xcb.xcb_connection_has_error(connection):
            return True
        xcb.xcb_disconnect(connection)
        time.sleep(BETWEEN_TRIES)
    return False


def lack(why: str) -> DisplayError:
    """Return the error for missing libraries, with the command that installs them."""
    if sys.platform != "linux":
        return DisplayError(f"Qt cannot be loaded ({why})")
    absent = libraries.missing(why)
    why = libraries.told(absent) if absent else why
    mend = f"sudo apt-get install {libraries.packages_of(absent)}"
    return DisplayError(f"Qt cannot be loaded ({why}): {mend}")
