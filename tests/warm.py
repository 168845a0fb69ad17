"""Compile the kernels required by quick tests in advance, with one process per core.

    python -m tests.warm          compiles them
    python -m tests.warm SINCE    prints the kernels compiled since then by tests, in seconds

Without this, each test compiles missing kernels in a separate process for one or two: starting
hundreds of these took longer than compiling.
"""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from scalarviz.base import kernel_files
from scalarviz.engines import every_kernel
from scalarviz.engines.codegen import compiling
from scalarviz.engines.codegen.kernel_units import Dtype, Unit, is_ready, path_of_unit
from scalarviz.engines.wasm.module import module_of, units_of_pages

EVERY = 20.0  # seconds between two progress lines
FEW = 8  # kernels for which another process does not pay off
# Formulas not trained by quick tests on the cpu engine: those of all formulas leave them to make
# test-all.
SELDOM = frozenset(
    "celu exp gelu_tanh hard_sigmoid hard_tanh hardshrink linear log_sigmoid log_softmax mape mish "
    "relative_l2 relu6 selu sin softshrink softsign warmup_cosine".split()
)
DRAWN = frozenset("celu hard_sigmoid mish relu6".split())  # of these, by random networks
# Kernels that quick tests need only for the other type.
FOR_OTHER_TYPE = {
    "float32": "activation_hard_swish|concatenation",
    "float64": "parametric_prelu|round_|row_spread|wide_affine_.*on_all_cores",
}
# Parts of compiled functions in quick tests.
OPERATIONS = frozenset(
    "equal,exp,greater,greater_equal,less,less_equal,log,maximum,maximum by 0,minimum,minimum by 0,"
    "minimum by 1,multiply,multiply by 0,multiply by 1,not_equal,relu,sigmoid,sin,tanh,where,"
    "where by 1,where by 2".split(",")
)
# Patterns of the page kernels in quick tests: those of nearly all, and others.
ALL_PAGES = (
    "activation_(sigmoid|tanh)|adam_|add_chunks|affine|chunk_work|constant_rate|draw_shuffled|move$|"
    "mse|pass_on_one_core|run_passes|sgd|train$"
)
PAGES: dict[Dtype, str] = {
    "float32": "convolution|draw_in_order|momentum|round_|step_rate",
    "float64": "draw_picked|softmax_cross_entropy",
}


def is_usual(unit: Unit, dtype: str) -> bool:
    """Return whether quick tests need a kernel."""
    name = getattr(unit.row, "name", "")
    if re.match(f"cpu_({FOR_OTHER_TYPE[dtype]})", unit.name):
        return False
    if unit.row is None or unit.name.startswith("cpu"):
        return name not in SELDOM or (dtype == "float64" and name in DRAWN)
    return dtype == "float64" and name in OPERATIONS


def main() -> None:
    """Compile the usual kernels, and page kernels."""
    usual = [each for each in every_kernel.every_kernel() if is_usual(*each)]
    paths = [path_of_unit(*each) for each in usual if not is_ready(*each)]
    workers = min(os.cpu_count() or 1, -(-len(paths) // FEW))
    going = []
    for k in range(workers):  # two from both ends of a part; each skips finished ones
        part = paths[k // 2 :: (workers + 1) // 2]
        going.append(compiling.start_child(part[:: (-1) ** k]))
    # Modules of pages at the same time, since their processes start and end individually.
    with ThreadPoolExecutor() as pages:
        made = pages.map(make_page_module, PAGES)
        for child in going:
            while child.poll() is None:
                with suppress(subprocess.TimeoutExpired):
                    child.wait(EVERY)
                done = every_kernel.count_compiled(paths)
                print(f"{done} of {len(paths)} kernels for the tests are compiled", flush=True)
        list(made)  # raises errors


def make_page_module(dtype: Dtype) -> None:
    """Compile the kernels of pages in one type."""
    kernels = re.compile(f"cpu_({PAGES[dtype]}|{ALL_PAGES})")
    module_of([unit for unit in units_of_pages() if kernels.match(unit.name)], dtype)


def tell(since: float) -> None:
    """Print the kernels compiled since a given time."""
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
