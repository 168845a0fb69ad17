"""Kills a child process that compiles kernels, at each change that it makes in the cache folder.

    python -m tests.engines.killed_compiler FOLDER

A process that begins to write a file is killed when HALF bytes of it are there, one that renames a
file or makes a folder is killed before that.

Prints JSON: the bits of the kernels from a whole cache; and for each kill, until none came, how
many kernels were not on disk afterwards, and the bits of the kernels that were loaded then.
Standard input has to stay open.
"""

from __future__ import annotations

import itertools
import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.engines.codegen import compiling, kernel_units
from scalarviz.engines.expression.cpu_expression import forward_kernel, slope_kernel

TANH = ACTIVATIONS["tanh"]
UNITS = [forward_kernel(TANH), slope_kernel(TANH, 0)]
COUNT = 1001
HALF = 100  # bytes


def in_child(work: Callable[[], object]) -> tuple[int, str]:
    """What a forked process returns for a piece of work: the signal that ended it, and its text."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writer, str(work()).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        text = file.read()
    return os.WTERMSIG(os.waitpid(child, 0)[1]), text


def compile_until(paths: list[Path], last: int) -> None:
    """Compile kernels; kill this process in one of its changes in the folder, counted from 1."""
    folder, count = str(paths[0].parent), itertools.count(1)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # sent where a file grows beyond its limit
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def kill(event: str, arguments: tuple[Any, ...]) -> None:
        writes = event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if not (writes or event in ("os.mkdir", "os.rename")):
            return
        if str(arguments[0]).startswith(folder) and next(count) == last:
            if writes:
                resource.setrlimit(resource.RLIMIT_FSIZE, (HALF, HALF))
            else:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(kill)
    compiling.main([str(path) for path in paths])


def bits() -> str:
    """The numbers of the kernels as this process loads them; how many it had to compile first."""
    missing: list[Path] = []

    def run_children(paths: list[Path]) -> bool:
        missing.extend(paths)
        return in_child(lambda: compile_until(paths, 0)) == (0, "None")

    compiling.run_children = run_children  # type: ignore[assignment]  # in its place
    x = np.random.default_rng(0).normal(size=COUNT)
    y, g, h = np.zeros(COUNT), x[::-1].copy(), np.zeros(COUNT)
    a, b, c, d = [array.ctypes.data for array in (x, y, g, h)]
    for kernel in kernel_units.load(UNITS, "float64"):
        assert hasattr(kernel.owner, "linker")
        kernel.call(a, b, 0, b, c, d, COUNT)
    return json.dumps([len(missing), y.tobytes().hex() + h.tobytes().hex()])


def main(folder: str) -> None:
    os.environ["SCALARVIZ_CACHE_DIR"] = f"{folder}/whole"
    whole = json.loads(in_child(bits)[1])[1]
    found = []
    for last in itertools.count(1):
        os.environ["SCALARVIZ_CACHE_DIR"] = f"{folder}/{last}"
        paths = [kernel_units.path_of_unit(unit, "float64") for unit in UNITS]
        ended, _ = in_child(lambda paths=paths, last=last: compile_until(paths, last))
        if not ended:
            break
        assert ended in (signal.SIGKILL, signal.SIGXFSZ)
        found.append(json.loads(in_child(bits)[1]))
    print(json.dumps({"whole": whole, "found": found}))


if __name__ == "__main__":
    main(*sys.argv[1:])
