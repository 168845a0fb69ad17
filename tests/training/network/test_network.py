"""Networks: the four verbs, one bank, weights made when asked for, and what is refused."""

import copy
import math
import pickle
import re
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given

import scalarviz as sv
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.errors import (
    InputError,
    NotFiniteError,
    OrderError,
    OwnershipError,
    ShapeError,
    UnknownNameError,
)
from tests.strategies import RUNNABLE, examples, networks
from tests.wording import refused

COLOURS = np.random.default_rng(0).random((8, 3))


def rgb(**options: object) -> sv.Network:
    return sv.Network([3, 8, 3], "tanh", "sigmoid", **options)  # type: ignore[arg-type]  # of many types


def texture(**options: object) -> sv.Network:
    layers = [
        sv.FrequencyEncoding(2, octaves=3),
        sv.Dense(12, 8, "leaky_relu"),
        sv.LayerNorm(8),
        sv.Dense(8, 3, "sigmoid", bias=False),
    ]
    return sv.Network(layers, init="xavier_uniform", **options)  # type: ignore[arg-type]  # of many types


# Shape and numbers.


def test_it_is_the_matrix_formula() -> None:
    net = rgb(dtype="float64")
    v = net.bank.value
    hidden = np.tanh(COLOURS @ v[:24].reshape(8, 3).T + v[24:32])
    expected = 1.0 / (1.0 + np.exp(-(hidden @ v[32:56].reshape(3, 8).T + v[56:])))
    assert net(COLOURS) == pytest.approx(expected, rel=1e-14)


@pytest.mark.slow
def test_it_learns_to_invert_colours() -> None:
    net = rgb()
    losses = [net.train_step(COLOURS, 1 - COLOURS, "mse", sv.SGD(0.5)) for _ in range(1500)]
    assert losses[-1] < 0.03 * losses[0]
    assert net(COLOURS) == pytest.approx(1 - COLOURS, abs=0.15)


def test_a_train_step_is_the_verbs_in_order() -> None:
    by_hand, at_once = rgb(), rgb()
    loss, optimizer = sv.Loss("mse"), sv.Adam(0.01)
    for _ in range(5):
        by_hand.zero_grad()
        value = loss.forward(by_hand.forward(COLOURS), 1 - COLOURS)
        by_hand.backward(loss.backward())
        by_hand.step(optimizer)
        assert at_once.train_step(COLOURS, 1 - COLOURS, "mse", optimizer) == value
    assert (by_hand.bank.value == at_once.bank.value).all()


# The objects do the work.


def shared() -> sv.Network:
    layer = sv.Dense(3, 3, "tanh")
    return sv.Network([layer, layer])


@pytest.mark.parametrize(("uses", "make"), [(1, rgb), (1, texture), (2, shared)])
def test_training_goes_through_the_methods_of_the_weights(
    uses: int, make: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = {"forward": 0, "backward": 0}
    for verb in calls:
        original = getattr(sv.Weight, verb)

        def counted(self: sv.Weight, x: float, verb: str = verb, original=original) -> float:  # type: ignore[no-untyped-def]  # it stands for any method
            calls[verb] += 1
            result: float = original(self, x)
            return result

        monkeypatch.setattr(sv.Weight, verb, counted)
    net = make()  # type: ignore[operator]  # a function of a parametrized test
    net.train_step(np.ones((5, net.inputs)) / 3, np.ones((5, net.outputs)), "mse", sv.SGD(0.1))
    expected = 5 * uses * len(net.bank)
    assert calls == {"forward": expected, "backward": expected}


# Its gradients are right.


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_gradients_agree_for_every_activation(activation: str) -> None:
    net = sv.Network([3, 5, 4, 2], activation, activation, init="xavier_normal", seed=2)
    assert sv.gradcheck(net, COLOURS[:2]).error < 1e-6


@given(networks())
@examples(15, 60)
def test_gradients_agree_for_random_networks(case: tuple[sv.Network, np.ndarray]) -> None:
    net, batch = case
    before = net.bank.value.copy()
    assert sv.gradcheck(net, batch).error < 1e-6
    assert (net.bank.value == before).all()
    assert not net.bank.grad.any()


# Forward and backward match like brackets.


def test_a_single_sample_may_be_followed_by_a_batch() -> None:
    net = rgb()
    net.forward(COLOURS[0])
    net.forward(COLOURS)
    assert net.backward(np.ones((8, 3))).shape == (8, 3)
    assert net.backward([1.0, 1.0, 1.0]).shape == (3,)


def test_evaluation_leaves_nothing_behind() -> None:
    net = sv.Network([2, 3, 1])
    net.train_step([0.5, 0.5], [1.0], "mse")
    tracemalloc.start()
    net([0.5, 0.5])
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(10_000):
        net([0.5, 0.5])
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 10_000
    assert all(weight.unmatched == 0 for weight in net.parameters())
    with pytest.raises(OrderError):
        net.backward([1.0])


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_no_steps_change_nothing(engine: str) -> None:
    net = sv.Network([3, 8, 3], "tanh").to(engine)
    x = np.random.default_rng(0).random((4, 3))
    net.train_step(x, 1 - x, "mse", sv.Adam(0.1))
    before = [net.bank.value.copy(), net.bank.grad.copy(), net.bank.slots["m"].copy()]
    losses = net.train(x, 1 - x, "mse", sv.Adam(0.1), steps=0)
    assert losses.shape == (0,) and losses.dtype == np.float64
    after = [net.bank.value, net.bank.grad, net.bank.slots["m"]]
    assert all((a == b).all() for a, b in zip(before, after, strict=True))
    assert net.bank.step_count == 1
    with refused(ShapeError, "(4, 2)"):  # arguments are checked all the same
        net.train(x[:, :2], 1 - x, steps=0)
    with refused(InputError, "not -1"):
        net.train(x, 1 - x, steps=-1)


# Its parameters.


def test_a_weight_has_a_name_one_can_read() -> None:
    net = rgb()
    w = net.layers[0].perceptrons[2].weights[1]  # type: ignore[attr-defined]  # of a layer that has it
    assert w.name == "layer 0, perceptron 2, weight from input 1"
    assert net.layers[1].perceptrons[0].bias.name == "layer 1, perceptron 0, bias"  # type: ignore[attr-defined]  # of a layer that has it
    assert texture().weight(12 * 8 + 8 + 3).name == "layer 2, gain of feature 3"


def test_parameters_are_the_weights_in_the_order_of_the_bank() -> None:
    net = texture()
    parameters = net.parameters()
    assert len(parameters) == len(net.bank) == 12 * 8 + 8 + 16 + 24
    assert [w.index for w in parameters] == list(range(len(net.bank)))
    assert parameters[5] is net.layers[1].perceptrons[0].weights[5]  # type: ignore[attr-defined]  # of a layer that has it
    assert parameters[-1].index == len(net.bank) - 1
    assert [w.index for w in parameters[2:4]] == [2, 3]


def test_weights_of_a_million_parameters_are_made_when_asked_for() -> None:
    tracemalloc.start()
    net = sv.Network([1000, 1000, 10])
    w = net.layers[0].perceptrons[700].weights[3]  # type: ignore[attr-defined]  # of a layer that has it
    _, peak = tracemalloc.get_traced_memory()
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert len(net.bank) == 1_011_010
    assert w.name == "layer 0, perceptron 700, weight from input 3"
    assert net.parameters()[w.index] is w
    assert kept < 12e6, "two arrays of 4 MB, a mask and 1,000 objects"
    assert peak < 250e6


@pytest.mark.parametrize("engine", RUNNABLE)
@pytest.mark.parametrize(
    "change",
    [lambda net: net.to(net.engine), lambda net: net.set_activation(0, "relu")],
    ids=["to", "set_activation"],
)
def test_another_engine_drops_what_waits_for_a_backward(
    change: Callable[[sv.Network], object], engine: str
) -> None:
    net = rgb(engine=engine)
    net.forward(COLOURS)
    change(net)
    with refused(OrderError):
        net.backward(np.ones((8, 3)))
    assert not net.bank.grad.any()


def test_a_frozen_weight_stands_still_in_a_network_that_learns() -> None:
    net = rgb()
    w = net.parameters()[10]
    before = net.bank.value.copy()
    w.freeze()
    net.train_step(COLOURS, 1 - COLOURS, "mse", sv.Adam(0.1))
    changed = net.bank.value != before
    assert changed.sum() == len(net.bank) - 1
    assert not changed[10]


def test_a_copy_has_the_same_numbers_and_lives_by_itself() -> None:
    net = texture()
    net.train_step([[0.1, 0.2]], [[1.0, 0.0, 0.5]], "mse", sv.Adam(0.1))
    twin = net.copy()
    assert (twin.bank.value == net.bank.value).all()
    for each in (net, twin):
        each.train_step([[0.3, 0.2]], [[1.0, 0.0, 0.5]], "mse", sv.Adam(0.1))
    assert (twin.bank.value == net.bank.value).all()
    twin.bank.value[0] += 1.0
    assert twin.bank.value[0] != net.bank.value[0]
    assert net.copy("float64").dtype == "float64"


# What is refused, in one sentence, before anything has changed.


def unchanged(net: sv.Network, act: object, error: type[Exception], words: str) -> None:
    """`act()` raises one sentence with these words, and leaves the network as it was."""
    before = net.bank.value.copy(), net.bank.grad.copy(), net.bank.step_count
    waiting = [weight.unmatched for weight in net.parameters()]
    with pytest.raises(error) as caught:
        act()  # type: ignore[operator]  # on purpose
    assert re.search(words, str(caught.value)), str(caught.value)
    assert "\n" not in str(caught.value)
    assert (net.bank.value == before[0]).all() and (net.bank.grad == before[1]).all()
    assert net.bank.step_count == before[2]
    assert [weight.unmatched for weight in net.parameters()] == waiting


@pytest.mark.parametrize(
    ("x", "error", "words"),
    [
        (
            [1.0, 2.0],
            ShapeError,
            r"takes a sample of 3, or a batch of shape \(batch, 3\), not an array of shape \(2,\)",
        ),
        (np.ones((4, 2)), ShapeError, r"shape \(4, 2\)"),
        (np.ones((2, 2, 3)), ShapeError, r"shape \(2, 2, 3\)"),
        (np.ones((0, 3)), ShapeError, r"shape \(0, 3\)"),
        (0.5, ShapeError, r"shape \(\)"),
        ([1.0, math.nan, 2.0], NotFiniteError, "nan at row 0, column 1: remove or replace"),
        ([[0.0] * 3, [0.0, 0.0, -math.inf]], NotFiniteError, "-inf at row 1, column 2"),
        (["r", "g", "b"], InputError, "takes numbers, not list"),
        ([[1.0, 2.0, 3.0], [4.0]], InputError, "takes numbers, not list"),
        ({"r": 1}, InputError, "takes numbers, not dict"),
    ],
)
def test_inputs_that_do_not_fit(x: object, error: type[Exception], words: str) -> None:
    net = rgb()
    net.forward(COLOURS)
    for verb in (net.forward, net.__call__):
        unchanged(net, lambda verb=verb: verb(x), error, words)
    unchanged(net, lambda: net.train_step(x, [1.0] * 3), error, words)


def test_backward_before_forward() -> None:
    net = rgb()
    unchanged(net, net.backward, OrderError, r"backward of Dense\(8 -> 3\) without a forward")
    unchanged(net, lambda: net.backward([1.0] * 3), OrderError, "call forward first")
    net.forward(COLOURS)
    net.layers[0].backward(np.ones((8, 8)))  # the first layer's forward is used up
    unchanged(net, net.backward, OrderError, r"backward of Dense\(3 -> 8\) without a forward")


def test_an_upstream_gradient_of_the_wrong_shape() -> None:
    net = rgb()
    net.forward(COLOURS)
    words = "was last given 8 samples, and its backward 7: pass one row"
    unchanged(net, lambda: net.backward(np.ones((7, 3))), ShapeError, words)
    unchanged(net, lambda: net.backward(np.ones((8, 2))), ShapeError, "takes a sample of 3")


def test_targets_that_do_not_fit() -> None:
    net = rgb()
    act = [
        (
            lambda: net.train_step(COLOURS, COLOURS[:4]),
            ShapeError,
            "the inputs have 8 rows and the targets 4",
        ),
        (lambda: net.train_step(COLOURS, COLOURS[:, :2]), ShapeError, "the target of the network"),
        (lambda: net.train_step(COLOURS, COLOURS * math.nan), NotFiniteError, "nan at row 0"),
        (lambda: net.train_step(COLOURS, COLOURS, "mes"), UnknownNameError, "did you mean 'mse'"),
    ]
    for run, error, words in act:
        unchanged(net, run, error, words)


def test_a_weight_of_another_network() -> None:
    net, other = rgb(), rgb()
    for part in (other.parameters()[0], other.layers[0], other):
        unchanged(net, lambda part=part: net.find_rows(part), OwnershipError, "another network")
    net.find_rows(net.parameters()[0])
    unchanged(net, lambda: sv.Network(net.layers), OwnershipError, "make a new layer")


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ({"layers": []}, "[]"),
        ({"layers": "383"}, "'383'"),
        ({"layers": 3}, "3"),
        ({"layers": [3]}, "[3]"),
        ({"layers": [3, 0, 3]}, "0"),
        ({"layers": [3, 2.5]}, "2.5"),
        ({"layers": [3, sv.Dense(3, 2)]}, "begins with a layer"),
        ({"layers": [sv.Dense(3, 4), sv.Dense(5, 2)]}, "gives 4 numbers"),
        ({"layers": [sv.Dense(3, 2)], "activation": "tanh"}, "activation= and output="),
        (
            {"layers": [3, 3], "activation": "tanj"},
            "'tanj'",
        ),
        ({"layers": [3, 3], "output": "softmx"}, "'softmx'"),
        ({"layers": [3, 3], "dtype": "float"}, "'float'"),
        ({"layers": [3, 3], "seed": -1}, "-1"),
        ({"layers": [3, 3], "init": "glorot"}, "'glorot'"),
        ({"layers": [3, 3], "engine": "gpu"}, "'gpu'"),
    ],
)
def test_a_network_that_cannot_be(arguments: dict[str, object], value: str) -> None:
    with refused(InputError, value):
        sv.Network(**arguments)  # type: ignore[arg-type]  # on purpose


def test_it_prints_a_table() -> None:
    assert repr(texture()).splitlines() == [
        "Network 2 -> 12 -> 8 -> 8 -> 3: 144 parameters, float32, engine python",
        "layer  kind               shape    activation  parameters  rows",
        "0      FrequencyEncoding  2 -> 12  linear      0           -",
        "1      Dense              12 -> 8  leaky_relu  104         0 to 103",
        "2      LayerNorm          8 -> 8   linear      16          104 to 119",
        "3      Dense              8 -> 3   sigmoid     24          120 to 143",
    ]


# Findings of a first user.


@pytest.mark.parametrize("copy", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_a_network_can_be_copied_and_sent_elsewhere(
    copy: Callable[[sv.Network], sv.Network],
) -> None:
    net = texture()
    w = net.parameters()[3]
    net.train_step([[0.1, 0.2]], [[1.0, 0.0, 0.5]], "mse", sv.Adam(0.1))
    twin = copy(net)
    for each in (net, twin):
        each.train_step([[0.3, 0.2]], [[1.0, 0.0, 0.5]], "mse", sv.Adam(0.1))
    assert (twin.bank.value == net.bank.value).all()
    twin.parameters()[3].value = 5.0
    assert twin.bank.value[3] == 5.0 != w.value


@pytest.mark.parametrize("bad", [sv.SGD, "sgdd", 0.1, "", 0, {}])
def test_an_optimizer_must_be_one(bad: object) -> None:
    net = rgb()
    net.train_step(COLOURS, COLOURS)
    words = "an optimizer is one such as SGD"
    unchanged(net, lambda: net.train_step(COLOURS, COLOURS, "mse", bad), InputError, words)
    unchanged(net, lambda: net.step(bad), InputError, words)
    unchanged(net, lambda: net.parameters()[0].step(bad), InputError, words)


@pytest.mark.parametrize(
    "x",
    [
        ["1", "2", "3"],
        np.array([1j, 2.0, 3.0]),
        [10**400, 0, 0],
        np.ma.masked_array([1.0, 2.0, 3.0], mask=[True, False, False]),
        np.array(["2020-01-01"] * 3, dtype="datetime64"),
    ],
)
def test_what_only_looks_like_numbers_is_refused(x: object) -> None:
    net = rgb()
    unchanged(net, lambda: net.forward(x), InputError, "the network takes numbers, not")


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("x", [-1000.0, 1000.0])
def test_inputs_of_1000_do_not_stop_a_network(activation: str, x: float) -> None:
    net = sv.Network([1, 2, 1], activation, activation)
    y = net.forward([x])
    assert y.tolist() == net([x]).tolist()
    net.backward(np.ones(1))
    perceptron = sv.Perceptron(1, activation)
    perceptron.forward([x])
    perceptron.backward(1.0)


@pytest.mark.parametrize("row", ["a", 1.5, -1, 59])
def test_a_row_must_be_one_of_the_bank(row: object) -> None:
    net = rgb()
    unchanged(net, lambda: net.weight(row), InputError, "has rows 0 to 58, and no row")


def test_a_picture_of_another_shape_is_refused() -> None:
    layers = [sv.Conv2d((1, 4, 4), 2, padding=1), sv.MaxPool2d((4, 4, 2))]
    with refused(ShapeError, "(2, 4, 4)"):
        sv.Network(layers)
    sv.Network([layers[0], sv.Reshape((2, 4, 4), (4, 4, 2)), layers[1]])


def test_another_seed_keeps_the_init_of_each_layer() -> None:
    layers = [
        sv.Conv2d((1, 3, 3), 2, init="he_normal"),
        sv.Residual(sv.Dense(2, 2, init="uniform")),
    ]
    net = sv.Network(layers, seed=1)
    assert (net.fresh(1).bank.value == net.bank.value).all()


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_a_layer_that_stands_twice_has_one_activation(engine: str) -> None:
    twice = sv.Dense(2, 2, "tanh")
    session = sv.Session(sv.Network([twice, twice]), ([[1.0, 2.0]], [[1.0, 2.0]]), engine=engine)
    session.advance(1)
    session.set_activation(0, "relu")
    session.advance(1)
    assert session.network.activations == ("relu", "relu")
    session.back(2)
    assert session.network.activations == ("tanh", "tanh")


@pytest.mark.parametrize("padding", [-1, 0.5, True])
def test_padding_is_a_whole_number(padding: object) -> None:
    with refused(InputError, padding):
        sv.Conv2d((1, 4, 4), 1, padding=padding)  # type: ignore[arg-type]  # on purpose
