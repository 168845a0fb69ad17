"""Edits: weights that are typed or dragged."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from scalarviz.base.texts import text
from scalarviz.training.session.session import Session
from scalarviz.training.session.user_changes import Change

if TYPE_CHECKING:
    from scalarviz.faces.controller.controller import Controller


Rows = int | list[int]


@final
class Edits:
    """The edits of a session; all edits of one drag are undone together."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._drag: tuple[Rows, Change] | None = None  # the rows that were dragged last

    def edit(self, row: Rows, value: float | list[float], *, dragged: bool = False) -> None:
        """Set a weight, or some; `dragged` edits of the same ones at one moment are one change.

        Within a step they are set where it began, and its operations are done again: all that is
        shown is then of one network.
        """
        session, timeline = self.session, self.session.timeline
        with session.doing():
            log = session.undo_log
            last = log.last
            goes_on = dragged and last is not None and self._drag == (row, last)
            if last is not None and last.after is not None:
                goes_on = goes_on and last.after.branch is timeline.branch
            with timeline.step_again():
                session.edit(row, value)
            if goes_on:
                log.join()
            log.done[-1].after = timeline.spot
            self._drag = (row, log.done[-1]) if dragged else None


def type_value(controller: Controller) -> None:
    """Open the field of the pinned weight's value, or say how a weight is pinned."""
    if controller.stage.pinned is None:
        controller.tell(text("notices.pin_first"))
    else:
        controller.start_editing("value")
