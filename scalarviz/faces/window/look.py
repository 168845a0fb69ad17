"""Appearance of windows: their size, themes, and icons in the text color."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QGuiApplication, QIcon, QPainter, QPalette, QPixmap
from PySide6.QtWidgets import QApplication, QMenuBar, QPushButton, QStyle, QToolTip, QWidget

from scalarviz.scene.canvas.palette import THEMES, ControlColors

TITLE_BAR = 40  # pixels that a window's title takes at most


def theme_of(name: str) -> str:
    """Return the name of a theme; "auto" is the system's."""
    if name != "auto":
        return name
    hints = QGuiApplication.styleHints()
    return "light" if hints.colorScheme() == Qt.ColorScheme.Light else "dark"


def first_size(window: QWidget, wanted: tuple[int, int]) -> QSize:
    """Return the size in which a window opens: the wanted one, as far as its screen has room."""
    return QSize(*wanted).boundedTo(window.screen().availableSize() - QSize(0, TITLE_BAR))


def palette_of(look: ControlColors) -> QPalette:
    """Return the palette of a theme for Qt's Fusion style."""
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
    """Apply a theme's colors to a window, and to all menus, dialogs and tool tips."""
    palette = palette_of(THEMES[theme].controls)
    QApplication.setPalette(palette)
    window.setPalette(palette)
    for kind in (QPushButton, QMenuBar):  # one with a style sheet inherits no colors
        for each in window.findChildren(kind):
            each.setPalette(palette)
    QToolTip.setPalette(palette)


def icon(widget: QWidget, which: QStyle.StandardPixmap, color: str, side: int = 16) -> QIcon:
    """Return a standard icon in another color."""
    size = QSize(side, side)
    drawn = widget.style().standardIcon(which).pixmap(size, widget.devicePixelRatioF())
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
    style = QApplication.style()
    return style.styleHint(QStyle.StyleHint.SH_Widget_Animation_Duration) == 0
