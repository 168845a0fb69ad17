"""What a GPU would run: the linked machine code of the kernels, its registers and instructions.

PTX is not that yet: registers are given out, loops unrolled and indices computed after it. What
kernels compute is tested by interpreting PTX; `benchmarks.cuda_compile` prints their loops.
"""

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

from scalarviz.engines.cuda import kernels
from tests.engines.machine_code import IN_USE, as_launched, linked, unit

if importlib.util.find_spec("numba_cuda") is None:
    pytest.skip("numba-cuda is not available for this system or Python", allow_module_level=True)

AFFINE = [("WHOLE_BATCH", "affine")]
CONVOLUTION = [("WHOLE_BATCH", "convolution")]
ONE_FORMULA = [
    ("KERNELS", "activation"), ("WHOLE_BATCH", "activation"), ("ACTIVATIONS", "leaky_relu")
]  # fmt: skip
LAYER_NORM = [("KERNELS", "row"), ("WHOLE_BATCH", "row"), ("ROW_FORMULAS", "layer_norm")]
# A kernel, the rows of tables that it is for, and its most instructions and registers: up to 128 a
# multiprocessor has room for two blocks, up to 48 for five. Products of matrices need more for what
# is on its way while they are added up: held to 128, a step was a third slower on an H200. With all
# formulas `train` has 48,360 instructions and 175 registers.
BOUNDS: list[tuple[Any, list[tuple[str, str]], int, int]] = [
    (kernels.train, IN_USE, 18_150, 168),
    (kernels.forward_all, ONE_FORMULA, 1_000, 48),
    (kernels.forward_all, AFFINE, 2_300, 232),
    (kernels.input_gradient_all, AFFINE, 2_400, 232),
    (kernels.parameter_gradients, AFFINE, 2_900, 168),
    (kernels.forward_all, CONVOLUTION, 1_600, 128),
    (kernels.input_gradient_all, CONVOLUTION, 1_900, 128),
    (kernels.parameter_gradients, CONVOLUTION, 4_500, 160),
    (kernels.forward_all, LAYER_NORM, 4_400, 128),
    (kernels.input_gradient_all, LAYER_NORM, 3_150, 128),
]
QUICK = 2


@pytest.mark.some(1)
@pytest.mark.parametrize(
    "bound", [*BOUNDS[:QUICK], *[pytest.param(x, marks=pytest.mark.slow) for x in BOUNDS[QUICK:]]]
)
def test_a_kernel_has_few_instructions_and_registers_enough(bound: Any, tmp_path: Path) -> None:
    function, rows, instructions, registers = bound
    code = linked(unit(function, rows), "float32", tmp_path)
    assert len(code.instructions) <= instructions
    assert code.registers <= registers
    assert code.spilled == 0
    # A function of ours that is called, and not inlined, has few registers, and spills the others.
    assert not re.search(r"\.func\b.*_ZN\d+cuda_", code.ptx)


@pytest.mark.slow
def test_a_gpu_runs_what_is_counted_here(tmp_path: Path) -> None:
    """No option of numba has the kernel compiled once more, which would fuse products and sums."""
    used = unit(kernels.move_all, IN_USE)
    counted, launched = linked(used, "float32", tmp_path), as_launched(used, "float32", tmp_path)
    for operation in ("FFMA", "FMUL", "FADD", "DFMA", "DMUL", "DADD"):
        pattern = rf"\b{operation}\b"
        assert counted.count(pattern) == launched.count(pattern) > 0, operation
