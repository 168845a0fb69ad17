"""Check whether a window can be opened, as Qt would abort the program if not."""

from __future__ import annotations

import ctypes
import functools
import os
import re
import sys
import time
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from scalarviz.base.processes import has_display
from scalarviz.base.shell_commands import pip_command
from scalarviz.errors import DisplayError

TRIES = 5  # connections to an X server
BETWEEN_TRIES = 0.2  # seconds


def check_window() -> None:
    """Raise DisplayError if no window can be opened; Qt itself would abort the program."""
    if find_spec("PySide6") is None:
        raise DisplayError(
            f"a window needs PySide6, which is not installed: {pip_command('desktop')}"
        )
    if not has_display():
        raise DisplayError("no screen to open a window on: run it where DISPLAY is set")
    try:
        import_module("PySide6.QtOpenGLWidgets")
    except ImportError as error:
        raise lack(str(error)) from error
    if sys.platform == "linux":
        check_linux()


def check_linux() -> None:
    """Raise DisplayError if a library or the display that Qt needs on X11 is missing."""
    platform = os.environ.get("QT_QPA_PLATFORM", "")
    if os.environ.get("WAYLAND_DISPLAY") or platform not in ("", "xcb"):
        return
    if why := lack_of_qt() or lack_of("libxcb.so.1"):
        raise lack(why)
    display = os.environ.get("DISPLAY", "")
    if not connects(display):
        raise DisplayError(
            f"the screen {display!r} does not answer: set DISPLAY to a working screen"
        )


@functools.cache
def connects(display: str) -> bool:
    """Return whether an X server responds; the connection stays open until the process ends.

    An X server may restart when its last client leaves, and then it refuses connections for a
    moment. The open connection prevents this until Qt connects.
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
    """Return the error for a missing library or display, with a command that fixes it."""
    if sys.platform != "linux":
        return DisplayError(f"Qt cannot be loaded ({why})")
    absent = missing(why)
    why = told(absent) if absent else why
    mend = f"sudo apt-get install {packages_of(absent)}"
    return DisplayError(f"Qt cannot be loaded ({why}): {mend}")


# Missing Linux libraries required by Qt for a window on X11. They are loaded one by one, without
# Qt, which would abort the process.

# Each library, and its Debian/Ubuntu package.
PACKAGES = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libX11-xcb.so.1": "libx11-xcb1",
    "libX11.so.6": "libx11-6",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libgthread-2.0.so.0": "libglib2.0-0",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-glx.so.0": "libxcb-glx0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-render.so.0": "libxcb-render0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-shm.so.0": "libxcb-shm0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-util.so.1": "libxcb-util1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libxcb.so.1": "libxcb1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxkbcommon.so.0": "libxkbcommon0",
}
# The others are dependencies of these.
ALL = (
    "libegl1 libgl1 libxkbcommon-x11-0 libxcb-cursor0 libxcb-icccm4 libxcb-keysyms1 libxcb-shape0 "
    "libglib2.0-0 libdbus-1-3 libfontconfig1"
)


def lack_of_qt() -> str:
    """Return why Qt's libraries or its X11 plugin cannot be loaded; "" if they can."""
    found = find_spec("PySide6")
    folder = Path(found.origin or "").parent / "Qt" if found else Path()
    parts = [folder / "lib" / f"libQt6{part}.so.6" for part in ("Gui", "Widgets", "OpenGL", "DBus")]
    parts.append(folder / "plugins" / "platforms" / "libqxcb.so")
    lacks = (lack_of(str(part)) for part in parts if part.exists())
    return next((lack for lack in lacks if lack), "")


def lack_of(library: str) -> str:
    """Return why a library cannot be loaded; "" if it can."""
    try:
        ctypes.CDLL(library)
    except OSError as error:
        return str(error)
    return ""


def missing(lack: str) -> list[str]:
    """Return the names of all missing libraries, given an error message of the loader.

    The message contains only the first one; the others are found by loading each library.
    """
    named = re.findall(r"^([\w.+-]+\.so[\w.]*): ", lack)
    return sorted({*named, *(library for library in PACKAGES if lack_of(library))})


def packages_of(libraries: Iterable[str]) -> str:
    """Return the Debian packages that contain libraries; all packages if a library is unknown."""
    names = {PACKAGES.get(library, "") for library in libraries}
    return " ".join(sorted(names)) if names and "" not in names else ALL


def told(libraries: list[str]) -> str:
    """Return a sentence that lists missing libraries."""
    *others, last = libraries
    return f"{', '.join(others)} and {last} are missing" if others else f"{last} is missing"
