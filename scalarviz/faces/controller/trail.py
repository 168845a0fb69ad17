"""Trail: what a face has shown before, and the ways back and on again."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

from scalarviz.base.texts import text
from scalarviz.faces.controller.options import Options
from scalarviz.stage.show import Show, sizes_of
from scalarviz.story.names import sentence
from scalarviz.training.session.session import Session
from scalarviz.training.session.user_changes import Change

if TYPE_CHECKING:
    from scalarviz.faces.controller.controller import Controller

MOST = 10  # trainings that are kept for the way back


@final
@dataclass(frozen=True, eq=False)
class Place:
    """A training that was left, with its options; `did` says what lies between it and the next.

    undone  if it was left by Undo: the list of the training before it, which a change replaces
    """

    show: Show
    options: Options
    did: str
    undone: list[Change] | None = None


@final
class Trail:
    """The trainings before the one that is shown, oldest first, and those after it, newest last."""

    def __init__(self) -> None:
        self.before: deque[Place] = deque(maxlen=MOST)
        self.after: list[Place] = []

    def has_earlier(self, session: Session) -> bool:
        """Return whether there is a way back from a session."""
        return bool(self.before) or has_source(session)

    def later(self, session: Session) -> list[Place]:
        """Return the trainings after a session, newest last; none if it was changed since."""
        undone = session.undo_log.undone
        return self.after if self.after and self.after[-1].undone is undone else []


def has_source(session: Session) -> bool:
    """Return whether the session is there that this one was made from."""
    return session.origin is not None and session.origin.session is not None


def go_on(controller: Controller, show: Show, options: Options, did: str) -> None:
    """Show another training, from which Undo leads back."""
    trail = controller.trail
    trail.before.append(Place(controller.show, controller.options, did))
    trail.after.clear()
    controller.session.undo_log.drop()
    controller.replace(show, options)


def tell(controller: Controller, did: str) -> None:
    """Say what was done that another training is shown for, with a button for the way back."""
    words = text("notices.grown", did=sentence(did))
    controller.tell(words, text("notices.earlier"), controller.undo)


def back(controller: Controller) -> str:
    """Show the training before this one, and return what was undone; "" if there is none."""
    trail, session = controller.trail, controller.session
    if trail.before:
        place = trail.before.pop()
    elif has_source(session):
        place = source_of(controller)
    else:
        return ""
    undone = place.show.session.undo_log.undone
    trail.after.append(Place(controller.show, controller.options, place.did, undone))
    controller.replace(place.show, place.options)
    return place.did


def forward(controller: Controller) -> str:
    """Show the training again that `back` has left, and return what was done again."""
    trail = controller.trail
    place = trail.after.pop()
    trail.before.append(Place(controller.show, controller.options, place.did))
    controller.replace(place.show, place.options)
    return place.did


def source_of(controller: Controller) -> Place:
    """Return the session that the one shown was made from."""
    origin = controller.session.origin
    assert origin is not None and origin.session is not None, "it was asked for before"
    show, options = with_session(controller, origin.session)
    return Place(show, options, origin.did)


def with_session(controller: Controller, session: Session) -> tuple[Show, Options]:
    """Return the show with another session in its place, under its own sizes, and its options."""
    show = controller.show
    sizes = sizes_of(show.session), sizes_of(session)
    title = show.title.replace(*sizes) if all(sizes) else show.title
    made = replace(show, session=session, title=title)
    return made, controller.options.anew(made)
