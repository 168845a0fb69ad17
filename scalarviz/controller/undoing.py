"""Undo and redo: of changes of a session, and of the step from one session to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalarviz.controller import growing

if TYPE_CHECKING:
    from scalarviz.controller.controller import Controller


def undo(controller: Controller) -> None:
    """Undo the last change; without one, show the session that this one was made from."""
    session = controller.session
    if session.timeline.undo_log.done or not growing.has_earlier(session):
        controller.do(session.undo, controller.fit, branching=False)
    else:
        growing.earlier(controller)


def redo(controller: Controller) -> None:
    """Do the change that was undone last again, or show the session that was made of this."""
    session = controller.session
    if session.timeline.undo_log.undone or not controller.later:
        controller.do(session.redo, controller.fit, branching=False)
    else:
        growing.later(controller)
