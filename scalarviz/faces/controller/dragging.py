"""Dragging: a weight that the mouse changes by its cube."""

from __future__ import annotations

import numpy as np

from scalarviz.base.texts import text
from scalarviz.faces.controller.controller import Controller
from scalarviz.stage.handles import Handle
from scalarviz.story.equations import change_between
from scalarviz.story.formats import both
from scalarviz.story.names import neuron_name, sentence, weight_name


def drag(controller: Controller, handle: Handle, up: float) -> None:
    """Set the weight of a cube, or turn an arrow, that was dragged by so many pixels upwards.

    The picture follows meanwhile; all that one drag does is undone together.
    """
    if handle.guesses:
        return controller.guessing.drag(up)
    controller.stage.scales.held = True
    return controller.edit(handle.row, handle.value_at(up), dragged=True)


def let_go(controller: Controller, handle: Handle, up: float) -> None:
    """Say what a drag has changed, and offer to train on, unless it plays anyway."""
    if not handle.guesses:
        controller.stage.scales.let_go()
        controller.do(lambda: None, lambda _: tell(controller, handle, up))


def tell(controller: Controller, handle: Handle, up: float) -> None:
    session = controller.session
    uses = (each for each in session.network.program.operations if handle.row in each.parameters)
    name = sentence(weight_name(session, next(uses, None), handle.row))
    old, new, _ = change_between(handle.value, handle.value_at(up))
    words = text("notices.dragged", name=name, old=old, new=new)
    if not session.playing:
        words = answer_words(controller, handle, old, new) or words
    if session.playing:
        controller.tell(words)
    else:
        controller.tell(words, text("notices.repair"), controller.play)


def answer_words(controller: Controller, handle: Handle, old: str, new: str) -> str:
    """Return how the output goes that a drag between two steps has moved most, or ""."""
    session, before = controller.session, handle.answers
    stage = next(each for each in controller.stage.stages if each.session is session)
    stage.reading.refresh()
    after = stage.reading.buffers(0).answers
    if before is None or after is None or not np.isfinite(after - before).all():
        return ""
    place = int(np.argmax(np.abs(after - before)))
    start, end = both(float(before[place]), float(after[place]))
    unit = neuron_name(session, (session.network.program.outputs.name, place))
    what = text("notices.dragged.answer") if len(after) == 1 else unit
    fields = {"old": old, "new": new, "what": what, "start": start, "end": end}
    return text("notices.dragged.moves", **fields) if start != end else ""
