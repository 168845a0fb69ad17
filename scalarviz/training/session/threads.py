"""Threads of a session: its lock, background jobs, snapshots and background play.

A job is an iterator: each `next` runs one portion and returns the number of seconds to sleep after
it. A new job replaces the previous one after the current portion.

A thread that is inside a kernel during interpreter shutdown can crash the process. So when the
program exits, every job stops after its portion, and every registered guard is acquired.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, final
from weakref import WeakMethod, WeakSet

from scalarviz.base.checks import not_copied, number, require
from scalarviz.base.interrupt import ctrl_c, uncut
from scalarviz.base.kernel_threads import Guard
from scalarviz.engines.engine import Snapshot, SnapshotValues
from scalarviz.errors import OrderError

if TYPE_CHECKING:
    from scalarviz.training.session.timeline import Timeline
    from scalarviz.training.session.user_changes import BranchMoment, Change

LAST = 5.0  # maximum seconds to wait for portions at the end of the program
LOOK = 0.1  # seconds between checks for Ctrl-C

Job = Iterator[float]

_all: WeakSet[Background] = WeakSet()
_guards: WeakSet[Guard] = WeakSet()
_ending = False


@final
class Task:
    """A job on a separate thread, which begins when another task, `before`, has ended.

    Attributes:
        errors: list that receives the error that ends the task, replacing an earlier error
        starting: lock held during `start`, so that no portion begins before `start` returns
        stopped: event that prevents further portions; `ended`: event set after the last portion
        loop: asyncio loop that runs the portions if threads are not available, otherwise None
    """

    def __init__(
        self, job: Job, before: Task | None, errors: list[BaseException], starting: threading.Lock
    ) -> None:
        self._job, self._before, self._errors = job, before, errors
        self._starting = starting
        self.stopped, self.ended = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self._run, name="scalarviz", daemon=True)
        self.loop: Any = None

    def start(self) -> None:
        """Start the task; raise RuntimeError if no thread or asyncio loop is available."""
        try:
            self.thread.start()
        except RuntimeError:  # no more threads in the system, or none, as in a browser
            from asyncio import get_running_loop  # slow to import

            with suppress(RuntimeError):
                self.loop = get_running_loop()
                self.loop.call_soon(self._turn)
                return
            self.ended.set()
            raise

    def _run(self) -> None:
        with self._starting:
            before, self._before = self._before, None
        if before is not None and before.loop is None:
            before.ended.wait()
        while (rest := self.portion()) is not None:
            self.stopped.wait(rest)

    def _turn(self) -> None:
        if (rest := self.portion()) is not None:
            self.loop.call_later(rest, self._turn)

    def portion(self) -> float | None:
        """Run the next portion; return the seconds to sleep after it, or None if none is left."""
        rest = None
        if not self.stopped.is_set():
            try:
                rest = next(self._job, None)
            except BaseException as error:  # otherwise it would be lost with the thread
                self._errors[:] = [error]
        if rest is None:
            self._job = iter(())
            self.ended.set()
        return rest


@final
class Background:
    """Runs one job at a time on a separate thread; a new job replaces the previous one.

    All methods can be called from any thread. The thread references its job but not this object.

    Args:
        lock: lock that the jobs acquire; a thread that holds it never waits for a job. None
            (default) means no lock
    """

    def __init__(self, lock: SessionLock | None = None) -> None:
        self._lock = lock
        self._begin()
        _all.add(self)

    def _begin(self) -> None:
        self._changing = threading.Lock()
        self._task: Task | None = None
        self._errors: list[BaseException] = []
        self._threads: WeakSet[threading.Thread] = WeakSet()

    @property
    def busy(self) -> bool:
        """Whether a job is running that has not been stopped."""
        task = self._task
        return task is not None and not (task.stopped.is_set() or task.ended.is_set())

    @uncut
    def start(self, job: Job, *, forget: bool = False) -> None:
        """Start a job, which replaces the current job.

        Args:
            forget: whether to discard the error of an earlier job; False by default
        """
        with self._changing:
            if forget:
                self._errors.clear()
            self.stop()
            task = self._task = Task(job, self._task, self._errors, self._changing)
            self._threads.add(task.thread)
            task.start()
        _be_called_first()

    @uncut
    def stop(self, seconds: float = 0.0) -> None:
        """Stop the job after its current portion, and wait up to `seconds` for that.

        By default it does not wait. It never waits in the job's own thread, or in a thread that
        holds the lock.
        """
        if (task := self._task) is not None:
            task.stopped.set()
            self._wait(task, seconds)

    @uncut
    def wait(self, seconds: float = threading.TIMEOUT_MAX) -> bool:
        """Wait up to `seconds` until the latest job has ended; return whether it has."""
        task = self._task
        return task is None or self._wait(task, seconds)

    def _wait(self, task: Task, seconds: float) -> bool:
        limit = time.monotonic() + seconds
        is_free = self._lock is None or not self._lock.mine
        while not task.ended.is_set():
            left = limit - time.monotonic()
            if left <= 0.0 or not is_free or threading.current_thread() in self._threads:
                return False
            ctrl_c.deliver()
            if task.loop is not None:
                task.portion()  # otherwise it would never be read
            else:
                task.ended.wait(min(LOOK, left))
        if task.thread.ident is not None:  # it was started
            task.thread.join()
        return True

    def complete(self) -> None:
        """Wait for the latest job to end, and raise any error that ended a job."""
        self.wait(threading.TIMEOUT_MAX)
        self.raise_error()

    def pause(self, timeout: float | None = None) -> None:
        """Stop the job after its portion and wait for it; raise any error that ended a job.

        Args:
            timeout: maximum number of seconds to wait; None (default) means no limit
        """
        seconds = threading.TIMEOUT_MAX if timeout is None else number(timeout, "the timeout", 0.0)
        self.stop(seconds)
        self.raise_error()

    @uncut
    def raise_error(self) -> None:
        """Raise any error that ended a job, and discard it."""
        with self._changing:
            error = self._errors.pop() if self._errors else None
        if error is not None:
            raise error


def check_end() -> None:
    """End this thread with SystemExit if the program is exiting, unless it is the main thread."""
    if _ending and threading.current_thread() is not threading.main_thread():
        raise SystemExit


def end() -> None:
    """Stop every background thread after its portion, and wait up to LAST seconds for all."""
    global _ending
    _ending = True
    limit = time.monotonic() + LAST
    everyone = list(_all)
    for each in everyone:
        each.stop()
    for each in everyone:
        each.stop(max(0.0, limit - time.monotonic()))
    for guard in list(_guards):
        if not guard.is_lost:
            guard.acquire(max(0.0, limit - time.monotonic()))


def _be_called_first() -> None:
    """Register `end` again, so that atexit calls it before functions registered earlier."""
    atexit.unregister(end)
    atexit.register(end)


def _forget_threads() -> None:
    """Reset all jobs in a forked process, which does not have the threads of its parent."""
    for each in list(_all):
        each._begin()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_forget_threads)


# The lock lets one thread at a time work on a session, and serves snapshots in between.

PATIENCE = 0.25  # seconds that background play waits for threads waiting for the lock
RECHECK = 0.05  # seconds between checks for Ctrl-C while waiting for the lock


@final
class SessionLock:
    """Lock of a session, with a queue of requested snapshots to serve between portions."""

    def __init__(self) -> None:
        self.lock = Guard()
        self._owner = 0
        self._waiting: set[int] = set()  # threads
        self._asked: list[SharedSnapshot] = []
        _guards.add(self.lock)  # acquired at the end of the program, so that threads stop
        _be_called_first()

    @property
    def mine(self) -> bool:
        """Whether this thread holds the lock."""
        return self._owner == threading.get_ident() and not self.lock.is_lost

    def take(self, seconds: float = -1) -> bool:
        """Acquire the lock, which this thread must not hold yet; return whether that succeeded.

        `seconds` is the timeout; -1 (default) means no timeout. Ctrl-C ends the wait; after it,
        Ctrl-C waits for the end of a portion of the work, or for `give`.
        """
        me, mine, left = threading.get_ident(), False, RECHECK
        end = time.monotonic() + (seconds if seconds >= 0 else threading.TIMEOUT_MAX)
        ctrl_c.begin()
        self._waiting.add(me)
        try:
            while not mine and left:
                ctrl_c.deliver()
                left = max(0.0, end - time.monotonic())
                mine = self.lock.acquire(min(RECHECK, left))
        finally:
            self._waiting.discard(me)
            if mine:
                self._owner = me
            else:
                ctrl_c.end()
        return mine

    def give(self) -> None:
        """Serve the requested snapshots, and release the lock."""
        try:
            self.serve()
        finally:
            self._owner = 0
            self.lock.release()
            ctrl_c.end()

    def taken(self, seconds: float = -1) -> TakenLock:
        """Return a context manager that yields whether it acquired the lock within `seconds`."""
        return TakenLock(self, seconds)

    def inherit(self, thread: int | None) -> None:
        """Take over the lock from a thread that will never continue to run."""
        if self._owner == thread:
            self._owner = threading.get_ident()

    def let_others(self) -> None:
        """Wait up to PATIENCE seconds for other threads to acquire the lock, which is not fair."""
        end = time.perf_counter() + PATIENCE
        while self._waiting and time.perf_counter() < end:
            time.sleep(1e-4)

    def between(self) -> None:
        """Serve requested snapshots between portions; end this thread when the program exits."""
        check_end()
        self.serve()

    def ask(self, snapshot: SharedSnapshot) -> None:
        """Queue a snapshot; it is taken now if the lock is free, otherwise between two portions."""
        if snapshot not in self._asked:
            self._asked.append(snapshot)
        self.serve()

    def serve(self) -> None:
        """Take all queued snapshots if the lock is free or held by this thread."""
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
class TakenLock:
    """Context manager that holds a SessionLock, which the current thread may already hold."""

    def __init__(self, session_lock: SessionLock, seconds: float) -> None:
        self._lock = session_lock
        self._seconds = seconds
        self._takes = False

    def __enter__(self) -> bool:
        if self._lock.mine:
            return True
        self._takes = self._lock.take(self._seconds)
        return self._takes

    def __exit__(self, *_: object) -> None:
        if self._takes:
            self._lock.give()


@final
class SharedSnapshot(Snapshot):
    """Snapshot of a bank, taken between two portions of training without blocking it.

    Args:
        timeline: timeline of the session; `moment`: position of the timeline at the last copy
    """

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self.moment: Any = None
        self._copy: Snapshot | None = None

    __reduce_ex__ = not_copied(
        "the snapshot of a session, which shares its locks", "keep the result of read()"
    )

    def request(self) -> None:
        self._copy = None
        self._timeline.lock.ask(self)

    def take(self) -> Snapshot:
        """Start a copy of the numbers and return it; the caller must hold the lock."""
        trainer = self._timeline.trainer
        copy = trainer.run.snapshot(trainer.bank)
        copy.request()
        self.moment = self._timeline.here
        self._copy = copy
        return copy

    @property
    def ready(self) -> bool:
        if self._copy is None:
            self._timeline.lock.serve()
        copy = self._copy
        return copy is not None and copy.ready

    def read(self) -> SnapshotValues:
        copy = self._copy
        if copy is None:
            with self._timeline.lock.taken():
                copy = self.take()
        return copy.read()


# Background play: a thread that advances a session until paused.

BEHIND = 0.25  # seconds; a longer delay is dropped, not caught up
# Steps of the pictures of a film, all different, on a logarithmic clock, and the seconds between
# them.
FILM = [max(n, round(1.36**n - 1.0)) for n in range(27)]
PICTURE = 0.6

Portion = Callable[[int | None, str, int | None], int]


def play(
    thread: Background,
    session_lock: SessionLock,
    portion: Portion,
    speed: float | None,
    unit: str,
    until: int | None,
    *,
    film: int | None = None,
) -> None:
    """Advance in the background until paused, or until the owner of `portion` is deleted.

    Args:
        thread: thread in which to play; if already playing, it continues with the new arguments
        session_lock: lock of the object to advance
        portion: bound method `portion(most, unit, until)`, referenced weakly, that advances by at
            most `most` units (None means no limit), not beyond the step `until`, and returns the
            number of units
        speed: units per second; None means as fast as possible
        unit: "operation", "phase", "sample" or "step"
        until: step at which play ends; None means no limit
        film: step at which to begin a film of the steps in FILM; None means no film

    Raises the error that ended the previous play, unless `pause` has already raised it.
    """
    if speed is not None:
        speed = number(speed, "the speed", 0.0, open_low=True)
    thread.raise_error()
    weak, begins = WeakMethod(portion), not thread.busy
    job = at_speed(weak, unit, until, speed, begins) if speed else flat_out(weak, unit, until)
    if film is not None:
        job = film_first(weak, until, job, film)
    thread.start(resting(job, session_lock))


def resting(job: Job, session_lock: SessionLock) -> Job:
    """Wrap a job so that threads that wait for the lock run between its portions."""
    for rest in job:
        session_lock.let_others()
        yield rest


def flat_out(portion: WeakMethod[Portion], unit: str, until: int | None) -> Job:
    """Background job: advance in portions without pauses."""
    while (go_on := portion()) and go_on(None, unit, until):
        del go_on
        yield 0.0


def at_speed(
    portion: WeakMethod[Portion], unit: str, until: int | None, speed: float, begins: bool
) -> Job:
    """Background job: advance at `speed` units per second on average; start now if `begins`."""
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


def film_first(portion: WeakMethod[Portion], until: int | None, job: Job, at: int) -> Job:
    """Background job: show the steps in FILM from step `at`, then run another job."""
    done, due = at, time.perf_counter()
    left = [goal for goal in FILM if goal >= at and (until is None or goal < until)]
    for goal in left if until is None else [*left, until]:
        while done < goal:
            go_on = portion()
            went = go_on(goal - done, "step", until) if go_on else 0
            del go_on
            if not went:
                return
            done += went
            yield 0.0
        due = max(due + PICTURE, time.perf_counter())
        while (rest := due - time.perf_counter()) > 0.0:
            yield min(BEHIND, rest)
    yield from job


@final
class Turn:
    """Context manager that holds a session's lock, see `Session.doing`; faster than a generator.

    Args:
        timeline: timeline whose lock is held; at the end its numbers match its clock, even after an
            error
        check_owner: function that raises OwnershipError if another session has taken over the
            network
        plays: whether this is a portion of background play, which may leave the numbers on a device
            and fetch them only occasionally; otherwise they are always copied to the bank
        as_one: whether a single `undo` reverts all changes, including a move to another branch
    """

    __slots__ = ("_as_one", "_before", "_check_owner", "_plays", "_takes", "_timeline")

    def __init__(
        self,
        timeline: Timeline,
        check_owner: Callable[[], None],
        *,
        plays: bool = False,
        as_one: bool = False,
    ) -> None:
        self._timeline = timeline
        self._check_owner = check_owner
        self._plays = plays
        self._as_one = as_one
        self._before: tuple[Change | None, BranchMoment] | None = None
        self._takes = False  # whether the lock is acquired here, not by a caller

    def __enter__(self) -> None:
        timeline = self._timeline
        self._takes = not timeline.lock.mine
        if self._takes:
            timeline.lock.take()
        try:
            self._check_owner()
            if timeline.is_at_work:
                if self._takes:  # an error ended the last `settle`
                    timeline.settle()
                require(
                    not timeline.is_at_work,
                    "this session is busy and was called again from its own callback, such as a "
                    "function that makes data: call it after the first call has returned",
                    OrderError,
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
        except BaseException:
            self._end(failed=True)
            raise

    def _end(self, *, failed: bool) -> None:
        timeline = self._timeline
        try:
            if failed and self._takes:  # also Ctrl-C: numbers and clock must agree again
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
            self._timeline.lock.give()

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
