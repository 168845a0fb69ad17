"""Kernels that are called by their address: each compiled by itself, once, and kept on disk.

A kernel is a function of unsigned integers, most of them addresses; see `unit_source` for what its
file contains. What calls it, another kernel or Python, needs no more than its address: so each is
compiled once, whatever calls it, and a network compiles no kernel that it does not use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scalarviz.base.messages import inform, is_informed
from scalarviz.base.progress import Progress
from scalarviz.engines.codegen import compile_kernel
from scalarviz.engines.codegen.cache_files import (
    is_compiled,
    path_of,
    remove_old,
    write,
)
from scalarviz.engines.codegen.compiling import aside
from scalarviz.engines.codegen.kernel_source import ingredients
from scalarviz.engines.codegen.unit_source import Dtype, Source, Unit, source_of
from scalarviz.engines.common.cores import Guard, check_process, start_threads

SECONDS = 0.4  # to compile a kernel, on average
START = 2.0  # seconds to start compiling

_lock = Guard()
_sources: dict[tuple[Any, ...], Source] = {}
_kernels: dict[str, Kernel] = {}


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel that has been loaded: `address` for other kernels, `call` for Python."""

    address: int
    call: Callable[..., None]
    module: Any  # owns the machine code


def load(units: Sequence[Unit], dtype: Dtype) -> list[Kernel]:
    """Return kernels for a working type; those that are not on disk are compiled first.

    A constant changed in this process, or another row, takes effect at the next call. Raises
    EngineError in a process that was forked from one with kernels.
    """
    check_process()
    with _lock:
        texts = [text_of(unit, dtype) for unit in units]
        missing = {t: unit for t, unit in zip(texts, units, strict=True) if t not in _kernels}
        if missing:
            with Progress(0, is_informed(), "kernels") as bar:
                aside(
                    *(load_missing, missing, dtype, bar),
                    meanwhile=lambda: bar.tell(compile_kernel.done),
                )
        return [_kernels[text] for text in texts]


def load_missing(missing: dict[str, Unit], dtype: Dtype, bar: Progress) -> None:
    """Compile what is not on disk in child processes, and load all kernels that are missing.

    The total of `bar` is set to the number of kernels that are compiled.
    """
    paths = {text: write_unit(text, unit, dtype) for text, unit in missing.items()}
    modules = {text: compile_kernel.import_file(path, text) for text, path in paths.items()}
    uncompiled = [text for text, module in modules.items() if not compile_kernel.loaded(module)]
    if uncompiled:
        seconds = round(
            START + SECONDS * len(uncompiled) / compile_kernel.workers_for(len(uncompiled))
        )
        kernels = "1 kernel" if len(uncompiled) == 1 else f"{len(uncompiled)} kernels"
        said = f"scalarviz compiles {kernels}, once; this takes about {seconds} s"
        inform(said, is_shown=bar.will_be_seen)
        compile_kernel.done, bar.total = 0, len(uncompiled)
        compile_kernel.run_children([paths[text] for text in uncompiled])
    for text in uncompiled:
        modules[text].compiled.compile()  # from disk, unless the child has failed
    for text, module in modules.items():
        start_threads(module)
        _kernels[text] = Kernel(module.compiled.address, module.compiled.ctypes, module)


def text_of(unit: Unit, dtype: Dtype) -> str:
    """Return the text of a kernel's file for the current formulas and constants."""
    key = unit.name, unit.function, id(unit.row), dtype
    known = _sources.get(key)
    if known is None or known.ingredients != ingredients(known.functions):
        known = _sources[key] = source_of(unit, dtype)
    return known.text


def write_unit(text: str, unit: Unit, dtype: Dtype) -> Path:
    """Write the file of a kernel, and return its path."""
    stem = f"{unit.name}_{dtype}"
    path = path_of(text, stem)
    if write(path, text):
        remove_old(path, stem)
    return path


def path_of_unit(unit: Unit, dtype: Dtype) -> Path:
    """Write the file of a kernel, and return its path."""
    return write_unit(text_of(unit, dtype), unit, dtype)


def is_ready(unit: Unit, dtype: Dtype) -> bool:
    """Whether a kernel is loaded, or on disk."""
    text = text_of(unit, dtype)
    return text in _kernels or is_compiled(path_of(text, f"{unit.name}_{dtype}"))
