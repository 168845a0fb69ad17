"""Stop and Program: Ctrl-C ends a program between two steps, so that nothing is left half done.

SIGTERM and SIGHUP (a closed terminal) have the same effect. The first signal ends what is under way
in order, the second at once; further ones have no effect.
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
from time import monotonic
from types import FrameType, TracebackType
from typing import Any, NoReturn, Self, final

from scalarviz.base.process.children import end_all
from scalarviz.base.process.whole import ctrl_c, whole

# Windows has no SIGHUP
HEARD = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
SHOW_CURSOR = b"\x1b[?25h"  # which a bar hides
STOPPED = (KeyboardInterrupt, SystemExit)
GRACE = 1.0  # seconds from the second signal until the process is killed


_program: Program | None = None  # the running one


@final
class Interrupt:
    """Raises KeyboardInterrupt, but not again within GRACE, while the first is being handled."""

    def __init__(self) -> None:
        self._next = 0.0

    def __call__(self) -> None:
        now = monotonic()
        if now >= self._next:
            self._next = now + GRACE
            raise KeyboardInterrupt


@final
class Stop:
    """Context manager: a first signal sets `asked`, a second one raises KeyboardInterrupt.

    asked     whether a signal has come
    hurried   whether a second one has come
    code      exit status for the program: 130 after Ctrl-C
    at_once   called at the second signal instead, where an exception would be lost, as within Qt
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
class Program:
    """Context manager around a whole program, which ends it on Ctrl-C wherever it is.

    The first signal outside of every Stop raises KeyboardInterrupt, during an import after it: the
    code of some modules would turn it into another error. If the program still runs GRACE seconds
    after the second, process and children are killed. Exit status: 130 after Ctrl-C, 143 after
    SIGTERM, 129 after SIGHUP.

    last  whether the process ends with this block
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

    @whole  # else a signal that comes GRACE after the first would leave it as an error
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        global _program
        cause = getattr(error, "__cause__", None)  # code in C may make another error of it
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
        """Exit now: a signal during Python's shutdown would change the exit status."""
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
    """Set the exit status of the program after the first signal."""
    if number not in (signal.SIGINT, signal.SIGTERM):
        be_silent()
    if _program is not None:
        _program.code = _program.code or 128 + number


def importer_of(frame: FrameType | None) -> FrameType | None:
    """Return the frame with the outermost import that is under way; None without one."""
    found = None
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            found = frame.f_back
        frame = frame.f_back
    return found


def handle(hear: Callable[[int, FrameType | None], None]) -> dict[int, Any]:
    """Install a handler for all of HEARD; return the previous handlers."""
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
            # isatty() is False for a closed terminal, but it is still a character device
            if stat.S_ISCHR(os.fstat(fd).st_mode):
                os.dup2(nowhere, fd)
    os.close(nowhere)
