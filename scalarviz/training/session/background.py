"""Background play: a thread that advances a session until it is paused."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import final
from weakref import WeakMethod, ref

from scalarviz.base.checks import number
from scalarviz.training.session.lock import SessionLock
from scalarviz.training.session.worker import Background, Job

BEHIND = 0.25  # seconds; a delay above this is dropped, not caught up

Portion = Callable[[int | None, str, int | None], int]


@final
class Player:
    """Advances a session in a background thread, until paused or until the session is deleted.

    What follows a leader is played by that, too: with other sessions, on one clock.
    """

    def __init__(self, session_lock: SessionLock) -> None:
        self._session_lock = session_lock
        self._thread = Background()
        self._leader: ref[Player] | None = None

    @property
    def playing(self) -> bool:
        return self._thread.busy or self._led_by is not None

    @property
    def _led_by(self) -> Player | None:
        """The leader while it plays, else None."""
        leader = None if self._leader is None else self._leader()
        return leader if leader is not None and leader.playing else None

    def follow(self, leader: Player) -> None:
        """End this play, and have a leader from now on in place of another one."""
        if self._led_by is not leader:
            self.pause()
        self._thread.stop()
        self._leader = ref(leader)

    def play(self, portion: Portion, speed: float | None, unit: str, until: int | None) -> None:
        """Start playing, or go on with another speed or unit.

        portion  bound method, held weakly: `portion(most, unit, until)` advances by at most `most`
                 units (None: no limit), not beyond the step `until`, and returns how many it did
        speed    units per second; None: as fast as possible
        unit     "operation", "phase", "sample" or "step"
        until    step at which playing ends; None: none

        Raises the error that ended the previous playing if no `pause` has raised it.
        """
        if speed is not None:
            speed = number(speed, "the speed", 0.0, open_low=True)
        self._thread.raise_error()
        weak, begins = WeakMethod(portion), not self._thread.busy
        if speed is None:
            job = flat_out(weak, unit, until)
        else:
            job = at_speed(weak, unit, until, speed, begins)
        self._thread.start(resting(job, self._session_lock))

    def stop(self) -> None:
        """Stop after the current portion, without waiting for it."""
        self._thread.stop()

    def pause(self, timeout: float | None = None) -> None:
        """Stop after the current portion; raise the error that ended the playing, if any."""
        if timeout is not None:
            timeout = number(timeout, "the timeout", 0.0)
        if (leader := self._led_by) is not None:
            leader.pause(0.0 if self._session_lock.mine else timeout)
        self._thread.stop()
        if not self._session_lock.mine:  # else a deadlock: the thread waits for the lock
            self._thread.wait(threading.TIMEOUT_MAX if timeout is None else timeout)
        self._thread.raise_error()


def resting(job: Job, session_lock: SessionLock) -> Job:
    """Run a job, and after each portion let threads that wait for the lock go first."""
    for rest in job:
        session_lock.let_others()
        yield rest


def flat_out(portion: WeakMethod[Portion], unit: str, until: int | None) -> Job:
    """Job: advance in portions, without rests."""
    while (go_on := portion()) and go_on(None, unit, until):
        del go_on
        yield 0.0


def at_speed(
    portion: WeakMethod[Portion], unit: str, until: int | None, speed: float, begins: bool
) -> Job:
    """Job: advance at a mean rate of `speed` units per second; if it `begins`, first at once."""
    start, done = time.perf_counter() - begins / speed, 0
    while go_on := portion():
        due = int((time.perf_counter() - start) * speed) - done
        if due > speed * BEHIND + 1:
            start, done, due = time.perf_counter(), 0, 1
        if due > 0:
            went = go_on(due, unit, until)
            if not went:
                return
            done += went
        del go_on
        yield min(BEHIND, max(0.0, start + (done + 1) / speed - time.perf_counter()))
