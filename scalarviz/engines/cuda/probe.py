"""Compiles and runs a kernel of three lines; run as a script, alone, in a process of its own.

    python -P probe.py

It exits with 0 if the GPU wrote the right numbers, and writes "ran". Otherwise
it exits with 1, and the last line says which error was raised. It imports nothing of scalarviz, so
that it starts quickly, and an error in a driver ends this process only.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

SIZE = 32
RAN = "ran"


def run() -> str:
    """Return "" if a kernel ran on the GPU, else what went wrong."""
    numpy: Any = import_module("numpy")
    try:
        cuda: Any = import_module("numba.cuda")
        out = cuda.device_array(SIZE, numpy.float32)
        twice = cuda.jit(kernel_on(cuda))
        twice[1, SIZE](out)
        found = out.copy_to_host()
    except Exception as error:  # whatever it is, kernels cannot run
        return f"{type(error).__name__}: {' '.join(str(error).split())}"
    if found.tolist() != [2.0 * i for i in range(SIZE)]:
        return "a kernel of three lines gave wrong numbers"
    return ""


def kernel_on(cuda: Any) -> Any:
    """Return the kernel, as a plain function."""

    def twice(out: Any) -> None:
        i = cuda.grid(1)
        if i < out.size:
            out[i] = 2 * i

    return twice


def main() -> int:
    """Print the result; return the exit status."""
    import warnings

    warnings.simplefilter("ignore")  # such as that a grid of one block is small
    wrong = run()
    sys.stdout.write(f"{wrong or RAN}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
