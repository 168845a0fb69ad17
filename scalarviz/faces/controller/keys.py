"""Keys: their commands and their help, from the rows of CONTROLS."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from scalarviz.base.texts import text
from scalarviz.faces.controller.control import DIGITS, Control
from scalarviz.faces.controller.controls import CONTROLS
from scalarviz.faces.controller.state import State
from scalarviz.faces.controller.walking import walk

if TYPE_CHECKING:
    from scalarviz.faces.controller.controller import Controller

TIMES = 10  # with shift
ARROWS = {"left": "←", "right": "→", "up": "↑", "down": "↓"}
NAMED = ("space", "enter", "escape", "f2", "f11")
# Alternative keys, known from other programs.
ALIASES = {"t": "space"}


def keys_of(row: Control, names: Sequence[str]) -> tuple[str, ...]:
    """Return the keys of a control; `names` are the names of a choice."""
    return tuple(DIGITS[: len(names)]) if row.key == DIGITS else (row.key,) * bool(row.key)


def press(controller: Controller, key: str, shift: bool) -> bool:
    """Run the command of a key; return whether it has one."""
    if controller.guessing.press(key) or walk(controller, key):
        return True
    if found := command_of(controller.state, key, shift):
        row, value = found
        row.set(controller, value)
    return found is not None


def command_of(state: State, key: str, shift: bool) -> tuple[Control, Any] | None:
    """Return the control that a key belongs to, and the value for its setter; None without one."""
    key = ALIASES.get(key, key)
    for row in rows_for(state):
        names = tuple(row.names(state))
        if key in keys_of(row, names):
            return row, value_of(row, names, state, key, shift)
    return None


def rows_for(state: State) -> list[Control]:
    """Return the controls that there are: some only where several sessions are shown."""
    return [row for row in CONTROLS.values() if state.names or not row.several]


def value_of(row: Control, names: Sequence[str], state: State, key: str, shift: bool) -> Any:
    """Return the value that a key passes to the setter of a control."""
    if row.kind == "tick":
        return not row.get(state)
    if row.kind == "choice":
        return names[DIGITS.index(key)] if row.key == DIGITS else following(names, row.get(state))
    return TIMES if shift else 1


def following(names: Sequence[str], name: str) -> str:
    """Return the name after `name`; the first after the last."""
    return names[(names.index(name) + 1) % len(names)] if name in names else names[0]


def either(names: Iterable[str]) -> str:
    *most, last = names
    return text("keys.or", most=", ".join(most), last=last) if most else last


def name_of(key: str) -> str:
    """Return a key as text."""
    return text(f"keys.name.{key}") if key in NAMED else ARROWS.get(key, key)


def written(key: str) -> str:
    """Return a key as text for a menu or a tooltip, with letters as capitals."""
    return name_of(key).upper() if len(key) == 1 else name_of(key)


def help_rows(state: State) -> list[tuple[str, str]]:
    """Return the rows of the help; keys with the same text share a row."""
    found: dict[str, list[str]] = {}
    for row in rows_for(state):
        names = tuple(row.names(state))
        about, help = row.words("about", state), row.words("help", state)
        help = help.replace("{}", either(names)) if names else help
        help = help or about[:1].lower() + about[1:]
        for key in keys_of(row, names):
            other = [f", {alias}" for alias, meant in ALIASES.items() if meant == key]
            found.setdefault(help, []).append("".join([name_of(key), *other]))
    return [(" ".join(keys), about) for about, keys in found.items()]
