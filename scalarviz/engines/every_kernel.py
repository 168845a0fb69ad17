"""Compilation of all kernels of the cpu engine, for networks and compiled functions, in advance."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from scalarviz.core.trace import EVERY_OPERATION
from scalarviz.engines.codegen import compiling, kernel_units
from scalarviz.engines.codegen.kernel_units import Dtype, Unit
from scalarviz.engines.codegen.machine_code import is_stored
from scalarviz.engines.cpu import table as cpu
from scalarviz.engines.expression import cpu_expression as expression
from scalarviz.errors import EngineError

DTYPES: tuple[Dtype, ...] = ("float32", "float64")
MOST = 200  # files in a command line; Windows allows at most 32,767 characters
LOOK = 0.5  # seconds between checks of all files


def every_kernel() -> list[tuple[Unit, Dtype]]:
    """Return all kernels with their working types, also for user-defined activations."""
    units = [*cpu.every_unit(), *expression.SHELL.values()]
    for row in EVERY_OPERATION.values():
        units += expression.kernels_of_formula(row)
    return [(unit, dtype) for dtype in DTYPES for unit in units]


def lacking_kernels() -> list[tuple[Unit, Dtype]]:
    """Return the kernels that are not compiled yet, with their working types."""
    return [each for each in every_kernel() if not kernel_units.is_ready(*each)]


def compile_all() -> Iterator[tuple[int, int]]:
    """Compile missing kernels on all cores; yield the number of compiled kernels and the total.

    Raises:
        EngineError: if a kernel cannot be compiled.
    """
    paths = [kernel_units.path_of_unit(*each) for each in lacking_kernels()]
    yield from compile_files(paths, compiling.start_child)


def compile_files(
    paths: Sequence[Path],
    start_child: Callable[[Sequence[Path]], Any],
    is_done: Callable[[Path], bool] = is_stored,
) -> Iterator[tuple[int, int]]:
    """Compile kernel files as `compile_all` does; each child process gets a part of the files.

    Args:
        start_child: function that starts a process that compiles a list of files
        is_done: function that returns whether the kernel of a file is compiled
    """
    workers = max(min(os.cpu_count() or 1, len(paths) // 8), -(-len(paths) // MOST), 1)
    starting = (start_child(paths[i::workers]) for i in range(workers) if paths)
    for _ in compiling.running(starting, LOOK):
        done = count_compiled(paths, is_done)
        yield done, len(paths)
    if done < len(paths):
        name = next(path.name for path in paths if not is_done(path))
        raise EngineError(
            f"{len(paths) - done} kernels could not be compiled, among them {name}: try again, "
            "and check whether memory or disk is full"
        )


def count_compiled(paths: Sequence[Path], is_done: Callable[[Path], bool] = is_stored) -> int:
    return sum(map(is_done, paths))
