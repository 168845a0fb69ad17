"""Every activation: its derivative, limits and NaN, for all rows of the table."""

import math
import operator

import pytest
from mpmath import mp, mpf

from scalarviz.core.formulas.activations import ACTIVATIONS, ActivationFormula
from scalarviz.core.formulas.formula import ELEMENTARY, Formula, Target
from scalarviz.training.network.gradcheck import gradcheck

every_activation = pytest.mark.parametrize("row", ACTIVATIONS.values(), ids=ACTIVATIONS)

# The formulas as they stand, computed to fifty digits.
mp.dps = 50
FUNCTIONS = {name: getattr(mp, name) for name in ELEMENTARY if hasattr(mp, name)}
TO_FIFTY_DIGITS = Target(
    {**FUNCTIONS, "divide": operator.truediv, "power": operator.pow}, number=mpf
)


@every_activation
def test_the_derivative_agrees_with_finite_differences(row: Formula) -> None:
    for x in (-7.3, -2.0, -0.6, -0.01, 0.01, 0.4, 1.7, 6.1):
        assert gradcheck(row, x).error < 1e-6, x


@every_activation
def test_the_formula_and_its_derivative_are_right_to_twelve_digits(row: Formula) -> None:
    exact = TO_FIFTY_DIGITS.retarget(row.value)
    for x in (-30.0, -7.3, -2.0, -0.6, -1e-3, 1e-3, 0.4, 1.7, 6.1, 30.0):
        y = row.value(x)
        assert y == pytest.approx(float(exact(mpf(x))), rel=1e-12, abs=1e-300)
        slope = float(mp.diff(exact, mpf(x)))
        assert row.derivative(x, y) == pytest.approx(slope, rel=1e-12, abs=1e-15)


LIMITED = [row for row in ACTIVATIONS.values() if row.limits]


@pytest.mark.parametrize("row", LIMITED, ids=lambda row: row.name)
def test_at_1000_is_the_limit_of_the_row(row: ActivationFormula) -> None:
    low, high = row.value(-1000.0), row.value(1000.0)
    slopes = row.derivative(-1000.0, low), row.derivative(1000.0, high)
    assert (low, high, *slopes) == pytest.approx(row.limits, abs=1e-300)


@every_activation
@pytest.mark.parametrize("x", [-1000.0, 1000.0])
def test_at_1000_there_is_a_number_and_no_exception(row: Formula, x: float) -> None:
    y = row.value(x)
    assert not math.isnan(y) and not math.isnan(row.derivative(x, y))
