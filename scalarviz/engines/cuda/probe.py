"""Compiles and runs a small kernel that takes what whole steps take; run as a script, alone.

    python -P probe.py

All threads wait for each other, for which the device library cudadevrt is linked, and a block has
more dynamic shared memory than it has without being asked for. A GPU that does not offer one of
these is asked without it, as the engine does.

It exits with 0 if the GPU wrote the right numbers, and writes "ran". Otherwise
it exits with 1, and the last line says which error was raised. It imports nothing of scalarviz, so
that it starts quickly, and an error in a driver ends this process only.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

BLOCKS, THREADS = 2, 16
SIZE = BLOCKS * THREADS
GIVEN, ASKED = 44 * 1024, 56 * 1024  # bytes of shared memory that a block has, and may ask for
RAN = "ran"


def run() -> str:
    """Return "" if a kernel ran on the GPU, else what went wrong."""
    try:
        found = attempt()
    except Exception as error:  # whatever it is, kernels cannot run
        return f"{type(error).__name__}: {' '.join(str(error).split())}"
    is_right = found == [2.0 * i for i in range(SIZE)]
    return "" if is_right else "a small kernel gave wrong numbers"


def attempt() -> list[float]:
    """Return the numbers that the kernel wrote."""
    numpy: Any = import_module("numpy")
    cuda: Any = import_module("numba.cuda")
    out = cuda.to_device(numpy.zeros(SIZE, numpy.float32))
    waits = bool(cuda.get_current_device().COOPERATIVE_LAUNCH)
    twice = cuda.jit(kernel_on(cuda, waits, numpy.float32))
    signature = tuple(map(twice.typeof_pyval, (out, 0)))
    twice.compile(signature)
    room = room_of(twice.overloads[signature])
    twice[BLOCKS, THREADS, 0, room](out, room // 4 - THREADS)
    found: list[float] = out.copy_to_host().tolist()
    return found


def room_of(kernel: Any) -> int:
    """Return how many bytes of dynamic shared memory a block of a compiled kernel may have."""
    try:
        nvidia: Any = import_module("numba.cuda.cudadrv.driver")
        names, function = nvidia.binding.CUfunction_attribute, kernel._codelibrary.get_cufunc()
        size = names.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        nvidia.driver.cuKernelSetAttribute(size, ASKED, function.handle, function.device.id)
    except Exception:  # whatever refuses it: the engine works with less, too
        return GIVEN
    return ASKED


def kernel_on(cuda: Any, waits: bool, number: Any) -> Any:
    """Return the kernel, as a plain function; a block writes what the other one doubles."""

    def twice(out: Any, place: int) -> None:
        room = cuda.shared.array(0, number)
        i, thread = cuda.grid(1), cuda.threadIdx.x
        other = out.size - 1 - i if waits else i
        room[place + thread] = other
        cuda.syncthreads()
        out[other] = room[place + thread]
        if waits:
            cuda.cg.this_grid().sync()
        out[i] *= 2

    return twice


def main() -> int:
    """Print the result; return the exit status."""
    import warnings

    warnings.simplefilter("ignore")  # such as that a grid of two blocks is small
    wrong = run()
    sys.stdout.write(f"{wrong or RAN}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
