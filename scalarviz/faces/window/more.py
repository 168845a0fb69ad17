"""MorePanel: further controls, menus and options of the scene, at the right end of the stage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import final

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QMenuBar,
    QPushButton,
    QScrollArea,
    QScrollBar,
    QVBoxLayout,
    QWidget,
)

from scalarviz.base.texts import text
from scalarviz.faces.controller.group import Group
from scalarviz.faces.controller.options import OptionChoice
from scalarviz.faces.window.fields import Quiet
from scalarviz.faces.window.option_fields import Show, field_of
from scalarviz.story.first_controls import first_groups

WIDTH, LABELS = 300, 62  # pixels of the panel, and of labels at least
PEEK = 200  # pixels of what was hidden that come into view

Line = tuple[str, str, Sequence[QWidget]]  # a group of FIRST_CONTROLS or "", a label, its controls


@final
class MorePanel(QScrollArea):
    """A panel over the right end of the stage, whose network makes room for it.

    The first controls are at its top; all others are behind `rest`. Options that restart are
    marked.

    bar     menus that are behind `rest`
    head    the place for other menus, above all
    free    pixels at the upper and the lower end of the parent that stay free
    takes   called with the width that it takes from the picture, when that may have changed
    turned  called with whether it is open, when that has changed
    """

    def __init__(self, group: Group, lines: Sequence[Line]) -> None:
        super().__init__()
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.setAccessibleName(text("controls.more.about"))
        self.setAutoFillBackground(True)
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.group = group
        self.turned: Callable[[bool], object] = lambda on: None
        self.takes: Callable[[int], object] = lambda width: None
        self.bar = QMenuBar(nativeMenuBar=False)
        self.free = 0, 0
        self._choices: tuple[OptionChoice, ...] = ()  # that are shown
        self._forms: list[OptionChoice] = []  # the same without their values
        self._shows: dict[str, Show] = {}  # by name
        body, self._others = QWidget(), QWidget()
        layout, others = QVBoxLayout(body), QVBoxLayout(self._others)
        layout.setContentsMargins(14, 6, 14, 12)
        others.setContentsMargins(0, 0, 0, 0)
        self.head, self._common, self._grid = QVBoxLayout(), grid(), grid()
        layout.addLayout(self.head)
        for group_of in first_groups():
            layout.addWidget(title(group_of["title"]))
            layout.addLayout(grid_of(lines, group_of["name"]))
        self.rest = QPushButton()
        self.rest.setCheckable(True)
        self.rest.setFocusPolicy(Qt.FocusPolicy.TabFocus)
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
        self._scrolls = Scrolls(self.verticalScrollBar())
        for control in body.findChildren(QWidget):
            control.installEventFilter(self._scrolls)
        self.setWidget(body)
        self.hide()

    def show_rest(self, on: bool = True) -> None:
        """Show the controls that are not the first ones, or hide them."""
        self.rest.setChecked(on)
        self.rest.setText(text(f"controls.rest.{'hide' if on else 'show'}"))
        self._others.setVisible(on)
        if on:
            QTimer.singleShot(0, partial(self.ensureWidgetVisible, self.bar, 0, PEEK))

    def turn(self, _: bool = False) -> None:
        """Open or close it."""
        if self.isVisible():
            self.close_now()
        else:
            self.show()
            self.show_choices(self.group.state().choices)
            self.place()
            self.raise_()
            self.turned(True)

    def close_now(self) -> None:
        """Close it."""
        self.hide()
        self.takes(0)
        self.turned(False)

    def place(self) -> None:
        """Stand at the right end of the stage, and take its width from the network."""
        parent = self.parentWidget()
        if parent is None or not self.isVisible():
            return
        top, bottom = self.free
        self.setGeometry(parent.width() - WIDTH, top, WIDTH, parent.height() - top - bottom)
        self.takes(WIDTH)

    def show_choices(self, choices: tuple[OptionChoice, ...]) -> None:
        """Show options, except in fields that the user is changing; only while it is open."""
        if not self.isVisible() or choices == self._choices:
            return
        self._choices = choices
        forms = [replace(choice, value=None) for choice in choices]
        if forms != self._forms:
            self._forms = forms
            self.setUpdatesEnabled(False)
            self._fill(choices)
            QTimer.singleShot(0, self._show_placed)  # as soon as the new fields know their sizes
        for choice in choices:
            self._shows[choice.name](choice)

    def _show_placed(self) -> None:
        """Draw the panel again, with new fields in their places."""
        self.place()
        self.setUpdatesEnabled(True)

    @property
    def shows_all(self) -> bool:
        """Whether no option was chosen since the last `show_choices`."""
        return bool(self._choices) or not self.isVisible()

    def _fill(self, choices: tuple[OptionChoice, ...]) -> None:
        """Make fields anew: those of every training, and those of the scene with notes."""
        self._shows.clear()
        for rows in (self._common, self._grid):
            empty(rows)
        self._title.setVisible(not all(choice.is_common for choice in choices))
        for choice in choices:
            rows = self._common if choice.is_common else self._grid
            at = rows.rowCount()
            label = Quiet(choice.label)
            field, self._shows[choice.name] = field_of(choice, partial(self._choose, choice.name))
            label.setBuddy(field)
            field.installEventFilter(self._scrolls)
            note = QLabel(text("controls.restarts") if choice.restarts else "")
            note.setForegroundRole(QPalette.ColorRole.PlaceholderText)
            for column, widget in enumerate((label, field, note)):
                rows.addWidget(widget, at, column)

    def _choose(self, name: str, value: object) -> None:
        self.group.lead.set_option(name, value)
        self._choices = ()  # shows the old value again if a new one was refused


@final
class Scrolls(QObject):
    """Gives the wheel to a scroll bar: over a closed list it would choose another name."""

    def __init__(self, bar: QScrollBar) -> None:
        super().__init__(bar)
        self._bar = bar

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Wheel:
            return QCoreApplication.sendEvent(self._bar, event)
        return False


def title(words: str) -> QLabel:
    """Return the title of a group."""
    label = QLabel(f"<b>{words}</b>")
    label.setContentsMargins(0, 6, 0, 0)
    return label


def grid() -> QGridLayout:
    """Return an empty layout of labels and fields."""
    made = QGridLayout()
    made.setHorizontalSpacing(10)
    made.setVerticalSpacing(6)
    made.setColumnStretch(1, 1)
    made.setColumnMinimumWidth(0, LABELS)
    return made


def grid_of(lines: Sequence[Line], group: str = "") -> QGridLayout:
    """Return a layout of the labels and controls of a group."""
    made = grid()
    for row, (_, label, widgets) in enumerate(line for line in lines if line[0] == group):
        made.addWidget(Quiet(label), row, 0)
        made.addWidget(row_of(*widgets), row, 1, Qt.AlignmentFlag.AlignLeft)
    return made


def empty(rows: QGridLayout) -> None:
    """Remove all widgets of a layout."""
    while item := rows.takeAt(0):
        if widget := item.widget():
            widget.setParent(None)
            widget.deleteLater()


def row_of(*widgets: QWidget) -> QWidget:
    """Return a widget that keeps several in one row."""
    box = QWidget()
    layout = QHBoxLayout(box)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(5)
    for widget in widgets:
        layout.addWidget(widget)
    return box
