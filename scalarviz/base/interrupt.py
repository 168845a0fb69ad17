"""Handling of Ctrl-C: a program ends between two steps, so that nothing is left half done.

SIGTERM and SIGHUP (a closed terminal) have the same effect. The first signal ends the current work
in an orderly way, the second ends it immediately, and further signals have no effect.
"""

from __future__ import annotations

import atexit
import os
import signal
import socket
import stat
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from importlib import import_module
from time import monotonic
from types import FrameType, TracebackType
from typing import Any, NoReturn, Self, TypeVar, cast, final

from scalarviz.base.processes import end_all

INTERRUPTED = 130  # exit status after Ctrl-C

# Ctrl-C waits while a session changes, and is delivered between two portions of the work.

Function = TypeVar("Function", bound=Callable[..., Any])

_plain: Any = import_module("_signal")  # as `signal`, ten times faster
_main = threading.main_thread().ident  # in a fork, the thread that forked


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
        if threading.get_ident() == _main:
            self._depth += 1
            if self._depth == 1:
                before = _plain.getsignal(signal.SIGINT)
                if before != self._hear:  # as in a child that was forked during a delay
                    self._before = before
                if callable(before):
                    _plain.signal(signal.SIGINT, self._hear)

    def end(self) -> None:
        """End the delay started by `begin`; the outermost one delivers a waiting signal."""
        if threading.get_ident() == _main:
            self._depth -= 1
            if not self._depth:
                if _plain.getsignal(signal.SIGINT) == self._hear:
                    _plain.signal(signal.SIGINT, self._before)
                self.deliver()

    def deliver(self) -> None:
        """Deliver a waiting signal; called between two portions, when all data is consistent."""
        if self.waits and threading.get_ident() == _main:
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


def _begin_in_fork() -> None:
    global _main
    _main = threading.get_ident()
    ctrl_c.forget()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_begin_in_fork)


# Stop and StoppableProgram: end a part of a program, and a program.

# Windows has no SIGHUP
HEARD = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
SHOW_CURSOR = b"\x1b[?25h"  # hidden by a bar
STOPPED = (KeyboardInterrupt, SystemExit)
GRACE = 1.0  # seconds from the second signal until the process is killed


_program: StoppableProgram | None = None  # the running one


@final
class Interrupt:
    """Handler that raises KeyboardInterrupt, but not again within GRACE seconds."""

    def __init__(self) -> None:
        self._next = 0.0

    def __call__(self) -> None:
        now = monotonic()
        if now >= self._next:
            self._next = now + GRACE
            raise KeyboardInterrupt


@final
class Stop:
    """Context manager: the first signal sets `asked`, the second raises KeyboardInterrupt.

    Attributes:
        asked: whether a signal was received
        hurried: whether a second signal was received
        code: exit status for the program: 130 after Ctrl-C
        at_once: function to call at the second signal if an exception would be lost, as in Qt
    """

    def __init__(self) -> None:
        self.asked = self.hurried = False
        self.code = 0
        self.at_once: Callable[[], object] | None = None
        self._interrupt = _program.interrupt if _program else Interrupt()
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self._before = handle(self._hear)
        return self

    def __exit__(self, *error: object) -> None:
        restore(self._before)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        note(number)
        if not self.asked:
            self.asked, self.code = True, 128 + number
            return
        self.hurried = True
        if self.at_once is not None:
            self.at_once()
        elif not ctrl_c.delays(frame):
            self._interrupt()


@final
class StoppableProgram:
    """Context manager around a program, which Ctrl-C can end at any point.

    The first signal outside of every Stop raises KeyboardInterrupt. During an import it is raised
    after the import, since some modules would turn it into another error. If the program still runs
    GRACE seconds after the second signal, the process and its children are killed. The exit status
    is 130 after Ctrl-C, 143 after SIGTERM and 129 after SIGHUP.

    Args:
        last: whether the process ends when the block ends
    """

    def __init__(self, *, last: bool) -> None:
        self.last = last
        self.code = 0  # exit status, set by the first signal
        self.interrupt = Interrupt()
        self._before: dict[int, Any] = {}
        self._ears: tuple[socket.socket, socket.socket] | None = None
        self._fd = -1

    def __enter__(self) -> Self:
        global _program
        _program = self
        self._before = handle(self._hear)
        if self._before:
            # The system writes signals to this socket even while Python code cannot run.
            ears, mouth = self._ears = socket.socketpair()
            mouth.setblocking(False)
            self._fd = signal.set_wakeup_fd(mouth.fileno(), warn_on_full_buffer=False)
            threading.Thread(target=self._listen, args=[ears], daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        global _program
        cause = getattr(error, "__cause__", None)  # C code may turn it into another error
        stopped = self.code and (
            error is None or any(isinstance(x, STOPPED) for x in (error, cause))
        )
        if stopped and self.last:
            self._leave()
        _program = None
        restore(self._before)
        if self._ears is not None:
            signal.set_wakeup_fd(self._fd)
            ears, mouth = self._ears
            with suppress(OSError):
                ears.shutdown(socket.SHUT_RDWR)
            mouth.close()
        if stopped:
            raise SystemExit(self.code) from None

    def _leave(self) -> NoReturn:
        """Exit now, since a signal during Python's shutdown would change the exit status."""
        handle(lambda number, frame: os._exit(self.code))
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, OSError, ValueError):
                stream.flush()
        os._exit(self.code)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        note(number)
        if ctrl_c.delays(frame):
            return
        importer = importer_of(frame)
        if importer is None:
            self.interrupt()
        else:
            importer.f_trace = self._after_import
            sys.settrace(lambda *_: None)

    def _after_import(self, *_: object) -> None:
        sys.settrace(None)
        self.interrupt()

    def _listen(self, ears: socket.socket) -> None:
        count = 0
        with ears:
            while heard := ears.recv(1):
                if heard[0] not in HEARD:
                    continue
                count += 1
                self.code = self.code or 128 + heard[0]
                if count == 2:
                    end = threading.Timer(GRACE, self._end_now)
                    end.daemon = True
                    end.start()

    def _end_now(self) -> None:
        """Kill this process and its children, and show the cursor of the terminal."""
        end_all()
        if os.isatty(1):
            with suppress(OSError):
                os.write(1, SHOW_CURSOR)
        os._exit(self.code)


def is_program() -> bool:
    """Return whether a StoppableProgram is running, such as a command."""
    return _program is not None


def note(number: int) -> None:
    """Record the exit status of the program at the first signal."""
    if number not in (signal.SIGINT, signal.SIGTERM):
        be_silent()
    if _program is not None:
        _program.code = _program.code or 128 + number


def importer_of(frame: FrameType | None) -> FrameType | None:
    """Return the frame of the outermost import in progress, or None."""
    found = None
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            found = frame.f_back
        frame = frame.f_back
    return found


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
