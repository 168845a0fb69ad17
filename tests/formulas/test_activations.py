"""Every activation: its derivative, its limits, a NaN. A new row is tested by being there."""

import math
from collections.abc import Iterator

import pytest

import scalarviz as sv
from scalarviz.errors import InputError
from scalarviz.finite_differences import gradcheck
from scalarviz.formulas.activations import ACTIVATIONS
from scalarviz.formulas.table import Formula

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


def cube(x: float) -> float:
    return x * x * x


def cube_derivative(x: float, y: float) -> float:
    return 3.0 * x * x


@pytest.fixture
def table() -> Iterator[dict[str, Formula]]:
    """The table of activations, which is as before afterwards."""
    before = dict(ACTIVATIONS)
    yield ACTIVATIONS
    ACTIVATIONS.clear()
    ACTIVATIONS.update(before)


def test_an_activation_of_ones_own_is_known_by_its_name(table: dict[str, Formula]) -> None:
    assert gradcheck(sv.activation(cube, cube_derivative), 0.7).error < 1e-8
    net = sv.Network([1, 1], output="cube")
    net.bank.value[:] = [2.0, 0.0]
    assert net([1.5]) == 27.0
    assert gradcheck(net, [0.3]).checked == 3
    assert sv.Network([2, 3, 1], "cube").layers[0].activation == "cube"


def test_it_can_be_mended_under_the_same_name(table: dict[str, Formula]) -> None:
    sv.activation(cube, lambda x, y: 0.0)
    sv.activation(cube, cube_derivative)
    assert table["cube"].derivative(2.0, 8.0) == 12.0


def test_it_can_be_called_otherwise(table: dict[str, Formula]) -> None:
    assert sv.activation(cube, cube_derivative, name="third").name == "third"
    assert "third" in table and "cube" not in table


def test_an_activation_of_scalarviz_is_not_replaced(table: dict[str, Formula]) -> None:
    before = table["tanh"]
    with pytest.raises(InputError, match="'tanh' is one of scalarviz's own activations"):
        sv.activation(cube, cube_derivative, name="tanh")
    assert table["tanh"] is before


@pytest.mark.parametrize("name", ["<lambda>", "two words", "1st"])
def test_a_name_is_a_plain_word(name: str, table: dict[str, Formula]) -> None:
    with pytest.raises(InputError, match="pass name="):
        sv.activation(cube, cube_derivative, name=name)


def test_an_activation_is_two_functions() -> None:
    with pytest.raises(InputError, match="two functions"):
        sv.activation(cube, 3.0)
    with pytest.raises(InputError, match="not 'cube'"):
        sv.activation("cube", cube_derivative)
