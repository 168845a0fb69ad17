"""Kernel files for GPUs: each kernel in a separate file, compiled once and cached on disk.

A file contains the functions and constants that its kernel needs, for one working type, and only
the rows of the formula tables that are used. A kernel with all rows has three times the
instructions, needs more registers and takes several times longer to compile.

The file name contains a hash of the text, and so of everything that the kernel depends on. A change
of a formula, a constant or a used row results in another file, so numba's cache of it is never out
of date. Unused rows and the sizes of a network do not affect a file.

Kernels round every product, so that a formula gives the same bits in each kernel. By default
NVIDIA's compiler fuses a product with a following sum, and decides this per kernel: a formula could
give different bits in a kernel for entire steps and in the kernel for a single moment. Since a step
taken moment by moment is replayed as a whole step, kernels are compiled with `-fma=0`.
Then every operation of a formula is rounded separately, according to IEEE 754, and only `cuda.fma`,
used in matrix products, fuses two of them.

The option is passed to libnvvm here, since `cuda.jit` does not support it. nvJitLink's link-time
optimization would compile a second time, and fuse again (`-fma=0` is not kept in its files, and
cuda-core 1.2 passes it in a form that nvJitLink rejects), so it is switched off: libnvvm gets all
functions of a kernel together, and inlines them without link-time optimization.

The kernels are written for numba-cuda 0.30, which is in maintenance mode, not for its successor.
numba-cuda-mlir 0.6.0 works with numpy 2.5, but has no simulator, with which all kernels are tested
on every machine. Of four kernels it compiled only the simplest one, and failed with internal errors
for the others, because it loses shared memory declared in a device function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from scalarviz.base.kernel_files import (
    enable_caching,
    is_compiled,
    keep_whole_files,
    path_of,
    run_file,
)
from scalarviz.base.kernel_threads import Guard, start_threads
from scalarviz.base.messages import inform, is_informed
from scalarviz.base.progress import Progress
from scalarviz.engines.codegen import cuda_dispatch, dispatch, fast_math, kernel_source
from scalarviz.engines.codegen.compiling import aside
from scalarviz.engines.codegen.formula_loops import InUse
from scalarviz.engines.codegen.kernel_source import AnyFunction, is_simulated
from scalarviz.engines.codegen.kernel_units import (
    IN_FLOAT64,
    Dtype,
    KernelSource,
    Style,
    UnitWriter,
    path_of_unit,
    stem_of,
    syntax_of,
    text_of,
)

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
    # Link-time optimization is off, see `products_rounded`; the simulator knows no such option, and
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

# Types of kernel arguments by name; all others are integers.
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

SECONDS = 1 / 4000  # approximate compile time per character of a file

_lock = Guard()
_modules: dict[str, ModuleType] = {}


@dataclass(frozen=True, slots=True)
class CudaUnit:
    """A kernel compiled separately.

    Attributes:
        function: the kernel, decorated with `launched`
        used: the table rows that the kernel supports
    """

    function: AnyFunction
    used: InUse

    @property
    def name(self) -> str:
        return f"cuda_{self.function.__name__}"

    def source(self, dtype: Dtype) -> KernelSource:
        writer = UnitWriter(dtype, None, self.used, STYLE)
        name = writer.name(self.function)
        arguments = [each.arg for each in syntax_of(self.function).args.args]
        types = ", ".join(ARRAYS.get(each, "types.int64") for each in arguments)
        head = HEAD.format(versions=versions(), dtype=dtype)
        return writer.source(head, FOOT.format(name=name, types=types))


def load(units: Sequence[CudaUnit], dtype: Dtype) -> list[ModuleType]:
    """Return the modules of kernels for a working type; kernels not on disk are compiled first.

    A kernel has the name of its function. Changed constants or table rows take effect at the
    next call.
    """
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
    """Return whether a kernel needs no compilation: it is in memory, on disk, or simulated."""
    kernel, path = getattr(module, module.NAME), Path(str(module.__file__))
    return is_simulated() or bool(kernel.overloads) or is_compiled(path)


def compile_missing(modules: list[ModuleType]) -> None:
    """Compile the kernels of modules, with a progress bar, or a message if no bar is visible."""
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


def is_ready(unit: CudaUnit, dtype: Dtype) -> bool:
    """Return whether a kernel is on disk, or needs no compilation."""
    return is_simulated() or is_compiled(path_of(text_of(unit, dtype), stem_of(unit, dtype)))


def import_file(path: Path, text: str | None = None) -> ModuleType:
    """Return the module of a kernel file; its kernel is neither compiled nor loaded yet.

    Args:
        text: passed to `run_file`
    """
    module: ModuleType = aside(run_file, path, text)
    if not is_simulated():
        enable_caching(getattr(module, module.NAME))
    keep_whole_files(module)
    for kernel in vars(module).values():
        if hasattr(kernel, "_compile_for_args"):  # called by numba if no compiled version exists
            kernel.compile = partial(compiled_with_rounding, kernel.compile)
            kernel._compile_for_args = partial(aside, kernel._compile_for_args)
    start_threads(module)
    return module


def versions() -> str:
    """Return the versions of Python and of the packages that compile kernels for GPUs."""
    return kernel_source.versions(*TOOLCHAIN)


# ---- rounding of products -----------------------------------------------------------------------

_rounding_lock = Guard()


@contextmanager
def products_rounded() -> Iterator[None]:
    """Make numba-cuda compile without fusing products with sums."""
    nvvm: Any = import_module("numba.cuda.cudadrv.nvvm")
    with _rounding_lock:
        compile_ir = nvvm.compile_ir
        nvvm.compile_ir = partial(compile_ir, fma=False)
        try:
            yield
        finally:
            nvvm.compile_ir = compile_ir


def compiled_with_rounding(compile_kernel: Callable[..., Any], *arguments: Any) -> Any:
    """Compile a kernel without fusing products with sums."""
    with products_rounded():
        return compile_kernel(*arguments)
