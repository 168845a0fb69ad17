"""SessionLock: lets one thread at a time work on a session, and fills in snapshots in between."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, final

from scalarviz.checks.numbers import not_copied
from scalarviz.engines.common.cores import Guard
from scalarviz.engines.common.snapshot import Snapshot, SnapshotValues
from scalarviz.session.worker import check_end, hold_at_end

PATIENCE = 0.25  # seconds that background play waits for threads that want the lock


@final
class SessionLock:
    """Reentrant lock of a session, with a queue of snapshots to fill in between portions."""

    def __init__(self) -> None:
        self.lock = Guard()
        self._owner = 0
        self._waiting: set[int] = set()  # threads
        self._asked: list[SharedSnapshot] = []
        hold_at_end(self.lock)

    @property
    def mine(self) -> bool:
        """Whether this thread holds the lock."""
        return self._owner == threading.get_ident() and not self.lock.is_lost

    def take(self, seconds: float = -1) -> bool:
        """Acquire the lock, which this thread does not hold, and return whether it did.

        `seconds` is the limit of the wait; -1, the default: none.
        """
        me = threading.get_ident()
        self._waiting.add(me)
        try:
            mine = self.lock.acquire(seconds)
        finally:
            self._waiting.discard(me)
        if mine:
            self._owner = me
        return mine

    def give(self) -> None:
        """Release the lock, after filling in the requested snapshots."""
        try:
            self.serve()
        finally:
            self._owner = 0
            self.lock.release()

    @contextmanager
    def taken(self, seconds: float = -1) -> Iterator[bool]:
        """Hold the lock; yield False if it was not acquired within `seconds` (-1: no limit)."""
        if self.mine:
            yield True
        elif self.take(seconds):
            try:
                yield True
            finally:
                self.give()
        else:
            yield False

    def let_others(self) -> None:
        """Wait up to PATIENCE until the waiting threads have had the lock; locks are not fair."""
        end = time.perf_counter() + PATIENCE
        while self._waiting and time.perf_counter() < end:
            time.sleep(1e-4)

    def between(self) -> None:
        """Fill in requested snapshots between two portions; end this thread if the program ends."""
        check_end()
        self.serve()

    def ask(self, snapshot: SharedSnapshot) -> None:
        """Queue a snapshot; it is filled in now if the lock is free, else between two portions."""
        if snapshot not in self._asked:
            self._asked.append(snapshot)
        self.serve()

    def serve(self) -> None:
        """Fill in the queued snapshots if the lock is free or held by this thread."""
        if self._asked and self.lock.acquire(0.0):
            try:
                while self._asked:
                    self._asked.pop().take()
            finally:
                self.lock.release()


@final
class SharedSnapshot(Snapshot):
    """Snapshot of a bank that is filled in between two portions of training, without waiting.

    session_lock  of the session
    make          returns the Snapshot that the copy is requested from
    where         returns the moment of the session; `moment` is that of the last copy
    """

    def __init__(
        self,
        session_lock: SessionLock,
        make: Callable[[], Snapshot],
        where: Callable[[], Any] = lambda: None,
    ) -> None:
        self._session_lock = session_lock
        self._make = make
        self._where = where
        self.moment: Any = None
        self._copy: Snapshot | None = None

    __reduce_ex__ = not_copied(
        "the snapshot of a session, which shares its locks", "keep what its read() gives"
    )

    def request(self) -> None:
        self._copy = None
        self._session_lock.ask(self)

    def take(self) -> Snapshot:
        """Request a copy of the numbers; the caller must hold the lock."""
        copy = self._make()
        copy.request()
        self.moment = self._where()
        self._copy = copy
        return copy

    @property
    def ready(self) -> bool:
        if self._copy is None:
            self._session_lock.serve()
        copy = self._copy
        return copy is not None and copy.ready

    def read(self) -> SnapshotValues:
        copy = self._copy
        if copy is None:
            with self._session_lock.taken():
                copy = self.take()
        return copy.read()
