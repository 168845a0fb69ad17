"""Keys of an interface: the commands that they execute, and their help texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from scalarviz.base.texts import text
from scalarviz.faces.controller.control import Control, FaceState, following
from scalarviz.faces.controller.controls import CONTROLS
from scalarviz.scene.look import DIGITS
from scalarviz.stage.commands import OF_TRAININGS, Command

TIMES_WITH_SHIFT = 10
ARROWS = {"left": "←", "right": "→", "up": "↑", "down": "↓"}
NAMED_KEYS = ("space", "enter", "escape", "f2", "f11")


def keys_of(row: Command, names: Sequence[str]) -> tuple[str, ...]:
    """Return the keys of a command; a choice can have a digit key for each of its `names`."""
    return tuple(DIGITS[: len(names)]) if row.key == DIGITS else (row.key,) * bool(row.key)


def command_of(state: FaceState, key: str, shift: bool) -> tuple[Control, Any] | None:
    """Return the control that a key operates, and the value for its setter; None without one."""
    for control in controls_for(state):
        names = tuple(control.names(state))
        if key and key in (*keys_of(control.row, names), control.row.also):
            return control, value_of_key(control, names, state, key, shift)
    return None


def controls_for(state: FaceState) -> list[Control]:
    """Return the controls that are available for a state, such as those for several sessions."""
    found = [each for each in CONTROLS.values() if state.names or each.name != "session"]
    return [each for each in found if not (state.recorded and each.name in OF_TRAININGS)]


def value_of_key(
    control: Control, names: Sequence[str], state: FaceState, key: str, shift: bool
) -> Any:
    """Return the value that a key passes to the setter of a control."""
    row = control.row
    if row.kind == "tick":
        return not control.get(state)
    if row.kind == "choice":
        now = control.get(state)
        return names[DIGITS.index(key)] if row.key == DIGITS else following(names, now)
    return TIMES_WITH_SHIFT if shift and key not in state.choosing else 1


def either(names: Iterable[str]) -> str:
    *most, last = names
    return text("keys.or", most=", ".join(most), last=last) if most else last


def name_of_key(key: str) -> str:
    """Return the name of a key as displayed in the help."""
    return text(f"keys.name.{key}") if key in NAMED_KEYS else ARROWS.get(key, key)


def written_key(key: str) -> str:
    """Return the name of a key as displayed in menus and tooltips, with capital letters."""
    return name_of_key(key).upper() if len(key) == 1 else name_of_key(key)


def help_rows(state: FaceState) -> list[tuple[str, str]]:
    """Return the rows of the help: keys and their text; keys with the same text share a row.

    Keys that choose in a sequence have their other command with Shift, or none.
    """
    found: dict[str, list[str]] = {}
    if state.choosing:
        found[text("keys.place")] = [name_of_key(key) for key in state.choosing[:2]]
        found[text("keys.head")] = [*state.choosing[2:]]
    for control in controls_for(state):
        names = tuple(control.names(state))
        about, help = control.described(state), control.row.help
        help = help.replace("{}", either(names)) if names else help
        help = help or about[:1].lower() + about[1:]
        if control.row.key in state.choosing:
            help = text("keys.by_unit")
        also = control.row.also and f", {control.row.also}"
        for key in keys_of(control.row, names):
            if key not in state.choosing:
                found.setdefault(help, []).append(name_of_key(key) + also)
            elif key not in DIGITS:
                found.setdefault(help, []).append(text("keys.shift", key=name_of_key(key)))
    return [(" ".join(keys), about) for about, keys in found.items()]
