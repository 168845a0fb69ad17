"""The QApplication: time for its events during training, appearance, and loss of the display."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any, TypeVar

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QGuiApplication, QIcon, QPainter, QPalette, QPixmap
from PySide6.QtWidgets import (
    QApplication,
    QLayout,
    QMenuBar,
    QPushButton,
    QStyle,
    QToolTip,
    QWidget,
)

from scalarviz.base.messages import inform
from scalarviz.base.processes import end_all
from scalarviz.base.texts import text
from scalarviz.scene.canvas.palette import THEMES, ControlColors


def application() -> QApplication:
    """Return the QApplication; create it if it does not exist."""
    found = QApplication.instance()
    if isinstance(found, QApplication):
        return found
    # With EGL, Qt can draw in the same process as pictures without a window. Without EGL, Qt uses
    # another platform.
    os.environ.setdefault("QT_XCB_GL_INTEGRATION", "xcb_egl")
    made = QApplication(["scalarviz"])
    made.setApplicationDisplayName("scalarviz")
    made.setStyle("Fusion")
    return made


# Appearance of windows: themes, and icons in the text color.


def theme_of(name: str) -> str:
    """Return the name of a theme; "auto" means the theme of the system."""
    if name != "auto":
        return name
    return "light" if QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Light else "dark"


def palette_of(look: ControlColors) -> QPalette:
    """Return a palette for Qt's Fusion style with the colors of a theme."""
    palette, role = QPalette(), QPalette.ColorRole
    for which, color in {
        role.Window: look.panel,
        role.Base: look.raised,
        role.AlternateBase: look.panel,
        role.Button: look.raised,
        role.Text: look.ink,
        role.WindowText: look.ink,
        role.ButtonText: look.ink,
        role.BrightText: look.ink,
        role.PlaceholderText: look.quiet,
        role.Highlight: look.accent,
        role.HighlightedText: look.on_accent,
        role.Accent: look.accent,
        role.Link: look.accent,
        role.Light: look.raised,
        role.Midlight: look.edge,
        role.Mid: look.edge,
        role.Dark: look.edge,
        role.Shadow: look.ground,
        role.ToolTipBase: look.raised,
        role.ToolTipText: look.ink,
    }.items():
        palette.setColor(which, QColor(color))
    for which in (role.Text, role.WindowText, role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, which, QColor(look.faint))
    return palette


def dress(window: QWidget, theme: str) -> None:
    """Apply the colors of a theme to a window, and to all menus, dialogs and tooltips."""
    palette = palette_of(THEMES[theme].controls)
    QApplication.setPalette(palette)
    window.setPalette(palette)
    for kind in (QPushButton, QMenuBar):  # widgets with a style sheet do not inherit colors
        for each in window.findChildren(kind):
            each.setPalette(palette)
            each.setStyleSheet(each.styleSheet())  # updates its colors
    QToolTip.setPalette(palette)


LayoutT = TypeVar("LayoutT", bound=QLayout)


def spaced(
    layout: LayoutT, margins: tuple[int, int, int, int] = (0, 0, 0, 0), spacing: int = -1
) -> LayoutT:
    """Set the margins of a layout in pixels, and its spacing (-1: default), and return it."""
    layout.setContentsMargins(*margins)
    layout.setSpacing(spacing)
    return layout


WidgetT = TypeVar("WidgetT", bound=QWidget)


def having(widget: WidgetT, **properties: object) -> WidgetT:
    """Set properties of a widget by their Qt names, and return it."""
    for name, value in properties.items():
        assert widget.setProperty(name, value), f"a {type(widget).__name__} has no {name}"
    return widget


def icon(widget: QWidget, which: QStyle.StandardPixmap, color: str) -> QIcon:
    """Return a standard icon of Qt in a given color."""
    drawn = widget.style().standardIcon(which).pixmap(QSize(16, 16), widget.devicePixelRatioF())
    tinted = QPixmap(drawn.size())
    tinted.setDevicePixelRatio(drawn.devicePixelRatio())
    tinted.fill(Qt.GlobalColor.transparent)
    painter = QPainter(tinted)
    painter.drawPixmap(0, 0, drawn)
    painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_SourceIn)
    painter.fillRect(tinted.rect(), QColor(color))
    painter.end()
    return QIcon(tinted)


def reduces_motion() -> bool:
    """Return whether the system disables animations."""
    return QApplication.style().styleHint(QStyle.StyleHint.SH_Widget_Animation_Duration) == 0


# Exit if the connection to the X server is lost during drawing: a driver may wait for such a server
# forever, in the drawing thread.

BETWEEN_LOOKS = 0.5  # seconds between two checks of the connection
PATIENCE = 6  # checks after which the drawing thread is given up


@contextmanager
def ending_without_display(save: Callable[[], None]) -> Iterator[None]:
    """If this context hangs because its X server was lost, call `save` and exit with code 1."""
    application: Any = QGuiApplication.instance()
    native = application.nativeInterface() if sys.platform == "linux" else None
    is_over, threads = Event(), []
    if native is not None:  # the platform is X11
        connection = native.connection()
        threads = [Thread(target=await_loss, args=[connection, save, is_over], daemon=True)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        for thread in threads:
            thread.join(BETWEEN_LOOKS)


def await_loss(connection: int, save: Callable[[], None], is_over: Event) -> None:
    """Check an X connection until `is_over`; after PATIENCE failed checks, save and exit."""
    xcb: Any = ctypes.CDLL("libxcb.so.1")
    xcb.xcb_connection_has_error.argtypes = [ctypes.c_void_p]
    lost = 0
    while not is_over.wait(BETWEEN_LOOKS):
        lost += xcb.xcb_connection_has_error(connection) != 0
        if lost == PATIENCE:
            try:
                inform(text("notices.no_display"))
                save()
            finally:
                end_all()
                os._exit(1)
