"""Finds missing Linux libraries that Qt needs for a window on X11.

They are loaded one by one, without Qt, which would abort the process.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

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
    """Return the missing libraries, given the loader's error.

    The loader names only the first: the others are found by loading each.
    """
    named = re.findall(r"^([\w.+-]+\.so[\w.]*): ", lack)
    return sorted({*named, *(library for library in PACKAGES if lack_of(library))})


def packages_of(libraries: Iterable[str]) -> str:
    """Return the Debian packages of these libraries; all packages if one is unknown."""
    names = {PACKAGES.get(library, "") for library in libraries}
    return " ".join(sorted(names)) if names and "" not in names else ALL


def told(libraries: list[str]) -> str:
    """Return a sentence about missing libraries."""
    *others, last = libraries
    return f"{', '.join(others)} and {last} are missing" if others else f"{last} is missing"
