"""MorePanel: menus, further controls and options of the scene, beside the picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import final

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QSize, Qt, QTimer
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QMenuBar,
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

MARGIN = 8  # pixels between the panel and the ends of the picture that it lies over
PAIR = 2  # options of every training beside each other
NARROWEST = 360  # pixels of width that a picture beside the panel has at least

Labelled = tuple[str, Sequence[QWidget], bool]  # a label, its controls, and whether it is narrow


@final
class MorePanel(QScrollArea):
    """A panel at the right of its parent; options that restart are marked.

    It stands beside the picture, or, where that would become too narrow, lies over its stage.

    bar     the menu bar at its top
    beside  whether it may stand beside the picture
    free    pixels at the lower end of the parent that stay free beside the picture, and over it
    takes   called with the width that it takes from the picture, when that may have changed
    turned  called with whether it is open, when that has changed
    """

    def __init__(self, group: Group, groups: Sequence[Labelled]) -> None:
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
        self.beside = True
        self.free = 0, 0
        self._choices: tuple[OptionChoice, ...] = ()  # that are shown
        self._forms: list[OptionChoice] = []  # the same without their values
        self._shows: dict[str, Show] = {}  # by name
        body = QWidget()
        self._layout = layout = QVBoxLayout(body)
        layout.setContentsMargins(14, 6, 14, 12)
        layout.setSpacing(8)
        self._controls, self._common, self._grid = QGridLayout(), QGridLayout(), QGridLayout()
        for grid in (self._controls, self._common, self._grid):
            grid.setHorizontalSpacing(10)
            grid.setVerticalSpacing(6)
            grid.setColumnStretch(1, 1)
        self._scrolls = Scrolls(self.verticalScrollBar())
        self._add_groups(groups)
        self._title, common = QLabel(text("controls.options_of_scene")), text("controls.training")
        parts = self.bar, self._controls, QLabel(common), self._common, self._title, self._grid
        for part in parts:
            layout.addLayout(part) if isinstance(part, QGridLayout) else layout.addWidget(part)
        layout.addStretch(1)
        for control in body.findChildren(QWidget):
            control.installEventFilter(self._scrolls)
        self.setWidget(body)
        self.hide()

    def _add_groups(self, groups: Sequence[Labelled]) -> None:
        """Add groups of controls line by line, two narrow ones in a row beside each other."""
        row, column = -1, 0
        for label, widgets, is_narrow in groups:
            beside = is_narrow and column == PAIR
            row, first = (row, PAIR) if beside else (row + 1, 0)
            span = 1 if is_narrow else 2 * PAIR - 1
            self._controls.addWidget(Quiet(label), row, first)
            at = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
            self._controls.addWidget(row_of(*widgets), row, first + 1, 1, span, at)
            column = PAIR if is_narrow and not beside else 0

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
        """Stand at the right, beside the picture if there is room for both, else over it."""
        parent = self.parentWidget()
        if parent is None or not self.isVisible():
            return
        self._layout.activate()
        wanted, whole = self._layout.sizeHint() + QSize(4, 4), parent.size()
        bar = QSize(self.verticalScrollBar().sizeHint().width(), 0)
        high = whole.height() - self.free[0]
        width = (wanted + bar if wanted.height() > high else wanted).width()
        if self.beside and whole.width() - width >= NARROWEST:
            self.setGeometry(whole.width() - width, 0, width, high)
            self.takes(width)
            return
        end = whole.height() - self.free[1] - MARGIN
        if wanted.height() > end - MARGIN:
            wanted += bar
        size = wanted.boundedTo(QSize(whole.width() - 2 * MARGIN, end - MARGIN))
        self.resize(size)
        self.move(whole.width() - MARGIN - size.width(), end - size.height())
        self.takes(0)

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
        """Make fields anew: those of every training in pairs, those of the scene with notes."""
        self._shows.clear()
        own = [choice for choice in choices if not choice.is_common]
        for grid in (self._common, self._grid):
            empty(grid)
        self._title.setVisible(bool(own))
        for number, choice in enumerate(choice for choice in choices if choice.is_common):
            self._add(self._common, choice, number // PAIR, 2 * (number % PAIR))
        for row, choice in enumerate(own):
            self._add(self._grid, choice, row, 0)
            note = QLabel(text("controls.restarts") if choice.restarts else "")
            note.setForegroundRole(QPalette.ColorRole.PlaceholderText)
            self._grid.addWidget(note, row, 2)

    def _add(self, grid: QGridLayout, choice: OptionChoice, row: int, column: int) -> None:
        """Add an option with its label."""
        label = Quiet(choice.name)
        field, self._shows[choice.name] = field_of(choice, partial(self._choose, choice.name))
        label.setBuddy(field)
        field.installEventFilter(self._scrolls)
        grid.addWidget(label, row, column)
        grid.addWidget(field, row, column + 1)

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


def empty(grid: QGridLayout) -> None:
    """Remove all widgets of a layout."""
    while item := grid.takeAt(0):
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
