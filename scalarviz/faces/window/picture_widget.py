"""View: the OpenGL widget that shows the picture in the window and handles the mouse."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from time import perf_counter
from typing import Any, cast, final

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import (
    QMouseEvent,
    QNativeGestureEvent,
    QOffscreenSurface,
    QOpenGLContext,
    QWheelEvent,
)
from PySide6.QtWidgets import QWidget
from vispy import gloo

from scalarviz.base.texts import text
from scalarviz.errors import DisplayError
from scalarviz.faces.controller.face import Face
from scalarviz.faces.controller.pointer import Pointer
from scalarviz.scene.offscreen import (
    WINDOWED,
    binding,
    environment,
    is_of_opengl,
    lost,
    no_opengl,
    scene_canvas,
    toolkit,
    turn,
)
from scalarviz.scene.visuals.opengl import FINE_PIXELS, LONGEST_DRAWING, PATIENCE, Smooth


@final
class View(QObject):
    """Draws the picture of an interface, and passes mouse events to it.

    `failed` is called with the first error that occurs in drawing; afterwards nothing is drawn.

    Edges are antialiased: on a GPU always, otherwise only while nothing moves.
    """

    def __init__(self, face: Face, failed: Callable[[Exception], None]) -> None:
        super().__init__()
        self.face = face
        self.drawn = False  # whether a picture was drawn
        self.stale = True  # whether something has changed since the last picture
        self.smooth = Smooth()
        self.coarse = False  # whether an antialiased picture is too slow here
        self._stands = False  # whether the next picture is the last one, drawn antialiased
        self._patience = QTimer(self, singleShot=True, interval=PATIENCE)
        self._patience.timeout.connect(self._stand)
        self._lost = False  # whether OpenGL failed in the last frame
        self._failed: Callable[[Exception], None] | None = failed
        self.pointer = Pointer(self.face)
        self.canvas, self.widget = make_canvas(self._draw, text("controls.picture"), self)

    def refresh(self) -> None:
        """Request a redraw."""
        self.stale = False
        self.canvas.update()

    def close(self) -> None:
        """Stop drawing."""
        self._failed = None
        self._patience.stop()
        self.widget.removeEventFilter(self)
        self.canvas.events.draw.disconnect(self._draw)

    def release(self) -> None:
        """Free the memory of the picture; the view cannot be used afterwards."""
        with drawing_on(self.canvas):
            self.face.stage.release()
            self.smooth.release()

    def _draw(self, event: object) -> None:
        if self._failed is None:
            return
        try:
            with drawing_on(self.canvas) as size:
                self.face.time.undisturbed(partial(self._show, *size))
            self.drawn, self._lost = True, False
        except Exception as error:  # Qt would swallow it
            if is_of_opengl(error) and not self._lost:
                self.smooth.release()
                self._lost = self.stale = True  # the next frame allocates everything again
                return
            failed, self._failed = self._failed, None
            failed(lost(error) if is_of_opengl(error) else error)

    def _show(self, width: int, height: int, ratio: float) -> None:
        draw, stands = self.face.stage.draw, self._stands
        self._stands = False
        if ratio >= FINE_PIXELS:
            draw(width, height, ratio)
        elif self.smooth.is_quick():
            self.smooth.draw(draw, width, height, ratio)
        elif stands:
            began = perf_counter()
            self.smooth.draw(draw, width, height, ratio)
            gloo.finish()
            self.coarse = perf_counter() - began > LONGEST_DRAWING
        else:
            draw(width, height, ratio)
            if not (self.coarse or self.face.time.is_playing):  # the next picture follows soon
                self._patience.start()

    def _stand(self) -> None:
        self._stands = True
        self.canvas.update()

    # The mouse.

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Handle mouse events, and pass all other events on."""
        if isinstance(event, QMouseEvent):
            at, kind = event.position(), event.type()
            if kind in (QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonDblClick):
                self.widget.setFocus(Qt.FocusReason.MouseFocusReason)
                shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
                how = {"shift": shift, "twice": kind == QEvent.Type.MouseButtonDblClick}
                self.pointer.press(event.button().value, at.x(), at.y(), **how)
            elif kind == QEvent.Type.MouseMove:
                self.pointer.move(at.x(), at.y())
            elif kind == QEvent.Type.MouseButtonRelease:
                self.pointer.release(event.button().value, at.x(), at.y())
        elif isinstance(event, QWheelEvent):
            at = event.position()
            self.pointer.wheel(event.angleDelta().y() / 120.0, at.x(), at.y())
        elif isinstance(event, QNativeGestureEvent):
            if event.gestureType() == Qt.NativeGestureType.ZoomNativeGesture:
                at = event.position()
                self.pointer.pinch(1.0 + event.value(), at.x(), at.y())
        elif event.type() == QEvent.Type.Leave:
            self.pointer.leave()
            self.stale = True
            return False
        else:
            return False
        self.stale = True
        return True


# The OpenGL canvas of a window.


def make_canvas(draw: Callable[[object], None], name: str, watcher: QObject) -> tuple[Any, QWidget]:
    """Return a vispy canvas and its widget; raise DisplayError if OpenGL is not available.

    Args:
        draw: function that draws the canvas
        name: text for screen readers
        watcher: event filter of the widget
    """
    try:
        if sys.platform == "linux":
            choose_binding()
        else:
            context_kind()
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
    canvas.events.draw.connect(draw)
    widget = cast(QWidget, canvas.native)
    widget.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    widget.setMouseTracking(True)
    widget.setAccessibleName(name)
    widget.setMinimumSize(1, 1)
    widget.installEventFilter(watcher)
    return canvas, widget


@contextmanager
def drawing_on(canvas: Any) -> Iterator[tuple[int, int, float]]:
    """Return a context for drawing on a canvas; at its end, the result is presented.

    Nothing else can draw in the meantime. The context provides the width and height in device
    pixels, and the number of device pixels per logical pixel.
    """
    with turn:
        canvas.set_current()
        width, height = (max(1, round(side)) for side in canvas.physical_size)
        yield width, height, float(canvas.pixel_scale)
        canvas.context.flush_commands()


def choose_binding() -> None:
    """Load PyOpenGL with the platform that Qt uses: EGL if possible, otherwise GLX.

    Raises:
        DisplayError: if PyOpenGL was already loaded with another platform.
    """
    kind = context_kind()
    if not binding():
        with environment(PYOPENGL_PLATFORM=kind.lower()):
            import_module("OpenGL.platform")
    if binding() != kind:
        raise DisplayError(
            f"this program already draws with {binding()}, and Qt would draw with {kind}: open "
            "the window first, or from another program"
        )


def context_kind() -> str:
    """Return the kind of Qt's OpenGL contexts on Linux: "EGL" or "GLX".

    Raises:
        DisplayError: if Qt cannot create a context, for example without a driver.
    """
    surface, context = QOffscreenSurface(), QOpenGLContext()
    surface.create()
    if not (context.create() and context.makeCurrent(surface)):
        raise no_opengl(RuntimeError("Qt makes no context"))
    try:
        egl: Any = ctypes.CDLL("libEGL.so.1")
        egl.eglGetCurrentContext.restype = ctypes.c_void_p
        return "EGL" if egl.eglGetCurrentContext() else "GLX"
    except OSError:
        return "GLX"
    finally:
        context.doneCurrent()
