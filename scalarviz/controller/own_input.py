"""Inputs of the user's own: the network answers them in place of the samples."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from scalarviz.checks.numbers import FloatArray
from scalarviz.presenter.own_input import image_shape
from scalarviz.texts import text

if TYPE_CHECKING:
    from scalarviz.controller.controller import Controller


def put_in(controller: Controller, inputs: FloatArray | None = None) -> None:
    """Show the answer to some inputs, and a button that leads back to the samples.

    inputs  the numbers; None, the default: those that are shown, or an empty image to draw on
    """
    controller.guide.interrupt()
    stage = controller.stage
    if inputs is None:
        stage.put_in()
    else:
        stage.own = inputs
    if stage.own is not None:
        stage.offer(offers_of_own(controller))


def offers_of_own(controller: Controller) -> dict[str, Callable[[], None]]:
    """Return what is offered while an input of the user's own is shown."""
    found: dict[str, Callable[[], None]] = {text("own.end"): partial(take_out, controller)}
    session = controller.session
    if image_shape(session.network.program) is not None:
        found[text("own.anew")] = partial(put_in, controller)
    if session.data.input_tint == "rgb" and controller.ask_color is not None:
        found[text("own.pick")] = partial(pick, controller)
    return found


def pick(controller: Controller) -> None:
    """Let the user pick a colour, which is put in while it is picked."""
    own = controller.stage.own
    if own is not None and controller.ask_color is not None:
        put_in(controller, own)
        controller.ask_color(own, partial(put_in, controller))


def take_out(controller: Controller) -> None:
    """Show the samples again."""
    controller.stage.own = None
    controller.stage.offer({})
