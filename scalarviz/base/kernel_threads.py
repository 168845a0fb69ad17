"""Threads of parallel kernels: starting them, locking, and errors after a fork.

numba starts its threads when it compiles a parallel kernel or loads one from disk, but not when it
loads a kernel that only calls a parallel one (numba issue 9938), and then that call crashes. So the
threads are started here, before any kernel of a file is called.

A forked child does not have the threads of its parent, and a parallel kernel would wait for them
forever. So in a child of a process that has loaded kernels every call of an engine raises
EngineError. The error is raised by the call, not when a network is unpickled: a worker that fails
to unpickle its task ends without a result, and its pool waits for the result forever. A lock held
by another thread at the fork is never released in the child, and the data it protects may be
inconsistent: a `Guard` also raises EngineError there.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import final
from weakref import WeakSet

from scalarviz.errors import EngineError

FORKED = (
    "threads do not survive a fork, and this process was forked from one with training threads: "
    'start processes with multiprocessing.get_context("spawn"), or fork before the first call of '
    "an engine"
)

_modules: list[ModuleType] = []
_guards: WeakSet[Guard] = WeakSet()
_lost = False  # whether this process was forked from one with loaded kernels


def start_threads(module: ModuleType) -> None:
    """Start numba's threads; call this before the kernels of a module are used."""
    import numba  # slow to import

    check_process()
    try:
        numba.get_num_threads()  # starts them
    except ValueError as error:
        raise EngineError(
            f"numba cannot start threads for parallel kernels ({first_line(error)}): install "
            "OpenMP (on Debian libgomp1), or set NUMBA_THREADING_LAYER=workqueue"
        ) from error
    _modules.append(module)


def parallel_calls(module: ModuleType) -> AbstractContextManager[object]:
    """Return a context manager for direct calls of parallel kernels of a module."""
    from numba.np.ufunc.parallel import threading_layer

    if module not in _modules:
        start_threads(module)
    check_process()
    layer: str = threading_layer()  # type: ignore[no-untyped-call]  # numba's
    return ONE_AT_A_TIME if layer == "workqueue" else nullcontext()


def may_call_kernels() -> bool:
    """Return False in a fork of a process that has loaded kernels, otherwise True."""
    return not _lost


def check_process() -> None:
    """Raise EngineError in a process that was forked from one with loaded kernels."""
    if _lost:
        raise EngineError(FORKED)


@final
class Guard:
    """A reentrant lock that raises EngineError after a fork if another thread held it.

    `with guard:` waits for it; `acquire(seconds)` waits up to `seconds` (-1: no limit), and returns
    whether it was acquired.

    Args:
        of_kernels: whether to also raise the error after a fork if kernels had been loaded before
    """

    def __init__(self, *, of_kernels: bool = False) -> None:
        self._of_kernels = of_kernels
        self._lock = threading.RLock()
        self.is_lost = False
        _guards.add(self)

    def acquire(self, seconds: float = -1) -> bool:
        self._check()
        return self._lock.acquire(timeout=seconds)

    def _check(self) -> None:
        if self._of_kernels:
            check_process()
        if self.is_lost:
            raise EngineError(FORKED)

    def release(self) -> None:
        self._lock.release()

    # Python's lock acquires and releases itself, so that Ctrl-C cannot interrupt it.

    @property
    def __enter__(self) -> Callable[[], bool]:
        self._check()
        return self._lock.__enter__

    @property
    def __exit__(self) -> Callable[..., None]:
        return self._lock.__exit__

    def survey(self) -> None:
        """In a forked child, mark the lock as lost if a thread that no longer exists holds it."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self.is_lost = True


# numba's simplest threading layer, "workqueue", crashes if two Python threads run parallel kernels
# at once.
ONE_AT_A_TIME = Guard(of_kernels=True)


def _lose_threads() -> None:
    global _lost
    _lost = bool(_modules)
    for guard in list(_guards):
        guard.survey()


def first_line(error: Exception) -> str:
    return str(error).partition("\n")[0].rstrip(".")


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_lose_threads)
