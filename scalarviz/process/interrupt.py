"""Stop: Ctrl-C as a wish that is heard between two steps, so that nothing is left half done.

SIGTERM, from whoever ends the program, and SIGHUP, from a terminal that is closed, are the same
wish. Said once, it ends what goes on in order; said again, at once; how often, does not matter.
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
from importlib import import_module
from time import monotonic
from types import FrameType, TracebackType
from typing import Any, NoReturn, Self, final

from scalarviz.process.children import end_all

# Windows has no SIGHUP.
HEARD = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
SCREEN_BACK = b"\x1b[?1049l\x1b[?25h"  # what was there before, and the cursor
STOPPED = (KeyboardInterrupt, SystemExit)
GRACE = 1.0  # seconds that a program has to end after the second wish; then it is ended


_program: Program | None = None  # that goes on


@final
class Interrupt:
    """Raises KeyboardInterrupt, but not while the one before is being cleaned up after."""

    def __init__(self) -> None:
        self._next = 0.0

    def __call__(self) -> None:
        now = monotonic()
        if now >= self._next:
            self._next = now + GRACE
            raise KeyboardInterrupt


@final
class Stop:
    """While it lasts, `asked` becomes true on Ctrl-C; asking again stops at once, wherever it is.

    code      what a program that was stopped so should exit with: 130 after Ctrl-C
    hurried   whether it was asked again
    at_once   called then, where a KeyboardInterrupt would be lost, as within Qt
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
        else:
            self._interrupt()


@final
class Program:
    """A whole program, which ends on Ctrl-C wherever it is; `with` it.

    The first wish outside of every Stop is a KeyboardInterrupt. Where the program still goes on a
    moment after the second, whoever has caught that, it is ended with its children. It exits with
    130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP.

    last  whether the process ends with it
    """

    def __init__(self, *, last: bool) -> None:
        self.last = last
        self.code = 0  # from the first wish on
        self.interrupt = Interrupt()
        self._before: dict[int, Any] = {}
        self._ears: tuple[socket.socket, socket.socket] | None = None
        self._fd = -1

    def __enter__(self) -> Self:
        global _program
        _program = self
        self._terminal = settings_of_terminal()
        self._before = handle(self._hear)
        if self._before:
            # The system itself writes each signal there, also while Python does not get its turn.
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
        stopped = self.code and (error is None or isinstance(error, STOPPED))
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
        """End here: while Python takes itself down, a signal would end it with another code."""
        handle(lambda number, frame: os._exit(self.code))
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, OSError, ValueError):
                stream.flush()
        os._exit(self.code)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        note(number)
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
        """End this process and its children, whatever goes on, and give the terminal back."""
        end_all()
        if self._terminal is not None:
            termios, before = self._terminal
            with suppress(OSError, termios.error):
                os.write(1, SCREEN_BACK)
                termios.tcsetattr(0, termios.TCSANOW, before)
        os._exit(self.code)


def note(number: int) -> None:
    """A wish was heard: the first decides what the program exits with."""
    if number not in (signal.SIGINT, signal.SIGTERM):
        be_silent()
    if _program is not None:
        _program.code = _program.code or 128 + number


def settings_of_terminal() -> tuple[Any, Any] | None:
    """How the terminal is that this program reads from; None if there is none."""
    if sys.platform == "win32" or not (os.isatty(0) and os.isatty(1)):
        return None
    termios: Any = import_module("termios")
    return termios, termios.tcgetattr(0)


def handle(hear: Callable[[int, FrameType | None], None]) -> dict[int, Any]:
    """Have `hear` called for all signals that are a wish to stop; who was called before."""
    before = {}
    for number in HEARD:
        try:
            before[number] = signal.signal(number, hear)
        except ValueError:  # only the main thread hears signals
            break
    return before


def restore(before: dict[int, Any]) -> None:
    for number, handler in before.items():
        signal.signal(number, handler)
    before.clear()


def be_silent() -> None:
    """The terminal is gone: what is written to it from now on is dropped, and is no error."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in range(3):
        with suppress(OSError):
            # A terminal that is gone says that it is none; it is a device all the same.
            if stat.S_ISCHR(os.fstat(fd).st_mode):
                os.dup2(nowhere, fd)
    os.close(nowhere)
