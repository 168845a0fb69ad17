"""computes: a decorator of the commands of a controller that compute."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

from scalarviz.base.texts import text

if TYPE_CHECKING:
    from scalarviz.faces.controller.controller import Controller


CommandT = TypeVar("CommandT", bound=Callable[..., Any])


def computes(command: CommandT) -> CommandT:
    """Decorator of commands that compute; they are refused while the training is held."""

    @wraps(command)
    def done(controller: Controller, *given: Any, **named: Any) -> Any:
        controller.look_at_kernels()
        if controller.warming.held:
            return controller.tell(text("notices.wait"))
        try:
            return command(controller, *given, **named)
        finally:
            controller.guide.interrupt()
            controller.look_at_kernels()  # the command may have changed what is needed

    return cast(CommandT, done)
