"""Ctrl-C at each moment at which Python can deliver it, one after the other."""

import dis
import signal
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import scalarviz as sv

# Python checks signals at the start of a function, after a call and at the end of a loop iteration.
LOOKS_AFTER = {dis.opmap[name] for name in ("CALL", "CALL_FUNCTION_EX") if name in dis.opmap}
PACKAGE = sv.__file__.removesuffix("__init__.py")
OF_PYTHON = ("contextlib.py", "threading.py")


class At:
    """A trace function that sends SIGINT at the n-th such moment in the code of the package.

    Args:
        folder: only count code in this folder of the package
    """

    def __init__(self, n: int, folder: str = "") -> None:
        self.left = n
        self._folder = PACKAGE + folder
        self._last: dict[FrameType, int] = {}

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        name = frame.f_code.co_filename
        if not (name.startswith(self._folder) or name.endswith(OF_PYTHON)):
            return None
        frame.f_trace_opcodes = True
        code = frame.f_code.co_code[frame.f_lasti]
        comes = event == "call" or (event == "opcode" and self._last.get(frame) in LOOKS_AFTER)
        self._last[frame] = code
        if comes:
            self.left -= 1
            if self.left == 0:
                sys.settrace(None)
                signal.raise_signal(signal.SIGINT)
        return self


def at_each_moment(
    act: Callable[[], Callable[[], object]], every: int = 1, folder: str = ""
) -> Iterator[bool]:
    """Interrupt the function returned by `act()` at its first moment, then at its second, ...

    Yields after each whether KeyboardInterrupt was raised; stops after the first call that ends
    before its moment.

    Args:
        every: only use every n-th moment
        folder: only moments in the code of this folder of the package
    """
    n = 1
    while True:
        call, at, raised = act(), At(n, folder), False
        before = sys.gettrace()
        try:
            sys.settrace(at)
            try:
                call()
            finally:
                sys.settrace(before)
        except KeyboardInterrupt:
            raised = True
        if at.left > 0:
            return
        yield raised
        n += every
