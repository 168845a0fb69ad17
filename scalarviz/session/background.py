"""Playing: a training goes on by itself, in a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import final
from weakref import WeakMethod

from scalarviz.checks.numbers import number
from scalarviz.session.lock import SessionLock
from scalarviz.session.worker import Background, Job

BEHIND = 0.25  # seconds; who falls further behind does not catch up

Portion = Callable[[int | None, str], int]


@final
class Player:
    """Takes portions of something in a thread of its own, as long as somebody else keeps it."""

    def __init__(self, turns: SessionLock) -> None:
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

    def pause(self, timeout: float | None = None) -> None:
        """Stop, and raise the error that ended the playing, if there was one."""
        self._thread.stop()
        if not self._turns.mine:  # else each would wait for the other
            self._thread.wait(threading.TIMEOUT_MAX if timeout is None else timeout)
        self._raise_error()

    def _raise_error(self) -> None:
        error = self._thread.take_error()
        if error is not None:
            raise error


def resting(job: Job, turns: SessionLock) -> Job:
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
