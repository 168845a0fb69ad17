"""Widgets of the window, one class for each kind of control.

The constructors take a row and its setter; `show_control` displays the row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

from PySide6.QtCore import (
    QEvent,
    QPointF,
    QRectF,
    QSignalBlocker,
    QSize,
    QStringListModel,
    Qt,
)
from PySide6.QtGui import QFocusEvent, QMouseEvent, QPainter, QPaintEvent, QPalette, QPen, QPolygonF
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QCompleter,
    QLabel,
    QLineEdit,
    QPushButton,
    QSlider,
    QStyle,
)

from scalarviz.base.package_files import text_beside
from scalarviz.faces.controller.control import Control, LogScale, Scale, Shown
from scalarviz.faces.window.look import icon

Act = Callable[[Any], object]
ICONS = {
    "step-backward": QStyle.StandardPixmap.SP_MediaSkipBackward,
    "backward": QStyle.StandardPixmap.SP_MediaSeekBackward,
    "play": QStyle.StandardPixmap.SP_MediaPlay,
    "pause": QStyle.StandardPixmap.SP_MediaPause,
    "forward": QStyle.StandardPixmap.SP_MediaSeekForward,
}
STYLE = text_beside(__file__, "buttons.css")  # of buttons in the bar
TRACK = 84  # width of a slider in pixels
LETTER = 7.7
LONG = 16  # letters from which on a list of names has the width of its row
EDGES = 32  # pixels beside the names of a list that is open
KNOB = 6.0  # radius of the knob
DRAG = 4  # pixels before a press becomes a drag
LEFT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
SMALLEST = 0.05  # least magnitude for scaling a drag


@final
class Track(QSlider):
    """A horizontal slider that jumps to where it is pressed; `marks` are values drawn on it."""

    def __init__(self, row: Control, act: Act) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setMinimumHeight(24)
        if row.kind == "slider":
            self.setFixedWidth(TRACK)
        self.marks: Sequence[int] = ()
        self._scale: Scale | LogScale = Scale(0, 0)
        self.valueChanged.connect(lambda place: act(self._scale.number(place)))

    def show_control(self, shown: Shown) -> None:
        """Move to a value without calling the setter, unless the user is dragging."""
        with QSignalBlocker(self):
            if shown.scale != self._scale:
                self._scale = shown.scale
                self.setMaximum(shown.scale.last)
                self.setSingleStep(shown.scale.small)
                self.setPageStep(shown.scale.large)
            if not self.isSliderDown():
                self.setValue(shown.scale.place(shown.value))
        if shown.marks != self.marks:
            self.marks = shown.marks
        self.update()

    def place(self, value: int) -> float:
        """Return the position of a value in pixels from the left."""
        reach = max(1, self.maximum() - self.minimum())
        part = (min(value, self.maximum()) - self.minimum()) / reach
        return KNOB + 1.0 + part * (self.width() - 2.0 * KNOB - 2.0)

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
        """Draw a small wedge above the track, where a branch starts."""
        top, tip = middle - 10.0, middle - 3.5
        painter.setBrush(self.palette().color(QPalette.ColorRole.WindowText))
        painter.drawPolygon(
            QPolygonF([QPointF(x - 3.5, top), QPointF(x + 3.5, top), QPointF(x, tip)])
        )


@final
class Names(QComboBox):
    """A choice of names, which takes the focus by Tab only."""

    def __init__(self, row: Control, act: Act) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        if row.room > LONG:  # names of any length
            self.setFixedWidth(14 + round(6.5 * row.room))
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.textActivated.connect(act)
        self._names: tuple[str, ...] = ()

    def show_control(self, shown: Shown) -> None:
        """Show the names and the chosen one, unless the list is open."""
        if self.view().isVisible():
            return
        if shown.names != self._names:
            self._names = shown.names
            self.clear()
            self.addItems(list(shown.names))
            self.view().setMinimumWidth(self.view().sizeHintForColumn(0) + EDGES)
        if self.currentText() != shown.value:
            self.setCurrentText(shown.value)


@final
class Button(QPushButton):
    """A button with an icon in the text color, or with a text.

    It takes the focus by Tab only, so that space still means play after a click.
    """

    def __init__(self, row: Control, act: Act) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.clicked.connect(lambda: act(1))  # without Qt's `checked`
        self._icon = ""
        self._strong = row.strong
        if row.primary:
            self.setObjectName("strong" if row.strong else "")
            self.setStyleSheet(STYLE)
            self.setFixedSize(*((64, 28) if row.strong else (34, 28)))

    def show_control(self, shown: Shown) -> None:
        """Show the icon if there is one, else the text."""
        self._icon = shown.icon if shown.icon in ICONS else ""
        self.setText("" if self._icon else shown.text or shown.about)
        self._dress()

    def changeEvent(self, event: QEvent) -> None:
        """Update the icon for a new palette."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._dress()

    def sizeHint(self) -> QSize:
        """Just wide enough for the text."""
        found = super().sizeHint()
        if self.text():
            found.setWidth(self.fontMetrics().horizontalAdvance(self.text()) + 20)
        return found

    def _dress(self) -> None:
        if self._icon:
            role = QPalette.ColorRole
            color = self.palette().color(role.HighlightedText if self._strong else role.ButtonText)
            self.setIcon(icon(self, ICONS[self._icon], color.name()))


@final
class Quiet(QLabel):
    """A label in a quiet color."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.setForegroundRole(QPalette.ColorRole.PlaceholderText)


@final
class Words(QLabel):
    """A read-only text; in a quiet color if it has a label."""

    def __init__(self, row: Control, act: Act) -> None:
        super().__init__()
        self.setMinimumWidth(round(LETTER * row.room))
        if row.label:
            self.setForegroundRole(QPalette.ColorRole.PlaceholderText)

    def show_control(self, shown: Shown) -> None:
        """Show the text."""
        self.setText(str(shown.value))


@final
class Tick(QCheckBox):
    """A checkbox whose border is visible on dark backgrounds, unlike that of Qt's Fusion style."""

    def __init__(self, row: Control | None = None, act: Act | None = None) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        if act is not None:
            self.clicked.connect(lambda on: act(on))

    def show_control(self, shown: Shown) -> None:
        """Show the text and the state."""
        self.setText(shown.text)
        self.setChecked(shown.value)

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

    def __init__(self, row: Control, act: Act, drag: Act) -> None:
        super().__init__()
        self.setFixedWidth(14 + round(6.5 * row.room))
        self._drag = drag
        self._number: float | None = None
        self._from: tuple[float, float] | None = None  # x and number at the start of a drag
        self._dragging = False
        self.setCursor(Qt.CursorShape.SizeHorCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # a press may start a drag
        self.returnPressed.connect(lambda: act(self.text()))

    def show_control(self, shown: Shown) -> None:
        """Show a number, unless the user is typing one."""
        if shown.value == self._number:
            return
        self._number = shown.value
        if not (self._dragging or (self.hasFocus() and self.isModified())):
            self._write()

    def _write(self) -> None:
        self.setText("" if self._number is None else f"{self._number:.6g}")
        self.setCursorPosition(0)
        if self.hasFocus():
            self.selectAll()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Discard an uncommitted input."""
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
            self.setText(f"{number:.6g}")
            self._drag(float(self.text()))
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
        """Start editing the number."""
        self.setFocus(Qt.FocusReason.OtherFocusReason)
        self.selectAll()


@final
class EntryField(QLineEdit):
    """A text: type it and press Return; it is completed while one types."""

    def __init__(self, row: Control, act: Act) -> None:
        super().__init__()
        self.setFixedWidth(14 + round(6.5 * row.room))
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus | Qt.FocusPolicy.TabFocus)
        self.setPlaceholderText(row.words("example"))
        self._names = QStringListModel()
        completer = QCompleter(self._names, self)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        self.setCompleter(completer)
        self._value = ""
        self.returnPressed.connect(lambda: act(self.text()))

    def show_control(self, shown: Shown) -> None:
        """Show a text, unless the user is typing one."""
        if self._names.stringList() != list(shown.names):
            self._names.setStringList(list(shown.names))
        self._value = str(shown.value)
        if not (self.hasFocus() and self.isModified()) and self.text() != self._value:
            is_selected = self.hasSelectedText()
            self.setText(self._value)
            self.setCursorPosition(0)
            if is_selected:  # what will be typed takes its place
                self.selectAll()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Discard an uncommitted input, unless the list of completions is open."""
        super().focusOutEvent(event)
        if event.reason() != Qt.FocusReason.PopupFocusReason:
            self.setText(self._value)
            self.setCursorPosition(0)

    def edit(self) -> None:
        """Start editing the text."""
        self.setFocus(Qt.FocusReason.OtherFocusReason)
        self.selectAll()
