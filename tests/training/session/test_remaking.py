"""Sessions of a network with other initial weights, or with or without biases."""

from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.errors import InputError
from tests.sessions import advanced
from tests.training.session.test_growing import COLOURS, numbers, trained
from tests.wording import refused


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_weights_are_drawn_anew_but_for_frozen_ones(engine: str) -> None:
    s = trained(engine)
    s.set_rate(40, 0.5)
    s.pin(41)
    before = numbers(s)
    drawn = sv.reinitialize(s, "he_normal")
    assert numbers(s) == before and drawn.origin.session is s
    assert str(drawn.origin) == "from step 20: weights drawn by he_normal"
    fresh = sv.Network([3, 5, 4, 3], "tanh", "sigmoid", init="he_normal", seed=3)
    frozen = s.network.bank.frozen
    assert frozen.sum() == 4 and (drawn.network.bank.frozen == frozen).all()
    expected = np.where(frozen, s.network.bank.value, fresh.bank.value)
    assert (drawn.network.bank.value == expected).all()
    assert drawn.network.bank.step_count == 0 and drawn.step_index == 0
    assert not any(block.any() for block in drawn.network.bank.blocks.values())
    assert drawn.own_rate(40) == 0.5 and drawn.pinned == [41]
    assert (drawn.network.init.row.name, drawn.engine) == ("he_normal", engine)
    drawn.advance(3, progress=False)
    assert not np.array_equal(
        sv.reinitialize(s, seed=1).network.bank.value, sv.reinitialize(s).network.bank.value
    )


def test_running_statistics_stay_with_a_frozen_layer_only() -> None:
    layers = [sv.Dense(3, 4, "tanh"), sv.BatchNorm(4), sv.Dense(4, 3)]
    s = sv.Session(sv.Network(layers, seed=1), data.Rgb(levels=3), batch=9, engine="python")
    s.advance(5)
    norm = s.network.layers[1]
    assert sv.reinitialize(s).network.layers[1].state != pytest.approx(norm.state)
    s.freeze(norm)
    kept = sv.reinitialize(s).network.layers[1]
    assert kept.state == pytest.approx(norm.state)


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_biases_go_and_come_back_at_0(engine: str) -> None:
    s = trained(engine)
    plain = sv.set_biases(s, False)
    assert [layer.has_bias for layer in plain.network] == [False] * 3
    assert all((a.kernel == b.kernel).all() for a, b in zip(plain.network, s.network, strict=True))
    assert plain.network.bank.frozen.sum() == 3  # the bias of the frozen neuron is gone
    plain.advance(4, progress=False)
    again = sv.set_biases(plain)
    assert not any(layer.bias.any() for layer in again.network)
    assert np.array_equal(again.network(COLOURS), plain.network(COLOURS))
    assert again.network.bank.step_count == 24
    assert (again.origin.rows == -1).sum() == 12
    names = [again.network.name_of(row) for row in np.flatnonzero(again.origin.rows == -1)]
    assert all(name.endswith("bias") for name in names)


def test_convolutions_and_shared_layers_have_theirs() -> None:
    twice = sv.Dense(4, 4, "tanh")
    layers = [
        sv.Conv2d((1, 3, 3), 1, 2, activation="relu"),
        sv.BatchNorm((1, 2, 2)),
        sv.Flatten((1, 2, 2)),
        twice,
        twice,
        sv.Dense(4, 2),
    ]
    rng = np.random.default_rng(0)
    table = data.Arrays(rng.random((6, 9)), rng.random((6, 2)))
    s = advanced(sv.Session(sv.Network(layers, seed=1), table, engine="python"), 3)
    back = sv.set_biases(sv.set_biases(s, False))
    assert len(back.network.bank) == len(s.network.bank)
    known = [back.network.layers[i].kernel == s.network.layers[i].kernel for i in (0, 3, 4, 5)]
    assert all(each.all() for each in known)
    assert back.network.layers[1].state == pytest.approx(s.network.layers[1].state)
    back.advance(2)


def wrong_ones() -> dict[str, Any]:
    deep = sv.Network([sv.Residual(sv.Dense(2, 2)), sv.Dense(2, 1)])
    still = sv.Network([sv.LayerNorm(2), sv.Activation(2, "tanh")])
    swing = sv.compile(lambda x: sv.Value(0.5) * x, inputs=1)
    pair = [[1.0, 0.0]], [[2.0, 1.0]]
    return {
        "have biases": lambda: sv.set_biases(trained()),
        "Residual": lambda: sv.set_biases(sv.Session(deep, data.Xor(), engine="python")),
        "no perceptrons": lambda: sv.set_biases(sv.Session(still, pair, engine="python")),
        "compiled": lambda: sv.reinitialize(sv.Session(swing, ([[1.0]], [[2.0]]), engine="python")),
        "-1": lambda: sv.reinitialize(trained(), seed=-1),
        "'yes'": lambda: sv.set_biases(trained(), "yes"),  # type: ignore[arg-type]  # on purpose
    }


@pytest.mark.parametrize(
    "value", ["have biases", "Residual", "no perceptrons", "compiled", "-1", "'yes'"]
)
def test_what_cannot_be_is_refused(value: str) -> None:
    with refused(InputError, value):
        wrong_ones()[value]()
