"""MorePanel: menus, further controls and options of the scene, over the picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import final

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QGridLayout,
    QLabel,
    QLineEdit,
    QMenuBar,
    QScrollArea,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from scalarviz.controller.controller import Controller
from scalarviz.controller.options import OptionChoice
from scalarviz.texts import text
from scalarviz.window.fields import Quiet, Tick
from scalarviz.window.rows import group

LARGEST = 2**31 - 1
MARGIN = 8  # pixels between the panel and the ends of the picture

Group = tuple[str, Sequence[QWidget]]  # a label and its controls


@final
class MorePanel(QScrollArea):
    """A panel at the right of its parent, above what is below; options that restart are marked.

    bar     the menu bar at its top
    below   pixels at the lower end of the parent that stay free
    turned  called with whether it is open, when that has changed
    """

    def __init__(self, controller: Controller, groups: Sequence[Group]) -> None:
        super().__init__()
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.setAccessibleName(text("controls.more.about"))
        self.setAutoFillBackground(True)
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.controller = controller
        self.turned: Callable[[bool], object] = lambda on: None
        self.bar = QMenuBar(nativeMenuBar=False)
        self.below = 0
        body = QWidget()
        self._layout = layout = QVBoxLayout(body)
        layout.setContentsMargins(14, 6, 14, 12)
        layout.setSpacing(8)
        self._controls, self._grid = QGridLayout(), QGridLayout()
        for grid in (self._controls, self._grid):
            grid.setHorizontalSpacing(10)
            grid.setVerticalSpacing(6)
            grid.setColumnStretch(1, 1)
        for row, (label, widgets) in enumerate(groups):
            self._controls.addWidget(Quiet(label), row, 0)
            self._controls.addWidget(
                group(*widgets), row, 1, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
            )
        title = QLabel(text("controls.options_of_scene"))
        for part in (self.bar, self._controls, title, self._grid):
            layout.addLayout(part) if isinstance(part, QGridLayout) else layout.addWidget(part)
        self.setWidget(body)
        self.hide()

    def turn(self, _: bool = False) -> None:
        """Open or close it."""
        if self.isVisible():
            self.close_now()
        else:
            self._fill(self.controller.state.choices)
            self.show()
            self.place()
            self.raise_()
            self.turned(True)

    def close_now(self) -> None:
        """Close it."""
        self.hide()
        self.turned(False)

    def place(self) -> None:
        """Stand at the right, above what stays free, with all content if it fits."""
        parent = self.parentWidget()
        if parent is None or not self.isVisible():
            return
        self._layout.activate()
        wanted = self._layout.sizeHint() + QSize(4, 4)
        end = parent.height() - self.below - MARGIN
        if wanted.height() > end - MARGIN:
            wanted += QSize(self.verticalScrollBar().sizeHint().width(), 0)
        size = wanted.boundedTo(QSize(parent.width() - 2 * MARGIN, end - MARGIN))
        self.resize(size)
        self.move(parent.width() - MARGIN - size.width(), end - size.height())

    def _fill(self, choices: tuple[OptionChoice, ...]) -> None:
        while item := self._grid.takeAt(0):
            if widget := item.widget():
                widget.setParent(None)
                widget.deleteLater()
        for row, choice in enumerate(choices):
            label = Quiet(choice.name)
            field = field_of(choice, self.controller)
            field.setAccessibleName(choice.name)
            field.setToolTip(choice.help)
            label.setBuddy(field)
            note = QLabel(text("controls.restarts") if choice.restarts else "")
            note.setForegroundRole(QPalette.ColorRole.PlaceholderText)
            self._grid.addWidget(label, row, 0)
            self._grid.addWidget(field, row, 1)
            self._grid.addWidget(note, row, 2)


def field_of(choice: OptionChoice, controller: Controller) -> QWidget:
    """Return the control for an option."""
    if choice.kind is bool:
        box = Tick()
        box.setChecked(choice.value)
        box.toggled.connect(partial(controller.set_option, choice.name))
        return box
    if choice.choices:
        combo = QComboBox()
        names = [*choice.choices]
        if choice.value not in names:
            names.insert(0, str(choice.value))
        combo.addItems(names)
        combo.setCurrentText(str(choice.value))
        combo.textActivated.connect(partial(controller.set_option, choice.name))
        return combo
    if choice.kind is int:
        spin = QSpinBox()
        spin.setRange(0, LARGEST)
        spin.setValue(choice.value)
        spin.setKeyboardTracking(False)  # applied when typing is finished
        spin.valueChanged.connect(partial(controller.set_option, choice.name))
        return spin
    line = QLineEdit(str(choice.value))
    line.setMaximumWidth(160)

    def chosen() -> None:
        if line.isModified():
            line.setModified(False)
            controller.set_option(choice.name, line.text())

    line.editingFinished.connect(chosen)
    return line
