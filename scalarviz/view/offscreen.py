"""OpenGL without a window: which of vispy's backends to use, and a canvas to draw on.

This is one of the few files that know vispy's ways; what they promise is arrays in, picture out.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from scalarviz.errors import DisplayError

WINDOWED = "pyside6"
NEEDS = "sudo apt-get install libegl1 libgl1 libgl1-mesa-dri"


def has_display() -> bool:
    """Whether there is a screen to open a window on."""
    if sys.platform != "linux":
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def use_offscreen() -> None:
    """Have vispy draw without a window, unless it is in use for windows already."""
    vispy_app = sys.modules.get("vispy.app")
    if vispy_app is not None and vispy_app.use_app().backend_name.lower() in ("egl", WINDOWED):
        return
    if sys.platform == "linux":
        if find_spec("OpenGL") is None:
            raise DisplayError(
                "drawing without a window takes PyOpenGL, which is not installed: "
                "pip install PyOpenGL"
            )
        os.environ["EGL_PLATFORM"] = "surfaceless"
        os.environ["PYOPENGL_PLATFORM"] = "egl"
    vispy = import_module("vispy")
    try:
        vispy.use("egl" if sys.platform == "linux" else WINDOWED, "gl+")
    except Exception as error:  # whatever a driver or a toolkit may raise
        raise no_opengl(error) from error


def make_canvas(width: int, height: int) -> Any:
    """A vispy canvas that is never shown, current and ready to be drawn on."""
    use_offscreen()
    app = import_module("vispy.app")
    try:
        canvas = app.Canvas(size=(width, height), show=False)
        canvas.set_current()
    except Exception as error:  # as above
        raise no_opengl(error) from error
    canvas.events.ignore_callback_errors = False
    return canvas


def no_opengl(error: BaseException) -> DisplayError:
    """The error that says that nothing can be drawn here, and what mends it."""
    said = next(iter(str(error).splitlines()), "") or type(error).__name__
    mend = f": {NEEDS}, or see scalarviz doctor" if sys.platform == "linux" else ""
    return DisplayError(f"OpenGL cannot be used here ({said}){mend}")
