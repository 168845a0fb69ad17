"""The picture in the window: a widget with OpenGL in it, and the mouse over it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, cast, final

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QMouseEvent, QNativeGestureEvent, QWheelEvent
from PySide6.QtWidgets import QWidget

from scalarviz.desk.desk import Desk
from scalarviz.desk.pointer import Pointer
from scalarviz.errors import DisplayError
from scalarviz.view.offscreen import WINDOWED, no_opengl


def make_canvas() -> Any:
    """A vispy canvas whose `native` is a Qt widget."""
    if os.environ.get("PYOPENGL_PLATFORM") == "egl" and "OpenGL" not in sys.modules:
        del os.environ["PYOPENGL_PLATFORM"]  # somebody else's choice, with which Qt cannot draw
    vispy, app = import_module("vispy"), import_module("vispy.app")
    try:
        vispy.use(WINDOWED, "gl+")
    except RuntimeError as error:  # vispy can be set up once
        raise DisplayError(
            "this program has drawn pictures without a window already, and cannot open one any "
            "more: open the window first, or from another program"
        ) from error
    try:
        canvas = app.Canvas(size=(960, 600), keys=None, show=False)
    except Exception as error:  # whatever a driver or a toolkit may raise
        raise no_opengl(error) from error
    canvas.events.ignore_callback_errors = False
    return canvas


@final
class View(QObject):
    """Draws the stage of a desk, and takes the mouse to it.

    `failed` is called with what went wrong in drawing, once; nothing is drawn any more then.
    """

    def __init__(self, desk: Desk, failed: Callable[[Exception], None]) -> None:
        super().__init__()
        self.desk = desk
        self.drawn = False  # whether there is a first picture
        self.stale = True  # whether something has changed since the last picture
        self._failed: Callable[[Exception], None] | None = failed
        self.pointer = Pointer(desk)
        self.canvas = make_canvas()
        self.canvas.events.draw.connect(self._draw)
        self.widget = cast(QWidget, self.canvas.native)
        self.widget.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.widget.setMouseTracking(True)
        self.widget.setAccessibleName("Picture of the network")
        self.widget.setMinimumSize(1, 1)
        self.widget.installEventFilter(self)

    def refresh(self) -> None:
        """Draw soon."""
        self.stale = False
        self.canvas.update()

    def close(self) -> None:
        """Nothing is drawn from now on."""
        self._failed = None
        self.widget.removeEventFilter(self)
        self.canvas.events.draw.disconnect(self._draw)

    def _draw(self, event: object) -> None:
        if self._failed is None:
            return
        width, height = (max(1, round(side)) for side in self.canvas.physical_size)
        ratio = float(self.canvas.pixel_scale)
        try:
            self.desk.drawing(partial(self.desk.stage.draw, width, height, ratio))
            self.drawn = True
        except Exception as error:  # it would be lost in Qt
            failed, self._failed = self._failed, None
            failed(error)

    # The mouse.

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Take what the mouse does; the rest goes its way."""
        if isinstance(event, QMouseEvent):
            at, kind = event.position(), event.type()
            if kind in (QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonDblClick):
                self.widget.setFocus(Qt.FocusReason.MouseFocusReason)
                self.pointer.press(event.button().value, at.x(), at.y())
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
                self.desk.stage.zoom(1.0 + event.value(), at.x(), at.y())
        elif event.type() == QEvent.Type.Leave:
            self.pointer.leave()
            self.stale = True
            return False
        else:
            return False
        self.stale = True
        return True
