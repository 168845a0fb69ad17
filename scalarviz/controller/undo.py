"""Undo: reverts edits and freezes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import final

from scalarviz.errors import InputError, OrderError
from scalarviz.session.branches import Action
from scalarviz.session.session import Session


@dataclass(frozen=True)
class Done:
    """An action on a weight, and its reverse."""

    action: Action
    row: int
    reverse: Callable[[], None]
    dragged: bool


@final
class Undo:
    """The edits and freezes of a session that can be undone.

    An undo is journalled as a further action. The edits of one drag are undone together.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self._done: list[Done] = []

    def __len__(self) -> int:
        return len(self._done)

    def edit(self, row: int, value: float, *, dragged: bool = False) -> None:
        """Edit a weight; `dragged` edits of one weight are undone together."""
        before = float(self.session.network.bank.value[row])
        with self.session.doing():
            self.session.edit(row, value)
            self._note(row, partial(self.session.edit, row, before), dragged)

    def freeze(self, row: int, on: bool) -> None:
        """Freeze or unfreeze a weight."""
        before = bool(self.session.network.bank.frozen[row])
        with self.session.doing():
            self.session.freeze(row, on)
            self._note(row, partial(self.session.freeze, row, before), False)

    def undo(self) -> None:
        """Undo the last action in this branch before the current moment.

        Raise OrderError if there is none.
        """
        with self.session.doing():
            while self._done:
                last = self._done.pop()
                if self._is_past(last.action):
                    return last.reverse()
        raise OrderError("there is no edit and no freeze to undo before this moment")

    def _is_past(self, action: Action) -> bool:
        timeline = self.session.timeline
        return action.place <= timeline.clock.place and action in timeline.branch.journal

    def _note(self, row: int, reverse: Callable[[], None], dragged: bool) -> None:
        timeline = self.session.timeline
        action = timeline.branch.actions_at(timeline.clock.place)[timeline.clock.actions - 1]
        last = self._done[-1] if self._done else None
        if last is not None and dragged and last.dragged and self._goes_on(last, row, action):
            reverse = self._done.pop().reverse
        self._done.append(Done(action, row, reverse, dragged))

    def _goes_on(self, last: Done, row: int, action: Action) -> bool:
        same = last.row == row and last.action.place == action.place
        return same and self._is_past(last.action)


def as_number(value: object) -> float:
    """Return a typed number; raise InputError if it is not one."""
    try:
        return float(str(value).replace("\N{MINUS SIGN}", "-"))
    except ValueError:
        raise InputError(f"a number is wanted, such as 0.5, not {str(value)!r}") from None
