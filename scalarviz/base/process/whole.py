"""Functions that Ctrl-C does not cut in two, such as those that take and release a lock.

Python raises KeyboardInterrupt between instructions of the main thread, also before the first one
of an `__exit__`, which then does nothing at all.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from types import CodeType, FrameType
from typing import Any, TypeVar, cast, final

Function = TypeVar("Function", bound=Callable[..., Any])

_plain: Any = import_module("_signal")  # as `signal`, in a tenth of its time
_codes: set[CodeType] = set()
_open: set[CodeType] = set()


def whole(function: Function) -> Function:
    """Decorator: while `ctrl_c` is held, a signal waits until this function has returned."""
    _codes.add(function.__code__)
    return function


def uncut(function: Function) -> Function:
    """Decorator: `ctrl_c` is held while this function runs, which is `whole`."""

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
    """Decorator: a function that is `uncut` may be cut in two while it calls this one."""
    _open.add(function.__code__)
    return function


def wholes_in(frame: FrameType | None) -> int:
    """Return how many of the calls that a frame belongs to are of functions that are `whole`.

    Each that is `cuttable` makes up for one.
    """
    count = 0
    while frame is not None:
        count += (frame.f_code in _codes) - (frame.f_code in _open)
        frame = frame.f_back
    return count


@final
class HeldCtrlC:
    """Ctrl-C of the main thread, which alone receives signals; elsewhere the calls do nothing.

    waits  whether a signal came that was not delivered yet
    """

    def __init__(self) -> None:
        self.waits = False
        self._before: list[Any] = []  # the handler that each `begin` found

    def begin(self) -> None:
        """Let signals wait for functions that are `whole` from now on; called in one of them."""
        if threading.current_thread() is threading.main_thread():
            before = _plain.getsignal(signal.SIGINT)
            if callable(before) and before != self._hear:
                _plain.signal(signal.SIGINT, self._hear)
            self._before.append(before)  # no sooner: a signal until now has raised its error

    def end(self) -> None:
        """End what `begin` began."""
        if threading.current_thread() is threading.main_thread():
            before = self._before.pop()
            if before != self._hear == _plain.getsignal(signal.SIGINT):
                _plain.signal(signal.SIGINT, before)

    def deliver(self) -> None:
        """Deliver a signal that waits, if no more than one function that is `whole` is at work.

        That function calls this where nothing is half done.
        """
        is_main = threading.current_thread() is threading.main_thread()
        if self.waits and is_main and wholes_in(sys._getframe()) <= 1:
            self.waits = False
            handler = _plain.getsignal(signal.SIGINT)
            if callable(handler):
                handler(signal.SIGINT, None)

    def delays(self, frame: FrameType | None) -> bool:
        """Whether a signal that came at a frame has to wait; it does from now on."""
        is_delayed = wholes_in(frame) > 0
        self.waits |= is_delayed
        return is_delayed

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if not self.delays(frame):
            next(each for each in reversed(self._before) if each != self._hear)(number, frame)


ctrl_c = HeldCtrlC()
