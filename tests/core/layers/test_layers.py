"""Layers.

Every kind of them through the four verbs, alone and in a network; perceptrons; dropout.
"""

import copy
import math
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.core.formulas.layer_formulas import ROW_FORMULAS
from scalarviz.core.layers import LAYERS
from scalarviz.errors import (
    GradientError,
    InputError,
    OrderError,
    OwnershipError,
    ShapeError,
    UnknownNameError,
)
from tests.sessions import every_engine
from tests.wording import refused

X = np.array([[0.3, -1.2, 0.8, 0.05], [0.9, 0.4, -0.7, 0.6], [-0.2, 0.1, 1.4, -0.9]])

# A kind of layer that is not here is made of 4 numbers.
PLAIN: dict[str, sv.Layer] = {
    "Dense": sv.Dense(4, 3, "tanh"),
    "FrequencyEncoding": sv.FrequencyEncoding(4, octaves=2),
    "GroupNorm": sv.GroupNorm((2, 1, 2), 1),
    "MaxPool2d": sv.MaxPool2d((1, 2, 2), kernel=2, stride=1, padding=1),
    "AvgPool2d": sv.AvgPool2d((1, 2, 2), kernel=2, stride=1, padding=1),
    "Conv2d": sv.Conv2d((1, 2, 2), 3, kernel=2, padding=1, stride=2, activation="tanh"),
    "Conv1d": sv.Conv1d((2, 2), 3, 2, padding=1, activation="tanh", init="normal"),
    "Activation": sv.Activation(4, "swish"),
    "Flatten": sv.Flatten((1, 2, 2)),
    "Reshape": sv.Reshape(4, (1, 2, 2)),
    "BatchNorm": sv.BatchNorm((2, 1, 2)),
    "Affine": sv.Affine((2, 1, 2), [0.5, -3.0], 1.5),
    "Dropout": sv.Dropout(4, 0.4),
    "Residual": sv.Residual(sv.Dense(4, 3, "tanh"), sv.Dense(3, 4)),
    "Product": sv.Product([sv.Dense(4, 3, "tanh"), sv.Dense(3, 2)], sv.Dense(4, 2)),
    "Spread": sv.Spread((4, 2, 3)),
    "Embedding": sv.Embedding(3, 2, 4, positions=True),
    "Attention": sv.Residual(sv.Dense(4, 6), sv.Attention(1, places=2), sv.Dense(2, 4)),
    "Slice": sv.Slice((4, 1, 1), 1, 3),
    "PReLU": sv.PReLU((2, 1, 2), slopes=2),
    "Elementwise": sv.Elementwise(4, "prelu", {"weight": 4}),
    "Concatenate": sv.Concatenate(sv.Softmax(4), [sv.Dense(4, 3), sv.LayerNorm(3)]),
}
MAKERS = {name: partial(copy.deepcopy, PLAIN.get(name) or kind(4)) for name, kind in LAYERS.items()}
every_layer = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
# What these make of a sample depends on the others in its batch, or on its place among them; and
# they do something else while the network learns.
TOGETHER = {"BatchNorm", "Dropout"}
every_plain_layer = pytest.mark.parametrize(
    "make",
    [make for name, make in MAKERS.items() if name not in TOGETHER],
    ids=[name for name in MAKERS if name not in TOGETHER],
)


@pytest.fixture
def layer(make: Callable[[], sv.Layer]) -> sv.Layer:
    return make()


def test_every_row_formula_is_checked_through_its_layer() -> None:
    layers = [make() for make in MAKERS.values()]
    every = [*layers, *[each for layer in layers for each in layer.layers]]
    used = {getattr(each, "formula", None) for each in every}
    assert set(ROW_FORMULAS.values()) <= used


@every_layer
@pytest.mark.parametrize("own", [False, True], ids=["as made", "numbers of its own"])
def test_its_gradients_agree_with_finite_differences(layer: sv.Layer, own: bool) -> None:
    if own:  # also gains and shifts of a norm
        layer.bank.value[:] = np.random.default_rng(3).normal(size=layer.size)
    report = sv.gradcheck(layer, X)
    assert report.checked == layer.size + X.size
    assert report.error < 1e-6
    layer.bank.value[:] = np.random.default_rng(3).normal(size=layer.size)
    assert sv.gradcheck(layer, X).error < 1e-6


@every_plain_layer
def test_a_call_agrees_with_forward_and_keeps_nothing(layer: sv.Layer) -> None:
    assert layer(X) == pytest.approx(layer.forward(X))
    layer.backward()
    layer(X)
    refused(OrderError, layer, varies=re.escape(str(layer))).by(layer.backward)


@every_layer
def test_a_backward_that_does_not_fit_is_refused_and_changes_nothing(layer: sv.Layer) -> None:
    layer.forward(X)
    name, more = re.escape(str(layer)), np.ones((3, layer.outputs + 1))
    refused(ShapeError, "3 samples", varies=name).by(layer.backward, more[:2, 1:])
    refused(ShapeError, more.shape, varies=rf"{name}|\b{layer.outputs}\b").by(layer.backward, more)
    assert not layer.bank.grad.any()
    layer.backward()


@every_layer
def test_forget_drops_what_waits(layer: sv.Layer) -> None:
    layer.forward(X)
    layer.forget()
    refused(OrderError, varies=re.escape(str(layer))).by(
        layer.backward, np.ones((3, layer.outputs))
    )
    assert all(part.unmatched == 0 for part in layer.made_parts())


@every_layer
def test_inputs_that_do_not_fit_are_refused_and_not_kept(layer: sv.Layer) -> None:
    name = re.escape(str(layer))
    varies = rf"{name}|\(batch, 4\)(?: or \(batch[0-9, ]+\))?"  # as pictures
    refused(ShapeError, "(1, 2)", varies=varies).by(layer.forward, [[1.0, 2.0]])
    refused(InputError, "nan at row 1, column 2", varies=name).by(
        layer.forward, [[1.0] * 4, [1.0, 2.0, math.nan, 4.0]]
    )
    refused(OrderError, varies=name).by(layer.backward)


@every_layer
def test_every_row_has_a_name_and_its_weight(layer: sv.Layer) -> None:
    names = [layer.row_name(row) for row in range(layer.size)]
    assert len(set(names)) == layer.size
    for row, name in enumerate(names):
        weight = layer.weight(row)
        assert (weight.index, weight.name) == (row, name)
        assert layer.weight(row) is weight


@every_layer
def test_a_frozen_layer_stays(layer: sv.Layer) -> None:
    before = layer.bank.value.copy()
    layer.freeze()
    layer.forward(X)
    layer.backward()
    layer.step(sv.Adam(0.1))
    assert (layer.bank.value == before).all()
    layer.unfreeze()
    layer.step(sv.Adam(0.1))
    assert layer.size == 0 or (layer.bank.value != before).any()


def test_a_layer_has_one_home() -> None:
    layer = sv.Dense(2, 2)
    sv.Network([layer])
    refused(OwnershipError, "Dense(2 -> 2)").by(sv.Network, [layer])
    alone = sv.Dense(2, 2)
    alone([1.0, 2.0])
    refused(OwnershipError, "Dense(2 -> 2)").by(sv.Network, [alone])


@every_layer
def test_reading_the_bank_of_a_layer_leaves_it_free(
    make: Callable[[], sv.Layer], layer: sv.Layer
) -> None:
    alone = layer.bank
    assert layer.bank is alone
    assert alone.value.tolist() == sv.Network([make()], dtype="float64", seed=0).bank.value.tolist()
    net = sv.Network([layer], seed=3)
    assert layer.bank is net.bank
    assert net.bank.value.tolist() == sv.Network([make()], seed=3).bank.value.tolist()
    net.forward(X)
    net.backward()
    net.step()
    with pytest.raises(ValueError, match="read-only"):  # nobody listens to it any more
        alone.state[0] = 2.0


@pytest.mark.parametrize(
    "use",
    [
        lambda layer: layer.bank.value.__setitem__(0, 5.0),
        lambda layer: layer.freeze(),
        lambda layer: layer.weight(0),
        lambda layer: layer.layers[0].weight(0),
        lambda layer: layer.forward(X),
    ],
)
def test_a_layer_whose_own_bank_was_used_joins_no_network(use: Callable[[sv.Layer], None]) -> None:
    layer = sv.Residual(sv.Dense(4, 4), sv.LayerNorm(4))
    use(layer)
    refused(OwnershipError).by(sv.Network, [layer])


def test_a_number_of_the_state_is_named_after_the_part_that_keeps_it() -> None:
    layer = sv.Residual(sv.BatchNorm(2), sv.Dense(2, 2), sv.BatchNorm(2))
    parts = [layer.state_name(place).partition(",")[0] for place in range(8)]
    assert parts == ["part 0"] * 4 + ["part 2"] * 4


@pytest.mark.parametrize("bad", [0, -1, 2.5, "3", None, True])
def test_sizes_are_integers_of_at_least_1(bad: object) -> None:
    cases: list[tuple[Any, list[Any]]] = [
        (sv.Dense, [bad, 2]),
        (sv.Dense, [2, bad]),
        (sv.LayerNorm, [bad]),
        (sv.FrequencyEncoding, [2, bad]),
        (sv.Network, [[2, bad]]),
    ]
    for make, arguments in cases:
        refused(InputError, "must be an integer of at least 1, not").by(make, *arguments)


def test_a_weight_that_was_consumed_alone_is_missed_by_its_layer() -> None:
    layer = sv.Dense(2, 2)
    layer.forward([1.0, 2.0])
    layer.perceptrons[1].weights[0].backward(1.0)
    before = layer.bank.grad.copy()
    refused(OrderError, "Dense(2 -> 2)").by(layer.backward)
    assert (layer.bank.grad == before).all()


class Halves(sv.Layer):
    """A layer without parameters, as short as one can be."""

    def __init__(self, inputs: int) -> None:
        super().__init__(inputs, inputs)

    def evaluate_rows(self, batch: Any) -> Any:
        return [[x / 2 for x in sample] for sample in batch]

    def forward_rows(self, batch: Any) -> Any:
        return self.evaluate_rows(batch)

    def backward_rows(self, upstream: Any) -> Any:
        return self.evaluate_rows(upstream)

    def lower(self, program: Any) -> None:
        program.add("activation", "linear", size=self.outputs)

    def settings(self) -> dict[str, Any]:
        return {"inputs": self.inputs}


def test_a_layer_without_parameters_says_nothing_about_them() -> None:
    assert sv.gradcheck(sv.Network([sv.Dense(2, 2), Halves(2)], seed=0), [0.3, 0.4]).checked == 8
    assert Halves(2).made_parts() == ()
    for ask in (Halves(2).weight, Halves(2).row_name):
        refused(IndexError, "Halves(2 -> 2)").by(ask, 0)


def test_softmax_gives_shares_however_large_the_numbers_are() -> None:
    layer = sv.Softmax(3)
    assert layer([1000.0, 1000.0, -1000.0]).tolist() == [0.5, 0.5, 0.0]
    assert layer([-1e9, -1e9 + 1.0, -1e9]).sum() == pytest.approx(1.0)
    assert layer.forward([[0.3, -2.0, 5.0]] * 2).sum(axis=1) == pytest.approx([1.0, 1.0])


def test_log_softmax_is_the_logarithm_of_softmax_also_of_shares_that_are_0() -> None:
    layer = sv.LogSoftmax(3)
    assert layer([1000.0, 0.0, -1000.0]).tolist() == [0.0, -1000.0, -2000.0]
    x = [[0.3, -2.0, 5.0]] * 2
    assert layer.forward(x) == pytest.approx(np.log(sv.Softmax(3)(x)), rel=1e-12)


def test_pools_look_at_their_windows() -> None:
    picture = np.arange(24.0).reshape(2, 3, 4)
    largest = sv.MaxPool2d((2, 3, 4), kernel=2, stride=1)
    assert largest.output_shape == (2, 2, 3)
    assert largest(picture.ravel()).reshape(2, 2, 3)[0].tolist() == [[5, 6, 7], [9, 10, 11]]
    mean = sv.AvgPool2d((2, 3, 4), kernel=3, stride=1, padding=1)
    assert mean.output_shape == (2, 3, 4)
    assert mean(picture.ravel()).reshape(2, 3, 4)[0, 0, 0] == pytest.approx((0 + 1 + 4 + 5) / 9)


def test_of_equal_pixels_the_first_gets_the_gradient_and_a_nan_is_not_lost() -> None:
    pool = sv.MaxPool2d((1, 2, 2))
    pool.forward([1.0, 3.0, 3.0, 2.0])
    assert pool.backward([5.0]).tolist() == [0.0, 5.0, 0.0, 0.0]
    for place in range(4):
        x = [1.0, 3.0, 2.0, 0.0]
        x[place] = np.nan
        y = [0.0]
        pool.formula.forward(x, y, 2, 2, 2, 2, 2, 2, 0, 0, 1, 1, 0.25)
        assert np.isnan(y[0])


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        (((2, 3),), "(2, 3)"),
        (("333",), "'333'"),
        (((1, 0, 3),), "height must be an integer of at least 1, not 0"),
        (((1, 3, 3), 4), "4 x 4"),
        (((1, 3, 3), 2, 1, 2), "padding of 2"),
        (((1, 3, 3), 0), "kernel must be an integer of at least 1, not 0"),
    ],
)
def test_a_window_that_does_not_fit_is_refused(arguments: Any, value: str) -> None:
    for kind in (sv.MaxPool2d, sv.AvgPool2d):
        refused((InputError, ShapeError), value).by(kind, *arguments)


@pytest.mark.parametrize(
    ("make", "sizes"),
    [(sv.Dense, (2, 3)), (sv.Conv2d, ((1, 3, 3), 1, 2)), (sv.Perceptron, (2,))],
)
def test_a_bias_is_true_or_false(make: Any, sizes: tuple[Any, ...]) -> None:
    for bad in ("no", 0, None):
        refused(InputError, bad).by(make, *sizes, bias=bad)
    assert make(*sizes, bias=np.False_).bias in (False, None)


TWO_ONES = [1.0, 1.0]


def made_perceptron(activation: str = "tanh") -> sv.Perceptron:
    p = sv.Perceptron(2, activation)
    p.weights[0].value, p.weights[1].value, p.bias.value = 2.0, -1.0, 0.5  # type: ignore[union-attr]  # of a layer that has it
    return p


def test_a_call_gives_the_same_and_keeps_nothing() -> None:
    p = made_perceptron()
    assert p([0.3, 0.4]) == p.forward([0.3, 0.4])
    assert p.unmatched == 1


@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "swish", "relu", "sin"])
def test_gradients_of_a_perceptron_agree_with_finite_differences(activation: str) -> None:
    assert sv.gradcheck(made_perceptron(activation), [0.3, 0.4]).checked == 5


@pytest.mark.parametrize("upstream", [math.inf, -math.inf, math.nan])
def test_a_gradient_that_is_not_finite_goes_back_at_every_level(upstream: float) -> None:
    """A step then names the weight and refuses."""
    net = sv.Network([2, 1], seed=0)
    perceptron, weight = sv.Perceptron(2), sv.Weight(0.5)
    for part, x in (
        (weight, 1.0),
        (perceptron, [1.0, 1.0]),
        (sv.Dense(2, 1), TWO_ONES),
        (net, TWO_ONES),
    ):
        part.forward(x)  # type: ignore[attr-defined]  # each of them has it
        part.backward(upstream if part in (weight, perceptron) else [upstream])  # type: ignore[attr-defined]  # each of them has it
        assert not np.isfinite(part.bank.grad).any()
        refused(GradientError, upstream).by(part.step)


def test_what_cannot_be_made_is_refused() -> None:
    refused(InputError, "0").by(sv.Perceptron, 0)
    refused(UnknownNameError, "'tanhh'").by(sv.Perceptron, 2, "tanhh")


ONES = np.ones((400, 25))


def test_a_share_of_the_numbers_is_left_out_and_the_others_make_up_for_it() -> None:
    y = sv.Dropout(25, 0.3).forward(ONES)
    assert set(y.ravel().tolist()) == {0.0, 1 / 0.7}
    assert abs((y == 0).mean() - 0.3) < 0.02  # 10,000 draws: more than 4 standard deviations
    assert abs(y.mean() - 1.0) < 0.03


@every_engine
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
    refused(InputError, rate).by(sv.Dropout, 3, rate)
