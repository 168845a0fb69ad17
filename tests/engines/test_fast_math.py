"""exp, tanh, sin, ... of kernels against numpy's in float64: how exact, and what at the limits."""

import math
from typing import Any

import numpy as np
import pytest

from scalarviz.core.formulas import elementary
from scalarviz.engines.codegen.kernel_source import versions
from scalarviz.engines.codegen.kernel_units import HEAD, Dtype, UnitWriter
from tests.engines.conftest import import_text

INF = math.inf

ERFC = np.vectorize(math.erfc)

# The function, numpy's, and over what range it is compared there.
RANGES = [
    ("exp", np.exp, -87.0, 88.0),
    ("exp", np.exp, -1e-3, 1e-3),
    ("expm1", np.expm1, -87.0, 88.0),
    ("expm1", np.expm1, -1e-3, 1e-3),
    ("tanh", np.tanh, -20.0, 20.0),
    ("tanh", np.tanh, -1e-3, 1e-3),
    ("log", np.log, 0.0, 3.0),
    ("log", np.log, 0.999, 1.001),
    ("log", np.log, 0.0, 1e30),
    ("log1p", np.log1p, -0.99, 2.0),
    ("log1p", np.log1p, -1e-3, 1e-3),
    ("log1p", np.log1p, 0.0, 1e30),
    ("erfc", ERFC, -6.0, 9.0),
]
# In units of the last place: tanh in float32 is wrong by 1.8e-7 at most. numpy's own results in
# float64 may be wrong by a unit, too.
BOUNDS = {"tanh": 1.5, "erfc": 4.5}

LIMITS = {
    "exp": [(1000.0, INF), (-1000.0, 0.0), (INF, INF), (-INF, 0.0), (0.0, 1.0)],
    "expm1": [(1000.0, INF), (-1000.0, -1.0), (INF, INF), (-INF, -1.0), (0.0, 0.0)],
    "tanh": [(1000.0, 1.0), (-1000.0, -1.0), (INF, 1.0), (-INF, -1.0), (0.0, 0.0)],
    "log": [(0.0, -INF), (INF, INF), (-1.0, math.nan), (-INF, math.nan), (1.0, 0.0)],
    "log1p": [(-1.0, -INF), (INF, INF), (-2.0, math.nan), (-INF, math.nan), (0.0, 0.0)],
    "erfc": [(1000.0, 0.0), (-1000.0, 2.0), (INF, 0.0), (-INF, 2.0)],
    "sin": [(INF, math.nan), (-INF, math.nan), (0.0, 0.0)],
    "cos": [(INF, math.nan), (-INF, math.nan), (0.0, 1.0)],
}

FILL = """
@numba.njit(fastmath=REORDERED, cache=True, **OPTIONS)
def fill_{name}(x, y):
    for i in range(len(x)):
        y[i] = {function}(x[i])
"""


class Functions:
    """The elementary functions of one type, in loops over arrays as in a kernel."""

    def __init__(self, dtype: Dtype) -> None:
        self.dtype = dtype
        writer = UnitWriter(dtype, None).formulas
        loops = [
            FILL.format(name=name, function=writer.name(getattr(elementary, name)))
            for name in LIMITS
        ]
        head = HEAD.format(versions=versions(), dtype=dtype)
        parts = [head, *writer.constants.values(), *writer.sources, *loops]
        self.module = import_text("\n\n".join(parts) + "\n", f"test_elementary_{dtype}")

    def __call__(self, name: str, x: Any) -> Any:
        x = np.asarray(x).astype(self.dtype)
        y = np.zeros_like(x)
        getattr(self.module, f"fill_{name}")(x, y)
        return y.astype(np.float64)


@pytest.fixture(scope="module", params=["float32", "float64"])
def functions(request: pytest.FixtureRequest) -> Functions:
    return Functions(request.param)


def points(functions: Functions, low: float, high: float) -> Any:
    x = np.random.default_rng(0).uniform(low, high, 20_001)
    return x.astype(functions.dtype).astype(np.float64)


@pytest.mark.parametrize(
    ("name", "exact", "low", "high"), RANGES, ids=[f"{n} {a:g} to {b:g}" for n, _, a, b in RANGES]
)
def test_a_function_is_right_to_the_last_place(
    functions: Functions, name: str, exact: Any, low: float, high: float
) -> None:
    x = points(functions, low, high)
    x = x[exact(x) != 0.0]
    error = np.abs(functions(name, x) / exact(x) - 1.0) / np.finfo(functions.dtype).eps
    assert error.max() < BOUNDS.get(name, 1.1) + (functions.dtype == "float64")


@pytest.mark.parametrize(("name", "exact"), [("sin", np.sin), ("cos", np.cos)])
@pytest.mark.parametrize("high", [3.2, 1000.0, 1e6])
def test_a_wave_is_right_far_out(functions: Functions, name: str, exact: Any, high: float) -> None:
    x = points(functions, -high, high)
    error = np.abs(functions(name, x) - exact(x)).max()
    assert error < 2.5 * np.finfo(functions.dtype).eps


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_a_wave_never_leaves_its_range(functions: Functions, name: str) -> None:
    x = np.array([1e7, 1e9, 1e20, 1e37, -1e12])
    assert (np.abs(functions(name, x)) <= 1.0 + 1e-6).all()


@pytest.mark.parametrize("name", LIMITS)
def test_the_limits_are_right(functions: Functions, name: str) -> None:
    x, expected = zip(*LIMITS[name], strict=True)
    assert functions(name, x) == pytest.approx(np.array(expected), rel=1e-6, nan_ok=True)


def test_the_logarithm_of_the_smallest_numbers(functions: Functions) -> None:
    x = 3e-41 if functions.dtype == "float32" else 3e-310
    assert functions("log", [x]) == pytest.approx(math.log(x), rel=1e-5)


@pytest.mark.parametrize("name", LIMITS)
def test_what_is_not_a_number_stays_so(functions: Functions, name: str) -> None:
    assert np.isnan(functions(name, [math.nan] * 40)).all()


def test_a_number_is_the_same_anywhere_in_an_array(functions: Functions) -> None:
    x = np.linspace(-3.0, 3.0, 37)
    for name in LIMITS:
        whole = functions(name, x)
        one_by_one = [functions(name, x[i : i + 1])[0] for i in range(len(x))]
        assert whole == pytest.approx(one_by_one, rel=1e-15, nan_ok=True), name
