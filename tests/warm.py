"""Compiles the kernels that tests need, before they begin, in one process a core.

    python -m tests.warm

Each test compiles what is lacking by itself, in a process of its own for a kernel or two: starting
hundreds of these took longer than compiling.
"""

import time

from scalarviz.engines import every_kernel
from scalarviz.engines.codegen import compiling
from scalarviz.engines.codegen.kernel_units import path_of_unit

EVERY = 20.0  # seconds between two lines about how far it is


def main() -> None:
    """Compile all kernels of the cpu engine; those of expressions for float64 alone."""
    lacking = [
        (unit, dtype)
        for unit, dtype in every_kernel.lacking_kernels()
        if unit.name.startswith("cpu") or dtype == "float64"
    ]
    paths = [path_of_unit(*each) for each in lacking]
    told = time.monotonic()
    for done, count in every_kernel.compile_files(paths, compiling.start_child):
        if time.monotonic() - told > EVERY:
            told = time.monotonic()
            print(f"{done} of {count} kernels for the tests are compiled", flush=True)


if __name__ == "__main__":
    main()
