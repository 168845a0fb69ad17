"""Initializers: the distribution of every row."""

import math

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.core.formulas.initializers import INITIALIZERS
from scalarviz.errors import InputError, UnknownNameError
from tests.wording import refused

# For a layer 30 -> 20: the low and high of a uniform distribution, the deviation of a normal one.
UNIFORM = {
    "pytorch": math.sqrt(1 / 30),
    "xavier_uniform": math.sqrt(6 / 50),
    "he_uniform": math.sqrt(6 / 30),
    "lecun_uniform": math.sqrt(3 / 30),
    "uniform": 1.0,
}
NORMAL = {
    "xavier_normal": math.sqrt(2 / 50),
    "he_normal": math.sqrt(2 / 30),
    "lecun_normal": math.sqrt(1 / 30),
    "normal": 1.0,
}


def draw(init: str | sv.Init) -> tuple[np.ndarray, np.ndarray]:
    """The weights and biases of a layer 30 -> 20."""
    bank = sv.Network([30, 20], init=init, dtype="float64").bank
    return bank.value[:600], bank.value[600:]


def test_every_row_is_tested() -> None:
    assert set(INITIALIZERS) == {*UNIFORM, *NORMAL}


@pytest.mark.parametrize("name", UNIFORM)
def test_a_uniform_row_fills_its_range(name: str) -> None:
    weights, _ = draw(name)
    bound = UNIFORM[name]
    assert abs(weights).max() <= bound
    assert weights.max() > 0.98 * bound
    assert weights.min() < -0.98 * bound
    assert weights.std() == pytest.approx(bound / math.sqrt(3), rel=0.06)


@pytest.mark.parametrize("name", NORMAL)
def test_a_normal_row_has_its_deviation(name: str) -> None:
    weights, _ = draw(name)
    assert weights.std() == pytest.approx(NORMAL[name], rel=0.06)
    assert abs(weights).max() > 2.5 * NORMAL[name]


@pytest.mark.parametrize(
    ("init", "bound"),
    [
        ("pytorch", math.sqrt(1 / 30)),
        ("uniform", 1.0),
        (sv.Init("xavier_uniform", bias="fan_out"), math.sqrt(6 / 20)),  # neural shading
        (sv.Init("he_uniform", bias="fan_out"), math.sqrt(6 / 20)),  # the array network
        (sv.Init("he_uniform", bias="fan_in"), math.sqrt(1 / 30)),
        ("he_uniform", 0.0),
        ("normal", 0.0),
    ],
)
def test_the_biases_are_drawn_as_stated(init: str | sv.Init, bound: float) -> None:
    _, biases = draw(init)
    assert abs(biases).max() <= bound
    assert abs(biases).max() >= 0.8 * bound


def test_settings_move_the_distribution() -> None:
    weights, biases = draw(sv.Init("uniform", low=0.0, high=1.0, bias="zeros"))
    assert weights.min() > 0.0 and weights.max() < 1.0
    assert not biases.any()


def test_what_cannot_be_drawn_from_is_refused() -> None:
    with refused(UnknownNameError, "'xavier_unifrm'"):
        sv.Network([2, 2], init="xavier_unifrm")
    with refused(UnknownNameError, "'hi'"):
        sv.Init("uniform", hi=2.0)  # type: ignore[call-arg]  # on purpose
    with refused(UnknownNameError, "'mean'"):
        sv.Init("uniform", mean=2.0)
    with refused(UnknownNameError, "'fan'"):
        sv.Init("he_uniform", bias="fan")
    with refused(InputError, "low=2"):
        sv.Init("uniform", low=2.0, high=1.0)
    with refused(InputError, "deviation=-1"):
        sv.Init("normal", deviation=-1.0)
