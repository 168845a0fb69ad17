"""Choosing an option: of every training, or of a scene, whose training may begin anew."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from scalarviz.base.texts import text
from scalarviz.faces.controller import growing, trail
from scalarviz.faces.controller.options import Options
from scalarviz.faces.controller.parts import set_learning_rate
from scalarviz.faces.controller.training_options import TRAINING
from scalarviz.training.session.session import Session
from scalarviz.training.session.trainer import settings_now

if TYPE_CHECKING:
    from scalarviz.faces.controller.controller import Controller


def set_option(controller: Controller, name: str, value: object) -> None:
    """Choose the value of an option."""
    session, options = controller.session, controller.options
    change, did = options.changes(name), text("changes.option", name=name, value=value)
    if change == "engine":
        return controller.set_engine(str(value))
    if change == "rate":
        return set_learning_rate(controller, str(value))
    if name in {choice.name for choice in controller.state.common}:
        return set_common(controller, name, value, did)

    def begin(made: Options | None) -> None:
        if made is not None:
            trail.go_on(controller, made.show, made, did)
            trail.tell(controller, did)
        elif change == "data":
            controller.tell(text("notices.target"))

    def act() -> Options | None:
        return options.set(session, settings_now(session), name, value)

    return controller.do(act, begin, changing=True, said=did)


def set_common(controller: Controller, name: str, value: object, did: str) -> None:
    """Choose the value of an option that every training has; `did` says so."""
    row, session = TRAINING[name], controller.session
    if row.value(session, settings_now(session)) == value:
        return None  # chosen once more
    if row.anew:
        return growing.grow(controller, lambda now: cast(Session, row.choose(now, value)))
    return controller.do(partial(row.choose, session, value), changing=True, said=did)
