"""A perceptron: weights, a sum, a bias, an activation."""

import math

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import (
    GradientError,
    InputError,
    UnknownNameError,
)
from tests.wording import refused

X = [1.0, 1.0]


def make(activation: str = "tanh") -> sv.Perceptron:
    p = sv.Perceptron(2, activation)
    p.weights[0].value, p.weights[1].value, p.bias.value = 2.0, -1.0, 0.5  # type: ignore[union-attr]  # of a layer that has it
    return p


def test_a_call_gives_the_same_and_keeps_nothing() -> None:
    p = make()
    assert p([0.3, 0.4]) == p.forward([0.3, 0.4])
    assert p.unmatched == 1


def test_backward_is_the_chain_rule() -> None:
    p = make()
    y = p.forward([0.3, 0.4])
    delta = 2.0 * (1.0 - y * y)
    assert p.backward(2.0) == pytest.approx([2.0 * delta, -1.0 * delta])
    assert [w.grad for w in p.parts] == pytest.approx([0.3 * delta, 0.4 * delta, delta])


@pytest.mark.parametrize("activation", ["sigmoid", "swish", "relu", "sin"])
def test_its_gradients_agree_with_finite_differences(activation: str) -> None:
    assert sv.gradcheck(make(activation), [0.3, 0.4]).checked == 5


def test_the_bias_is_a_weight() -> None:
    bias = make().bias
    assert isinstance(bias, sv.Weight)
    assert bias.name == "bias"


def test_it_can_do_without_a_bias() -> None:
    p = sv.Perceptron(2, bias=False)
    assert p.bias is None
    assert p([0.0, 0.0]) == 0.0


@pytest.mark.parametrize("upstream", [math.inf, -math.inf, math.nan])
def test_a_gradient_that_is_not_finite_goes_back_at_every_level(upstream: float) -> None:
    """A step then names the weight and refuses."""
    net = sv.Network([2, 1], seed=0)
    perceptron, weight = sv.Perceptron(2), sv.Weight(0.5)
    for part, x in ((weight, 1.0), (perceptron, [1.0, 1.0]), (sv.Dense(2, 1), X), (net, X)):
        part.forward(x)  # type: ignore[attr-defined]  # each of them has it
        part.backward(upstream if part in (weight, perceptron) else [upstream])  # type: ignore[attr-defined]  # each of them has it
        assert not np.isfinite(part.bank.grad).any()
        with refused(GradientError, upstream):
            part.step()


def test_what_cannot_be_made_is_refused() -> None:
    with refused(InputError, "0"):
        sv.Perceptron(0)
    with refused(UnknownNameError, "'tanhh'"):
        sv.Perceptron(2, "tanhh")
