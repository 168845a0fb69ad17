"""Background: a thread that runs one job at a time in portions and ends with the program.

Where no thread can be started, as in a browser, the running loop of asyncio runs the portions.

A job is an iterator: each `next` does one portion and returns the seconds to rest after it. A newly
started job replaces the previous one as soon as the current portion is done.

A thread inside a kernel while the interpreter shuts down can crash the process. So at the end of
the program every job stops after its portion, and every guard registered with `hold_at_end` is
taken.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Iterator
from typing import Any, final
from weakref import WeakSet

from scalarviz.base.interrupt import ctrl_c, uncut
from scalarviz.engines.common.cores import Guard

LAST = 5.0  # seconds that the end of the program waits for portions, at most
LOOK = 0.1  # seconds between two checks that a thread is alive

Job = Iterator[float]

_all: WeakSet[Background] = WeakSet()
_guards: WeakSet[Guard] = WeakSet()
_ending = False


@final
class Background:
    """At most one thread, which runs the newest job.

    All methods can be called from any thread. The thread references its job, not this object.
    """

    def __init__(self) -> None:
        self._begin()
        _all.add(self)

    def _begin(self) -> None:
        self._changed = threading.Condition()
        self._job: Job | None = None  # the newest job
        self._now: Job | None = None  # the job whose portion is running
        self._thread: threading.Thread | None = None
        self._loop: Any = None  # of asyncio, which runs the portions if no thread can be started
        self._error: BaseException | None = None

    @property
    def busy(self) -> bool:
        """Whether a job has neither ended nor been stopped."""
        return self._job is not None

    @property
    def _on_loop(self) -> bool:
        """Whether a loop of asyncio runs the portions."""
        return self._loop is not None and not self._loop.is_closed()

    @uncut
    def start(self, job: Job) -> None:
        """Run this job from now on, instead of the present one."""
        with self._changed:
            self._job = job
            self._changed.notify_all()
            if self._thread is None and not self._on_loop:
                thread = threading.Thread(target=self._work, name="scalarviz", daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # the system has no more threads, or none, as in a browser
                    if not self._start_on_loop():
                        self._job = None
                        raise
                else:
                    self._thread = thread
        _be_called_first()

    @uncut
    def stop(self) -> None:
        """Stop after the current portion, without waiting for it."""
        with self._changed:
            self._job = None
            self._changed.notify_all()

    @uncut
    def wait(self, seconds: float = threading.TIMEOUT_MAX) -> None:
        """Wait until a stopped job has ended: the thread is gone, or runs a newer job.

        Returns at once in the thread itself.
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
                ctrl_c.deliver()
                self._changed.wait(min(LOOK, left))
        thread.join()

    @uncut
    def finish(self, seconds: float = threading.TIMEOUT_MAX) -> bool:
        """Wait until no job is left; return whether none is. Does not wait in the thread itself."""
        limit = time.monotonic() + seconds
        with self._changed:
            while self._job is not None and self._on_loop and time.monotonic() < limit:
                self._do(self._job)  # nobody else does
            while self.busy and self._thread is not threading.current_thread():
                left = limit - time.monotonic()
                if left <= 0.0:
                    break
                ctrl_c.deliver()
                self._changed.wait(min(LOOK, left))
            return not self.busy

    @uncut
    def take_error(self) -> BaseException | None:
        """Return the error that ended a job and forget it, or None."""
        with self._changed:
            error, self._error = self._error, None
        return error

    def raise_error(self) -> None:
        """Raise the error that ended a job and forget it, if there is one."""
        error = self.take_error()
        if error is not None:
            raise error

    def _work(self) -> None:
        while True:
            with self._changed:
                job = self._now = self._job
                self._changed.notify_all()
                if job is None:
                    self._thread = None
                    return
            rest = self._do(job)
            with self._changed:
                if rest and self._job is job:
                    self._changed.wait(rest)

    def _do(self, job: Job) -> float:
        """Run the next portion of a job, and return the seconds to rest after it."""
        rest, error = portion(job)
        with self._changed:
            if error is not None:
                self._error = error
            if rest is None and (error is not None or self._job is job):
                self._job = None
        return rest or 0.0

    def _start_on_loop(self) -> bool:
        """Run jobs by turns on the running loop of asyncio; return False if there is none."""
        import asyncio  # slow to import

        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return False

        def turn() -> None:
            job = self._job
            if job is None:
                self._loop = None
            else:
                loop.call_later(self._do(job), turn)

        self._loop = loop
        loop.call_soon(turn)
        return True


def portion(job: Job) -> tuple[float | None, BaseException | None]:
    """Run the next portion: seconds to rest, None after the last portion; and the error, if any."""
    try:
        return next(job, None), None
    except BaseException as error:  # else it would be lost with the thread
        return None, error


def hold_at_end(guard: Guard) -> None:
    """Acquire a guard for good at the end of the program, so that its threads stop."""
    _guards.add(guard)
    _be_called_first()


def check_end() -> None:
    """End this thread with SystemExit if the program ends, unless it is the main thread."""
    if _ending and threading.current_thread() is not threading.main_thread():
        raise SystemExit


def end() -> None:
    """Stop every thread after its portion, and wait for up to LAST seconds."""
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
    """Register `end` anew: atexit calls the last registered function first."""
    atexit.unregister(end)
    atexit.register(end)


def _forget_threads() -> None:
    """Start afresh in a forked child, which has none of the parent's threads."""
    for each in list(_all):
        each._begin()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_forget_threads)
