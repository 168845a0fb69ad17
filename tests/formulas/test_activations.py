"""Every activation: its derivative, its limits, a NaN. A new row is tested by being there."""

import math

import pytest

from scalarviz.formulas.activations import ACTIVATIONS
from scalarviz.formulas.table import Formula
from scalarviz.network.gradcheck import gradcheck

every_activation = pytest.mark.parametrize("row", ACTIVATIONS.values(), ids=ACTIVATIONS)

# The value at -1000 and at 1000, and the derivative there.
LIMITS = {
    "linear": (-1000.0, 1000.0, 1.0, 1.0),
    "relu": (0.0, 1000.0, 0.0, 1.0),
    "relu_right": (0.0, 1000.0, 0.0, 1.0),
    "leaky_relu": (-10.0, 1000.0, 0.01, 1.0),
    "elu": (-1.0, 1000.0, 0.0, 1.0),
    "sigmoid": (0.0, 1.0, 0.0, 0.0),
    "tanh": (-1.0, 1.0, 0.0, 0.0),
    "softplus": (0.0, 1000.0, 0.0, 1.0),
    "swish": (0.0, 1000.0, 0.0, 1.0),
    "gelu": (0.0, 1000.0, 0.0, 1.0),
    "exp": (0.0, math.inf, 0.0, math.inf),
    "sin": (math.sin(-1000.0), math.sin(1000.0), math.cos(1000.0), math.cos(1000.0)),
}


@every_activation
@pytest.mark.parametrize("x", [-7.3, -2.0, -0.6, -0.01, 0.01, 0.4, 1.7, 6.1])
def test_the_derivative_agrees_with_finite_differences(row: Formula, x: float) -> None:
    assert gradcheck(row, x).error < 1e-6


@every_activation
def test_at_1000_there_is_the_right_limit_and_no_exception(row: Formula) -> None:
    assert row.name in LIMITS, f"add the limits of {row.name!r} to LIMITS"
    low, high = row.value(-1000.0), row.value(1000.0)
    slopes = row.derivative(-1000.0, low), row.derivative(1000.0, high)
    assert (low, high, *slopes) == pytest.approx(LIMITS[row.name], abs=1e-300)


@every_activation
def test_a_nan_comes_out_as_a_nan(row: Formula) -> None:
    assert math.isnan(row.value(math.nan))


@pytest.mark.parametrize(("name", "slope"), [("relu", 0.0), ("relu_right", 1.0)])
def test_the_two_relus_differ_in_their_derivative_at_0(name: str, slope: float) -> None:
    assert ACTIVATIONS[name].derivative(0.0, 0.0) == slope


def test_leaky_relu_leaks_a_hundredth() -> None:
    assert ACTIVATIONS["leaky_relu"].value(-3.0) == -0.03
