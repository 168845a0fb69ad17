"""The window's own small controls: a track to slide on, numbers to type or drag, rows that wrap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import final

from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QFocusEvent, QMouseEvent, QPainter, QPaintEvent, QPalette, QPen, QPolygonF
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QLineEdit,
    QSlider,
)

KNOB = 6.0  # half its width, in pixels
PER_DECADE = 60  # places of a slider
DRAG = 4  # pixels before a press becomes a drag
LEFT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
SMALLEST = 0.05  # how much a number is at least, as far as dragging is concerned


class Track(QSlider):
    """A horizontal slider that goes where it is pressed; `marks` are places drawn on it."""

    def __init__(self, name: str) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setMinimumHeight(24)
        self.marks: Sequence[int] = ()

    @final
    def show_value(self, value: int) -> None:
        """Stand somewhere without having been moved; not while somebody moves it."""
        if value != self.value() and not self.isSliderDown():
            self.blockSignals(True)
            self.setValue(value)
            self.blockSignals(False)

    @final
    def place(self, value: int) -> float:
        """Where a value is, in pixels from the left."""
        reach = max(1, self.maximum() - self.minimum())
        part = (min(value, self.maximum()) - self.minimum()) / reach
        return KNOB + 1.0 + part * (self.width() - 2.0 * KNOB - 2.0)

    @final
    def _value_at(self, x: float) -> int:
        part = (x - KNOB - 1.0) / max(1.0, self.width() - 2.0 * KNOB - 2.0)
        reach = self.maximum() - self.minimum()
        return self.minimum() + round(min(max(part, 0.0), 1.0) * reach)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.setSliderDown(True)
            self.setValue(self._value_at(event.position().x()))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self.isSliderDown():
            self.setValue(self._value_at(event.position().x()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self.setSliderDown(False)

    def paintEvent(self, event: QPaintEvent) -> None:
        palette, middle = self.palette(), self.height() / 2.0
        dim, lit = QPalette.ColorRole.Mid, QPalette.ColorRole.Highlight
        here = self.place(self.value())
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(palette.color(dim))
        painter.drawRoundedRect(QRectF(1.0, middle - 2.0, self.width() - 2.0, 4.0), 2.0, 2.0)
        painter.setBrush(palette.color(lit))
        painter.drawRoundedRect(QRectF(1.0, middle - 2.0, here, 4.0), 2.0, 2.0)
        for mark in self.marks:
            self._paint_mark(painter, self.place(mark), middle)
        ink = palette.color(QPalette.ColorRole.WindowText)
        painter.setBrush(ink if self.isEnabled() else palette.color(dim))
        painter.setPen(QPen(palette.color(lit), 2.0) if self.hasFocus() else Qt.PenStyle.NoPen)
        painter.drawEllipse(QPointF(here, middle), KNOB - 0.5, KNOB - 0.5)
        painter.end()

    def _paint_mark(self, painter: QPainter, x: float, middle: float) -> None:
        """A small wedge from above, where a branch leaves."""
        top, tip = middle - 10.0, middle - 3.5
        painter.setBrush(self.palette().color(QPalette.ColorRole.WindowText))
        painter.drawPolygon(
            QPolygonF([QPointF(x - 3.5, top), QPointF(x + 3.5, top), QPointF(x, tip)])
        )


@final
class LogTrack(Track):
    """A track for numbers over many powers of ten; with `endless`, its right end is None."""

    moved = Signal(object)  # the number, or None

    def __init__(self, name: str, low: float, high: float, *, endless: bool = False) -> None:
        super().__init__(name)
        self.low = low
        self.endless = endless
        last = round(math.log10(high / low) * PER_DECADE)
        self.setRange(0, last + endless * PER_DECADE // 2)
        self.setPageStep(PER_DECADE // 2)
        self.setSingleStep(PER_DECADE // 20)
        self._last = last
        self.valueChanged.connect(lambda value: self.moved.emit(self.number(value)))

    def number(self, value: int) -> float | None:
        """The number of a place, with two digits."""
        if self.endless and value > self._last:
            return None
        return float(f"{self.low * 10.0 ** (value / PER_DECADE):.2g}")

    def show_number(self, number: float | None) -> None:
        """Stand at a number without having been moved."""
        if number is None:
            self.show_value(self.maximum())
        elif number <= self.low or math.isnan(number):
            self.show_value(0)
        else:
            at = math.log10(number / self.low) * PER_DECADE
            self.show_value(round(min(at, self._last)))


@final
class Names(QComboBox):
    """A choice of names, which takes the focus by Tab only."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName(name)
        self.setToolTip(name)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self._names: tuple[str, ...] = ()

    def show_names(self, names: tuple[str, ...], chosen: str) -> None:
        """Show these names, and the one that is chosen; not while the list is open."""
        if self.view().isVisible():
            return
        if names != self._names:
            self._names = names
            self.clear()
            self.addItems(list(names))
        if self.currentText() != chosen:
            self.setCurrentText(chosen)


@final
class Tick(QCheckBox):
    """A box to tick whose edge is seen on dark grounds too, unlike that of Qt's Fusion style."""

    def __init__(self, text: str = "") -> None:
        super().__init__(text)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def paintEvent(self, event: QPaintEvent) -> None:
        palette, role = self.palette(), QPalette.ColorRole
        group = QPalette.ColorGroup.Active if self.isEnabled() else QPalette.ColorGroup.Disabled
        ink, lit = palette.color(group, role.WindowText), palette.color(role.Highlight)
        edge = lit if self.hasFocus() else palette.color(role.PlaceholderText)
        side, middle = 13.0, self.height() / 2.0
        box = QRectF(1.5, middle - side / 2.0, side, side)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(edge if self.isEnabled() else ink, 1.4))
        painter.setBrush(palette.color(role.Base))
        painter.drawRoundedRect(box, 3.0, 3.0)
        if self.isChecked():
            painter.setPen(QPen(ink, 2.0))
            left, low = box.left() + 3.0, middle + 0.5
            points = (left, low), (left + 2.8, low + 2.8), (left + 7.2, low - 3.6)
            painter.drawPolyline(QPolygonF([QPointF(*point) for point in points]))
        painter.setPen(ink)
        text = self.rect().adjusted(21, 0, 0, 0)
        painter.drawText(
            text, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, self.text()
        )
        painter.end()


@final
class NumberField(QLineEdit):
    """A number: type it and press Return, or drag it sideways."""

    given = Signal(str)  # what was typed
    dragged = Signal(float)

    def __init__(self, name: str, digits: int = 5) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setToolTip(f"{name}: type a number and press Return, or drag it sideways")
        self._digits = digits
        self._number: float | None = None
        self._from: tuple[float, float] | None = None  # where a drag began, and the number there
        self._dragging = False
        self.setCursor(Qt.CursorShape.SizeHorCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # a press may begin a drag
        self.returnPressed.connect(lambda: self.given.emit(self.text()))

    def show_number(self, number: float | None) -> None:
        """Show a number, unless somebody is typing another one."""
        if number == self._number:
            return
        self._number = number
        if not (self._dragging or (self.hasFocus() and self.isModified())):
            self._write()

    def _write(self) -> None:
        self.setText("" if self._number is None else f"{self._number:.{self._digits}g}")
        self.setCursorPosition(0)
        if self.hasFocus():
            self.selectAll()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """What was typed and not given is forgotten."""
        super().focusOutEvent(event)
        self._write()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if self.hasFocus():
            super().mousePressEvent(event)
        else:
            self._from = event.position().x(), self._number or 0.0

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._from is None:
            return super().mouseMoveEvent(event)
        moved = event.position().x() - self._from[0]
        if abs(moved) >= DRAG or self._dragging:
            self._dragging = True
            number = self._from[1] + moved * max(abs(self._from[1]), SMALLEST) / 100.0
            self.setText(f"{number:.{self._digits}g}")
            self.dragged.emit(float(self.text()))
        return None

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._from is None:
            return super().mouseReleaseEvent(event)
        clicked, self._from, self._dragging = not self._dragging, None, False
        if clicked:
            self.edit()
        else:
            self._write()
        return None

    def edit(self) -> None:
        """Have the number typed anew."""
        self.setFocus(Qt.FocusReason.OtherFocusReason)
        self.selectAll()
