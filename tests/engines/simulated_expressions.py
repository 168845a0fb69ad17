"""Compiled expressions on the cuda engine in numba's simulator; run by `test_cuda.py`."""

from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.engines import registry
from scalarviz.engines.codegen.dispatch import BINARY, TERNARY, UNARY
from scalarviz.errors import OrderError
from scalarviz.model.trace import record
from tests.engines.simulator import TOLERANCE, difference, numbers
from tests.wording import refused


def pair(function: Any, inputs: int, dtype: str = "float64") -> list[Any]:
    """The same function on the engines python and cuda, each with Values of its own."""
    return [
        sv.compile(function(sv.Value(0.7), sv.Value(-0.4)), inputs, dtype=dtype, engine=engine)
        for engine in ("python", "cuda")
    ]


def agree(plain: Any, fast: Any, x: Any, near: float) -> None:
    """Outputs and gradients are the same."""
    assert difference(plain(x), fast(x)) < near
    assert difference(plain.forward(x), fast.forward(x)) < near
    upstream = numbers(len(x), plain.outputs)
    assert difference(plain.backward(upstream), fast.backward(upstream)) < near
    assert difference(plain.bank.grad, fast.bank.grad) < near


def all_operations(a: sv.Value, b: sv.Value) -> Any:
    """Every operation of Values, on numbers that suit them."""

    def function(x: Any, y: Any) -> list[Any]:
        near, above = 0.5 + 0.1 * (a * x).tanh(), 1.5 + 0.1 * (b * y).tanh()
        results = [record(name, above if name == "acosh" else near) for name in UNARY]
        results += [record(name, above, near) for name in BINARY]
        return [*results, *[record(name, x, near, above) for name in TERNARY]]

    return function


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_operation(dtype: str) -> None:
    plain, fast = pair(all_operations, 2, dtype)
    assert fast.engine == "cuda"
    agree(plain, fast, 0.3 * numbers(7, 2), 10 * TOLERANCE[dtype])


def several(a: sv.Value, b: sv.Value) -> Any:
    return lambda x, y: [a * x * x + b, (x + y + 2.0) * a]


def test_an_operand_that_is_used_twice_and_outputs_of_one_sample() -> None:
    plain, fast = pair(several, 2)
    agree(plain, fast, numbers(1, 2), TOLERANCE["float64"])
    with refused(OrderError):
        fast.backward([[1.0, 1.0]])


def test_a_training() -> None:
    plain, fast = pair(several, 2)
    x, t = numbers(9, 2), numbers(9, 2) ** 2
    for _ in range(3):
        losses = [each.train_step(x, t, "mse", sv.Adam(0.1)) for each in (plain, fast)]
        assert losses[1] == pytest.approx(losses[0])
    assert difference(plain.bank.value, fast.bank.value) < 1e-9
    assert fast.bank.step_count == 3


def test_auto_is_not_cuda() -> None:
    assert registry.choose("auto", registry.LARGE).name == "cuda"
    assert registry.choose_for_expression("auto").name == "cpu"
    assert registry.choose_for_expression("cuda").name == "cuda"
    assert isinstance(
        np.asarray(sv.compile(lambda x: x * x, 1, engine="cuda")([[2.0]])), np.ndarray
    )
