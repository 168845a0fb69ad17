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
from types import CodeType, FrameType, TracebackType
from typing import Any, NoReturn, Self, TypeVar, cast, final

from scalarviz.base.processes import end_all

INTERRUPTED = 130  # exit status after Ctrl-C

# Functions not interrupted by Ctrl-C, such as those that acquire and release a lock. Python raises
# KeyboardInterrupt between instructions of the main thread, even before the first instruction of an
# `__exit__`, which then does nothing at all.

Function = TypeVar("Function", bound=Callable[..., Any])

_plain: Any = import_module("_signal")  # as `signal`, ten times faster
_codes: set[CodeType] = set()
_open: set[CodeType] = set()
_main = threading.main_thread().ident  # in a fork, the thread that forked


def whole(function: Function) -> Function:
    """Decorator: while `ctrl_c` delays signals, they wait until the function has returned."""
    _codes.add(function.__code__)
    return function


def uncut(function: Function) -> Function:
    """Decorator: Ctrl-C waits until the decorated function has returned."""

    @whole
    @wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        ctrl_c.begin()
        try:
            return function(*args, **named)
        except KeyboardInterrupt:
            ctrl_c.waits = False  # one error is enough
            raise
        finally:
            ctrl_c.end()
            ctrl_c.deliver()

    return cast("Function", call)


def cuttable(function: Function) -> Function:
    """Decorator: Ctrl-C may interrupt this function, even when an `uncut` function calls it."""
    _open.add(function.__code__)
    return function


def wholes_in(frame: FrameType | None) -> int:
    """Return the number of `whole` functions on the call stack of a frame.

    Each `cuttable` function on the stack reduces the number by one.
    """
    count = 0
    while frame is not None:
        count += (frame.f_code in _codes) - (frame.f_code in _open)
        frame = frame.f_back
    return count


@final
class HeldCtrlC:
    """Delays Ctrl-C in the main thread, which receives all signals; no-op in other threads.

    Attributes:
        waits: whether a received signal has not been delivered yet
    """

    def __init__(self) -> None:
        self.waits = False
        self._before: list[Any] = []  # the handler found by each `begin`

    def begin(self) -> None:
        """Delay signals during `whole` functions from now on; called inside a `whole` function."""
        if threading.get_ident() == _main:
            before = _plain.getsignal(signal.SIGINT)
            if callable(before) and before != self._hear:
                _plain.signal(signal.SIGINT, self._hear)
            self._before.append(before)  # only now: an earlier signal has raised its error

    def end(self) -> None:
        """End the delay started by `begin`."""
        if threading.get_ident() == _main:
            before = self._before.pop()
            if before != self._hear == _plain.getsignal(signal.SIGINT):
                _plain.signal(signal.SIGINT, before)

    def deliver(self) -> None:
        """Deliver a waiting signal if at most one `whole` function is running.

        To be called by that function when its data is consistent.
        """
        is_mine = self.waits and threading.get_ident() == _main
        if is_mine and wholes_in(sys._getframe()) <= 1:
            self.waits = False
            handler = _plain.getsignal(signal.SIGINT)
            if callable(handler):
                handler(signal.SIGINT, None)

    def delays(self, frame: FrameType | None) -> bool:
        """Return whether a signal received in a frame must wait; if so, note that it waits."""
        is_delayed = wholes_in(frame) > 0
        self.waits |= is_delayed
        return is_delayed

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if not self.delays(frame):
            next(each for each in reversed(self._before) if each != self._hear)(number, frame)


ctrl_c = HeldCtrlC()


def _set_main() -> None:
    global _main
    _main = threading.get_ident()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_set_main)


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

    @whole  # else a signal GRACE after the first one would end it with an error
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
        ctrl_c.deliver()
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
