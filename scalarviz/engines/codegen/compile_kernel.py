"""Compiles a kernel in a child process, so that every process runs the machine code on disk.

    python -m scalarviz.engines.codegen.compile_kernel FILE NAME

reads the types of the arguments from stdin, and compiles the kernel NAME of FILE for them.

A process that compiles a kernel runs other machine code than one that loads it. numba keeps a copy
of every function in each kernel that calls it, and of equal names the linker takes the first. Where
kernels were compiled, the functions are there by themselves, too; they were optimized apart from
the kernel, and may round otherwise.
"""

from __future__ import annotations

import importlib.util
import os
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import ModuleType
from typing import Any

from scalarviz.engines.codegen.kernel_cache import keep_apart
from scalarviz.process import children

LOOK = 0.02  # seconds between two looks
ROOT = Path(__file__).parents[3]


def compile_elsewhere(module: ModuleType) -> None:
    """Have the kernels of a module compiled by a child process if they are not on disk.

    If the child fails, this process compiles the kernel.
    """
    for name, kernel in vars(module).items():
        cache: Any = getattr(kernel, "_cache", None)
        if hasattr(kernel, "_compile_for_args") and hasattr(cache, "_cache_file"):
            cache.load_overload = Loader(cache.load_overload, str(module.__file__), name)


class Loader:
    """Loads the code of a kernel, after it has been compiled if need be.

    load  the method of numba's cache that it replaces
    """

    def __init__(self, load: Any, path: str, name: str) -> None:
        self.load = load
        self.path = path
        self.name = name

    def __call__(self, types: Any, target: Any) -> Any:
        found = self.load(types, target)
        if found is None and run_child(self.path, self.name, types):
            found = self.load(types, target)
        return found


def run_child(path: str, name: str, types: Any) -> bool:
    """Return whether a child process has compiled a kernel for arguments of these types."""
    words = ["-P", "-m", "scalarviz.engines.codegen.compile_kernel", path, name]
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    try:
        child = children.start(words, stdin=subprocess.PIPE, env=env)
    except OSError:  # no process can be started
        return False
    try:
        child.stdin.write(pickle.dumps(types))
        child.stdin.flush()
        while child.poll() is None:
            time.sleep(LOOK)
    except OSError:  # it has died
        pass
    finally:
        children.end(child)
        child.stdin.close()
    return bool(child.returncode == 0)


def end_with_parent() -> None:
    """End this process when the one that started it has closed stdin, or has died."""
    os.read(sys.stdin.fileno(), 1)  # a buffered read would hold a lock when Python ends
    os._exit(1)


def main(path: str, name: str) -> None:
    """Compile a kernel of a file, for the types of arguments that come on stdin."""
    types = pickle.load(sys.stdin.buffer)
    threading.Thread(target=end_with_parent, daemon=True).start()
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    keep_apart(module)
    vars(module)[name].compile(types)


if __name__ == "__main__":
    main(*sys.argv[1:])
