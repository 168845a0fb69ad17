"""A script that compiles and runs a small kernel with the GPU features of an entire step.

    python -P probe.py

All threads wait for each other, which requires the device library cudadevrt, and a block requests
more dynamic shared memory than the default. If a GPU does not support one of these, the kernel is
tried without it, as in the engine.

The script prints "ran" and exits with 0 if the GPU wrote the right numbers. Otherwise it exits with
1, and the last line is the error. It imports nothing from scalarviz, so that it starts quickly. An
error in a driver ends only this process.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

BLOCKS, THREADS = 2, 16
SIZE = BLOCKS * THREADS
GIVEN, ASKED = 44 * 1024, 56 * 1024  # bytes of shared memory of a block, and the requested ones
RAN = "ran"


def run() -> str:
    """Return "" if a kernel ran on the GPU, else the error message."""
    try:
        found = attempt()
    except Exception as error:  # for any error kernels cannot run
        return f"{type(error).__name__}: {' '.join(str(error).split())}"
    is_right = found == [2.0 * i for i in range(SIZE)]
    return "" if is_right else "a small kernel gave wrong numbers"


def attempt() -> list[float]:
    """Run the kernel, and return the numbers that it wrote."""
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
    """Return how many bytes of dynamic shared memory a block of a compiled kernel may use."""
    try:
        nvidia: Any = import_module("numba.cuda.cudadrv.driver")
        names, function = nvidia.binding.CUfunction_attribute, kernel._codelibrary.get_cufunc()
        size = names.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        nvidia.driver.cuKernelSetAttribute(size, ASKED, function.handle, function.device.id)
    except Exception:  # after any error: the engine also works with less
        return GIVEN
    return ASKED


def kernel_on(cuda: Any, waits: bool, number: Any) -> Any:
    """Return the kernel as a plain function; each block doubles numbers written by the other."""

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
    """Print the result, and return the exit status."""
    import warnings

    warnings.simplefilter("ignore")  # such as that a grid of two blocks is small
    wrong = run()
    sys.stdout.write(f"{wrong or RAN}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
