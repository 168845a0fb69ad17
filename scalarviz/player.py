"""Several threads at one session: they take turns, one may go on by itself, others look on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import final

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
        self._waiting = 0
        self._asked: list[SharedSnapshot] = []

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Do something while nobody else does."""
        self._waiting += 1
        try:
            acquire(self.lock)
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self.serve()
            self.lock.release()

    def let_others(self) -> None:
        """Wait until those have had their turn who were waiting; a lock is not fair by itself."""
        end = time.perf_counter() + BEHIND
        while self._waiting > 0 and time.perf_counter() < end:
            time.sleep(1e-4)

    def ask(self, snapshot: SharedSnapshot) -> None:
        """Fill in a snapshot as soon as nobody is at work."""
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
    """A bank's numbers between two turns; whoever asks for them does not wait."""

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

    def take(self) -> None:
        """Copy the numbers; the one whose turn it is calls this."""
        copy = HostSnapshot(self._bank)
        copy.request()
        self._copy = copy

    @property
    def ready(self) -> bool:
        if self._copy is None:
            self._turns.serve()
        return self._copy is not None

    def read(self) -> Numbers:
        if self._copy is None:
            with self._turns.taken():
                self.take()
        assert self._copy is not None
        return self._copy.read()


@final
class Player:
    """Takes portions of something in a thread of its own."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._error: BaseException | None = None

    @property
    def playing(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def play(self, portion: Portion, speed: float | None, unit: str) -> None:
        """Start, or go on at another speed; `portion(most, unit)` goes on a little."""
        if speed is not None:
            speed = number(speed, "the speed", 0.0, open_low=True)
        self.pause()
        self._stop = threading.Event()
        arguments = portion, speed, unit, self._stop
        self._thread = threading.Thread(target=self._run, args=arguments, daemon=True)
        self._thread.start()

    def pause(self) -> None:
        """Stop, and raise the error that ended the playing, if there was one."""
        thread, self._thread = self._thread, None
        self._stop.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _run(self, portion: Portion, speed: float | None, unit: str, stop: threading.Event) -> None:
        try:
            if speed is not None:
                self._run_at(portion, speed, unit, stop)
            while not stop.is_set():
                portion(None, unit)
                self._turns.let_others()
        except BaseException as error:  # it must not be lost with the thread
            self._error = error

    def _run_at(self, portion: Portion, speed: float, unit: str, stop: threading.Event) -> None:
        """So many a second, on the average."""
        start, done = time.perf_counter(), 0
        while not stop.is_set():
            due = int((time.perf_counter() - start) * speed) - done
            if due > speed * BEHIND + 1:
                start, done, due = time.perf_counter(), 0, 1
            if due > 0:
                done += portion(due, unit)
                self._turns.let_others()
            stop.wait(max(0.0, start + (done + 1) / speed - time.perf_counter()))
