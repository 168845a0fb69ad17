"""The PTX and the machine code of CUDA kernels.

What they promise, and the same bits for each formula.
"""

import re
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.layer_formulas import ROW_FORMULAS
from scalarviz.core.formulas.losses import LOSSES, ROW_LOSSES
from scalarviz.core.formulas.optimizers import OPTIMIZERS, SCHEDULES, no_constants
from scalarviz.engines.codegen import cuda_file
from scalarviz.engines.codegen.cuda_file import products_rounded
from scalarviz.engines.codegen.kernel_units import Dtype
from scalarviz.engines.cuda import kernels
from tests.engines.machine_code import (
    EVERY,
    GPU,
    IN_USE,
    NOT_ROUNDED,
    as_launched,
    fake_device,
    linked,
    ptx_of,
    unit,
)

pytest.importorskip("numba_cuda", reason="it is not available for this system or Python")

GPUS = [(7, 5), (8, 0), (9, 0)]


# In `make test`, `test_cuda_ptx.py` looks at the kernels with most of the work.
@pytest.mark.slow
@pytest.mark.parametrize("gpu", GPUS, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("function", EVERY)
def test_every_kernel_compiles(function: Any, dtype: Dtype, gpu: tuple[int, int]) -> None:
    text = ptx_of(unit(function), dtype, gpu)
    assert f".target sm_{gpu[0]}{gpu[1]}" in text
    assert ".entry" in text
    # Atomic sums of floats would come in any order.
    assert not re.search(r"\b(atom|red)\S*\.(f16|f32|f64)\b", text)
    # The cache for constants would not see what other blocks wrote before they met: only the
    # tables of sine and cosine may go through it.
    cached = re.findall(r"ld\.global\.nc\.(\S+)", text)
    assert set(cached) <= {"v2.f64", "u64", "u32"}
    tables = re.findall(r"mov\.u64\s+%rd\d+, __cudart_i2opi", text)
    assert len([kind for kind in cached if kind != "v2.f64"]) <= len(tables)
    assert ("cudaCGSynchronize" in text) == (function.__name__ == "train")
    # What is not rounded here, the next compiler could fuse with a sum, in one kernel of two.
    assert not NOT_ROUNDED.search(text)


def test_all_kernels_are_looked_at() -> None:
    assert len(EVERY) == 14


def test_no_product_of_a_draw_is_fused_with_a_sum() -> None:
    """Else a point near the edge of a texel would see another one than on the other engines."""
    added = re.findall(r"fma\.rn\.f64\s+.*, (\S+);", ptx_of(unit(kernels.draw_batch), "float64"))
    assert added == ["0d0000000000000000"] * 4


def test_products_are_fused_with_sums_where_nobody_forbids_it() -> None:
    from numba import cuda, types

    def formula(x: Any) -> None:
        x[0] = x[0] * x[1] + x[2]

    plain, _ = cuda.compile_ptx(formula, (types.float32[::1],), cc=(8, 0))
    with products_rounded():
        rounded, _ = cuda.compile_ptx(formula, (types.float32[::1],), cc=(8, 0))
    assert "fma" in plain
    assert "fma" not in rounded and not NOT_ROUNDED.search(rounded)
    assert NOT_ROUNDED.search("\tmul.f32 \t%f3, %f1, %f2;")


def test_the_check_for_atomic_sums_can_fail() -> None:
    from numba import cuda, types

    def add(numbers: Any) -> None:
        cuda.atomic.add(numbers, 0, numbers[1])

    text, _ = cuda.compile_ptx(add, (types.float32[::1],), cc=(8, 0))
    assert re.search(r"\b(atom|red)\S*\.(f16|f32|f64)\b", text)


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
QUICK_BOUNDS = 2


@pytest.mark.some(1)
@pytest.mark.parametrize(
    "bound",
    [
        *BOUNDS[:QUICK_BOUNDS],
        *[pytest.param(x, marks=pytest.mark.slow) for x in BOUNDS[QUICK_BOUNDS:]],
    ],
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


class Chosen(NamedTuple):
    """A function with the formulas of a table, in the file of a kernel, and a call of it.

    Attributes:
        call: of the function, as the body of a kernel; see `probe`
    """

    name: str
    kernel: Any
    table: str
    rows: dict[str, Any]
    call: str
    before: int = 0  # rows that are counted first
    dtype: str = "float32"


PLACES = tuple(np.uint64(n) for n in (0, 8, 16, 24, 32))
ONE = np.uint64(1)


def probe(call: str, f: Any, k: int) -> Any:
    """A kernel of the arrays `out` and `x` that calls a function with the index of a formula."""
    names = {"f": f, "k": k, "PLACES": PLACES, "ONE": ONE}
    exec(f"def kernel(out, x): {call}", names)
    return names["kernel"]


NUMBER, SLOPE = "out[0] = f(k, x[0])", "out[0] = f(k, x[0], x[1])"
ROW = "f(k, *PLACES[:3], out, ONE, 4, 8, x[20:], 1, 0, 1, x[4:11])"
ROW_BACK = "f(k, *PLACES, x, out, ONE, 4, 8, x[20:], 1, 0, 1, x[4:11])"
ERROR, ERROR_BACK = "out[0] = f(k, x[0:3], x[3:6])", "f(k, x[0:3], x[3:6], out)"
MOVE = "f(k, out[0:1], x[0], out[1:5], x[1:17])"
CONSTANTS, FACTOR = "f(k, x[0], x[1:9], out)", "out[0] = f(k, x[0], x[1:9])"
LATER, WIDE = len(LOSSES), "float64"
FORWARD, BACK = kernels.forward_all, kernels.input_gradient_all
ALL = [
    Chosen("activation_value", FORWARD, "ACTIVATIONS", {**ACTIVATIONS}, NUMBER),
    Chosen("activation_slope", BACK, "ACTIVATIONS", {**ACTIVATIONS}, SLOPE),
    Chosen("row_values", FORWARD, "ROW_FORMULAS", {**ROW_FORMULAS}, ROW),
    Chosen("row_gradients", BACK, "ROW_FORMULAS", {**ROW_FORMULAS}, ROW_BACK),
    Chosen("sample_error", kernels.sum_errors, "LOSSES", {**LOSSES}, ERROR),
    Chosen("sample_gradient", kernels.loss_gradient_all, "LOSSES", {**LOSSES}, ERROR_BACK),
    Chosen("sample_error", kernels.sum_errors, "ROW_LOSSES", {**ROW_LOSSES}, ERROR, LATER),
    Chosen(
        "sample_gradient", kernels.loss_gradient_all, "ROW_LOSSES", {**ROW_LOSSES}, ERROR_BACK,
        LATER,
    ),
    Chosen("move_one", kernels.move_all, "OPTIMIZERS", {**OPTIMIZERS}, MOVE),
    Chosen(
        "optimizer_constants", kernels.look_over, "OPTIMIZERS", {**OPTIMIZERS}, CONSTANTS, 0, WIDE
    ),
    Chosen("schedule_factor", kernels.look_over, "SCHEDULES", {**SCHEDULES}, FACTOR, 0, WIDE),
]  # fmt: skip
QUICK_ROWS = "leaky_relu", "cosine"
CASES = [
    pytest.param(
        each, name, id=f"{each.name}-{name}", marks=[] if name in QUICK_ROWS else pytest.mark.slow
    )
    for each in ALL
    for name in each.rows
]


@cache
def module_of(kernel: Any, rows: frozenset[tuple[str, str]] | None) -> ModuleType:
    return cuda_file.import_file(cuda_file.path_of_unit(unit(kernel, rows), "float32"))


def rows_with(table: str, name: str) -> frozenset[tuple[str, str]]:
    """The rows in use, with one row of a table in place of those that were."""
    kinds = {("KINDS_OF_LOSSES", table)} if "LOSSES" in table else set()
    if table == "ROW_FORMULAS":
        kinds = {("KERNELS", "row"), ("WHOLE_BATCH", "row")}
    tables = {table, *[each for each, _ in kinds]}
    return frozenset({each for each in IN_USE if each[0] not in tables} | kinds | {(table, name)})


def operations(kernel: Any, dtype: str) -> list[str]:
    """The operations on floating point numbers of a kernel, without the names of registers."""
    from numba import cuda, types

    numbers = getattr(types, dtype)[::1]
    with products_rounded():
        text, _ = cuda.compile_ptx(kernel, (numbers, numbers), cc=GPU)
    assert not NOT_ROUNDED.search(text)
    pattern = r"^\s+(?:@\S+\s+)?(st\.global\.\S+\s+.*|[a-z]+\.\S*f(?:16|32|64)\s+.*);"
    return [re.sub(r"%\w+", "%", line) for line in re.findall(pattern, text, re.MULTILINE)]


@pytest.mark.parametrize(("chosen", "name"), CASES)
def test_the_operations_of_a_formula_are_those_among_all_formulas(
    chosen: Chosen, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_device(monkeypatch)
    found = []
    for rows in (rows_with(chosen.table, name), None):
        function = getattr(module_of(chosen.kernel, rows), chosen.name)
        place = chosen.before + list(chosen.rows).index(name)
        found.append(operations(probe(chosen.call, function, place), chosen.dtype))
    assert found[0] == found[1]
    writes = chosen.name != "optimizer_constants" or OPTIMIZERS[name].constants is not no_constants
    assert any("st.global" in line for line in found[0]) == writes
