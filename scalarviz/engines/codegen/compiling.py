"""Compiling on a thread of its own, which Ctrl-C does not break off.

A KeyboardInterrupt in the wrong place spoils numba: what it was registering just then it never
registers again, and an error in what LLVM calls back is lost. Python raises one in the main thread
only. So the main thread waits while another one compiles; when Ctrl-C ends the waiting, the kernel
that is under way is compiled to its end, or to that of the program.
"""

from __future__ import annotations

import atexit
import ctypes
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from functools import partial
from types import ModuleType
from typing import Any
from weakref import WeakSet

LAST = 5.0  # seconds that the end of the program waits, at most
LOOK = 0.05  # seconds between two looks

_threads: WeakSet[threading.Thread] = WeakSet()


def keep_whole(module: ModuleType) -> None:
    """Have the kernels of a module compiled, or loaded from disk, on threads of their own."""
    for kernel in vars(module).values():
        if hasattr(kernel, "_compile_for_args"):  # numba calls it where there is nothing compiled
            kernel._compile_for_args = partial(aside, kernel._compile_for_args)


def aside(function: Callable[..., Any], *args: Any) -> Any:
    """What a function returns, which is called on another thread if this is the main thread."""
    if threading.current_thread() is not threading.main_thread():
        return function(*args)
    future: Future[Any] = Future()
    thread = threading.Thread(target=fulfil, args=[future, function, *args], daemon=True)
    _threads.add(thread)
    thread.start()
    while not wait([future], LOOK).done:  # on Windows, Ctrl-C is heard only between two looks
        pass
    return future.result()


def fulfil(future: Future[Any], function: Callable[..., Any], *args: Any) -> None:
    """Call a function, and note what came of it."""
    try:
        future.set_result(function(*args))
    except BaseException as error:  # it must not be lost with the thread
        future.set_exception(error)


@atexit.register
def end() -> None:
    """Break off what is being compiled: a thread within LLVM could crash a program that ends."""
    limit = time.monotonic() + LAST
    going_on = [thread for thread in _threads if thread.is_alive()]
    if going_on:
        sys.unraisablehook = lambda lost: None  # what LLVM calls back may lose a SystemExit
    for thread in going_on:
        while thread.is_alive() and time.monotonic() < limit:
            number, error = ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(number, error)
            thread.join(LOOK)
