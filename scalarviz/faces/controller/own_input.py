"""Inputs of the user's own: the network answers them in place of the samples."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.data.data_set import TableSet
from scalarviz.stage.handles import image_shape, target_of
from scalarviz.story.names import short_name
from scalarviz.training.session.session import Session
from scalarviz.training.session.trainer import settings_now

if TYPE_CHECKING:
    from scalarviz.faces.controller.controller import Controller

FEW = 3  # answers that are offered beside the other buttons
MOST_ANSWERS = 12
MOST_READ = 10_000  # targets that are looked at for it


def put_in(controller: Controller, inputs: FloatArray | None = None) -> None:
    """Show the answer to some inputs, and a button that leads back to the samples.

    inputs  the numbers; None, the default: those that are shown, or an empty image to draw on
    """
    controller.guide.interrupt()
    stage = controller.stage
    begins = inputs is None or stage.own is None
    if inputs is None:
        stage.put_in()
    else:
        stage.own = inputs
    if begins and stage.own is not None:  # offers are not made anew at each move of the mouse
        stage.offer(offers_of_own(controller))


def begin(controller: Controller) -> None:
    """Put in what is shown, or an empty image to draw on; pick a colour where inputs are one."""
    put_in(controller)
    if controller.session.data.input_tint == "rgb":
        pick(controller)


def offers_of_own(controller: Controller) -> dict[str, Callable[[], None]]:
    """Return what is offered while an input of the user's own is shown."""
    found: dict[str, Callable[[], None]] = {text("own.end"): partial(take_out, controller)}
    session = controller.session
    answers = answers_of(session)
    if len(answers) > FEW:
        found[text("own.learn.as")] = partial(ask_answer, controller)
    else:
        found |= {label_of(answer): partial(learn, controller, answer) for answer in answers}
    if image_shape(session.network.program) is not None:
        found[text("own.anew")] = partial(put_in, controller)
    if session.data.input_tint == "rgb" and controller.ask_color is not None:
        found[text("own.pick")] = partial(pick, controller)
    return found


def label_of(answer: str) -> str:
    """Return the label of the button that learns an answer; "" is the one that follows."""
    return text("own.learn.one", answer=answer) if answer else text("own.learn")


def answers_of(session: Session) -> dict[str, FloatArray | None]:
    """Return the targets that a sample of the user's own can have, by their names.

    The target is None, and its name "", where it follows from the inputs, such as the colour that a
    map gives.
    """
    data = session.data
    if not isinstance(data, TableSet):
        return {}
    if data.rule is not None:
        return {"": None}
    if data.output_tint == "rgb":
        return {}
    known = np.unique(data.training[1][:MOST_READ], axis=0)
    if not 2 <= len(known) <= MOST_ANSWERS:
        return {}
    is_one_hot = known.shape[1] > 1 and ((known == 0.0) | (known == 1.0)).all()
    if is_one_hot and (known.sum(axis=1) == 1.0).all():
        places = sorted(np.argmax(known, axis=1).tolist())
        names = [short_name(session, place) for place in places]
        rows = [np.eye(known.shape[1])[place] for place in places]
    else:
        names, rows = [", ".join(f"{x:g}" for x in row) for row in known.tolist()], list(known)
    return dict(zip(names, rows, strict=True))


def ask_answer(controller: Controller) -> None:
    """Offer the targets that the input can be learned with, all of them in one line."""
    found = {
        answer: partial(learn, controller, answer) for answer in answers_of(controller.session)
    }
    controller.stage.offer({**found, text("own.end"): partial(take_out, controller)})


def learn(controller: Controller, answer: str) -> None:
    """Add the input that is shown to the samples, with a target given by its name."""
    own, session = controller.stage.own, controller.session
    if own is None:
        return
    data, target = session.data, answers_of(session)[answer]
    target = target_of(data, own) if target is None else target

    def learned(_: object) -> None:
        words = text("own.learned", count=settings_now(session).data.samples)
        controller.tell(words, text("controls.undo"), controller.undo)

    controller.do(partial(session.add_samples, own, target), learned)
    controller.stage.offer(offers_of_own(controller))


def pick(controller: Controller) -> None:
    """Let the user pick a colour, which is put in while it is picked."""
    own = controller.stage.own
    if own is not None and controller.ask_color is not None:
        put_in(controller, own)
        controller.stage.offer(offers_of_own(controller))  # the button took all of them away
        controller.ask_color(own, partial(put_in, controller))


def take_out(controller: Controller) -> None:
    """Show the samples again."""
    controller.stage.own = None
    controller.stage.offer({})
