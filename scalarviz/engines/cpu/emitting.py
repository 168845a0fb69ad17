"""Emitters of LLVM instructions for kernels: llvmlite and numba, or stand-ins.

Stand-ins are for a browser, where neither is installed. A page runs kernels compiled elsewhere,
but uses the records in the kernel files, which can therefore be loaded without a compiler.
"""

# The stand-ins have other types, and llvmlite has none.
# mypy: disable-error-code="import-untyped,assignment,misc,arg-type"

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from types import SimpleNamespace
from typing import Any

__all__ = [
    "cpu_target", "from_dtype", "get_thread_id", "intrinsic", "ir", "llvm", "models",
    "pack_array", "populate_array", "prange", "register_model", "types", "unpack_tuple",
]  # fmt: skip

try:
    from llvmlite import binding as llvm
    from llvmlite import ir
    from numba import from_dtype, prange, types
    from numba.core.cgutils import pack_array, unpack_tuple
    from numba.core.registry import cpu_target
    from numba.extending import intrinsic, models, register_model
    from numba.np.arrayobj import populate_array
    from numba.np.ufunc.parallel import get_thread_id
except ModuleNotFoundError as missing:
    if missing.name not in ("llvmlite", "numba"):
        raise

    class Instruction:
        """Stand-in for a function that emits instructions; kernel files can import it."""

        def __init__(self, function: Callable[..., Any]) -> None:
            update_wrapper(self, function)

    cpu_target = from_dtype = get_thread_id = llvm = None
    pack_array = populate_array = unpack_tuple = None
    prange, intrinsic = range, Instruction
    ir = SimpleNamespace(IntType=lambda bits: None)
    types = SimpleNamespace(Type=object, uint64=None, void=None)
    models = SimpleNamespace(PrimitiveModel=object)

    def register_model(kind: Any) -> Callable[[type], type]:
        """Return a decorator that does nothing."""
        return lambda model: model
