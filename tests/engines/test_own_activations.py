"""Activations that users add are available everywhere, and cannot break other kernels."""

import math
from collections.abc import Iterator
from typing import Any

import pytest

import scalarviz as sv
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.formula import Formula
from scalarviz.engines.codegen.kernel_units import source_of
from scalarviz.engines.cpu.table import every_unit
from scalarviz.errors import InputError
from scalarviz.training.network.gradcheck import gradcheck
from tests.wording import refused


def cube(x: float) -> float:
    return x * x * x


def cube_derivative(x: float, y: float) -> float:
    return 3.0 * x * x


def hurried_derivative(x: float, y: float) -> float:
    return x * x


FACTORS = {"cube": 3.0}


def looked_up(x: float, y: float) -> float:
    return FACTORS["cube"] * x * x


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
    sv.activation(cube, hurried_derivative, check=False)
    sv.activation(cube, cube_derivative)
    assert table["cube"].derivative(2.0, 8.0) == 12.0


def smooth(x: float) -> float:
    return x * math.tanh(math.log1p(math.exp(x)))


def bent(y: float) -> Any:  # its argument has the name of what the derivative takes besides
    return sv.where(y > 0.0, y, 0.1 * sv.minimum(y, 1.0))


def root(x: float) -> float:  # no number at the left, where nothing is compared
    return math.log(x)


def root_derivative(x: float, y: float) -> float:
    return 1.0 / x


def kink(x: float) -> float:
    return x if x > 0.0 else 0.0


@pytest.mark.parametrize("function", [cube, smooth, bent])
@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_a_derivative_is_found_by_itself(
    function: Any, engine: str, table: dict[str, Formula]
) -> None:
    name = sv.activation(function).name
    net = sv.Network([2, 5, 5, 1], name, dtype="float64", engine=engine, seed=1)
    assert gradcheck(net, [0.3, -0.2]).error < 1e-7
    other = net.copy()
    other.to("python" if engine == "cpu" else "cpu")
    losses = [each.train([[0.2, 0.7]], [[0.5]], "mse", "sgd", steps=3) for each in (net, other)]
    assert losses[0].tolist() == pytest.approx(losses[1].tolist(), rel=1e-12)


def test_a_wrong_derivative_is_refused_unless_it_is_wanted(table: dict[str, Formula]) -> None:
    with refused(InputError, "the derivative of cube at"):
        sv.activation(cube, hurried_derivative)
    assert "cube" not in table
    assert sv.activation(cube, hurried_derivative, check=False).derivative(2.0, 8.0) == 4.0
    assert sv.activation(root, root_derivative).derivative(2.0, 0.7) == 0.5
    with refused(InputError, "compares"):
        sv.activation(kink)


def test_it_can_be_called_otherwise(table: dict[str, Formula]) -> None:
    assert sv.activation(cube, cube_derivative, name="third").name == "third"
    assert "third" in table and "cube" not in table


def test_an_activation_of_scalarviz_is_not_replaced(table: dict[str, Formula]) -> None:
    before = table["tanh"]
    with refused(InputError, "'tanh'"):
        sv.activation(cube, cube_derivative, name="tanh")
    assert table["tanh"] is before


@pytest.mark.parametrize("name", ["two words", "1st", "class", 5])
def test_a_name_is_a_plain_word(name: Any, table: dict[str, Formula]) -> None:
    with refused(InputError, name):
        sv.activation(cube, cube_derivative, name=name)


def test_an_activation_is_two_functions() -> None:
    with refused(InputError, "3.0"):
        sv.activation(cube, 3.0)
    with refused(InputError, "'cube'"):
        sv.activation("cube", cube_derivative)


@pytest.mark.parametrize(
    ("value", "derivative", "shown"),
    [
        (cube, lambda x, y: 3.0 * x * x, "'<lambda>'"),
        (cube, looked_up, "FACTORS"),
        (math.sin, cube_derivative, None),
    ],
)
def test_what_no_kernel_can_be_made_from_is_refused_and_in_nobodys_way(
    value: Any, derivative: Any, shown: str | None, table: dict[str, Formula]
) -> None:
    if shown is None:
        assert sv.activation(value, derivative, name="wave", check=False).name == "wave"
        return
    with refused(InputError, shown):
        sv.activation(value, derivative)
    assert "cube" not in table
    assert all(source_of(unit, "float64").text for unit in every_unit())
