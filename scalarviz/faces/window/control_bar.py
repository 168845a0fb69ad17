"""ControlBar: the controls below the picture, the panel with more controls, and their widgets.

Each kind of control has a widget class. Its constructor takes a row of COMMANDS and a setter, and
`show_control` displays the state of the control.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, final

from PySide6.QtCore import (
    QCoreApplication,
    QEvent,
    QObject,
    QPointF,
    QRectF,
    QSignalBlocker,
    QSize,
    QStringListModel,
    Qt,
    QTimer,
)
from PySide6.QtGui import (
    QFocusEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QPen,
    QPolygonF,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QCompleter,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenuBar,
    QPushButton,
    QScrollArea,
    QSlider,
    QSpinBox,
    QStyle,
    QVBoxLayout,
    QWidget,
)

from scalarviz.base.package_files import text_beside
from scalarviz.base.texts import text
from scalarviz.faces.controller.control import (
    OPTION,
    Control,
    ControlState,
    FaceState,
    LogScale,
    Scale,
    control_of,
)
from scalarviz.faces.controller.face import Face
from scalarviz.faces.controller.keys import controls_for, keys_of, written_key
from scalarviz.faces.controller.options import OptionChoice
from scalarviz.faces.window.application import having, icon, spaced
from scalarviz.stage.commands import FIRST_CONTROLS, Command
from scalarviz.training.session.actions import nothing

Act = Callable[[Any], object]
ICONS = {
    "step-backward": QStyle.StandardPixmap.SP_MediaSkipBackward,
    "backward": QStyle.StandardPixmap.SP_MediaSeekBackward,
    "play": QStyle.StandardPixmap.SP_MediaPlay,
    "pause": QStyle.StandardPixmap.SP_MediaPause,
    "forward": QStyle.StandardPixmap.SP_MediaSeekForward,
}
STYLE = text_beside(__file__, "buttons.css")  # style of buttons in the bar
TRACK = 84  # width of a slider in pixels
LETTER = 7.7
LONG = 16  # letters above which a list of names has the width of its row
EDGES = 32  # pixels beside the names of an open list
KNOB = 6.0  # radius of the knob
DRAG = 4  # pixels above which a press becomes a drag
TAB = Qt.FocusPolicy.TabFocus
SMALLEST = 0.05  # minimum magnitude for scaling a drag
LARGEST = 2**31 - 1  # maximum integer


@final
class Track(QSlider):
    """A horizontal slider with marks; a click moves it to the position of the mouse."""

    def __init__(self, row: Command, act: Act) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        having(self, focusPolicy=TAB, minimumHeight=24)
        if row.kind == "slider":
            self.setFixedWidth(TRACK)
        self.marks: Sequence[int] = ()
        self._scale: Scale | LogScale = Scale(0)
        self.valueChanged.connect(lambda place: act(self._scale.number(place)))

    def show_control(self, shown: ControlState) -> None:
        """Move the slider to a value without calling the setter, unless the user is dragging it."""
        with QSignalBlocker(self):
            self._scale = shown.scale
            self.setMaximum(shown.scale.last)
            self.setSingleStep(shown.scale.small)
            self.setPageStep(shown.scale.large)
            if not self.isSliderDown():
                self.setValue(shown.scale.place(shown.value))
        self.marks = shown.marks
        self.update()

    def place(self, value: int) -> float:
        """Return the position of a value, in pixels from the left."""
        part = min(value, self.maximum()) / max(1, self.maximum())
        return KNOB + 1.0 + part * (self.width() - 2.0 * KNOB - 2.0)

    def _value_at(self, x: float) -> int:
        part = (x - KNOB - 1.0) / max(1.0, self.width() - 2.0 * KNOB - 2.0)
        return round(min(max(part, 0.0), 1.0) * self.maximum())

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
        ink = palette.color(QPalette.ColorRole.WindowText)
        painter.setBrush(ink)
        for x in map(self.place, self.marks):  # small wedges above it, at the start of branches
            wedge = (x - 3.5, middle - 10.0), (x + 3.5, middle - 10.0), (x, middle - 3.5)
            painter.drawPolygon(QPolygonF([QPointF(*point) for point in wedge]))
        painter.setBrush(ink if self.isEnabled() else palette.color(dim))
        painter.setPen(QPen(palette.color(lit), 2.0) if self.hasFocus() else Qt.PenStyle.NoPen)
        painter.drawEllipse(QPointF(here, middle), KNOB - 0.5, KNOB - 0.5)
        painter.end()


@final
class Names(QComboBox):
    """A combo box for names, which gets the keyboard focus only by Tab."""

    def __init__(self, row: Command, act: Act) -> None:
        super().__init__(sizeAdjustPolicy=QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.setFocusPolicy(TAB)
        if row.room > LONG:  # names of any length
            self.setFixedWidth(14 + round(6.5 * row.room))
        self.textActivated.connect(act)
        self._names: tuple[str, ...] = ()

    def show_control(self, shown: ControlState) -> None:
        """Show the names and the chosen one, unless the list is open."""
        if self.view().isVisible():
            return
        if shown.names != self._names:
            self._names = shown.names
            self.clear()
            self.addItems(list(shown.names))
            self.view().setMinimumWidth(self.view().sizeHintForColumn(0) + EDGES)
        self.setCurrentText(shown.value)


@final
class Button(QPushButton):
    """A button with an icon in the color of texts, or with a text.

    It gets the keyboard focus only by Tab, so that the space bar still means play after a click.
    """

    def __init__(self, row: Command, act: Act) -> None:
        super().__init__()
        self.setFocusPolicy(TAB)
        self.clicked.connect(lambda: act(1))  # without Qt's `checked`
        self._icon = ""
        if row.primary:
            self.setObjectName("strong" if row.strong else "")
            self.setStyleSheet(STYLE)
            self.setFixedSize(*((64, 28) if row.strong else (34, 28)))

    def show_control(self, shown: ControlState) -> None:
        """Show the icon, or the text if there is no icon."""
        self._icon = shown.icon if shown.icon in ICONS else ""
        self.setText("" if self._icon else shown.text or shown.about)
        self._dress()

    def changeEvent(self, event: QEvent) -> None:
        """Draw the icon again if the palette has changed."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._dress()

    def sizeHint(self) -> QSize:
        """Return a size that is just wide enough for the text."""
        found = super().sizeHint()
        if self.text():
            found.setWidth(self.fontMetrics().horizontalAdvance(self.text()) + 20)
        return found

    def _dress(self) -> None:
        if self._icon:
            color = self.palette().color(QPalette.ColorRole.ButtonText)
            self.setIcon(icon(self, ICONS[self._icon], color.name()))


@final
class QuietLabel(QLabel):
    """A label in a muted color."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.setForegroundRole(QPalette.ColorRole.PlaceholderText)


@final
class TextLabel(QLabel):
    """A read-only text, in a muted color if it has a label."""

    def __init__(self, row: Command, act: Act) -> None:
        super().__init__()
        self.setMinimumWidth(round(LETTER * row.room))
        if row.label:
            self.setForegroundRole(QPalette.ColorRole.PlaceholderText)

    def show_control(self, shown: ControlState) -> None:
        """Show the text."""
        self.setText(str(shown.value))


@final
class Tick(QCheckBox):
    """A checkbox whose border is visible on dark backgrounds, unlike in Qt's Fusion style."""

    def __init__(self, row: Command, act: Act) -> None:
        super().__init__()
        self.setFocusPolicy(TAB)
        self.clicked.connect(lambda on: act(on))

    def show_control(self, shown: ControlState) -> None:
        """Show the text of the checkbox and whether it is checked."""
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
    """A field for a number: type it and press Return, or drag it sideways."""

    def __init__(self, row: Command, act: Act, drag: Act) -> None:
        super().__init__()
        self.setFixedWidth(14 + round(6.5 * row.room))
        self._drag = drag
        self._number: float | None = None
        self._from: tuple[float, float] | None = None  # x and number at the start of a drag
        self._dragging = False
        self.setCursor(Qt.CursorShape.SizeHorCursor)
        self.setFocusPolicy(TAB)  # a press may start a drag
        self.returnPressed.connect(lambda: act(self.text()))

    def show_control(self, shown: ControlState) -> None:
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
        """Discard input that was not confirmed with Return."""
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
            edit(self)
        else:
            self._write()
        return None


@final
class EntryField(QLineEdit):
    """A text field: type a text and press Return; names are completed.

    The text for an option is applied even without Return.
    """

    def __init__(self, row: Command, act: Act) -> None:
        super().__init__(placeholderText=row.example)
        self.setFixedWidth(14 + round(6.5 * row.room))
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus | TAB)
        self._names = QStringListModel()
        completer = QCompleter(
            self._names,
            self,
            caseSensitivity=Qt.CaseSensitivity.CaseInsensitive,
            filterMode=Qt.MatchFlag.MatchContains,
        )
        self.setCompleter(completer)
        self._value = ""
        self._act, self._is_option = act, row.name.startswith(OPTION)
        self.returnPressed.connect(lambda: act(self.text()))

    def show_control(self, shown: ControlState) -> None:
        """Show a text, unless the user is typing one."""
        if self._names.stringList() != list(shown.names):
            self._names.setStringList(list(shown.names))
        self._value = str(shown.value)
        if not (self.hasFocus() and self.isModified()) and self.text() != self._value:
            is_selected = self.hasSelectedText()
            self.setText(self._value)
            self.setCursorPosition(0)
            if is_selected:  # typing replaces the selection
                self.selectAll()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Discard input that was not confirmed, unless the list of completions is open."""
        super().focusOutEvent(event)
        if event.reason() == Qt.FocusReason.PopupFocusReason:
            return
        typed, is_typed = self.text(), self.isModified()
        self.setText(self._value)
        self.setCursorPosition(0)
        if self._is_option and is_typed and typed != self._value:
            self._act(typed)


def edit(field: QLineEdit) -> None:
    """Start editing a number or a text."""
    field.setFocus(Qt.FocusReason.OtherFocusReason)
    field.selectAll()


@final
class WholeField(QSpinBox):
    """A field for an integer: type it, or press the arrows to step up and down."""

    def __init__(self, row: Command, act: Act) -> None:
        super().__init__(minimum=0, maximum=LARGEST)
        self.setKeyboardTracking(False)  # applied when typing is finished
        self.valueChanged.connect(act)

    def show_control(self, shown: ControlState) -> None:
        """Show a number, unless the user is typing one."""
        if not self.hasFocus():
            with QSignalBlocker(self):
                self.setValue(shown.value)


# The panel: further controls, menus and options of the scene, at the right end of the stage.

WIDTH, LABELS = 300, 62  # pixels of the panel; minimum pixels of labels
WIDE = 112  # pixels of the field of an option
PEEK = 200  # pixels of hidden contents to scroll into view

Line = tuple[str, str, Sequence[QWidget]]  # a group of FIRST_CONTROLS or "", a label, its controls


@final
class ControlPanel(QScrollArea):
    """A panel at the right of the window; the picture leaves room for it.

    The most important controls are at the top. The button `rest` shows all others. Options that
    restart training are marked.

    Attributes:
        bar: menus that are shown with the other controls
        head: layout at the top, for other menus
        free: pixels at the top and at the bottom of the window that the panel leaves free
        takes: callback for the width that the panel takes from the picture
        turned: callback for whether the panel is open, called after a change
    """

    def __init__(self, face: Face, lines: Sequence[Line]) -> None:
        super().__init__(widgetResizable=True)
        having(
            self,
            frameShape=QFrame.Shape.StyledPanel,
            accessibleName=text("controls.more.about"),
            autoFillBackground=True,
            focusPolicy=Qt.FocusPolicy.NoFocus,
            horizontalScrollBarPolicy=Qt.ScrollBarPolicy.ScrollBarAlwaysOff,
        )
        self.face = face
        self.turned: Callable[[bool], object] = nothing
        self.takes: Callable[[int], object] = nothing
        self.bar = QMenuBar(nativeMenuBar=False)
        self.free = 0, 0
        self._choices: tuple[OptionChoice, ...] = ()  # currently shown
        self._forms: list[OptionChoice] = []  # the same without their values
        self._fields: dict[str, Any] = {}  # by name
        body, self._others = QWidget(), QWidget()
        layout = spaced(QVBoxLayout(body), (14, 6, 14, 12))
        others = spaced(QVBoxLayout(self._others))
        self.head, self._common, self._grid = QVBoxLayout(), grid(), grid()
        layout.addLayout(self.head)
        for group in FIRST_CONTROLS:
            layout.addWidget(title(group))
            layout.addLayout(grid_of(lines, group))
        self.rest = having(QPushButton(), checkable=True, focusPolicy=TAB)
        self.rest.clicked.connect(self.show_rest)
        self.show_rest(False)
        self._title = title(text("controls.options_of_scene"))
        others.addWidget(self.bar)
        others.addLayout(grid_of(lines))
        others.addWidget(title(text("controls.training")))
        others.addLayout(self._common)
        others.addWidget(self._title)
        others.addLayout(self._grid)
        layout.addWidget(self.rest)
        layout.addWidget(self._others)
        layout.addStretch(1)
        for control in body.findChildren(QWidget):
            control.installEventFilter(self)
        self.setWidget(body)
        self.hide()

    def show_rest(self, on: bool = True) -> None:
        """Show or hide the controls that are not at the top."""
        self.rest.setChecked(on)
        self.rest.setText(text(f"controls.rest.{'hide' if on else 'show'}"))
        self._others.setVisible(on)
        if on:
            QTimer.singleShot(0, partial(self.ensureWidgetVisible, self.bar, 0, PEEK))

    def turn(self, _: bool = False) -> None:
        """Open or close the panel."""
        if self.isVisible():
            self.close_now()
        else:
            self.show()
            self.show_choices(self.face.state)
            self.place()
            self.raise_()
            self.turned(True)

    def close_now(self) -> None:
        """Close the panel."""
        self.hide()
        self.takes(0)
        self.turned(False)

    def place(self) -> None:
        """Dock the panel at the right edge of the window, and narrow the picture by its width."""
        parent = self.parentWidget()
        if parent is None or not self.isVisible():
            return
        top, bottom = self.free
        self.setGeometry(parent.width() - WIDTH, top, WIDTH, parent.height() - top - bottom)
        self.takes(WIDTH)

    def show_choices(self, state: FaceState) -> None:
        """If the panel is open, show options, except in fields that the user is changing."""
        choices = state.choices
        if not self.isVisible() or choices == self._choices:
            return
        self._choices = choices
        forms = [replace(choice, value=None) for choice in choices]
        if forms != self._forms:
            self._forms = forms
            self.setUpdatesEnabled(False)
            self._fill(state)
            QTimer.singleShot(0, self._show_placed)  # once the sizes of the new fields are known
        for control in map(control_of, choices):
            self._fields[control.name].show_control(control.shown(state))

    def _show_placed(self) -> None:
        """Redraw the panel when the positions of new fields are known."""
        self.place()
        self.setUpdatesEnabled(True)

    @property
    def shows_all(self) -> bool:
        """Whether the fields are up to date: no option was chosen since the last `show_choices`."""
        return bool(self._choices) or not self.isVisible()

    def _fill(self, state: FaceState) -> None:
        """Create the fields for all options again, with a note if an option restarts training."""
        self._fields.clear()
        self._title.setVisible(bool(state.options))
        for rows, choices in ((self._common, state.common), (self._grid, state.options)):
            empty(rows)
            for choice in choices:
                at = rows.rowCount()
                label = QuietLabel(choice.label)
                control = control_of(choice)
                field = WIDGETS[control.row.kind](control.row, partial(self._choose, control))
                self._fields[control.name] = field
                field.setFixedWidth(WIDE)
                having(field, accessibleName=choice.name, toolTip=choice.help)
                label.setBuddy(field)
                field.installEventFilter(self)
                note = QuietLabel(text("controls.restarts") if choice.restarts else "")
                for column, widget in enumerate((label, field, note)):
                    rows.addWidget(widget, at, column)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Pass wheel events to the scroll bar; otherwise they would change a combo box."""
        if event.type() == QEvent.Type.Wheel:
            return QCoreApplication.sendEvent(self.verticalScrollBar(), event)
        return super().eventFilter(watched, event)

    def _choose(self, control: Control, value: object) -> None:
        self.face.act(control, value)
        self._choices = ()  # shows the old value again if a new one was refused


def title(words: str) -> QLabel:
    """Return a label with the title of a group of controls."""
    label = QLabel(f"<b>{words}</b>")
    label.setContentsMargins(0, 6, 0, 0)
    return label


def grid() -> QGridLayout:
    """Return an empty grid layout for labels and fields."""
    made = QGridLayout()
    made.setHorizontalSpacing(10)
    made.setVerticalSpacing(6)
    made.setColumnStretch(1, 1)
    made.setColumnMinimumWidth(0, LABELS)
    return made


def grid_of(lines: Sequence[Line], group: str = "") -> QGridLayout:
    """Return a grid layout with the labels and controls of a group."""
    made = grid()
    for row, (_, label, widgets) in enumerate(line for line in lines if line[0] == group):
        made.addWidget(QuietLabel(label), row, 0)
        made.addWidget(row_of(*widgets), row, 1, Qt.AlignmentFlag.AlignLeft)
    return made


def empty(rows: QGridLayout) -> None:
    """Remove all widgets of a layout."""
    while item := rows.takeAt(0):
        if widget := item.widget():
            widget.setParent(None)
            widget.deleteLater()


def row_of(*widgets: QWidget) -> QWidget:
    """Return a widget that contains several widgets in one row."""
    box = QWidget()
    layout = spaced(QHBoxLayout(box), spacing=5)
    for widget in widgets:
        layout.addWidget(widget)
    return box


# The line of controls below the picture.

WIDGETS: dict[str, Any] = {
    "button": Button,
    "tick": Tick,
    "choice": Names,
    "number": NumberField,
    "slider": Track,
    "timeline": Track,
    "text": TextLabel,
    "entry": EntryField,
    "whole": WholeField,
}
HEIGHT = 40  # pixels
ROOMY = 760  # pixels of width above which the speed is written beside its slider
HINTS = "number", "timeline"  # kinds whose tooltip explains their use


@final
class ControlBar(QFrame):
    """The controls below the picture; the last button opens a `panel` with the other controls.

    `made` contains the widgets of all controls by name. `show_state` sets their values. Their
    actions are passed to the interface.
    """

    def __init__(self, face: Face) -> None:
        super().__init__()
        self.face = face
        having(self, accessibleName=text("controls.bar"), autoFillBackground=True)
        self.setFixedHeight(HEIGHT)
        self._shown: dict[str, ControlState] = {}
        self._all = controls_for(face.state)
        self.controls = [each for each in self._all if each.row.place]
        self.made = {each.name: self._make(each) for each in self.controls}
        self.panel = ControlPanel(face, self._lines())
        about = text("controls.more.about")
        looks = {"styleSheet": STYLE, "toolTip": about, "accessibleName": about}
        more = QPushButton(text("controls.more"))
        self.more = having(more, checkable=True, focusPolicy=TAB, **looks)
        self.more.setFixedSize(34, 28)
        self.more.clicked.connect(self.panel.turn)
        self.panel.turned = self.more.setChecked
        self.bar = layout = spaced(QHBoxLayout(self), (16, 0, 12, 0), spacing=6)
        for rows in groups(each.row for each in self.controls if each.row.primary):
            if rows[0].label:
                layout.addSpacing(6)
                layout.addWidget(QuietLabel(rows[0].label))
            for row in rows:
                layout.addWidget(self.made[row.name], int(row.kind == "timeline"))
        layout.addWidget(self.more)

    def _lines(self) -> list[Line]:
        """Return the rows of the panel; the controls at its top are sorted as in their table."""
        order = [name for names in FIRST_CONTROLS.values() for name in names]
        rows = [each.row for each in self.controls if each.row.place == "panel"]
        rows.sort(key=lambda row: order.index(row.name) if row.group else len(order))
        return [
            (each[0].group, each[0].label, [self.made[row.name] for row in each])
            for each in groups(rows)
        ]

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Hide the text next to the speed slider if the window is too narrow."""
        super().resizeEvent(event)
        self.made["pace"].setVisible(self.width() >= ROOMY)

    def _make(self, control: Control) -> Any:
        """Return a new widget for a control."""
        row, acts = control.row, [control.set]
        if row.kind == "number":
            acts.append(control.drag or control.set)
        return WIDGETS[row.kind](row, *(partial(self._act, control, act) for act in acts))

    def _act(self, control: Control, act: Any, value: object) -> None:
        self.face.act(control, value, act)
        self._shown.clear()  # shows the old value again if a new one was refused

    def show_state(self, state: FaceState) -> dict[str, ControlState]:
        """Show a state, except in controls that the user is moving or typing in.

        Return the displayed fields of all controls that have changed, including controls in menus.
        """
        shown = {each.name: each.shown(state) for each in self._all}
        changed = {k: v for k, v in shown.items() if self._shown.get(k) != v}  # asking Qt is slow
        for control in self.controls:
            if control.name in changed:
                self._show(control.row, changed[control.name])
        self._shown = shown
        self.panel.show_choices(state)
        return changed

    def _show(self, row: Command, shown: ControlState) -> None:
        made = self.made[row.name]
        keys = " ".join(map(written_key, keys_of(row, shown.names)))
        about = shown.about
        if row.kind in HINTS:
            about = text(f"controls.hint.{row.kind}", about=about)
        made.setAccessibleName(shown.about)
        made.setToolTip(about + f" ({keys})" * bool(keys))
        made.setEnabled(shown.enabled)
        made.show_control(shown)

    @property
    def shows_all(self) -> bool:
        """Whether all controls are up to date: none was used since the last `show_state`."""
        return bool(self._shown) and self.panel.shows_all


def groups(rows: Iterable[Command]) -> list[list[Command]]:
    """Return rows grouped by label, in their original order."""
    found: dict[str, list[Command]] = {}
    for row in rows:
        found.setdefault(row.label, []).append(row)
    return [*found.values()]
