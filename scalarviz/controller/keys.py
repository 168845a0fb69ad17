"""Keys: what each does, in one table; the help on the picture is made from it.

Channels, layouts, themes and cameras are rows of tables of their own: a key goes round the rows,
and the cameras have the digits in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scalarviz.draw2d.theme import THEMES
from scalarviz.view.scene.camera import CAMERAS
from scalarviz.view.scene.layout import LAYOUTS

if TYPE_CHECKING:
    from scalarviz.controller.controller import Controller

Command = Callable[["Controller", bool], None]  # the bool: whether shift is held
TIMES = 10  # with shift
DIGITS = 9  # keys for cameras


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
    controller.set_channel("color", following(controller.stage.channels, controller.stage.color))


def following(names: Iterable[str], name: str) -> str:
    """The name after one of some names, and the first after the last."""
    listed = list(names)
    return listed[(listed.index(name) + 1) % len(listed)] if name in listed else listed[0]


def next_layout(controller: Controller) -> None:
    controller.stage.layout = following(LAYOUTS, controller.stage.layout)


def next_theme(controller: Controller) -> None:
    controller.stage.theme = following(THEMES, controller.stage.theme)


def camera_keys() -> dict[str, str]:
    """The digit of each camera; there are nine."""
    return {str(number): name for number, name in enumerate(CAMERAS, 1) if number <= DIGITS}


def either(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last


def look(name: str) -> Command:
    return lambda controller, _: controller.stage.look(name)


def all_keys() -> tuple[Key, ...]:
    """Every key, in the order of the help."""
    cameras = camera_keys()
    return (
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
            " ".join(cameras),
            f"look at it from another side: {either(cameras.values())}",
            {key: look(name) for key, name in cameras.items()},
        ),
        Key("l", f"lay the layers out as {either(LAYOUTS)}", {"l": lambda d, _: next_layout(d)}),
        Key("d", either(THEMES), {"d": lambda d, _: next_theme(d)}),
        Key("?", "this help", {"?": lambda d, _: toggle_help(d)}),
        Key("q", "quit", {"q": lambda d, _: d.leave()}),
    )


# The same for hands that are used to another program; they are left out of the help.
ALIASES = {"t": "space"}


def command_for(key: str) -> Command | None:
    """What a key does; None if it does nothing."""
    key = ALIASES.get(key, key)
    return next((each.deeds[key] for each in all_keys() if key in each.deeds), None)


def help_rows() -> list[tuple[str, str]]:
    """Keys and what they do, for the help."""
    return [(key.label, key.about) for key in all_keys()]
