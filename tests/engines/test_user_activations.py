"""Activations that users add are available everywhere, and cannot break other kernels."""

import math
from collections.abc import Iterator
from typing import Any

import pytest

import scalarviz as sv
from scalarviz.engines.codegen.kernel_file import source
from scalarviz.engines.cpu import replicas_kernel
from scalarviz.errors import InputError
from scalarviz.formulas.activations import ACTIVATIONS
from scalarviz.formulas.table import Formula
from scalarviz.network.gradcheck import gradcheck


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
    sv.activation(cube, hurried_derivative)
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


@pytest.mark.parametrize("name", ["two words", "1st", "class", 5])
def test_a_name_is_a_plain_word(name: Any, table: dict[str, Formula]) -> None:
    with pytest.raises(InputError, match="pass name="):
        sv.activation(cube, cube_derivative, name=name)


def test_an_activation_is_two_functions() -> None:
    with pytest.raises(InputError, match="two functions"):
        sv.activation(cube, 3.0)
    with pytest.raises(InputError, match="not 'cube'"):
        sv.activation("cube", cube_derivative)


@pytest.mark.parametrize(
    ("value", "derivative", "what"),
    [
        (cube, lambda x, y: 3.0 * x * x, "write it with a plain def"),
        (cube, looked_up, "FACTORS, which is of the type dict"),
        (math.sin, cube_derivative, None),
    ],
)
def test_what_no_kernel_can_be_made_from_is_refused_and_in_nobodys_way(
    value: Any, derivative: Any, what: str | None, table: dict[str, Formula]
) -> None:
    if what is None:
        assert sv.activation(value, derivative, name="wave").name == "wave"
        return
    with pytest.raises(InputError, match=what):
        sv.activation(value, derivative)
    assert "cube" not in table
    assert source(replicas_kernel.__name__, "float64").text
