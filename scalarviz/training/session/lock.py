"""SessionLock: lets one thread at a time work on a session, and fills in snapshots in between."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, final

from scalarviz.base.checks import not_copied
from scalarviz.base.interrupt import ctrl_c, uncut, whole
from scalarviz.engines.common.cores import Guard
from scalarviz.engines.common.snapshot import Snapshot, SnapshotValues
from scalarviz.training.session.worker import check_end, hold_at_end

PATIENCE = 0.25  # seconds that background play waits for threads that want the lock
LOOK = 0.05  # seconds after which one who waits for the lock looks whether Ctrl-C was pressed


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

        `seconds` is the limit of the wait; -1, the default: none. Called, as `give` is, by
        functions that are `whole`; Ctrl-C ends the wait.
        """
        me, mine, left = threading.get_ident(), False, LOOK
        end = time.monotonic() + (seconds if seconds >= 0 else threading.TIMEOUT_MAX)
        ctrl_c.begin()
        self._waiting.add(me)
        try:
            while not mine and left:
                ctrl_c.deliver()
                left = max(0.0, end - time.monotonic())
                mine = self.lock.acquire(min(LOOK, left))
        finally:
            self._waiting.discard(me)
            if mine:
                self._owner = me
            else:
                ctrl_c.end()
        return mine

    def give(self) -> None:
        """Release the lock, after filling in the requested snapshots."""
        try:
            self.serve()
        finally:
            self._owner = 0
            self.lock.release()
            ctrl_c.end()

    def taken(self, seconds: float = -1) -> Taken:
        """Hold the lock; yield False if it was not acquired within `seconds` (-1: no limit)."""
        return Taken(self, seconds)

    def inherit(self, thread: int | None) -> None:
        """Own the lock from now on if a thread owns it that never goes on."""
        if self._owner == thread:
            self._owner = threading.get_ident()

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
        if self._asked:
            self._fill_in()

    @uncut
    def _fill_in(self) -> None:
        if self.lock.acquire(0.0):
            try:
                while self._asked:
                    self._asked.pop().take()
            finally:
                self.lock.release()


@final
class Taken:
    """Context manager that holds a SessionLock, which its thread may hold already."""

    def __init__(self, session_lock: SessionLock, seconds: float) -> None:
        self._lock = session_lock
        self._seconds = seconds
        self._takes = False

    @whole
    def __enter__(self) -> bool:
        if self._lock.mine:
            return True
        self._takes = self._lock.take(self._seconds)
        return self._takes

    @whole
    def __exit__(self, *_: object) -> None:
        if self._takes:
            self._lock.give()
        ctrl_c.deliver()


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
