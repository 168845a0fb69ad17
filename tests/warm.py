"""Compiles the kernels that tests need, before they begin, in one process a core.

    python -m tests.warm

Each test compiles what is lacking by itself, in a process of its own for a kernel or two: starting
hundreds of these took longer than compiling.
"""

import re
import time

from scalarviz.engines import every_kernel
from scalarviz.engines.codegen import compiling
from scalarviz.engines.codegen.kernel_units import path_of_unit

EVERY = 20.0  # seconds between two lines about how far it is
# Kernels that no quick test loads.
SELDOM = {
    "float64": re.compile(
        r"expression_(abs|add|celu|cos|divide|elu|erfc|gelu|gelu_tanh|hard_sigmoid|hard_swish"
        r"|leaky_relu|linear|log1p|log_sigmoid|mish|negate|power|relu6|relu_right|softplus|softsign"
        r"|sqrt|subtract|swish)(_back_.)?$|expression_(equal|greater|less|not_equal)\w*_back_.$"
        r"|cpu_\w+?_(hard_tanh|linear|log_sigmoid|softsign|log_softmax)_(forward|back)$"
    ),
    "float32": re.compile(
        r"expression|cpu_(concatenation|mape|relative_l2|warmup)|cpu_\w+?_(hard_tanh|linear"
        r"|log_sigmoid|softsign|log_softmax|celu|exp|gelu_tanh|hard_sigmoid|mish|relu6|selu|sin)"
        r"_(forward|back)$"
    ),
}


def main() -> None:
    """Compile the kernels that quick tests load, of expressions those for float64 alone."""
    lacking = [
        (unit, dtype)
        for unit, dtype in every_kernel.lacking_kernels()
        if not SELDOM[dtype].match(unit.name)
    ]
    paths = [path_of_unit(*each) for each in lacking]
    told = time.monotonic()
    for done, count in every_kernel.compile_files(paths, compiling.start_child):
        if time.monotonic() - told > EVERY:
            told = time.monotonic()
            print(f"{done} of {count} kernels for the tests are compiled", flush=True)


if __name__ == "__main__":
    main()
