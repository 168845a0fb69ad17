"""Commands of the keyboard that point at cubes and neurons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalarviz.base.texts import text
from scalarviz.errors import ScalarvizError

if TYPE_CHECKING:
    from scalarviz.faces.controller.controller import Controller

WAYS = ("left", "right", "up", "down")


def point(controller: Controller) -> None:
    """Begin to point at cubes and neurons, then pin what is pointed at, or unpin it."""
    if controller.stage.walking and controller.warming.held:
        controller.tell(text("notices.wait"))
    elif controller.stage.walking:
        try:
            controller.stage.pin_pointed()
        except ScalarvizError as error:
            controller.tell_error(error)
    else:
        controller.stage.walk("")
        controller.tell(text("notices.walking"))


def walk(controller: Controller, key: str) -> bool:
    """Go on by an arrow to the next cube or neuron; return whether that is what arrows do now."""
    if not controller.stage.walking or key not in WAYS:
        return False
    controller.stage.walk(key)
    return True
