"""Compiles kernels in child processes, so that every process runs the machine code on disk.

    python -m scalarviz.engines.codegen.compile_kernel FILE ...

compiles the kernel of each file, writes a full stop for each to its standard output, and ends when
its standard input is closed.

A process that compiles a kernel could run other machine code than one that loads it: numba keeps a
copy of every function in each kernel that calls it, and of equal names the linker takes the first.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import ModuleType
from typing import IO, Any

from scalarviz.base import processes
from scalarviz.engines.codegen.cache_files import is_compiled, run_file
from scalarviz.engines.codegen.inner_functions import compile_for_kernels_only
from scalarviz.engines.codegen.kernel_cache import enable_caching, keep_whole_files
from scalarviz.engines.codegen.numba_imports import import_without_scipy

LOOK = 0.02  # seconds between two looks
FEW = 6  # kernels, for which another process does not pay
MOST = 8  # processes, each of which takes 300 MB
ROOT = Path(__file__).parents[3]

done = 0  # kernels compiled by the children of `run_children`


def start_child(paths: Sequence[Path], report: IO[bytes] | int = subprocess.DEVNULL) -> Any:
    """Return a child process that compiles the kernels of files; it ends if its stdin is closed.

    report  receives a byte for each compiled kernel
    """
    words = ["-P", "-m", "scalarviz.engines.codegen.compile_kernel", *map(str, paths)]
    folders = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    return processes.start(words, stdin=subprocess.PIPE, stdout=report, env=env)


def workers_for(count: int) -> int:
    """Return in how many processes a number of kernels are compiled."""
    return max(1, min(os.cpu_count() or 1, count // FEW, MOST))


def run_children(paths: Sequence[Path]) -> bool:
    """Return whether child processes have compiled the kernels of files; they count in `done`."""
    global done
    done = 0
    workers = workers_for(len(paths))
    with ExitStack() as opened:
        going = []
        try:
            report = opened.enter_context(tempfile.TemporaryFile(dir=paths[0].parent))
            for i in range(workers):
                going.append(start_child(paths[i::workers], report))
                opened.callback(processes.end, going[-1])
        except OSError:  # no process can be started
            return False
        while any(child.poll() is None for child in going):
            done = os.fstat(report.fileno()).st_size
            time.sleep(LOOK)
    return not any(child.returncode for child in going)


def import_file(path: Path, text: str | None = None) -> ModuleType:
    """Return the module of a file with a kernel, which is neither compiled nor loaded yet.

    text  as for `run_file`
    """
    import_without_scipy()
    module = run_file(path, text)
    enable_caching(module.compiled)
    keep_whole_files(module)
    return module


class NotOnDiskError(Exception):
    """Raised where a kernel would be compiled."""


def refuse() -> None:
    raise NotOnDiskError


def loaded(module: ModuleType) -> bool:
    """Load the kernel of a module from disk; return False if it is not there."""
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
    """End this process when the one that started it has closed stdin, or has died."""
    os.read(sys.stdin.fileno(), 1)  # a buffered read would hold a lock when Python ends
    os._exit(1)


def main(paths: Sequence[str], report: int | None = None) -> None:
    """Compile the kernels of files that are not compiled yet; write a full stop for each file.

    report  file descriptor that the full stops are written to
    """
    threading.Thread(target=end_with_parent, daemon=True).start()
    compile_for_kernels_only()  # loads numba
    for path in paths:
        if not is_compiled(Path(path)):  # by another process, since this one was started
            kernel = import_file(Path(path)).compiled
            # What was compiled for kernels only would end this process where it is loaded.
            kernel._cache.load_overload = lambda *key: None
            kernel.compile()
            if not is_compiled(Path(path)):
                sys.exit("the kernel cannot be kept")
        if report is not None:
            with suppress(OSError):  # a full disk
                os.write(report, b".")


if __name__ == "__main__":
    main(sys.argv[1:], sys.stdout.fileno())
