"""Fields of options in the panel, by the kind of their values; they follow the training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QSignalBlocker
from PySide6.QtWidgets import QComboBox, QLineEdit, QSpinBox, QWidget

from scalarviz.faces.controller.options import OptionChoice
from scalarviz.faces.window.fields import EDGES, Tick

Act = Callable[[Any], object]  # what a user chooses
Show = Callable[[OptionChoice], object]  # shows a value, unless a user is just choosing one
LARGEST = 2**31 - 1
WIDE = 112  # pixels of a field
LETTERS = 6  # of a name that a field shows at least


def field_of(choice: OptionChoice, act: Act) -> tuple[QWidget, Show]:
    """Return the field of an option, and what shows a value in it."""
    kinds = {bool: tick, int: number}
    make = names if choice.choices else kinds.get(choice.kind, line)
    field, show = make(act)
    if choice.is_common:
        field.setFixedWidth(WIDE)
    field.setAccessibleName(choice.name)
    field.setToolTip(choice.help)
    show(choice)
    return field, show


def tick(act: Act) -> tuple[QWidget, Show]:
    """Return the field of an option that is on or off."""
    box = Tick(act=act)
    return box, lambda choice: box.setChecked(choice.value)


def names(act: Act) -> tuple[QWidget, Show]:
    """Return the field of an option with names to choose from."""
    box = QComboBox()
    box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    box.setMinimumContentsLength(LETTERS)
    box.textActivated.connect(act)

    def show(choice: OptionChoice) -> None:
        if box.view().isVisible():
            return
        value, known = str(choice.value), [box.itemText(i) for i in range(box.count())]
        wanted = [*dict.fromkeys((*choice.choices, value))]
        if known != wanted:
            box.clear()
            box.addItems(wanted)
            box.view().setMinimumWidth(box.view().sizeHintForColumn(0) + EDGES)
        box.setCurrentText(value)

    return box, show


def number(act: Act) -> tuple[QWidget, Show]:
    """Return the field of an option that is a whole number."""
    spin = QSpinBox()
    spin.setRange(0, LARGEST)
    spin.setKeyboardTracking(False)  # applied when typing is finished
    spin.valueChanged.connect(act)

    def show(choice: OptionChoice) -> None:
        if not spin.hasFocus():
            with QSignalBlocker(spin):
                spin.setValue(choice.value)

    return spin, show


def line(act: Act) -> tuple[QWidget, Show]:
    """Return the field of an option that is typed."""
    field = QLineEdit()

    def chosen() -> None:
        if field.isModified():
            field.setModified(False)
            act(field.text())

    def show(choice: OptionChoice) -> None:
        if not (field.hasFocus() and field.isModified()):
            is_float = isinstance(choice.value, float)
            field.setText(f"{choice.value:.9g}" if is_float else str(choice.value))
            field.setCursorPosition(0)

    field.editingFinished.connect(chosen)
    return field, show
