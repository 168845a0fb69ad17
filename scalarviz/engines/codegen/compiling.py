"""Compilation of kernels on a separate thread, which Ctrl-C does not interrupt.

A KeyboardInterrupt during compilation leaves numba in an inconsistent state: a registration that is
cut short is never repeated, and an error in a callback of LLVM is lost. Python raises
KeyboardInterrupt in the main thread only. So the main thread waits while another one compiles; if
Ctrl-C ends the wait, that thread goes on until the kernel is compiled or the program ends.
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

LAST = 5.0  # maximum seconds that the end of the program waits
LOOK = 0.05  # seconds between two checks

_threads: WeakSet[threading.Thread] = WeakSet()


def keep_whole(module: ModuleType) -> None:
    """Make the kernels of a module compile, or load from disk, on separate threads."""
    for kernel in vars(module).values():
        if hasattr(kernel, "_compile_for_args"):  # called by numba if no compiled version exists
            kernel._compile_for_args = partial(aside, kernel._compile_for_args)


def aside(
    function: Callable[..., Any], *args: Any, meanwhile: Callable[[], object] | None = None
) -> Any:
    """Call a function, on another thread if this is the main thread, and return its result.

    meanwhile  called again and again by the main thread
    """
    if threading.current_thread() is not threading.main_thread():
        return function(*args)
    future: Future[Any] = Future()
    thread = threading.Thread(target=fulfil, args=[future, function, *args], daemon=True)
    _threads.add(thread)
    thread.start()
    while not wait([future], LOOK).done:  # on Windows, Ctrl-C is noticed only between two checks
        if meanwhile is not None:
            meanwhile()
    return future.result()


def fulfil(future: Future[Any], function: Callable[..., Any], *args: Any) -> None:
    """Call a function, and set its result or its exception in a future."""
    try:
        future.set_result(function(*args))
    except BaseException as error:  # else it would be lost with the thread
        future.set_exception(error)


@atexit.register
def end() -> None:
    """Stop compiling threads: a thread within LLVM could crash the interpreter as it exits."""
    limit = time.monotonic() + LAST
    going_on = [thread for thread in _threads if thread.is_alive()]
    if going_on:
        sys.unraisablehook = lambda lost: None  # a callback of LLVM may lose a SystemExit
    for thread in going_on:
        while thread.is_alive() and time.monotonic() < limit:
            number, error = ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(number, error)
            thread.join(LOOK)
