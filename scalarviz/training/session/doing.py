"""Doing: a context manager around everything that moves or changes a session."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import final

from scalarviz.base.interrupt import ctrl_c, whole
from scalarviz.errors import OrderError
from scalarviz.training.session.lock import SessionLock
from scalarviz.training.session.timeline import Timeline
from scalarviz.training.session.undo import Change, Spot


@final
class Doing:
    """Holds the lock of a session, see `Session.doing`; a class, since a generator takes longer.

    session_lock  the lock
    timeline      numbers and clock that agree again at the end, also after an error
    check_owner   raises OwnershipError if another session has taken over the network
    plays         whether it is a portion of background play: numbers may stay where the engine has
                  left them, and are fetched now and then; else they are in the bank, also held
                  arrays of it
    as_one        whether what it changes is one change for `undo`, also a move to another branch
    """

    __slots__ = ("_as_one", "_before", "_check_owner", "_lock", "_plays", "_takes", "_timeline")

    def __init__(
        self,
        session_lock: SessionLock,
        timeline: Timeline,
        check_owner: Callable[[], None],
        *,
        plays: bool = False,
        as_one: bool = False,
    ) -> None:
        self._lock = session_lock
        self._timeline = timeline
        self._check_owner = check_owner
        self._plays = plays
        self._as_one = as_one
        self._before: tuple[Change | None, Spot] | None = None
        self._takes = False  # whether the lock is acquired here, and not by a caller

    @whole
    def __enter__(self) -> None:
        self._takes = not self._lock.mine
        if self._takes:
            self._lock.take()
        try:
            self._check_owner()
            if self._takes and self._timeline.is_at_work:  # an error ended the last `settle`
                self._timeline.settle()
            if self._timeline.is_at_work:
                raise OrderError(
                    "this session is at work, and was called again by a function that it called, "
                    "such as one that makes data: do that after the first call has returned"
                )
            self._begin()
        except BaseException:
            self._release()
            raise

    def _begin(self) -> None:
        timeline, bank = self._timeline, self._timeline.trainer.bank
        try:
            timeline.plays = self._plays
            is_away = bank.away.keeper is not None
            if is_away and (bank.away.is_due or not self._plays):
                bank.fetch()
            timeline.journal_outside_writes()
            if is_away and bank.away.keeper is None:
                timeline.keep_frame()
            timeline.show()
            if self._as_one:
                self._before = timeline.undo_log.last, timeline.spot
            ctrl_c.deliver()
        except BaseException:
            self._end(failed=True)
            raise

    def _end(self, *, failed: bool) -> None:
        timeline = self._timeline
        try:
            if failed and self._takes:  # Ctrl-C too: numbers and clock must agree again
                timeline.settle()
            elif failed:
                timeline.repair()
            if failed or not self._plays:
                timeline.trainer.bank.fetch()
        finally:
            if self._before is not None:
                timeline.undo_log.join_since(*self._before, timeline.spot)
            timeline.plays = False
            timeline.remember()
            timeline.show()

    def _release(self) -> None:
        if self._takes:
            self._lock.give()

    @whole
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._end(failed=kind is not None)
        finally:
            self._release()
            ctrl_c.deliver()
