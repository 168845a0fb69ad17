"""Files of kernels for GPUs: each kernel in a file of its own, compiled once and cached on disk.

A file contains the functions and constants that its kernel needs, for one working type, and of the
tables of formulas the rows in use only: a kernel with all of them has three times the instructions,
takes more registers and compiles several times longer. A formula keeps its bits: every operation of
it is rounded by itself, see `cuda_rounding`.

The file name contains a hash of the text, and so of everything that the kernel depends on: a change
of a formula, a constant or a row in use results in another file. So numba's cache for it is never
out of date, and another row, or another size of a network, changes no file.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from scalarviz.base.messages import inform, is_informed
from scalarviz.base.progress import Progress
from scalarviz.engines.codegen import cuda_dispatch, dispatch, fast_math, kernel_source
from scalarviz.engines.codegen.cache_files import (
    is_compiled,
    path_of,
    remove_old,
    run_file,
    write,
)
from scalarviz.engines.codegen.compiling import aside, keep_whole
from scalarviz.engines.codegen.cuda_rounding import round_products
from scalarviz.engines.codegen.kernel_cache import enable_caching, keep_whole_files
from scalarviz.engines.codegen.kernel_choice import InUse
from scalarviz.engines.codegen.kernel_source import AnyFunction, ingredients
from scalarviz.engines.codegen.unit_source import (
    IN_FLOAT64,
    Dtype,
    Source,
    Style,
    UnitWriter,
    joined,
    syntax_of,
)
from scalarviz.engines.common.cores import Guard, Refused, may_call_kernels, start_threads

# On a GPU a formula is compiled into the kernels that call it. The simulator runs kernels in plain
# Python, where math.exp(1000) would raise an OverflowError.
HEAD = '''"""Written by scalarviz from its tables; what you change here will be lost.

{versions}
"""

from __future__ import annotations

import math

import numpy as np
from numba import cuda, types

if cuda.config.ENABLE_CUDASIM:
    from scalarviz.core.formulas import elementary as math


def kernel(function):
    return function if cuda.config.ENABLE_CUDASIM else cuda.jit(function, device=True)


def inlined(function):
    if cuda.config.ENABLE_CUDASIM:
        return function
    return cuda.jit(function, device=True, forceinline=True)


def launched(function):
    # Link-time optimization is off, see `cuda_rounding`; the simulator knows no such option, and
    # `cuda.jit(lto=False)`, without a function, forgets it.
    options = {{}} if cuda.config.ENABLE_CUDASIM else {{"lto": False}}
    return cuda.jit(function, **options)


exact = elementary = formula = kernel
Real = types.{dtype}
'''
FOOT = """
NAME = "{name}"
SIGNATURE = () if cuda.config.ENABLE_CUDASIM else ({types},)
"""
TOOLCHAIN = "numba-cuda", "cuda-toolkit", "nvidia-nvvm", "nvidia-nvjitlink"

# Types of a kernel's arguments by their names; all others are whole numbers.
ARRAYS = {
    "plan": "types.int64[::1]", "arena": "Real[::1]", "data": "Real[::1]",
    "scalars": "types.float64[::1]",
}  # fmt: skip

STYLE = Style(
    (dispatch.__name__, cuda_dispatch.__name__),
    "kernel",
    ("kernel", "inlined", "launched"),
    (*IN_FLOAT64, cuda_dispatch.clip_factor, cuda_dispatch.deviation_factor),
    dict.fromkeys(("float32", "float64"), fast_math.STANDARD),
)

SECONDS = 1 / 4000  # approximate time of compiling for each character of a file

_lock = Guard()
_sources: dict[tuple[CudaUnit, Dtype], Source] = {}
_modules: dict[str, ModuleType] = {}


@dataclass(frozen=True, slots=True)
class CudaUnit:
    """A kernel that is compiled by itself.

    function  the kernel, marked `launched`
    used      the rows of tables that it is made for
    """

    function: AnyFunction
    used: InUse


def load(units: Sequence[CudaUnit], dtype: Dtype) -> list[ModuleType | Refused]:
    """Return the modules of kernels in a working type; what is not on disk is compiled first.

    A kernel has the name of its function. A constant changed in this process, or another row of a
    table, takes effect at the next call. After a fork, each kernel raises an EngineError when it is
    called.
    """
    if not may_call_kernels():
        return [Refused() for _ in units]
    with _lock:
        found = []
        for unit in units:
            text = text_of(unit, dtype)
            if text not in _modules:
                _modules[text] = import_file(path_of_unit(unit, dtype), text)
            found.append(_modules[text])
        compile_missing([module for module in dict.fromkeys(found) if not is_there(module)])
        return list(found)


def is_there(module: ModuleType) -> bool:
    """Whether the kernel of a module is compiled, here or on disk; the simulator needs none."""
    kernel, path = getattr(module, module.NAME), Path(str(module.__file__))
    return is_simulated() or bool(kernel.overloads) or is_compiled(path)


def compile_missing(modules: list[ModuleType]) -> None:
    """Compile the kernels of modules, with a bar, or a message where none is seen."""
    if not modules:
        return
    count = "a kernel" if len(modules) == 1 else f"{len(modules)} kernels"
    with Progress(len(modules), is_informed(), "kernels") as bar:
        size = sum(Path(str(module.__file__)).stat().st_size for module in modules)
        seconds = max(round(SECONDS * size), 1)
        inform(
            f"scalarviz compiles {count} for the GPU, once; this takes about {seconds} s",
            is_shown=bar.will_be_seen,
        )
        done: list[ModuleType] = []

        def compile_all() -> None:
            for module in modules:
                compile_module(module)
                done.append(module)

        aside(compile_all, meanwhile=lambda: bar.tell(len(done)))


def compile_module(module: ModuleType) -> None:
    """Compile the kernel of a module, or load it from disk."""
    getattr(module, module.NAME).compile(module.SIGNATURE)


def is_simulated() -> bool:
    """Whether numba simulates a GPU, which compiles nothing."""
    return os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")


def is_ready(unit: CudaUnit, dtype: Dtype) -> bool:
    """Whether a kernel is on disk, or there is nothing to compile."""
    return is_simulated() or is_compiled(path_of(text_of(unit, dtype), stem_of(unit, dtype)))


def text_of(unit: CudaUnit, dtype: Dtype) -> str:
    """Return the text of the file of a kernel for the current tables."""
    with _lock:
        known = _sources.get((unit, dtype))
        if known is None or known.ingredients != ingredients(known.functions):
            known = _sources[unit, dtype] = source_of(unit, dtype)
        return known.text


def path_of_unit(unit: CudaUnit, dtype: Dtype) -> Path:
    """Write the file of a kernel, and return its path."""
    text, stem = text_of(unit, dtype), stem_of(unit, dtype)
    path = path_of(text, stem)
    if write(path, text):
        remove_old(path, stem)
    return path


def stem_of(unit: CudaUnit, dtype: Dtype) -> str:
    return f"cuda_{unit.function.__name__}_{dtype}"


def import_file(path: Path, text: str | None = None) -> ModuleType:
    """Return the module of a file with a kernel, which is neither compiled nor loaded yet.

    text  as for `run_file`
    """
    module: ModuleType = aside(run_file, path, text)
    if not is_simulated():
        enable_caching(getattr(module, module.NAME))
    keep_whole_files(module)
    round_products(module)
    keep_whole(module)
    start_threads(module)
    return module


# ---- the text -----------------------------------------------------------------------------------


def source_of(unit: CudaUnit, dtype: Dtype) -> Source:
    """Return the source of the file of a kernel."""
    writer = UnitWriter(dtype, None, unit.used, STYLE)
    name = writer.name(unit.function)
    arguments = [each.arg for each in syntax_of(unit.function).args.args]
    types = ", ".join(ARRAYS.get(each, "types.int64") for each in arguments)
    head = HEAD.format(versions=versions(), dtype=dtype)
    text = joined([head, *writer.parts(), FOOT.format(name=name, types=types)])
    return Source(text, writer.written, ingredients(writer.written), unit)


def versions() -> str:
    """Return the versions of Python and of the packages that compile kernels for GPUs."""
    return kernel_source.versions(*TOOLCHAIN)
