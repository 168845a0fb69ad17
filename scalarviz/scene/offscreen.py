"""OpenGL without a window: the choice of vispy's backend, and the offscreen canvas.

This is one of the few files that depend on vispy's internals.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ctypes import c_uint
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from scalarviz.base.kernel_threads import Guard
from scalarviz.base.shell_commands import pip_install, program
from scalarviz.errors import DisplayError

WINDOWED = "pyside6"
turn = Guard()  # vispy has one current canvas for all threads
_kept: KeptCanvas | None = None
LONGEST = 160  # maximum characters quoted from a driver's message
NEEDS = "sudo apt-get install libegl1 libgl1 libgl1-mesa-dri"


class KeptCanvas:
    """The only offscreen canvas of this process.

    vispy never destroys an EGL context or its driver resources, so the process has only one, and
    pictures of all sizes are drawn into its framebuffers.
    """

    def __init__(self) -> None:
        self.canvas = make_canvas(1, 1)
        self.process = os.getpid()
        self.thread = threading.get_ident()

    def begin(self) -> None:
        """Make the context current in this thread."""
        backend = self.canvas._backend
        if hasattr(backend, "_secondary_context"):  # only Qt's backend has it
            if threading.get_ident() != self.thread:
                raise DisplayError(
                    "Qt draws pictures on one thread only: draw this one where the first was drawn"
                )
            backend._secondary_context.makeCurrent(backend._surface)
        self.canvas.set_current()

    def end(self) -> None:
        """Release the context, so that another thread or a window can use OpenGL."""
        self.canvas.context.flush_commands()
        backend = self.canvas._backend
        if hasattr(backend, "_secondary_context"):
            backend._secondary_context.doneCurrent()
        else:
            module = self.canvas.app.backend_module
            module.egl.eglMakeCurrent(module._EGL_DISPLAY, None, None, None)


@contextmanager
def drawing() -> Iterator[Any]:
    """Make the offscreen canvas current, in one thread at a time, and return it.

    The caller owns its framebuffers; those no longer referenced are freed at the end of the block.
    Raises DisplayError if OpenGL cannot be used or fails; the next block then gets a new canvas.
    """
    global _kept
    if _kept is not None and _kept.process != os.getpid():
        raise DisplayError(
            "this process was forked from one that has drawn pictures, and OpenGL does not work in "
            'both: start it with multiprocessing.get_context("spawn")'
        )
    with turn:
        kept = _kept = _kept or KeptCanvas()
        try:
            kept.begin()
            yield kept.canvas
        except Exception as error:
            if not is_of_opengl(error):
                kept.end()
                raise
            _kept = None  # the next picture has a new context
            raise lost(error) from error
        kept.end()


@cache
def toolkit(name: str) -> Any:
    """Return a vispy Application for a backend: "egl" or a Qt backend.

    A process can use both backends this way; `vispy.use` would not allow it.
    """
    application = import_module("vispy.app").Application(name)
    use_direct_calls(import_module("vispy.gloo.gl"))
    return application


def use_direct_calls(gl: Any) -> None:
    """Make vispy call OpenGL through ctypes if possible, since wrappers of PyOpenGL are slow."""
    gl.use_gl("gl+")
    direct = import_module("vispy.gloo.gl.gl2")
    if direct._lib is not None:
        gl._copy_gl_functions(direct, vars(gl))
        with suppress(RuntimeError):  # only available in a context on Windows
            divisor = direct._get_gl_func("glVertexAttribDivisor", None, (c_uint, c_uint))
            gl.glVertexAttribDivisor = divisor


def use_offscreen() -> Any:
    """Return the vispy Application that draws without a window."""
    try:
        if sys.platform != "linux" or binding() not in ("", "EGL"):
            return toolkit(WINDOWED)
        if find_spec("OpenGL") is None:
            raise DisplayError(
                "drawing without a window needs PyOpenGL, which is not installed: "
                f"{pip_install('PyOpenGL')}"
            )
        with environment(PYOPENGL_PLATFORM="egl", EGL_PLATFORM="surfaceless"):
            import_module("OpenGL.platform")  # selects EGL, unless already loaded
            return toolkit("egl")
    except DisplayError:
        raise
    except Exception as error:  # drivers and backends raise errors of any class
        raise no_opengl(error) from error


def binding() -> str:
    """Return the platform that PyOpenGL uses, such as "EGL"; "" if PyOpenGL is not loaded.

    PyOpenGL chooses its platform at import, and cannot use contexts of other platforms.
    """
    found = sys.modules.get("OpenGL.platform")
    return type(found.PLATFORM).__name__.removesuffix("Platform") if found is not None else ""


@contextmanager
def environment(**variables: str) -> Iterator[None]:
    """Set environment variables inside a block, so that other programs do not inherit them."""
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
    """Return a hidden vispy canvas that is current and ready for drawing."""
    application = use_offscreen()
    try:
        with turn:
            canvas = scene_canvas(application, (width, height))
            canvas.set_current()
    except Exception as error:  # drivers and backends raise errors of any class
        raise no_opengl(error) from error
    return canvas


def scene_canvas(application: Any, size: tuple[int, int]) -> Any:
    """Return a hidden SceneCanvas for drawing pictures; see `picture_scene`."""
    # Without a given resolution vispy runs a program to find the screen's.
    canvas = import_module("vispy.scene").SceneCanvas(
        app=application, size=size, keys=None, show=False, dpi=96
    )
    canvas.events.ignore_callback_errors = False
    canvas.events.draw.disconnect((canvas, "on_draw"))
    canvas.events.draw.connect(begin_frame)
    return canvas


def begin_frame(event: Any) -> None:
    """Allow a canvas to request the next frame, as `SceneCanvas.on_draw` does."""
    event.source._update_pending = False


def is_of_opengl(error: BaseException) -> bool:
    """Return whether an error comes from OpenGL, such as a lost context."""
    from_vispy = type(error) is RuntimeError and "OpenGL" in str(error)
    return from_vispy or type(error).__module__.startswith("OpenGL.")


def lost(error: BaseException) -> DisplayError:
    """Return the error for failed drawing, which says what to do."""
    said = " ".join(str(error).split())[:LONGEST] or type(error).__name__
    return DisplayError(
        f"OpenGL failed while drawing ({said}), which happens when the graphics card is reset or "
        "its memory is full: the session is unchanged, draw it again"
    )


def no_opengl(error: BaseException) -> DisplayError:
    """Return the error for missing OpenGL, with the command that installs it."""
    said = next(iter(str(error).splitlines()), "") or type(error).__name__
    mend = f": {NEEDS}, or see {program()} doctor" if sys.platform == "linux" else ""
    return DisplayError(f"OpenGL cannot be used here ({said}){mend}")
