"""Several threads at one session: they take turns, one may go on by itself, others look on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import final
from weakref import WeakMethod

from scalarviz.background import Background, Job, check_end, hold_at_end
from scalarviz.bank import Bank
from scalarviz.checks import not_copied, number
from scalarviz.engines.cores import acquire
from scalarviz.engines.snapshot import HostSnapshot, Numbers, Snapshot

BEHIND = 0.25  # seconds; who falls further behind does not catch up

Portion = Callable[[int | None, str], int]


@final
class Turns:
    """A lock that one thread holds at a time, and the snapshots that wait for it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._owner = 0
        self._waiting: set[int] = set()  # threads
        self._asked: list[SharedSnapshot] = []
        hold_at_end(self.lock)

    @property
    def mine(self) -> bool:
        """Whether this thread has the turn."""
        return self._owner == threading.get_ident()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Do something while nobody else does."""
        if self.mine:
            yield
            return
        me = threading.get_ident()
        self._waiting.add(me)
        try:
            acquire(self.lock)
        finally:
            self._waiting.discard(me)
        self._owner = me
        try:
            yield
        finally:
            self.serve()
            self._owner = 0
            self.lock.release()

    def let_others(self) -> None:
        """Wait until those have had their turn who were waiting; a lock is not fair by itself."""
        end = time.perf_counter() + BEHIND
        while self._waiting and time.perf_counter() < end:
            time.sleep(1e-4)

    def between(self) -> None:
        """Between two portions of a long turn: those who only look on need not wait for its end."""
        check_end()
        self.serve()

    def ask(self, snapshot: SharedSnapshot) -> None:
        """Fill in a snapshot as soon as nobody is at work."""
        if snapshot not in self._asked:
            self._asked.append(snapshot)
        self.serve()

    def serve(self) -> None:
        """Fill in the snapshots that were asked for, unless somebody else is just at work."""
        if self._asked and self.lock.acquire(blocking=False):
            try:
                while self._asked:
                    self._asked.pop().take()
            finally:
                self.lock.release()


@final
class SharedSnapshot(Snapshot):
    """A bank's numbers between two portions; whoever asks for them does not wait."""

    def __init__(self, turns: Turns, bank: Bank) -> None:
        self._turns = turns
        self._bank = bank
        self._copy: HostSnapshot | None = None

    __reduce_ex__ = not_copied(
        "the snapshot of a session, which shares its locks", "keep what its read() gives"
    )

    def request(self) -> None:
        self._copy = None
        self._turns.ask(self)

    def take(self) -> HostSnapshot:
        """Copy the numbers; the one whose turn it is calls this."""
        copy = HostSnapshot(self._bank)
        copy.request()
        self._copy = copy
        return copy

    @property
    def ready(self) -> bool:
        if self._copy is None:
            self._turns.serve()
        return self._copy is not None

    def read(self) -> Numbers:
        copy = self._copy
        if copy is None:
            with self._turns.taken():
                copy = self.take()
        return copy.read()


@final
class Player:
    """Takes portions of something in a thread of its own, as long as somebody else keeps it."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._thread = Background()

    @property
    def playing(self) -> bool:
        return self._thread.busy

    def play(self, portion: Portion, speed: float | None, unit: str) -> None:
        """Start, or go on at another speed; `portion(most, unit)` goes on a little.

        The error that ended an earlier playing is raised here if nobody has got it.
        """
        if speed is not None:
            speed = number(speed, "the speed", 0.0, open_low=True)
        self._raise_error()
        weak = WeakMethod(portion)
        job = flat_out(weak, unit) if speed is None else at_speed(weak, unit, speed)
        self._thread.start(resting(job, self._turns))

    def pause(self, *, wait: bool = True) -> None:
        """Stop, and raise the error that ended the playing, if there was one."""
        self._thread.stop()
        if wait and not self._turns.mine:  # else each would wait for the other
            self._thread.wait()
        self._raise_error()

    def _raise_error(self) -> None:
        error = self._thread.take_error()
        if error is not None:
            raise error


def resting(job: Job, turns: Turns) -> Job:
    """A job that lets those go first, after each portion, who wait for their turn."""
    for rest in job:
        turns.let_others()
        yield rest


def flat_out(portion: WeakMethod[Portion], unit: str) -> Job:
    """One portion after the other."""
    while go_on := portion():
        go_on(None, unit)
        del go_on
        yield 0.0


def at_speed(portion: WeakMethod[Portion], unit: str, speed: float) -> Job:
    """So many a second, on the average."""
    start, done = time.perf_counter(), 0
    while go_on := portion():
        due = int((time.perf_counter() - start) * speed) - done
        if due > speed * BEHIND + 1:
            start, done, due = time.perf_counter(), 0, 1
        if due > 0:
            done += go_on(due, unit)
        del go_on
        yield min(BEHIND, max(0.0, start + (done + 1) / speed - time.perf_counter()))
