"""Compiles the kernels that quick tests need, before they begin, in one process a core.

    python -m tests.warm          compiles them
    python -m tests.warm SINCE    prints which others tests have compiled since then, in seconds

Each test compiles what is lacking by itself, in a process of its own for a kernel or two: starting
hundreds of these took longer than compiling.
"""

import re
import sys
import time

from scalarviz.base import kernel_files
from scalarviz.engines import every_kernel
from scalarviz.engines.codegen import compiling
from scalarviz.engines.codegen.kernel_units import Unit, path_of_unit

EVERY = 20.0  # seconds between two lines about how far it is
# Formulas that quick tests do not train on the engine cpu: those of all formulas leave them to
# make test-all.
SELDOM = frozenset(
    "celu exp gelu_tanh hard_sigmoid hard_tanh linear log_sigmoid log_softmax mape mish "
    "relative_l2 relu6 selu sin softsign warmup_cosine".split()
)
# What compiled functions of quick tests are made of.
OPERATIONS = frozenset(
    "equal,exp,greater,greater_equal,less,less_equal,log,maximum,minimum,minimum by 0,minimum by 1,"
    "multiply,multiply by 0,multiply by 1,not_equal,relu,sigmoid,sin,tanh,where,where by 1,"
    "where by 2".split(",")
)


def is_usual(unit: Unit, dtype: str) -> bool:
    """Whether quick tests need a kernel."""
    if unit.row is None or unit.name.startswith("cpu"):
        return getattr(unit.row, "name", "") not in SELDOM
    return dtype == "float64" and unit.row.name in OPERATIONS


def main() -> None:
    """Compile the usual kernels."""
    lacking = [each for each in every_kernel.lacking_kernels() if is_usual(*each)]
    told, paths = time.monotonic(), [path_of_unit(*each) for each in lacking]
    for done, count in every_kernel.compile_files(paths, compiling.start_child):
        if time.monotonic() - told > EVERY:
            told = time.monotonic()
            print(f"{done} of {count} kernels for the tests are compiled", flush=True)


def tell(since: float) -> None:
    """Print the kernels that were compiled since a moment."""
    files = kernel_files.cache_folder().glob("__pycache__/*")
    stems = {
        re.sub(r"_\w{20}\..*", "", each.name) for each in files if each.stat().st_mtime > since
    }
    names = stems & {f"{unit.name}_{dtype}" for unit, dtype in every_kernel.every_kernel()}
    if names:
        print(
            f"Tests compiled {len(names)} kernels one by one; tests/warm.py could:", *sorted(names)
        )


if __name__ == "__main__":
    tell(float(sys.argv[1])) if sys.argv[1:] else main()
