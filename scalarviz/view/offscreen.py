"""OpenGL without a window: which of vispy's backends to use, and a canvas to draw on.

This is one of the few files that know vispy's ways; what they promise is arrays in, picture out.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from scalarviz.engines.common.cores import Guard
from scalarviz.errors import DisplayError

WINDOWED = "pyside6"
turn = Guard()  # which canvas is current is known to vispy once for all threads
_toolkits: dict[str, Any] = {}
_kept: Kept | None = None
NEEDS = "sudo apt-get install libegl1 libgl1 libgl1-mesa-dri"


class Kept:
    """The one canvas of this process that is never shown.

    vispy never destroys an OpenGL context of EGL, nor what a driver keeps for it: so there is one,
    and pictures of any size are drawn into framebuffers of it.
    """

    def __init__(self) -> None:
        self.canvas = make_canvas(1, 1)
        self.process = os.getpid()
        self.thread = threading.get_ident()

    def begin(self) -> None:
        """Make it current on this thread."""
        backend = self.canvas._backend
        if hasattr(backend, "_secondary_context"):  # Qt's
            if threading.get_ident() != self.thread:
                raise DisplayError(
                    "Qt draws pictures on one thread only: draw this one where the first was drawn"
                )
            backend._secondary_context.makeCurrent(backend._surface)
        self.canvas.set_current()

    def end(self) -> None:
        """Let go of it, so that another thread can have it, or a window its own."""
        self.canvas.context.flush_commands()
        backend = self.canvas._backend
        if hasattr(backend, "_secondary_context"):
            backend._secondary_context.doneCurrent()
        else:
            module = self.canvas.app.backend_module
            module.egl.eglMakeCurrent(module._EGL_DISPLAY, None, None, None)


@contextmanager
def drawing() -> Iterator[Any]:
    """A vispy canvas that is never shown, current and ready to be drawn on, for one thread a time.

    Framebuffers and what is in them are the caller's: what is dropped inside is freed at the end.
    Raises DisplayError if OpenGL cannot be used here.
    """
    global _kept
    if _kept is not None and _kept.process != os.getpid():
        raise DisplayError(
            "this process was forked from one that has drawn pictures, and OpenGL does not work in "
            'both: start it by multiprocessing.get_context("spawn")'
        )
    with turn:
        _kept = _kept or Kept()
        _kept.begin()
        try:
            yield _kept.canvas
        finally:
            _kept.end()


def has_display() -> bool:
    """Whether there is a screen to open a window on."""
    if sys.platform != "linux":
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def toolkit(name: str) -> Any:
    """vispy's way to draw by "egl" or by Qt: an Application of its own for each.

    So a process can have both; `vispy.use` would allow it one.
    """
    if name not in _toolkits:
        _toolkits[name] = import_module("vispy.app").Application(name)
        import_module("vispy.gloo").gl.use_gl("gl+")
    return _toolkits[name]


def use_offscreen() -> Any:
    """The toolkit that draws without a window."""
    try:
        if sys.platform != "linux" or binding() not in ("", "EGL"):
            return toolkit(WINDOWED)
        if find_spec("OpenGL") is None:
            raise DisplayError(
                "drawing without a window takes PyOpenGL, which is not installed: "
                "pip install PyOpenGL"
            )
        with bound_to_egl(), environment(EGL_PLATFORM="surfaceless"):
            return toolkit("egl")
    except DisplayError:
        raise
    except Exception as error:  # whatever a driver or a toolkit may raise
        raise no_opengl(error) from error


def binding() -> str:
    """The kind of contexts that PyOpenGL works with in this process, such as EGL; "" if none yet.

    It decides when it is loaded. Contexts of another kind are no contexts to it.
    """
    found = sys.modules.get("OpenGL.platform")
    return type(found.PLATFORM).__name__.removesuffix("Platform") if found is not None else ""


@contextmanager
def bound_to_egl() -> Iterator[None]:
    """Have PyOpenGL work with EGL, if it has not been loaded."""
    with environment(PYOPENGL_PLATFORM="egl"):
        import_module("OpenGL.platform")
        yield


@contextmanager
def environment(**variables: str) -> Iterator[None]:
    """Other variables for a while: what is told to a library is not told to other programs."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def make_canvas(width: int, height: int) -> Any:
    """A vispy canvas that is never shown, current and ready to be drawn on."""
    application = use_offscreen()
    app = import_module("vispy.app")
    try:
        with turn:
            canvas = app.Canvas(app=application, size=(width, height), show=False)
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
