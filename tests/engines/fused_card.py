"""A card made of threads of the host, on which the fused kernel runs; see fused_host.h.

Both sides of a comparison call the same Python functions for formulas.
"""

import ctypes
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from scalarviz.engines.codegen import cuda_file
from scalarviz.engines.cuda import places
from scalarviz.engines.cuda.fused.compiling import FUNCTIONS, Choice
from scalarviz.engines.cuda.fused.shape import Table
from tests.engines.fused_library import build

MOST = places.MOST_ARGUMENTS  # numbers behind a pointer of a thread
C_TYPES: dict[str, Any] = {
    "v": None, "i": ctypes.c_int32, "l": ctypes.c_int64, "f": ctypes.c_float, "d": ctypes.c_double
}  # fmt: skip
NUMPY: dict[str, Callable[[Any], Any]] = {"f": np.float32, "l": int, "i": int, "d": np.float64}


def same(x: Any) -> Any:
    return x


def fused_product(a: Any, b: Any, c: Any) -> Any:
    """a b + c, rounded once, or nearly so: as `multiply_add` of fused_host.h."""
    if not isinstance(c, np.float32):
        return a * b + c
    return np.float32(np.float64(a) * np.float64(b) + np.float64(c))


class HostCard:
    """Runs the kernel on threads of the host.

    launches  of each: how many steps, and how often all threads waited
    """

    def __init__(self, blocks: int, threads: int, lanes: int, shared: int) -> None:
        self.blocks, self.shared = blocks, shared
        self.threads, self.lanes = threads, lanes
        self.launches: list[tuple[int, int]] = []
        self.tables: list[Table] = []

    def kernel(self, choice: Choice, table: Table) -> Any:
        self.tables.append(table)
        return ctypes.CDLL(str(build(choice, self.threads, self.lanes))), choice

    def launch(self, kernel: Any, table: Table, stream: Any, arrays: list[Any], steps: int) -> None:
        library, choice = kernel
        host = [array.copy_to_host() for array in arrays]
        failed: list[Exception] = []
        given = give_formulas(library, choice, host, failed)
        library.run.restype = ctypes.c_int64
        met = library.run(
            ctypes.c_uint(table.blocks), ctypes.c_long(table.shared),
            *[ctypes.c_void_p(array.ctypes.data) for array in host[:-1]],  # without the counter
            ctypes.c_int64(steps),
        )  # fmt: skip
        assert given and not failed, failed
        self.launches.append((steps, met))
        for array, numbers in zip(arrays, host, strict=True):
            array.copy_to_device(numbers)


def give_formulas(
    library: Any, choice: Choice, arrays: list[Any], failed: list[Exception]
) -> list[Any]:
    """Set the functions that the kernel calls: those that the simulator's kernels call."""
    known = {array.ctypes.data: array for array in arrays}

    def array_at(pointer: Any, length: int) -> Any:
        place = ctypes.cast(pointer, ctypes.c_void_p).value
        if place in known:
            return known[place]
        return np.ctypeslib.as_array(pointer, (min(length, MOST),))

    module: Any = cuda_file.import_file(cuda_file.path_of_unit(choice.unit, "float32"))
    module.cuda = SimpleNamespace(fma=fused_product)  # which the simulator has in kernels only
    module.array_at = array_at
    given = []
    for name, kinds in FUNCTIONS.items():
        c_types = [C_TYPES.get(k) or ctypes.POINTER(C_TYPES[k.lower()]) for k in kinds[1:]]
        callback = ctypes.CFUNCTYPE(C_TYPES[kinds[0]], *c_types)(
            typed(getattr(module, name), kinds, failed)
        )
        ctypes.c_void_p.in_dll(library, name).value = ctypes.cast(callback, ctypes.c_void_p).value
        given.append(callback)
    return given


def typed(function: Callable[..., Any], kinds: str, failed: list[Exception]) -> Callable[..., Any]:
    """A function that is called with numpy's numbers, as the simulator's kernels call it."""
    result, *given = kinds

    def call(*arguments: Any) -> Any:
        try:
            with np.errstate(all="ignore"):
                found = function(
                    *[NUMPY.get(k, same)(x) for k, x in zip(given, arguments, strict=True)]
                )
            return None if result == "v" else int(found) if result == "l" else float(found)
        except Exception as error:  # it cannot pass through the library
            failed.append(error)
            return None if result == "v" else 0

    return call


def bits(array: Any) -> Any:
    return np.ascontiguousarray(array).view(np.uint32 if array.dtype == np.float32 else np.uint64)
