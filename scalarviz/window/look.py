"""How the controls of the window look: a theme, and icons in the colour of their text."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QGuiApplication, QIcon, QPainter, QPalette, QPixmap
from PySide6.QtWidgets import QApplication, QStyle, QToolTip, QWidget

from scalarviz.draw2d.theme import THEMES, ControlColors


def theme_of(name: str) -> str:
    """A theme by its name; "auto" asks the system."""
    if name != "auto":
        return name
    hints = QGuiApplication.styleHints()
    return "light" if hints.colorScheme() == Qt.ColorScheme.Light else "dark"


def palette_of(look: ControlColors) -> QPalette:
    """The colours of a theme, as Qt's Fusion style takes them."""
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
    """Give a window and all in it the colours of a theme."""
    palette = palette_of(THEMES[theme].controls)
    window.setPalette(palette)
    QToolTip.setPalette(palette)


def icon(widget: QWidget, which: QStyle.StandardPixmap, color: str, side: int = 16) -> QIcon:
    """A standard icon in another colour, so that it is seen on every ground."""
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
    """Whether the system is set to show no animations."""
    style = QApplication.style()
    return style.styleHint(QStyle.StyleHint.SH_Widget_Animation_Duration) == 0
