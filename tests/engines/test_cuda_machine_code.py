"""What a GPU would run: the linked machine code of the kernels, counted instruction by instruction.

PTX is not that yet: registers are given out, loops unrolled and indices computed after it.
"""

import importlib.util
from pathlib import Path

import pytest

from tests.engines.machine_code import linked

if importlib.util.find_spec("numba_cuda") is None:
    pytest.skip("numba-cuda is not available for this system or Python", allow_module_level=True)

KERNELS = "scalarviz.engines.cuda.kernels"
STEPS = "scalarviz.engines.cuda.steps"
MOST_REGISTERS = 255
ALL = {
    KERNELS: [
        "draw_batch", "gather_all", "forward_all", "sum_errors", "loss_all", "loss_gradient_all",
        "keep_upstream", "parameter_gradients", "add_all", "gather_back_all", "input_gradient_all",
        "clear_all", "round_weights", "look_over", "move_all",
    ],
    STEPS: ["train", "samples_alone", "sums_alone", "squares_alone"],
}  # fmt: skip
EVERY = [(template, name) for template, names in ALL.items() for name in names]
QUICK = {"add_all", "look_over"}


@pytest.mark.parametrize(
    ("template", "name"),
    [
        pytest.param(*each, marks=() if each[1] in QUICK else pytest.mark.slow, id=each[1])
        for each in EVERY
    ],
)
def test_a_kernel_has_registers_enough_and_adds_in_no_random_order(
    template: str, name: str, tmp_path: Path
) -> None:
    code = next(linked(template, "float32", [name], tmp_path))
    assert code.registers <= MOST_REGISTERS
    assert code.spilled == 0
    # A sum by atomic additions has other bits in every run. The smallest bad row has not.
    assert code.count(r"\b(ATOM|RED)") == code.count(r"\bATOMG\.E\.MIN\.S64|\bREDG\.E\.MIN\.S64")
    # Loads by the cache for constants would not see what other blocks wrote before they met: only
    # the tables of sine and cosine may be read that way.
    constants = code.count(r"\bLDG\S*\.CONSTANT")
    assert constants == 0 or "__cudart_" in code.text
