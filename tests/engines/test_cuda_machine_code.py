"""What a GPU would run: the linked machine code of the kernels, counted instruction by instruction.

PTX is not that yet: registers are given out, loops unrolled and indices computed after it.
"""

import importlib.util
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from scalarviz.engines.cuda import table
from scalarviz.formulas.activations import ACTIVATIONS
from scalarviz.formulas.losses import LOSSES, ROW_LOSSES
from scalarviz.formulas.optimizers import OPTIMIZERS
from scalarviz.formulas.rowwise import ROW_FORMULAS
from scalarviz.formulas.schedules import SCHEDULES
from tests.engines.machine_code import MachineCode, linked

if importlib.util.find_spec("numba_cuda") is None:
    pytest.skip("numba-cuda is not available for this system or Python", allow_module_level=True)

KERNELS = "scalarviz.engines.cuda.kernels"
EXPRESSIONS = "scalarviz.engines.cuda.expressions"
STEPS = "scalarviz.engines.cuda.steps"
MOST_REGISTERS = 255
ALL = {
    KERNELS: [
        "draw_batch", "gather_all", "forward_all", "sum_errors", "loss_all", "loss_gradient_all",
        "keep_upstream", "parameter_gradients", "add_all", "gather_back_all", "input_gradient_all",
        "clear_all", "round_weights", "look_over", "move_all",
    ],
    EXPRESSIONS: ["expression_forward", "expression_backward", "expression_sums"],
    STEPS: ["train", "samples_alone", "sums_alone", "squares_alone"],
}  # fmt: skip
EVERY = [(template, name) for template, names in ALL.items() for name in names]
MOST_A_PRODUCT = 2.5  # instructions for a multiply-add in a loop of products

# Formulas that a quick test compiles: the time for all of them is that of all formulas.
FEW: list[tuple[dict[str, Any], set[str]]] = [
    (ACTIVATIONS, {"leaky_relu", "sigmoid"}),
    (LOSSES, {"mse"}),
    (ROW_LOSSES, {"softmax_cross_entropy"}),
    (OPTIMIZERS, {"adam"}),
    (SCHEDULES, {"constant"}),
    (ROW_FORMULAS, {"softmax"}),
    (table.KERNELS, {"affine", "activation"}),
    (table.WHOLE_BATCH, {"affine", "activation"}),
]


@pytest.fixture
def few_formulas() -> Iterator[None]:
    with ExitStack() as stack:
        for rows, names in FEW:
            stack.enter_context(patch.dict(rows))  # which puts all back in their order
            for name in set(rows) - names:
                del rows[name]
        yield


def check(code: MachineCode) -> None:
    """What every kernel promises."""
    assert code.registers <= MOST_REGISTERS
    assert code.spilled == 0
    # A sum by atomic additions has other bits in every run. The smallest bad row has not.
    smallest = code.count(r"\bATOMG\.E\.MIN\.S64|\bREDG\.E\.MIN\.S64")
    assert code.count(r"\b(ATOM|RED)G") == smallest
    # Loads by the cache for constants would not see what other blocks wrote before they met: only
    # the tables of sine and cosine may be read that way.
    constants = code.count(r"\bLDG\S*\.CONSTANT")
    assert constants == 0 or "__cudart_" in code.text
    # What is not rounded here could be fused with a sum, in one kernel and not in another.
    assert not re.search(r"\b(mul|add|sub|mad)\.f(32|64)\b", code.ptx)


@pytest.mark.usefixtures("few_formulas")
def test_products_take_few_instructions_in_whole_steps(tmp_path: Path) -> None:
    """With the weights in shared memory: forward, gradients of the inputs, and of the weights."""
    code = next(linked(STEPS, "float32", ["train"], tmp_path))
    check(code)
    loops = [loop for loop in code.loops if loop.products >= 32 and not loop.count(r"\bLDG")]
    assert len(loops) >= 3
    assert max(loop.per_product for loop in loops) <= MOST_A_PRODUCT
    # With the weights in the memory of the GPU: each load takes two more instructions.
    others = [loop for loop in code.loops if loop.count(r"\bLDG") >= 16 <= loop.products]
    assert others and max(loop.per_product for loop in others) <= 3.0
    # The gradients of the chunks are added in order, and loaded many at a time.
    sums = [loop for loop in code.loops if loop.count(r"\bLDG") == loop.count(r"\bFADD") == 16]
    assert len(sums) == 1
    assert sums[0].before(r"\bLDG", r"\bFADD") >= 8


@pytest.mark.usefixtures("few_formulas")
def test_products_take_few_instructions_in_products_of_matrices(tmp_path: Path) -> None:
    for code in linked(KERNELS, "float32", ["parameter_gradients"], tmp_path):
        check(code)
        loops = [loop for loop in code.loops if loop.count(r"\bLDS") and loop.products >= 16]
        assert loops and max(loop.per_product for loop in loops) <= MOST_A_PRODUCT


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("template", "name"), EVERY, ids=[name for _, name in EVERY])
def test_a_kernel_has_registers_enough_and_adds_in_no_random_order(
    template: str, name: str, dtype: Any, tmp_path: Path
) -> None:
    check(next(linked(template, dtype, [name], tmp_path)))
