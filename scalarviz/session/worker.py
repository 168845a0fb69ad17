"""Background: a thread that does one job at a time, in portions, and does not outlive the program.

A job is an iterator: each `next` does a portion and says for how many seconds to rest after it.
What is started replaces what was under way, as soon as the portion that runs just then is done.

A thread that is inside a kernel while Python takes itself down can crash the process. So at the end
of the program every job stops after its portion, and so does what other threads do in turns.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Iterator
from typing import final
from weakref import WeakSet

from scalarviz.engines.common.cores import Guard

LAST = 5.0  # seconds that the end of the program waits for portions, at most
LOOK = 0.1  # seconds between two looks at whether a thread is still there

Job = Iterator[float]

_all: WeakSet[Background] = WeakSet()
_guards: WeakSet[Guard] = WeakSet()
_ending = False


@final
class Background:
    """At most one thread, which does the newest job that it was given.

    Everything may be called from any thread. The thread keeps its job alive, but not its giver.
    """

    def __init__(self) -> None:
        self._begin()
        _all.add(self)

    def _begin(self) -> None:
        self._changed = threading.Condition()
        self._job: Job | None = None  # what is wanted
        self._now: Job | None = None  # what the thread does
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    @property
    def busy(self) -> bool:
        """Whether there is a job that has neither ended nor been stopped."""
        return self._job is not None

    def start(self, job: Job) -> None:
        """Do this from now on."""
        with self._changed:
            self._job = job
            self._changed.notify_all()
            if self._thread is None:
                thread = threading.Thread(target=self._work, name="scalarviz", daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # the system has no thread left
                    self._job = None
                    raise
                self._thread = thread
        _be_called_first()

    def stop(self) -> None:
        """Do nothing more after the portion that is under way; it is not waited for."""
        with self._changed:
            self._job = None
            self._changed.notify_all()

    def wait(self, seconds: float = threading.TIMEOUT_MAX) -> None:
        """Until what was stopped has stopped: the thread has ended, or does what was given since.

        The thread itself does not wait.
        """
        limit = time.monotonic() + seconds
        with self._changed:
            thread, now = self._thread, self._now
            if thread is None or thread is threading.current_thread():
                return
            while self._thread is thread and thread.is_alive():
                left = limit - time.monotonic()
                if (self._job is not None and self._now is not now) or left <= 0.0:
                    return
                self._changed.wait(min(LOOK, left))
        thread.join()

    def finish(self, seconds: float = threading.TIMEOUT_MAX) -> bool:
        """Until no job is left; the thread itself does not wait. Whether none is."""
        limit = time.monotonic() + seconds
        with self._changed:
            while self.busy and self._thread is not threading.current_thread():
                left = limit - time.monotonic()
                if left <= 0.0:
                    break
                self._changed.wait(min(LOOK, left))
            return not self.busy

    def take_error(self) -> BaseException | None:
        """The error that has ended a job, for the first who asks."""
        with self._changed:
            error, self._error = self._error, None
        return error

    def _work(self) -> None:
        while True:
            with self._changed:
                job = self._now = self._job
                self._changed.notify_all()
                if job is None:
                    self._thread = None
                    return
            rest, error = portion(job)
            with self._changed:
                if error is not None:
                    self._error = error
                if rest is None and (error is not None or self._job is job):
                    self._job = None
                if rest and self._job is job:
                    self._changed.wait(rest)


def portion(job: Job) -> tuple[float | None, BaseException | None]:
    """Seconds of rest after the next portion, None if it was the last one; and what went wrong."""
    try:
        return next(job, None), None
    except BaseException as error:  # it must not be lost with the thread
        return None, error


def hold_at_end(guard: Guard) -> None:
    """Have a guard, under which threads work, taken for good at the end of the program."""
    _guards.add(guard)
    _be_called_first()


def check_end() -> None:
    """Leave this thread if the program ends; the one that ends it goes on."""
    if _ending and threading.current_thread() is not threading.main_thread():
        raise SystemExit


def end() -> None:
    """Have every thread stop after its portion, and wait for that."""
    global _ending
    _ending = True
    limit = time.monotonic() + LAST
    everyone = list(_all)
    for each in everyone:
        each.stop()
    for each in everyone:
        each.wait(max(0.0, limit - time.monotonic()))
    for guard in list(_guards):
        if not guard.is_lost:
            guard.acquire(max(0.0, limit - time.monotonic()))


def _be_called_first() -> None:
    """At the end of the program, who has registered last is called first."""
    atexit.unregister(end)
    atexit.register(end)


def _forget_threads() -> None:
    """In a forked child there are no threads but one."""
    for each in list(_all):
        each._begin()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_forget_threads)
