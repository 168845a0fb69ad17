"""Undo: edits and freezes, taken back by doing the reverse."""

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
    """Something that was done to a weight, and what takes it back."""

    action: Action
    row: int
    reverse: Callable[[], None]
    dragged: bool


@final
class Undo:
    """Edits and freezes of a session, with what takes them back.

    Nothing is forgotten by it: an undo is one more thing that the user does, at its moment. The
    edits of a number that is dragged are taken back together.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self._done: list[Done] = []

    def __len__(self) -> int:
        return len(self._done)

    def edit(self, row: int, value: float, *, dragged: bool = False) -> None:
        """Give a weight another value, one of many if its number is dragged."""
        before = float(self.session.network.bank.value[row])
        with self.session.doing():
            self.session.edit(row, value)
            self._note(row, partial(self.session.edit, row, before), dragged)

    def freeze(self, row: int, on: bool) -> None:
        """Keep a weight from moving, or let it move."""
        before = bool(self.session.network.bank.frozen[row])
        with self.session.doing():
            self.session.freeze(row, on)
            self._note(row, partial(self.session.freeze, row, before), False)

    def undo(self) -> None:
        """Take back the last of what was done in this branch and before this moment."""
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
    """A number that was typed."""
    try:
        return float(str(value).replace("\N{MINUS SIGN}", "-"))
    except ValueError:
        raise InputError(f"a number is wanted, such as 0.5, not {str(value)!r}") from None
