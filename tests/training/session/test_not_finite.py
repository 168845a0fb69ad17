"""Numbers that are not finite, written directly into a bank: the next step names the weight."""

from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.errors import GradientError
from tests.wording import refused

NAME = "layer 0, perceptron 2, weight from input 1"
WAYS = pytest.mark.parametrize(
    ("optimizer", "number"),
    [(sv.SGD(0.5), np.nan), (sv.Adam(0.1, not_finite="zero"), np.nan), (sv.SGD(0.5), np.inf)],
)
ENGINES = pytest.mark.parametrize("engine", ["python", "cpu"])


def network() -> sv.Network:
    return sv.Network([3, 8, 3], "tanh", "sigmoid", seed=0)


@ENGINES
@WAYS
def test_a_session_names_the_weight_and_the_step_to_go_back_to(
    engine: str, optimizer: Any, number: float
) -> None:
    net = network()
    session = sv.Session(net, data.Rgb("invert"), "mse", optimizer, batch=8, engine=engine)
    session.advance(3)
    before = net.bank.value.copy()
    net.bank.value[7] *= number
    for unit in ("step", "operation"):
        with refused(GradientError, NAME, "net.bank.value[7]", "s.seek(3)"):
            session.advance(99, unit)
    session.seek(3)
    assert (net.bank.value == before).all()
    session.branch()
    session.advance(1)
    assert np.isfinite(session.loss)


def test_the_first_of_all_weights_is_named() -> None:
    net = network()
    net.bank.value *= np.nan
    session = sv.Session(net, data.Rgb("invert"), "mse", sv.SGD(0.5), batch=8, engine="python")
    with refused(GradientError, "layer 0, perceptron 0, weight from input 0", "s.seek(0)"):
        session.advance(2)


@ENGINES
@WAYS
def test_train_and_the_verbs_name_the_weight(engine: str, optimizer: Any, number: float) -> None:
    net = network().to(engine)
    inputs = np.full((4, 3), 0.5)
    net.bank.value[7] *= number
    with refused(GradientError, NAME, "net.bank.value[7]"):
        net.train(inputs, 1 - inputs, "mse", optimizer, steps=3)
    net.forward(inputs)
    net.backward(np.ones((4, 3)))
    with refused(GradientError, NAME):
        net.step(optimizer)
    net.bank.value[7] = 0.0
    assert np.isfinite(net.train(inputs, 1 - inputs, "mse", optimizer, steps=3)).all()


@pytest.mark.parametrize("number", [np.nan, -np.inf])
def test_every_caption_of_such_a_step_says_something(number: float) -> None:
    net = network()
    session = sv.Session(net, data.Rgb("invert"), "mse", sv.SGD(0.5), batch=8, engine="python")
    session.advance(3)
    net.bank.value[7] = number
    for _ in session.operations[:-1]:
        session.advance(1, "operation")
        for weight in (None, 7, 0):
            assert len(str(session.caption(weight))) > 20
        assert f"edited: 0.18 → {number} after step 3" in str(session.caption(7))
        assert str(number) in str(session.explain(7))
