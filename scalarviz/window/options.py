"""OptionsPanel: the options of a scene, in a popup above its button."""

from __future__ import annotations

from functools import partial
from typing import final

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QGridLayout,
    QLabel,
    QLineEdit,
    QSpinBox,
    QWidget,
)

from scalarviz.controller.controller import Controller
from scalarviz.controller.options import OptionChoice
from scalarviz.texts import text
from scalarviz.window.fields import Tick
from scalarviz.window.look import dress

LARGEST = 2**31 - 1


@final
class OptionsPanel(QFrame):
    """The options of a scene; those that restart the training are marked."""

    def __init__(self, parent: QWidget, controller: Controller) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.setAccessibleName(text("controls.options_of_scene"))
        self.controller = controller
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(14, 12, 14, 12)
        self._grid.setHorizontalSpacing(10)
        self._grid.setVerticalSpacing(6)

    def open_above(self, button: QWidget) -> None:
        """Show the current options."""
        state = self.controller.state
        dress(self, state.theme)
        self._fill(state.choices)
        self.adjustSize()
        corner = button.mapToGlobal(QPoint(button.width(), 0))
        self.move(max(0, corner.x() - self.width()), max(0, corner.y() - self.height() - 4))
        self.show()

    def _fill(self, choices: tuple[OptionChoice, ...]) -> None:
        while item := self._grid.takeAt(0):
            if widget := item.widget():
                widget.deleteLater()
        for row, choice in enumerate(choices):
            label = QLabel(choice.name)
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
