"""group: widgets side by side."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QWidget


def group(*widgets: QWidget) -> QWidget:
    """Return a widget that keeps several in one row."""
    box = QWidget()
    layout = QHBoxLayout(box)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(5)
    for widget in widgets:
        layout.addWidget(widget)
    return box
