"""Kernels for GPUs round every product, so that the same formula has the same bits in each of them.

By default NVIDIA's compiler fuses a product with the sum that follows it, and decides so kernel by
kernel: a formula could have other bits in a kernel of whole steps than in the one of a single
moment, and a step that was taken moment by moment is replayed as a whole step. So kernels are
compiled with `-fma=0`. Then every operation of a formula is rounded by itself, as IEEE 754 says,
and only `cuda.fma`, which the matrix products call, fuses two of them.

The option is passed to libnvvm here, since `cuda.jit` has none for it. nvJitLink's link-time
optimization would compile a second time, and fuse again (`-fma=0` is not kept in its files, and
cuda-core 1.2 passes it in a form that nvJitLink refuses), so that it is switched off: libnvvm sees
all functions of a kernel at once, and inlines them without it.

numba-cuda or numba-cuda-mlir: the kernels are written for numba-cuda 0.30, which is only
maintained, and not for its successor. numba-cuda-mlir 0.6.0 works with numpy 2.5; but it has no
simulator, in which all kernels are tested on every machine, and of four kernels tried it compiled
the simplest and ended in internal errors with three, since it loses shared memory that a device
function declares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

from scalarviz.engines.common.cores import Guard

_lock = Guard()


@contextmanager
def products_rounded() -> Iterator[None]:
    """Have numba-cuda compile without fusing products with sums."""
    nvvm: Any = import_module("numba.cuda.cudadrv.nvvm")
    with _lock:
        compile_ir = nvvm.compile_ir
        nvvm.compile_ir = partial(compile_ir, fma=False)
        try:
            yield
        finally:
            nvvm.compile_ir = compile_ir


def round_products(module: ModuleType) -> None:
    """Make the kernels of a module compile without fusing products with sums."""
    for kernel in vars(module).values():
        if hasattr(kernel, "_compile_for_args"):
            kernel.compile = partial(compiled, kernel.compile)


def compiled(compile_kernel: Callable[..., Any], *arguments: Any) -> Any:
    with products_rounded():
        return compile_kernel(*arguments)
