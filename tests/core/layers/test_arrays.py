"""Kernels and biases as arrays: views of the bank, shaped as in PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import InputError, NotFiniteError, OwnershipError, ShapeError
from tests.wording import refused

every_engine = pytest.mark.parametrize("engine", ["python", "cpu"])


def network(**options: Any) -> sv.Network:
    return sv.Network(
        [
            sv.Conv2d((2, 4, 4), channels=3, kernel=(2, 3), activation="relu"),
            sv.BatchNorm((3, 3, 2)),
            sv.Flatten((3, 3, 2)),
            sv.Dense(18, 5, "tanh"),
            sv.LayerNorm(5),
            sv.Residual(sv.RMSNorm(5), sv.Dense(5, 5, bias=False)),
        ],
        **options,
    )


def test_each_number_is_that_of_its_weight() -> None:
    net = network(dtype="float64")
    dense, conv = net.layers[3], net.layers[0]
    for i, perceptron in enumerate(dense.perceptrons):
        assert dense.kernel[i].tolist() == [w.value for w in perceptron.weights]
        assert dense.bias[i] == perceptron.bias.value
    conv.kernel[2, 1, 0, 2] = 7.0
    assert conv.perceptrons[2].weights[6 + 2].value == 7.0
    assert conv.perceptrons[2].weights[8].name == ("layer 0, kernel 2, weight of channel 1 at 0, 2")
    norm = net.layers[4]
    norm.kernel[:], norm.bias[:] = 3.0, -1.0
    assert {w.value for w in norm.gains} == {3.0} and {w.value for w in norm.shifts} == {-1.0}


@every_engine
def test_a_network_computes_with_what_is_written_into_them(engine: str) -> None:
    net = sv.Network([3, 4, 2], "tanh", dtype="float64").to(engine)
    random = np.random.default_rng(0)
    first, last = net.layers
    first.kernel[:] = a = random.standard_normal((4, 3))
    first.bias = b = random.standard_normal(4)
    last.kernel = c = random.standard_normal((2, 4))
    last.bias *= 0.0
    x = random.standard_normal((5, 3))
    np.testing.assert_allclose(net(x), np.tanh(x @ a.T + b) @ c.T, rtol=0, atol=1e-14)


@every_engine
def test_writing_is_an_edit_that_is_done_again_in_a_replay(engine: str) -> None:
    x = np.random.default_rng(0).random((6, 3))
    s = sv.Session(sv.Network([3, 4, 3], "tanh"), (x, 1 - x), "mse", sv.Adam(0.1), engine=engine)
    s.advance(3)
    kernel = s.network.layers[1].kernel  # a view from before the writing
    kernel[2] = 0.5
    s.advance(2, "operation")
    s.network.layers[0].bias[:] = 0.25
    s.advance(4)
    journal = [(a.step, a.kind, a.details["rows"].tolist()) for a in s.current_branch.journal]
    assert journal == [(3, "edit", [24, 25, 26, 27]), (3, "edit", [12, 13, 14, 15])]
    after, losses = s.network.bank.value.copy(), s.losses.copy()
    s.seek(0)
    s.advance(len(losses))
    assert (s.network.bank.value == after).all() and (s.losses == losses).all()


def test_what_does_not_fit_is_refused_and_changes_nothing() -> None:
    net = network()
    dense, conv = net.layers[3], net.layers[0]
    before = net.bank.value.copy()
    with refused(ShapeError, "(5, 18)", "(18, 5)"):
        dense.kernel = np.zeros((18, 5))
    with refused(NotFiniteError, "nan", "[1, 0, 0, 2]"):
        conv.kernel = np.where(np.arange(36).reshape(3, 2, 2, 3) == 14, np.nan, 0.0)
    with refused(NotFiniteError, "1e+300", "float32"):
        dense.bias = [0.0, 0.0, 1e300, 0.0, 0.0]
    with refused(InputError, "'many'"):
        dense.kernel = "many"
    with refused(InputError, "has no bias"):
        net.layers[5].layers[1].bias = np.zeros(5)
    assert (net.bank.value == before).all()


def test_a_layer_whose_array_was_handed_out_joins_no_network() -> None:
    layer = sv.Dense(2, 2)
    layer.kernel  # noqa: B018  # a write to it would be lost
    with refused(OwnershipError, "Dense(2 -> 2)"):
        sv.Network([layer])
    assert sv.Dense(2, 2, bias=False).bias is None


def test_what_numpy_has_written_in_place_is_not_called_unchanged() -> None:
    dense = network().layers[3]
    with refused(NotFiniteError, "nan", "[0, 0]", "written it already"):
        dense.kernel += np.nan
    dense.kernel = np.ones((5, 18))
    dense.kernel *= 2.0
    assert (dense.kernel == 2.0).all()
    with refused(NotFiniteError, "None", "[1]", "nothing was changed"):
        dense.bias = [0.0, None, 0.0, 0.0, 0.0]
