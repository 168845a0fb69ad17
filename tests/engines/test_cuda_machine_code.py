"""What a GPU would run: the linked machine code of the kernels, counted instruction by instruction.

PTX is not that yet: registers are given out, loops unrolled and indices computed after it.
"""

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

from scalarviz.engines.cuda import kernels, steps
from tests.engines.machine_code import (
    EVERY,
    IN_USE,
    NOT_ROUNDED,
    Loop,
    MachineCode,
    as_launched,
    linked,
    unit,
)

if importlib.util.find_spec("numba_cuda") is None:
    pytest.skip("numba-cuda is not available for this system or Python", allow_module_level=True)

MOST_REGISTERS = 255
MOST_A_PRODUCT = 2.5  # instructions for a multiply-add in a loop of products


def check(code: MachineCode) -> None:
    """What every kernel promises."""
    assert code.registers <= MOST_REGISTERS
    assert code.spilled == 0
    # A function of ours that is called, and not inlined, has few registers, and spills the others.
    assert not re.search(r"\.func\b.*_ZN\d+cuda_", code.ptx)
    # A sum by atomic additions has other bits in every run. The smallest bad row has not.
    smallest = code.count(r"\bATOMG\.E\.MIN\.S64|\bREDG\.E\.MIN\.S64")
    assert code.count(r"\b(ATOM|RED)G") == smallest
    # Loads by the cache for constants would not see what other blocks wrote before they met: only
    # the tables of sine and cosine may be read that way.
    constants = code.count(r"\bLDG\S*\.CONSTANT")
    assert constants == 0 or "__cudart_" in code.text
    # What is not rounded here could be fused with a sum, in one kernel and not in another.
    assert not NOT_ROUNDED.search(code.ptx)


def check_copies(copies: list[Loop]) -> None:
    """Four numbers are on their way before a thread waits for the first, without a division."""
    for loop in copies:
        assert loop.count(r"\bLDG") == loop.count(r"\bSTS") == loop.before(r"\bLDG", r"\bSTS") == 4
        assert len(loop.instructions) <= 90
        assert not loop.count(r"\bCALL|\bMUFU")


@pytest.mark.slow
def test_a_gpu_runs_what_is_counted_here(tmp_path: Path) -> None:
    """No option of numba has the kernel compiled once more, which would fuse products and sums."""
    used = unit(kernels.move_all, IN_USE)
    counted, launched = linked(used, "float32", tmp_path), as_launched(used, "float32", tmp_path)
    for operation in ("FFMA", "FMUL", "FADD", "DFMA", "DMUL", "DADD"):
        pattern = rf"\b{operation}\b"
        assert counted.count(pattern) == launched.count(pattern) > 0, operation


def test_products_take_few_instructions_in_whole_steps(tmp_path: Path) -> None:
    """Forward, gradients of the inputs, and of the weights: all from shared memory."""
    code = linked(unit(steps.train, IN_USE), "float32", tmp_path)
    check(code)
    # With all formulas it is 50,000 instructions and 200 registers.
    assert len(code.instructions) <= 17_300
    assert code.registers <= 170
    loops = [loop for loop in code.loops if loop.products >= 32]
    assert len(loops) >= 3 and not any(loop.count(r"\bLDG") for loop in loops)
    assert max(loop.per_product for loop in loops) <= MOST_A_PRODUCT
    # The first loop that writes to a block's memory copies the weights there.
    check_copies([loop for loop in code.loops if loop.count(r"\bSTS")][:1])
    # The gradients of the chunks are added in order, and loaded many at a time.
    sums = [loop for loop in code.loops if loop.count(r"\bLDG") == loop.count(r"\bFADD") >= 16]
    assert len(sums) == 1
    assert sums[0].before(r"\bLDG", r"\bFADD") >= 16


@pytest.mark.slow
@pytest.mark.parametrize(
    "function", [kernels.forward_all, kernels.input_gradient_all, kernels.parameter_gradients]
)
def test_products_take_few_instructions_in_products_of_matrices(
    function: Any, tmp_path: Path
) -> None:
    code = linked(unit(function, [("WHOLE_BATCH", "affine")]), "float32", tmp_path)
    check(code)
    loops = [loop for loop in code.loops if loop.count(r"\bLDS") and loop.products >= 16]
    assert loops and max(loop.per_product for loop in loops) <= MOST_A_PRODUCT
    assert code.registers <= 128  # so that a multiprocessor has room for two blocks
    copies = [loop for loop in code.loops if loop.count(r"\bSTS")]
    assert len(copies) >= 2  # of both factors
    check_copies(copies)


def test_a_kernel_of_one_formula_is_small(tmp_path: Path) -> None:
    rows = [("KERNELS", "activation"), ("WHOLE_BATCH", "activation"), ("ACTIVATIONS", "leaky_relu")]
    code = linked(unit(kernels.forward_all, rows), "float32", tmp_path)
    check(code)
    assert code.registers <= 48  # so that a multiprocessor has room for five blocks
    assert len(code.instructions) <= 1000
    assert not code.count(r"\b(MUFU.(EX2|LG2|TANH)|STS|LDS)")  # no other formula, no tile


CONVOLUTION = [("WHOLE_BATCH", "convolution")]


@pytest.mark.slow
def test_gradients_of_convolutions_are_products_of_matrices(tmp_path: Path) -> None:
    code = linked(unit(kernels.parameter_gradients, CONVOLUTION), "float32", tmp_path)
    check(code)
    products = [loop for loop in code.loops if loop.products]
    assert len(products) == 1
    assert products[0].count(r"\bLDS") and products[0].per_product <= MOST_A_PRODUCT
    loads = [loop for loop in code.loops if loop.count(r"\bLDG")]  # of both factors' parts
    assert len(loads) == 2
    assert max(len(each.instructions) / each.count(r"\bLDG") for each in loads) <= 20
    assert not any(loop.count(r"\bCALL") for loop in code.loops)  # divisions of 64 bits


@pytest.mark.slow
@pytest.mark.parametrize("function", [kernels.forward_all, kernels.input_gradient_all])
def test_outputs_and_inputs_of_convolutions_take_few_instructions(
    function: Any, tmp_path: Path
) -> None:
    code = linked(unit(function, CONVOLUTION), "float32", tmp_path)
    check(code)
    products = [loop for loop in code.loops if loop.products]
    two, one = sorted(products, key=lambda loop: -loop.products)
    assert two.products == 32 and two.per_product <= MOST_A_PRODUCT
    assert one.products == 16 and one.per_product <= 2.6  # the last of an odd number of channels
    assert not any(loop.count(r"\bCALL") for loop in code.loops)


@pytest.mark.slow
@pytest.mark.parametrize("function", [kernels.forward_all, kernels.input_gradient_all])
def test_loops_over_a_row_take_few_instructions(function: Any, tmp_path: Path) -> None:
    rows = [("KERNELS", "row"), ("WHOLE_BATCH", "row"), ("ROW_FORMULAS", "layer_norm")]
    code = linked(unit(function, rows), "float32", tmp_path)
    check(code)
    assert code.registers <= 128
    loops = [loop for loop in code.loops if loop.count(r"\bLDG")]  # unrolled four times
    assert len(loops) >= 3 and all(loop.count(r"\bLDG") in (4, 8) for loop in loops)
    assert max(len(loop.instructions) / loop.count(r"\bLDG") for loop in loops) <= 40


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("function", EVERY)
def test_a_kernel_with_all_formulas_has_registers_enough_and_adds_in_no_random_order(
    function: Any, dtype: Any, tmp_path: Path
) -> None:
    check(linked(unit(function), dtype, tmp_path))
