"""Every CUDA kernel compiles for the GPUs there are, and keeps what it promises, without a GPU."""

import importlib.util
import re
from typing import Any

import pytest

from scalarviz.engines.codegen.cuda_file import products_rounded
from scalarviz.engines.codegen.kernel_units import Dtype
from scalarviz.engines.cuda import kernels
from tests.engines.machine_code import EVERY, NOT_ROUNDED, ptx_of, unit

if importlib.util.find_spec("numba_cuda") is None:
    pytest.skip("numba-cuda is not available for this system or Python", allow_module_level=True)

GPUS = [(7, 5), (8, 0), (9, 0)]


# In `make test`, `test_cuda_machine_code.py` looks at the kernels with most of the work.
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
    text = ptx_of(unit(kernels.draw_batch), "float64")
    added = re.findall(r"fma\.rn\.f64\s+.*, (\S+);", text)
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
