"""Compilation of kernels in child processes, on a separate thread that Ctrl-C does not interrupt.

    python -m scalarviz.engines.codegen.compiling PROCESSES FILE ...

compiles the kernel in each file, writes a full stop to standard output after each one, and exits
when standard input is closed. On Linux, its forks share the files: importing the compiler takes as
long as compiling two kernels.

If a process compiled kernels itself, it could run other machine code than a process that loads
them: numba copies every called function into each kernel, and the linker uses the first of several
functions with equal names. So kernels are compiled in child processes and loaded from disk.

A KeyboardInterrupt during compilation leaves numba in an inconsistent state: an interrupted
registration is never repeated, and an error in an LLVM callback is lost. Python raises
KeyboardInterrupt in the main thread only. So the main thread waits while another thread compiles.
If Ctrl-C ends the wait, also within a training, that thread continues until the kernel is compiled
or the program exits.
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
from scalarviz.base.interrupt import ctrl_c
from scalarviz.base.kernel_files import run_file
from scalarviz.base.messages import is_informed
from scalarviz.base.progress import Progress
from scalarviz.engines.codegen.machine_code import ObjectCache, is_stored, object_path

LAST = 5.0  # maximum seconds to wait at the end of the program
LOOK = 0.05  # seconds between checks

_threads: WeakSet[threading.Thread] = WeakSet()


def aside(
    function: Callable[..., Any], *args: Any, meanwhile: Callable[[], object] | None = None
) -> Any:
    """Call a function and return its result; in the main thread, run it in another thread.

    Args:
        meanwhile: called repeatedly by the main thread while it waits
    """
    if threading.current_thread() is not threading.main_thread():
        return function(*args)
    future: Future[Any] = Future()
    thread = threading.Thread(target=fulfil, args=[future, function, *args], daemon=True)
    _threads.add(thread)
    thread.start()
    while not wait([future], LOOK).done:  # on Windows, Ctrl-C is noticed only between checks
        ctrl_c.deliver()
        if meanwhile is not None:
            meanwhile()
    return future.result()


def fulfil(future: Future[Any], function: Callable[..., Any], *args: Any) -> None:
    """Call a function, and store its result or its exception in a future."""
    try:
        future.set_result(function(*args))
    except BaseException as error:  # otherwise it would be lost with the thread
        future.set_exception(error)


@atexit.register
def end() -> None:
    """Stop the compiling threads: a thread inside LLVM could crash the interpreter at exit."""
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
    """Skip separate machine code for inner functions, and run garbage collection less often."""
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
    """Replace numba's method that makes a compiled function callable from Python.

    numba requires a distinct C function for each compiled function.
    """
    return [].append


# numba imports SciPy's linear algebra to check whether it is installed; that takes as long as
# loading all kernels of a small network, none of which uses it. A custom function that does is not
# affected: numba imports SciPy when it compiles the first matrix product.


def import_without_scipy() -> None:
    """Import numba's array functions without SciPy, which numba would import as a check."""
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
CAN_FORK = sys.platform == "linux"  # Windows has no fork, and on macOS libraries may not allow it
ROOT = Path(__file__).parents[3]

done = 0  # kernels compiled by child processes


def start_child(
    paths: Sequence[Path], report: IO[bytes] | int = subprocess.DEVNULL, workers: int = 1
) -> Any:
    """Start a process that compiles the kernels in files; it exits when its stdin is closed.

    Args:
        report: file that receives one byte per compiled kernel
        workers: number of processes, with its forks
    """
    # Python 3.12 warns of forks when a library has threads.
    words = ["-P", "-W", "ignore", "-m", "scalarviz.engines.codegen.compiling", str(workers)]
    words += map(str, paths)
    env = {**os.environ, "PYTHONPATH": folders_of_modules()}
    return processes.start(words, stdin=subprocess.PIPE, stdout=report, env=env)


def folders_of_modules() -> str:
    """Return the PYTHONPATH with which a child process can import this package."""
    return os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])


def workers_for(count: int, few: int = FEW) -> int:
    """Return how many processes to compile in: one per `few` kernels, at most one per core."""
    return max(1, min(os.cpu_count() or 1, count // few, MOST))


def running(starting: Iterable[Any], seconds: float = CHILD_LOOK) -> Iterator[list[Any]]:
    """Start child processes, and repeatedly yield their list until all have exited.

    The list is yielded once more at the end. Leaving the loop terminates the remaining processes.

    Args:
        starting: iterator that starts each process and yields it
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
    """Compile kernels in child processes if possible, and count the compiled ones in `done`."""
    global done
    workers = workers_for(len(paths))
    parts = 1 if CAN_FORK else workers
    with suppress(OSError), tempfile.TemporaryFile(dir=paths[0].parent) as report:
        starting = (start_child(paths[i::parts], report, workers // parts) for i in range(parts))
        for _ in running(starting):
            done = os.fstat(report.fileno()).st_size


def counted(function: Callable[..., Any], *args: Any) -> Any:
    """Run a function with `aside`, with a progress bar that shows `done`; return its result.

    The function receives the bar as its last argument, and sets the bar's total.
    """
    global done
    done = 0
    with Progress(0, is_informed(), "kernels") as bar:
        return aside(function, *args, bar, meanwhile=lambda: bar.tell(done))


def import_file(path: Path, text: str | None = None) -> ModuleType:
    """Return the module of a kernel file; when its kernel is compiled, it is stored.

    Args:
        text: passed to `run_file`
    """
    import_without_scipy()
    module = run_file(path, text)
    module.compiled._cache = ObjectCache(object_path(path))
    return module


def end_with_parent() -> None:
    """Exit this process when its parent closes stdin or dies."""
    os.read(sys.stdin.fileno(), 1)  # a buffered read would hold a lock when Python ends
    os._exit(1)


def shared(paths: Sequence[str], workers: int) -> Iterator[str]:
    """Yield files, each in one of several processes; the first process waits for its forks."""
    reader, writer = os.pipe()
    os.write(writer, b"".join(i.to_bytes(2) for i in range(len(paths))))
    os.close(writer)
    forks: list[int] = []
    while len(forks) < workers - 1 and (fork := os.fork()):
        forks.append(fork)
    threading.Thread(target=end_with_parent, daemon=True).start()
    while number := os.read(reader, 2):
        yield paths[int.from_bytes(number)]
    if len(forks) == workers - 1:
        for fork in forks:
            os.waitpid(fork, 0)


def main(paths: Sequence[str], report: int | None = None, workers: int = 1) -> None:
    """Compile the kernels in files unless already compiled; write a full stop for each file.

    Args:
        report: file descriptor to which the full stops are written
        workers: number of processes, with forks of this one
    """
    from numba.core.registry import cpu_target

    compile_for_kernels_only()
    import_without_scipy()
    for context in (cpu_target.typing_context, cpu_target.target_context):
        context.refresh()  # imports what every kernel needs
    for path in shared(paths, workers):
        if not is_stored(Path(path)):  # by another process, after this one was started
            import_file(Path(path)).compiled.compile()
            if not is_stored(Path(path)):
                sys.exit("the kernel cannot be stored")
        if report is not None:
            with suppress(OSError):  # a full disk
                os.write(report, b".")


if __name__ == "__main__":
    main(sys.argv[2:], sys.stdout.fileno(), int(sys.argv[1]))
