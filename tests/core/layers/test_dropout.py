"""Dropout: random, but reproducible from the seed."""

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import InputError
from tests.strategies import RUNNABLE
from tests.wording import refused

ONES = np.ones((400, 25))


def test_a_share_of_the_numbers_is_left_out_and_the_others_make_up_for_it() -> None:
    y = sv.Dropout(25, 0.3).forward(ONES)
    assert set(y.ravel().tolist()) == {0.0, 1 / 0.7}
    assert abs((y == 0).mean() - 0.3) < 0.02  # 10,000 draws: more than 4 standard deviations
    assert abs(y.mean() - 1.0) < 0.03


def test_what_comes_back_is_left_out_at_the_same_places() -> None:
    layer = sv.Dropout(25, 0.3)
    y = layer.forward(ONES)
    assert (layer.backward(ONES) == y).all()


@pytest.mark.parametrize("engine", RUNNABLE)
def test_seed_step_sample_and_number_decide_and_nothing_else(engine: str) -> None:
    def network(seed: int) -> sv.Network:
        layers = [sv.Dropout(25), sv.Dropout(25)]
        return sv.Network(layers, seed=seed, dtype="float64", engine=engine)

    net = network(3)
    first = net.forward(ONES)
    assert (net.forward(ONES) == first).all()
    assert (network(3).forward(ONES) == first).all()
    assert (network(3).forward(ONES[:7]) == first[:7]).all()
    assert (network(4).forward(ONES) == 0).mean() != (first == 0).mean()
    assert abs((first == 0).mean() - 0.75) < 0.02  # the two layers draw apart
    net.bank.restart_count(1)
    assert (net.forward(ONES) != first).any()
    assert (net(ONES) == 1).all()


@pytest.mark.parametrize("rate", [1.0, -0.1, "half"])
def test_a_rate_is_a_share_below_1(rate: float) -> None:
    with refused(InputError, rate):
        sv.Dropout(3, rate)
