"""Dragging: a weight that the mouse changes by its cube."""

from __future__ import annotations

from scalarviz.base.texts import text
from scalarviz.faces.controller.controller import Controller
from scalarviz.pictures.presenter.arithmetic import change_between
from scalarviz.pictures.presenter.captions.names import sentence, weight_name
from scalarviz.pictures.presenter.handles import Handle


def drag(controller: Controller, handle: Handle, up: float) -> None:
    """Set the weight of a cube that was dragged by so many pixels upwards.

    The picture follows meanwhile; all that one drag does is undone together.
    """
    controller.edit(handle.row, handle.value_at(up), dragged=True)


def let_go(controller: Controller, handle: Handle, up: float) -> None:
    """Say what a drag has changed, and offer to train on, unless it plays anyway."""
    session = controller.session
    uses = (each for each in session.network.program.operations if handle.row in each.parameters)
    name = sentence(weight_name(session, next(uses, None), handle.row))
    old, new, _ = change_between(handle.value, handle.value_at(up))
    words = text("notices.dragged", name=name, old=old, new=new)
    if session.playing:
        controller.tell(words)
    else:
        controller.tell(words, text("notices.repair"), controller.play)
