"""The OpenGL canvas of a window."""

from __future__ import annotations

import ctypes
import sys
from importlib import import_module
from typing import Any

from PySide6.QtGui import QOffscreenSurface, QOpenGLContext

from scalarviz.errors import DisplayError
from scalarviz.scene.offscreen import (
    WINDOWED,
    binding,
    environment,
    no_opengl,
    scene_canvas,
    toolkit,
    turn,
)


def make_canvas() -> Any:
    """Return a vispy canvas whose `native` is a Qt widget; raise DisplayError without OpenGL."""
    try:
        check_context()
        if sys.platform == "linux":
            choose_binding()
        application = toolkit(WINDOWED)
        with turn:
            canvas = scene_canvas(application, (960, 600))
    except DisplayError:
        raise
    except Exception as error:  # drivers and toolkits raise errors of any class
        raise no_opengl(error) from error
    set_current = canvas.set_current

    def set_current_in_turn(event: object = None) -> None:
        with turn:  # Qt makes it current at any time
            set_current(event)

    canvas.set_current = set_current_in_turn
    return canvas


def check_context() -> None:
    """Raise DisplayError if Qt cannot make a context of OpenGL, as without a driver."""
    surface, context = QOffscreenSurface(), QOpenGLContext()
    surface.create()
    if not (context.create() and context.makeCurrent(surface)):
        raise no_opengl(RuntimeError("Qt makes no context"))
    context.doneCurrent()


def choose_binding() -> None:
    """Load PyOpenGL with the platform that Qt uses: EGL if possible, else GLX.

    Raise DisplayError if it was loaded with another one.
    """
    kind = "EGL" if draws_by_egl() else "GLX"
    if not binding():
        with environment(PYOPENGL_PLATFORM=kind.lower()):
            import_module("OpenGL.platform")
    if binding() != kind:
        raise DisplayError(
            f"this program has drawn by {binding()} already, and Qt would draw by {kind}, which "
            "cannot both be: open the window first, or from another program"
        )


def draws_by_egl() -> bool:
    """Return whether Qt's contexts are EGL contexts."""
    surface, context = QOffscreenSurface(), QOpenGLContext()
    surface.create()
    try:
        egl: Any = ctypes.CDLL("libEGL.so.1")
        egl.eglGetCurrentContext.restype = ctypes.c_void_p
        made = context.create() and context.makeCurrent(surface)
        return made and bool(egl.eglGetCurrentContext())
    except OSError:
        return False
    finally:
        context.doneCurrent()
