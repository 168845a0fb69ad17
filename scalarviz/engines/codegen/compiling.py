"""Compilation of kernels: in child processes, and on a separate thread, safe from Ctrl-C.

    python -m scalarviz.engines.codegen.compiling FILE ...

compiles the kernel of each file, writes a full stop for each to standard output, and ends when
standard input is closed.

A process that compiles a kernel could run different machine code than one that loads it: numba
stores a copy of every function in each kernel that calls it, and the linker uses the first of equal
names. So child processes compile, and every process runs the machine code on disk.

A KeyboardInterrupt during compilation leaves numba in an inconsistent state: an interrupted
registration is never repeated, and an error in an LLVM callback is lost. Python raises
KeyboardInterrupt in the main thread only. So the main thread waits while another thread compiles;
if Ctrl-C ends the wait, this thread continues until the kernel is compiled or the program ends.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import IO, Any
from weakref import WeakSet

from scalarviz.base import processes
from scalarviz.base.kernel_files import (
    enable_caching,
    is_compiled,
    keep_whole_files,
    run_file,
)
from scalarviz.base.messages import is_informed
from scalarviz.base.progress import Progress

LAST = 5.0  # maximum seconds to wait at the end of the program
LOOK = 0.05  # seconds between checks

_threads: WeakSet[threading.Thread] = WeakSet()


def aside(
    function: Callable[..., Any], *args: Any, meanwhile: Callable[[], object] | None = None
) -> Any:
    """Call a function, in another thread if this is the main thread, and return its result.

    Args:
        meanwhile: called repeatedly by the main thread
    """
    if threading.current_thread() is not threading.main_thread():
        return function(*args)
    future: Future[Any] = Future()
    thread = threading.Thread(target=fulfil, args=[future, function, *args], daemon=True)
    _threads.add(thread)
    thread.start()
    while not wait([future], LOOK).done:  # on Windows, Ctrl-C is noticed only between checks
        if meanwhile is not None:
            meanwhile()
    return future.result()


def fulfil(future: Future[Any], function: Callable[..., Any], *args: Any) -> None:
    """Call a function, and set its result or its exception in a future."""
    try:
        future.set_result(function(*args))
    except BaseException as error:  # otherwise it would be lost with the thread
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


# A kernel contains a copy of each function that it calls. numba also makes machine code for these
# functions separately, since Python could call them: a quarter of the compile time. Without it, the
# machine code of kernels is identical, bit by bit.

OF_KERNEL = "cfunc."  # prefix of the name by which a kernel is called


def compile_for_kernels_only() -> None:
    """Compile inner functions without separate machine code, and collect garbage rarely."""
    from numba.core import codegen, cpu

    gc.set_threshold(200_000, 20, 20)
    libraries: Any = codegen.JITCodeLibrary
    contexts: Any = cpu.CPUContext
    finish = libraries._finalize_final_module

    def finish_kernel(library: Any) -> None:
        if any(each.name.startswith(OF_KERNEL) for each in library._final_module.functions):
            finish(library)
        else:
            library._finalize_dynamic_globals()
            library._finalized = True

    libraries._finalize_final_module = finish_kernel
    contexts.get_executable = not_callable


def not_callable(context: Any, library: Any, description: Any, env: Any) -> Callable[..., Any]:
    """Replace numba's function that makes a compiled function callable from Python.

    numba distinguishes compiled functions by its result, which must be written in C.
    """
    return [].append


# numba imports SciPy's linear algebra to check whether it is installed; that takes as long as
# loading all kernels of a small network, none of which uses it. A custom function that does is not
# affected: numba imports SciPy when it compiles the first matrix product.


def import_without_scipy() -> None:
    """Import installed modules that numba would import through SciPy, unless imported."""
    if "numba.np.arraymath" in sys.modules or "scipy.linalg" in sys.modules:
        return
    linalg = import_module("numba.np.linalg")
    check = getattr(linalg, "ensure_blas", None)
    if check is None or find_spec("scipy") is None:
        return
    linalg.ensure_blas = lambda: None  # type: ignore[attr-defined]  # raises no ImportError
    try:
        import_module("numba.np.arraymath")
    finally:
        linalg.ensure_blas = check  # type: ignore[attr-defined]  # modules have no types
    arraymath = sys.modules["numba.np.arraymath"]
    arraymath.ensure_blas = check  # type: ignore[attr-defined]  # it has taken the other one


# ---- child processes ----------------------------------------------------------------------------

CHILD_LOOK = 0.02  # seconds between checks
FEW = 6  # kernels below which another process does not pay
MOST = 8  # processes, each of which takes 300 MB
ROOT = Path(__file__).parents[3]

done = 0  # kernels compiled by child processes


def start_child(paths: Sequence[Path], report: IO[bytes] | int = subprocess.DEVNULL) -> Any:
    """Return a child process that compiles the kernels of files; it ends if its stdin is closed.

    Args:
        report: receives a byte for each compiled kernel
    """
    words = ["-P", "-m", "scalarviz.engines.codegen.compiling", *map(str, paths)]
    env = {**os.environ, "PYTHONPATH": folders_of_modules()}
    return processes.start(words, stdin=subprocess.PIPE, stdout=report, env=env)


def folders_of_modules() -> str:
    """Return the PYTHONPATH of a child process: it imports this package."""
    return os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])


def workers_for(count: int, few: int = FEW) -> int:
    """Return the number of processes to compile kernels in; `few` kernels need no other one."""
    return max(1, min(os.cpu_count() or 1, count // few, MOST))


def running(starting: Iterable[Any], seconds: float = CHILD_LOOK) -> Iterator[list[Any]]:
    """Start child processes, and yield them repeatedly until all have ended.

    They are also yielded once afterwards. Leaving the loop ends the remaining ones.

    Args:
        starting: iterator that starts and yields each
        seconds: seconds between checks
    """
    children: list[Any] = []
    try:
        for child in starting:
            children.append(child)
        yield children
        while any(child.poll() is None for child in children):
            time.sleep(seconds)
            yield children
    finally:
        for child in children:
            processes.end(child)


def run_children(paths: Sequence[Path]) -> None:
    """Compile the kernels of files in child processes, if possible; count them in `done`."""
    global done
    workers = workers_for(len(paths))
    with suppress(OSError), tempfile.TemporaryFile(dir=paths[0].parent) as report:
        for _ in running(start_child(paths[i::workers], report) for i in range(workers)):
            done = os.fstat(report.fileno()).st_size


def counted(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function aside, with a bar that shows `done`, and return its result.

    The bar is its last argument, for which it sets the total, the number of kernels to compile.
    """
    global done
    done = 0
    with Progress(0, is_informed(), "kernels") as bar:
        return aside(function, *args, bar, meanwhile=lambda: bar.tell(done))


def import_file(path: Path, text: str | None = None) -> ModuleType:
    """Return the module of a file with a kernel, which is neither compiled nor loaded yet.

    Args:
        text: as for `run_file`
    """
    import_without_scipy()
    module = run_file(path, text)
    enable_caching(module.compiled)
    keep_whole_files(module)
    return module


class NotOnDiskError(Exception):
    """Raised instead of compiling a kernel."""


def refuse() -> None:
    raise NotOnDiskError


def loaded(module: ModuleType) -> bool:
    """Load the kernel of a module from disk; return False if missing."""
    kernel = module.compiled
    kernel._compile_uncached = refuse  # called by numba if its cache has no machine code
    try:
        kernel.compile()
    except NotOnDiskError:
        return False
    finally:
        del kernel._compile_uncached
    return True


def end_with_parent() -> None:
    """End this process when its parent has closed stdin or died."""
    os.read(sys.stdin.fileno(), 1)  # a buffered read would hold a lock when Python ends
    os._exit(1)


def main(paths: Sequence[str], report: int | None = None) -> None:
    """Compile the kernels of files that are not compiled yet; write a full stop for each file.

    Args:
        report: file descriptor for the full stops
    """
    threading.Thread(target=end_with_parent, daemon=True).start()
    compile_for_kernels_only()  # loads numba
    for path in paths:
        if not is_compiled(Path(path)):  # by another process, after this one was started
            kernel = import_file(Path(path)).compiled
            # Code compiled for kernels only would crash this process when loaded.
            kernel._cache.load_overload = lambda *key: None
            kernel.compile()
            if not is_compiled(Path(path)):
                sys.exit("the kernel cannot be stored")
        if report is not None:
            with suppress(OSError):  # a full disk
                os.write(report, b".")


if __name__ == "__main__":
    main(sys.argv[1:], sys.stdout.fileno())
