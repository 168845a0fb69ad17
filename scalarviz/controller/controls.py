"""CONTROLS: what stands below the picture, a table from which window and notebook build theirs.

A row says what a control is for, what it shows of a `State` and what it does to a `Controller`. To
add a control, write a row: with a label, it gets a place of its own in the second line of both. The
timeline, speed, rate and the pinned weight's value are made by each face in its own way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from scalarviz.controller.controller import Controller
from scalarviz.controller.state import State
from scalarviz.formulas.table import table


def always(state: State) -> bool:
    return True


def nothing(state: State) -> Any:
    return None


def no_names(state: State) -> Sequence[str]:
    return ()


@dataclass(frozen=True)
class Control:
    """One control.

    name     by which a face knows it
    kind     "choice" (one of some names), "tick" (on or off), "number", or "button"
    about    what it is for: its tooltip, and its name for a screen reader
    set      does what it is for, with the name, the truth or the number that was chosen; a button
             gives None
    get      what it shows; of a button nothing
    names    of a choice, what can be chosen
    enabled  whether it can be used now
    label    stands before it; without one, a face puts it where it belongs
    text     on a button, or beside a tick
    icon     of a button in a notebook, by its name in Font Awesome
    key      that does the same
    """

    name: str
    kind: str
    about: str
    set: Callable[[Controller, Any], object]
    get: Callable[[State], Any] = nothing
    names: Callable[[State], Sequence[str]] = no_names
    enabled: Callable[[State], bool] = always
    label: str = ""
    text: str = ""
    icon: str = ""
    key: str = ""

    def shown(self, state: State) -> tuple[Any, tuple[str, ...], bool]:
        """What it shows, what can be chosen, and whether it can be used."""
        return self.get(state), tuple(self.names(state)), self.enabled(state)


def freeze_pinned(controller: Controller, on: bool) -> None:
    row = controller.stage.pinned
    if row is not None:
        controller.freeze(row, on)


def has_samples(state: State) -> bool:
    return state.samples > 1


CONTROLS = table(
    [
        Control(
            "unit",
            "choice",
            "What the arrows move by",
            lambda controller, name: controller.set_unit(name),
            lambda state: state.unit,
            lambda state: state.units,
        ),
        Control(
            "color",
            "choice",
            "What colours stand for",
            lambda controller, name: controller.set_channel("color", name),
            lambda state: state.color,
            lambda state: state.channels,
            label="Colour",
        ),
        Control(
            "size",
            "choice",
            "What sizes stand for",
            lambda controller, name: controller.set_channel("size", name),
            lambda state: state.size,
            lambda state: state.channels,
            label="Size",
        ),
        Control(
            "before",
            "button",
            "The sample before",
            lambda controller, _: controller.previous_sample(),
            enabled=has_samples,
            text="<",
            icon="angle-left",
            key="<",
        ),
        Control(
            "after",
            "button",
            "The next sample",
            lambda controller, _: controller.next_sample(),
            enabled=has_samples,
            text=">",
            icon="angle-right",
            key=">",
        ),
        Control(
            "frozen",
            "tick",
            "Keep this weight from moving",
            freeze_pinned,
            lambda state: state.pinned is not None and state.pinned.frozen,
            enabled=lambda state: state.pinned is not None,
            text="frozen",
        ),
        Control(
            "undo",
            "button",
            "Undo the last edit or freeze",
            lambda controller, _: controller.undo(),
            enabled=lambda state: state.edits > 0,
            text="Undo",
            icon="undo",
            key="Z",
        ),
    ]
)
