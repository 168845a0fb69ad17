"""Handling of Ctrl-C: a program ends between two steps, so that nothing is left half done.

SIGTERM and SIGHUP (a closed terminal) have the same effect. The first signal ends the current work
in an orderly way, and the second one ends it immediately.
"""

from __future__ import annotations

import atexit
import os
import signal
import stat
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from importlib import import_module
from types import FrameType
from typing import Any, Self, TypeVar, cast, final

from scalarviz.base.processes import end_all

INTERRUPTED = 130  # exit status after Ctrl-C

# Ctrl-C waits while a session changes, and is delivered between two portions of the work.

Function = TypeVar("Function", bound=Callable[..., Any])

_plain: Any = import_module("_signal")  # as `signal`, ten times faster


def is_main() -> bool:
    """Return whether this is the main thread: only that one receives signals."""
    return threading.get_ident() == threading.main_thread().ident


@final
class HeldCtrlC:
    """Delays Ctrl-C between `begin` and `end` in the main thread; no-op in other threads.

    A second signal is delivered at once: it ends code of users that takes long.

    Attributes:
        waits: whether a received signal has not been delivered yet
    """

    def __init__(self) -> None:
        self.waits = False
        self._depth = 0
        self._before: Any = None  # the handler found by the outermost `begin`

    def begin(self) -> None:
        """Delay signals until `end`; calls can be nested."""
        if is_main():
            self._depth += 1
            if self._depth == 1:
                before = _plain.getsignal(signal.SIGINT)
                if before != self._hear:  # as in a child that was forked during a delay
                    self._before = before
                if callable(before):
                    _plain.signal(signal.SIGINT, self._hear)

    def end(self) -> None:
        """End the delay started by `begin`; the outermost one delivers a waiting signal."""
        if is_main():
            self._depth -= 1
            if not self._depth:
                if _plain.getsignal(signal.SIGINT) == self._hear:
                    _plain.signal(signal.SIGINT, self._before)
                self.deliver()

    def deliver(self) -> None:
        """Deliver a waiting signal; called between two portions, when all data is consistent."""
        if self.waits and is_main():
            self.waits = False
            if callable(self._before):
                self._before(signal.SIGINT, None)

    def delays(self, frame: FrameType | None) -> bool:
        """Return whether a received signal must wait; a delivered one has no frame."""
        is_delayed = frame is not None and self._depth > 0
        self.waits |= is_delayed
        return is_delayed

    def forget(self) -> None:
        """End all delays, in a child that was forked during one."""
        self._depth, self.waits = 0, False

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self._depth and not self.waits:
            self.waits = True
            return
        self.deliver()
        self._before(number, None)


ctrl_c = HeldCtrlC()


def uncut(function: Function) -> Function:
    """Decorator: Ctrl-C waits until the decorated function has returned."""

    @wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        ctrl_c.begin()
        try:
            return function(*args, **named)
        finally:
            ctrl_c.end()

    return cast("Function", call)


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=ctrl_c.forget)


# Stop and StoppableProgram: end a part of a program, and a program.

# Windows has no SIGHUP
HEARD = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
GRACE = 1.0  # seconds from the second signal until the process is killed


_program: StoppableProgram | None = None  # the running one


@final
class Stop:
    """Context manager: the first signal sets `asked`, the second has its usual effect.

    Attributes:
        asked: whether a signal was received
        hurried: whether `at_once` was called
        code: exit status for the program: 130 after Ctrl-C
        at_once: function to call at the second signal if an exception would be lost, as in Qt
    """

    def __init__(self) -> None:
        self.asked = self.hurried = False
        self.code = 0
        self.at_once: Callable[[], object] | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self._before = handle(self._hear)
        return self

    def __exit__(self, *error: object) -> None:
        restore(self._before)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if not self.asked:
            self.asked, self.code = True, 128 + number
            note(number, frame)
        elif self.at_once is not None:
            self.hurried = True
            note(number, frame)
            self.at_once()
        else:
            restore(self._before)
            signal.raise_signal(number)


@final
class StoppableProgram:
    """Context manager around a program, which Ctrl-C can end at any point.

    The first signal outside of every Stop raises KeyboardInterrupt. If the program still runs GRACE
    seconds after the second signal, the process and its children are killed. The exit status is 130
    after Ctrl-C, 143 after SIGTERM and 129 after SIGHUP.

    Args:
        last: whether the process ends when the block ends
    """

    def __init__(self, *, last: bool) -> None:
        self.last = last
        self.code = 0  # exit status, set by the first signal
        self._is_raised = False  # whether KeyboardInterrupt was raised
        self._end: threading.Timer | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        global _program
        _program = self
        self._before = handle(self._hear)
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        global _program
        # Modules in C may turn KeyboardInterrupt into another error.
        is_stopped = self._is_raised or (self.code and isinstance(error, SystemExit | None))
        if is_stopped and self.last:
            self._leave()
        _program = None
        restore(self._before)
        if self._end is not None:
            self._end.cancel()
        if is_stopped:
            raise SystemExit(self.code) from None

    def _leave(self) -> None:
        """Exit now, since a signal during Python's shutdown would change the exit status."""
        handle(lambda number, frame: os._exit(self.code))
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, OSError, ValueError):
                stream.flush()
        os._exit(self.code)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        note(number, frame)
        if not (self._is_raised or ctrl_c.delays(frame)):
            self._is_raised = True
            raise KeyboardInterrupt

    def note(self, number: int, frame: FrameType | None) -> None:
        """Record the exit status at the first signal; a delivered one has no frame."""
        if self.code and frame is not None and self._end is None:
            self._end = threading.Timer(GRACE, self._end_now)
            self._end.daemon = True
            self._end.start()
        self.code = self.code or 128 + number

    def _end_now(self) -> None:
        """Kill this process and its children."""
        end_all()
        os._exit(self.code)


def is_program() -> bool:
    """Return whether a StoppableProgram is running, such as a command."""
    return _program is not None


def note(number: int, frame: FrameType | None) -> None:
    """Report a signal to the running program; its terminal is closed at SIGHUP."""
    if number not in (signal.SIGINT, signal.SIGTERM):
        be_silent()
    if _program is not None:
        _program.note(number, frame)


def handle(hear: Callable[[int, FrameType | None], None]) -> dict[int, Any]:
    """Install a handler for all signals in HEARD; return the previous handlers."""
    before = {}
    for number in HEARD:
        try:
            before[number] = signal.signal(number, hear)
        except ValueError:  # only the main thread receives signals
            break
    return before


def restore(before: dict[int, Any]) -> None:
    for number, handler in before.items():
        signal.signal(number, handler)
    before.clear()


def be_silent() -> None:
    """Redirect writes to a closed terminal to /dev/null, so that they raise no error."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in range(3):
        with suppress(OSError):
            # isatty() is False for a closed terminal, which is still a character device
            if stat.S_ISCHR(os.fstat(fd).st_mode):
                os.dup2(nowhere, fd)
    os.close(nowhere)
