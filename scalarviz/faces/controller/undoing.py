"""Undo and redo: of changes of a session, and of the step from one training to another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from scalarviz.base.texts import text
from scalarviz.faces.controller import trail
from scalarviz.faces.controller.computing import computes
from scalarviz.training.session.branches import Clock, did_in_words
from scalarviz.training.session.user_changes import Change

if TYPE_CHECKING:
    from scalarviz.faces.controller.controller import Controller


def undo(controller: Controller) -> None:
    """Undo the last change; without one, show the training before, even while this one is held."""
    session = controller.session
    if not session.undo_log.done and controller.trail.has_earlier(session):
        controller.stand_still()
        return tell(controller, "undo", trail.back(controller))
    return change(controller, "undo", session.undo_log.done, session.undo)


def redo(controller: Controller) -> None:
    """Do the change that was undone last again, or show the training after this one."""
    session = controller.session
    if not session.undo_log.undone and controller.trail.later(session):
        controller.stand_still()
        return tell(controller, "redo", trail.forward(controller))
    return change(controller, "redo", session.undo_log.undone, session.redo)


@computes
def change(
    controller: Controller, name: str, changes: Sequence[Change], act: Callable[[], None]
) -> None:
    """Undo or do again the last of some changes, and say what it is."""
    controller.stand_still()
    session = controller.session

    def acted() -> tuple[str, bool]:
        words = words_for(changes[-1]) if changes else ""
        before = session.clock.place
        act()
        return words, session.clock.place != before

    def told(done: tuple[str, bool]) -> None:
        controller.fit()
        words, moved = done
        if moved:
            words = text("changes.at", did=words, step=session.step_index)
        tell(controller, name, words)

    controller.do(acted, told, branching=False)


def words_for(change: Change) -> str:
    """Return what a change did: its actions, or where it led without any."""
    before, after = change.before, change.after
    if change.name is not None:
        return text("changes.name", number=change.name[0].number)
    if change.actions:
        return did_in_words(change.actions)
    if after is None or after.clock == Clock():
        return text("changes.start")
    if after.branch.parent is before.branch and after.clock == before.clock:
        return text("changes.new_branch", step=after.clock.step)
    return text("changes.branch", number=after.branch.number)


def tell(controller: Controller, name: str, words: str) -> None:
    """Say what "undo" or "redo" did, with a button for the opposite."""
    if name == "undo":
        controller.tell(text("changes.undone", did=words), text("controls.redo"), controller.redo)
    else:
        controller.tell(text("changes.redone", did=words), text("controls.undo"), controller.undo)
