"""The picture in the window: a widget with OpenGL in it, and the mouse over it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, cast, final

from PySide6.QtCore import QEvent, QObject, QPointF, Qt
from PySide6.QtGui import QMouseEvent, QNativeGestureEvent, QWheelEvent
from PySide6.QtWidgets import QWidget

from scalarviz.desk.desk import Desk
from scalarviz.errors import DisplayError
from scalarviz.view.offscreen import WINDOWED, no_opengl

STILL = 4.0  # pixels; a press that moves less is a click
NOTCH = 1.15  # by what a notch of the wheel zooms
Buttons = Qt.MouseButton


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

    The left button turns, the others move, the wheel zooms where it points, a click chooses.
    `failed` is called with what went wrong in drawing, once; nothing is drawn any more then.
    """

    def __init__(self, desk: Desk, failed: Callable[[Exception], None]) -> None:
        super().__init__()
        self.desk = desk
        self.drawn = False  # whether there is a first picture
        self.stale = True  # whether something has changed since the last picture
        self._failed: Callable[[Exception], None] | None = failed
        self._pressed: tuple[Buttons, QPointF] | None = None  # where, and with what
        self._last = QPointF()
        self._moved = False
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
            self.desk.playing.undisturbed(partial(self.desk.stage.draw, width, height, ratio))
            self.drawn = True
        except Exception as error:  # it would be lost in Qt
            failed, self._failed = self._failed, None
            failed(error)

    # The mouse.

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Take what the mouse does; the rest goes its way."""
        if isinstance(event, QMouseEvent):
            kind = event.type()
            if kind in (QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonDblClick):
                self._press(event)
            elif kind == QEvent.Type.MouseMove:
                self._move(event)
            elif kind == QEvent.Type.MouseButtonRelease:
                self._release(event)
        elif isinstance(event, QWheelEvent):
            turned = event.angleDelta().y() / 120.0
            self._zoom(NOTCH**turned, event.position())
        elif isinstance(event, QNativeGestureEvent):
            if event.gestureType() == Qt.NativeGestureType.ZoomNativeGesture:
                self._zoom(1.0 + event.value(), event.position())
        elif event.type() == QEvent.Type.Leave:
            self._hover(QPointF(-1.0, -1.0))
            return False
        else:
            return False
        self.stale = True
        return True

    def _press(self, event: QMouseEvent) -> None:
        self.widget.setFocus(Qt.FocusReason.MouseFocusReason)
        if self._pressed is None:
            self._pressed = event.button(), event.position()
            self._last, self._moved = event.position(), False

    def _move(self, event: QMouseEvent) -> None:
        if self._pressed is None:
            return self._hover(event.position())
        button, start = self._pressed
        far = event.position() - start
        self._moved = self._moved or max(abs(far.x()), abs(far.y())) >= STILL
        if self._moved:
            by = event.position() - self._last
            self._last = event.position()
            stage = self.desk.stage
            act = stage.orbit if button == Buttons.LeftButton else stage.move
            act(by.x(), by.y())
        return None

    def _release(self, event: QMouseEvent) -> None:
        if self._pressed is None or event.button() != self._pressed[0]:
            return
        if not self._moved and event.button() == Buttons.LeftButton:
            self.desk.click(event.position().x(), event.position().y())
        self._pressed = None

    def _hover(self, at: QPointF) -> None:
        self.desk.stage.hover_at(at.x(), at.y())
        self.stale = True

    def _zoom(self, factor: float, at: QPointF) -> None:
        self.desk.stage.zoom(factor, at.x(), at.y())
