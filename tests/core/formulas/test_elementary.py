"""exp, log, ... never raise: they give what a processor gives."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalarviz.core.formulas import elementary

ANY_FLOAT = st.floats(allow_nan=True, allow_infinity=True) | st.sampled_from(
    [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, 0.5, 1e308, -1e308]
)
ON_ARRAYS = {
    name: getattr(np, name)
    for name in ("exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tanh", "divide", "power")
}


def same(a: float, b: float) -> bool:
    return (math.isnan(a) and math.isnan(b)) or a == pytest.approx(b, rel=1e-14, abs=1e-14)


@pytest.mark.parametrize("name", [name for name in ON_ARRAYS if name not in ("divide", "power")])
@given(x=ANY_FLOAT)
def test_a_function_agrees_with_numpy_everywhere(name: str, x: float) -> None:
    with np.errstate(all="ignore"):
        expected = float(ON_ARRAYS[name](np.float64(x)))
    assert same(getattr(elementary, name)(x), expected)


@pytest.mark.parametrize("name", ["divide", "power"])
@given(x=ANY_FLOAT, y=ANY_FLOAT)
def test_division_and_powers_agree_with_numpy_everywhere(name: str, x: float, y: float) -> None:
    with np.errstate(all="ignore"):
        expected = float(ON_ARRAYS[name](np.float64(x), np.float64(y)))
    assert same(getattr(elementary, name)(x, y), expected)
