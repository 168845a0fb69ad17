"""Keys: what each does, in one table; the help on the picture is made from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scalarviz.controller.controller import Controller

Command = Callable[["Controller", bool], None]  # the bool: whether shift is held
TIMES = 10  # with shift


@dataclass(frozen=True)
class Key:
    """Some keys that belong together: how they are written, what they do, in words and in deed."""

    label: str
    about: str
    deeds: Mapping[str, Command]


def often(shift: bool) -> int:
    return TIMES if shift else 1


def escape(controller: Controller) -> None:
    """Out of the help first, then back to the whole network."""
    if controller.stage.help:
        controller.stage.help = False
    else:
        controller.stage.frame_all()


def toggle_help(controller: Controller) -> None:
    controller.stage.help = not controller.stage.help


def next_branch(controller: Controller) -> None:
    """Go round the branches, and say where that led."""
    count = len(controller.session.branches)
    if count == 1:
        return controller.tell("There is one branch so far: go back and change something")
    following = (controller.session.current_branch.number + 1) % count
    controller.switch(following)
    return controller.tell(f"Branch {following} of 0 to {count - 1}")


def next_color(controller: Controller) -> None:
    """Go round what the colour of a cube can stand for."""
    names = controller.stage.channels
    place = names.index(controller.stage.color) if controller.stage.color in names else -1
    controller.set_channel("color", names[(place + 1) % len(names)])


def next_layout(controller: Controller) -> None:
    controller.stage.layout = "posters" if controller.stage.layout == "crossbar" else "crossbar"


def next_theme(controller: Controller) -> None:
    controller.stage.theme = "light" if controller.stage.theme == "dark" else "dark"


KEYS = (
    Key("space, t", "play and pause", {"space": lambda d, _: d.toggle_play()}),
    Key(
        "← →",
        "back and on by the unit; with shift, ten times",
        {
            "left": lambda d, shift: d.step(-1, often(shift)),
            "right": lambda d, shift: d.step(+1, often(shift)),
        },
    ),
    Key(
        ", .",
        "back and on by one operation",
        {",": lambda d, _: d.operation(-1), ".": lambda d, _: d.operation(+1)},
    ),
    Key("r", "start again with the same first weights", {"r": lambda d, _: d.reset()}),
    Key(
        "↑ ↓",
        "double and halve the learning rate",
        {"up": lambda d, _: d.scale_rate(2.0), "down": lambda d, _: d.scale_rate(0.5)},
    ),
    Key(
        "< >",
        "show another sample of the batch",
        {"<": lambda d, _: d.previous_sample(), ">": lambda d, _: d.next_sample()},
    ),
    Key("b", "go over to the next branch", {"b": lambda d, _: next_branch(d)}),
    Key("e", "type a value for the pinned weight", {"e": lambda d, _: d.start_editing()}),
    Key("z", "undo the last edit or freeze", {"z": lambda d, _: d.undo()}),
    Key("c", "colour by something else", {"c": lambda d, _: next_color(d)}),
    Key("f", "look at the pinned weight closely", {"f": lambda d, _: d.stage.frame_pinned()}),
    Key("Esc", "look at everything", {"escape": lambda d, _: escape(d)}),
    Key(
        "1 2 3",
        "see it in perspective, without, or flat",
        {
            "1": lambda d, _: d.stage.look("perspective"),
            "2": lambda d, _: d.stage.look("orthographic"),
            "3": lambda d, _: d.stage.look("flat"),
        },
    ),
    Key("l", "lay the layers out the other way", {"l": lambda d, _: next_layout(d)}),
    Key("d", "dark or light", {"d": lambda d, _: next_theme(d)}),
    Key("?", "this help", {"?": lambda d, _: toggle_help(d)}),
    Key("q", "quit", {"q": lambda d, _: d.leave()}),
)

# The same for hands that are used to another program; they are left out of the help.
ALIASES = {"t": "space"}
COMMANDS: Mapping[str, Command] = {
    name: command for key in KEYS for name, command in key.deeds.items()
}


def command_for(key: str) -> Command | None:
    """What a key does; None if it does nothing."""
    return COMMANDS.get(ALIASES.get(key, key))


def help_rows() -> list[tuple[str, str]]:
    """Keys and what they do, for the help."""
    return [(key.label, key.about) for key in KEYS]
