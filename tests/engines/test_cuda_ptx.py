"""Every CUDA kernel compiles for the GPUs there are, and keeps what it promises, without a GPU."""

import importlib.util
import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

from scalarviz.engines.codegen import cuda_file
from scalarviz.engines.codegen.cuda_rounding import products_rounded
from tests.conftest import FakeDevice

if importlib.util.find_spec("numba_cuda") is None:
    pytest.skip("numba-cuda is not available for this system or Python", allow_module_level=True)

# How many kernels each template has.
TEMPLATES = {
    "scalarviz.engines.cuda.kernels": 15,
    "scalarviz.engines.cuda.steps": 4,
    "scalarviz.engines.cuda.expressions": 3,
}
GPUS = [(7, 5), (8, 0), (9, 0)]
NOT_ROUNDED = re.compile(r"\b(mul|add|sub|mad)\.f(32|64)\b")
TYPES: tuple[cuda_file.Dtype, ...] = ("float32", "float64")

# In `make test`, `test_cuda_machine_code.py` looks at the kernels with most of the work.
CASES = [
    pytest.param(
        template,
        dtype,
        gpu,
        id=f"{template.rpartition('.')[2]}-{dtype}-{gpu[0]}.{gpu[1]}",
        marks=pytest.mark.slow,
    )
    for template in TEMPLATES
    for dtype in TYPES
    for gpu in GPUS
]


def compiled(
    template: str, dtype: cuda_file.Dtype, gpu: tuple[int, int]
) -> Iterator[tuple[str, str]]:
    """The name and the PTX text of every kernel of a template."""
    from numba import cuda, types

    module = cuda_file.load(template, dtype)
    reals = getattr(types, dtype)[::1]
    kinds: dict[str, Any] = {
        "plan": types.int64[::1], "arena": reals, "data": reals, "scalars": types.float64[::1]
    }  # fmt: skip
    for name, kernel in vars(module).items():
        if hasattr(kernel, "py_func") and not kernel.targetoptions.get("device"):
            parameters = inspect.signature(kernel.py_func).parameters
            signature = tuple([kinds.get(parameter, types.int64) for parameter in parameters])
            with products_rounded():
                text, _ = cuda.compile_ptx(kernel.py_func, signature, cc=gpu)
            yield name, text


def pretend(gpu: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Device functions are compiled for one GPU, which they ask for, and then never again."""
    from numba.cuda import dispatcher

    monkeypatch.setattr(cuda_file, "_modules", {})
    monkeypatch.setattr(FakeDevice, "compute_capability", gpu)
    monkeypatch.setattr(dispatcher, "get_current_device", lambda: FakeDevice)


@pytest.mark.parametrize(("template", "dtype", "gpu"), CASES)
def test_every_kernel_compiles(
    template: str, dtype: cuda_file.Dtype, gpu: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(gpu, monkeypatch)
    texts = dict(compiled(template, dtype, gpu))
    assert len(texts) == TEMPLATES[template]
    for name, text in texts.items():
        assert f".target sm_{gpu[0]}{gpu[1]}" in text
        assert ".entry" in text, name
        # Atomic sums of floats would come in any order.
        assert not re.search(r"\b(atom|red)\S*\.(f16|f32|f64)\b", text), name
        # The cache for constants would not see what other blocks wrote before they met: only the
        # tables of sine and cosine may go through it.
        cached = re.findall(r"ld\.global\.nc\.(\S+)", text)
        assert set(cached) <= {"v2.f64", "u64", "u32"}, name
        tables = re.findall(r"mov\.u64\s+%rd\d+, __cudart_i2opi", text)
        assert len([kind for kind in cached if kind != "v2.f64"]) <= len(tables), name
        assert ("cudaCGSynchronize" in text) == (name == "train"), name
        # What is not rounded here, the next compiler could fuse with a sum, in one kernel of two.
        assert not NOT_ROUNDED.search(text), name


def test_no_product_of_a_draw_is_fused_with_a_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a point near the edge of a texel would see another one than on the other engines."""
    pretend(FakeDevice.compute_capability, monkeypatch)
    kernels = compiled(next(iter(TEMPLATES)), "float64", FakeDevice.compute_capability)
    draw = next(text for name, text in kernels if name == "draw_batch")
    added = re.findall(r"fma\.rn\.f64\s+.*, (\S+);", draw)
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
