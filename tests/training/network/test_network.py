"""Network.

Layers in order on one bank, freezing, gradient checks, and everything that a model offers.
"""

import copy
import math
import pickle
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import scalarviz as sv
from scalarviz.core.bank_arrays import row_numbers
from scalarviz.core.formulas.arithmetic import OPERATIONS
from scalarviz.core.formulas.formula import Formula
from scalarviz.core.layers.dense import Dense
from scalarviz.errors import (
    EngineError,
    GradientMismatchError,
    InputError,
    NotFiniteError,
    OrderError,
    OwnershipError,
    ShapeError,
    UnknownNameError,
)
from scalarviz.training.network.expression import Expression
from scalarviz.training.network.model import Model
from scalarviz.training.network.model_queries import check_engine
from scalarviz.training.session.reading import first_row
from tests.sessions import advanced, every_engine, examples, networks
from tests.wording import refused

COLOURS = np.random.default_rng(0).random((8, 3))


def rgb(**options: object) -> sv.Network:
    return sv.Network([3, 8, 3], "tanh", "sigmoid", **options)  # type: ignore[arg-type]  # of many types


@pytest.fixture
def net() -> sv.Network:
    return rgb()


def texture(**options: object) -> sv.Network:
    layers = [
        sv.FrequencyEncoding(2, octaves=3),
        sv.Dense(12, 8, "leaky_relu"),
        sv.LayerNorm(8),
        sv.Dense(8, 3, "sigmoid", bias=False),
    ]
    return sv.Network(layers, init="xavier_uniform", **options)  # type: ignore[arg-type]  # of many types


# Shape and numbers.


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


@given(networks())
@examples(15, 60)
def test_gradients_agree_for_random_networks(case: tuple[sv.Network, np.ndarray]) -> None:
    net, batch = case
    before = net.bank.value.copy()
    assert sv.gradcheck(net, batch).error < 1e-6
    assert (net.bank.value == before).all()
    assert not net.bank.grad.any()


# Forward and backward match like brackets.


def test_a_single_sample_may_be_followed_by_a_batch(net: sv.Network) -> None:
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
    refused(OrderError).by(net.backward, [1.0])


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
    # Arguments are checked all the same.
    refused(ShapeError, "(4, 2)").by(net.train, x[:, :2], 1 - x, steps=0)
    refused(InputError, "not -1").by(net.train, x, 1 - x, steps=-1)


# Its parameters.


def test_a_weight_has_a_name_one_can_read(net: sv.Network) -> None:
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


@every_engine
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
    refused(OrderError).by(net.backward, np.ones((8, 3)))
    assert not net.bank.grad.any()


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
        ({"r": 1}, InputError, "the network has no names of inputs"),
    ],
)
def test_inputs_that_do_not_fit(
    x: object, error: type[Exception], words: str, net: sv.Network
) -> None:
    net.forward(COLOURS)
    for verb in (net.forward, net.__call__):
        unchanged(net, lambda verb=verb: verb(x), error, words)
    unchanged(net, lambda: net.train_step(x, [1.0] * 3), error, words)


def test_backward_before_forward(net: sv.Network) -> None:
    unchanged(net, net.backward, OrderError, r"backward of Dense\(8 -> 3\) without a forward")
    unchanged(net, lambda: net.backward([1.0] * 3), OrderError, "call forward first")
    net.forward(COLOURS)
    net.layers[0].backward(np.ones((8, 8)))  # the first layer's forward is used up
    unchanged(net, net.backward, OrderError, r"backward of Dense\(3 -> 8\) without a forward")


def test_an_upstream_gradient_of_the_wrong_shape(net: sv.Network) -> None:
    net.forward(COLOURS)
    words = "was last given 8 samples, and its backward 7: pass one row"
    unchanged(net, lambda: net.backward(np.ones((7, 3))), ShapeError, words)
    unchanged(net, lambda: net.backward(np.ones((8, 2))), ShapeError, "takes a sample of 3")


def test_targets_that_do_not_fit(net: sv.Network) -> None:
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
        ({"layers": [3, sv.Dense(3, 2)]}, "must begin with a layer"),
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
    refused(InputError, value).by(sv.Network, **arguments)


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


@pytest.mark.parametrize(
    "copy", [sv.Network.copy, copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))]
)
def test_a_network_can_be_copied_and_sent_elsewhere(
    copy: Callable[[sv.Network], sv.Network],
) -> None:
    net = texture()
    w = net.parameters()[3]
    net.train_step([[0.1, 0.2]], [[1.0, 0.0, 0.5]], "mse", sv.Adam(0.1))
    twin = copy(net)
    assert (twin.bank.value == net.bank.value).all()
    for each in (net, twin):
        each.train_step([[0.3, 0.2]], [[1.0, 0.0, 0.5]], "mse", sv.Adam(0.1))
    assert (twin.bank.value == net.bank.value).all()
    twin.parameters()[3].value = 5.0
    assert twin.bank.value[3] == 5.0 != w.value
    assert net.copy("float64").dtype == "float64"


@pytest.mark.parametrize("bad", [sv.SGD, "sgdd", 0.1, "", 0, {}])
def test_an_optimizer_must_be_one(bad: object, net: sv.Network) -> None:
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
def test_what_only_looks_like_numbers_is_refused(x: object, net: sv.Network) -> None:
    unchanged(net, lambda: net.forward(x), InputError, "the network takes numbers, not")


@pytest.mark.parametrize("row", ["a", 1.5, -1, 59])
def test_a_row_must_be_one_of_the_bank(row: object, net: sv.Network) -> None:
    unchanged(net, lambda: net.weight(row), InputError, "has rows 0 to 58, and no row")


def test_a_picture_of_another_shape_is_refused() -> None:
    layers = [sv.Conv2d((1, 4, 4), 2, padding=1), sv.MaxPool2d((4, 4, 2))]
    refused(ShapeError, "(2, 4, 4)").by(sv.Network, layers)
    sv.Network([layers[0], sv.Reshape((2, 4, 4), (4, 4, 2)), layers[1]])


def test_another_seed_keeps_the_init_of_each_layer() -> None:
    layers = [
        sv.Conv2d((1, 3, 3), 2, init="he_normal"),
        sv.Residual(sv.Dense(2, 2, init="uniform")),
    ]
    net = sv.Network(layers, seed=1)
    assert (net.fresh(1).bank.value == net.bank.value).all()


def orthogonal(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return np.linalg.qr(rng.standard_normal(shape))[0]


def test_a_function_gives_the_initial_numbers(tmp_path: Path) -> None:
    net = sv.Network([sv.Dense(4, 4, init=orthogonal), sv.Dense(4, 2)], seed=3, dtype="float64")
    np.testing.assert_allclose(net[0].kernel @ net[0].kernel.T, np.eye(4), atol=1e-12)
    assert not net[0].bias.any() and net[1].bias.any()
    whole = [sv.Network([4, 4, 4], init=orthogonal, seed=seed).bank.value for seed in (1, 1, 2)]
    assert np.array_equal(whole[0], whole[1]) and not np.array_equal(whole[0], whole[2])
    assert not np.array_equal(whole[0][:16], whole[0][20:36])
    net.save(tmp_path / "net.safetensors")
    assert np.array_equal(sv.load(tmp_path / "net.safetensors").bank.value, net.bank.value)


@pytest.mark.parametrize("made", [np.zeros(3), [[np.nan]], None])
def test_initial_numbers_that_do_not_fit_are_refused(made: object) -> None:
    refused(InputError, "(1, 1)").by(sv.Network, [1, 1], init=lambda rng, shape: made)
    refused(InputError, "rng, shape").by(sv.Network, [1, 1], init=lambda shape: made)


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
    refused(InputError, padding).by(sv.Conv2d, (1, 4, 4), 1, padding=padding)


PACKAGE = Path(sv.__file__).parent


def line(engine: str = "python") -> Expression:
    slope, shift = sv.Value(2.0, label="slope"), sv.Value(0.5)
    return sv.compile(lambda x: (slope * x + shift).tanh(), inputs=1, engine=engine)


MODELS: dict[str, Callable[[], Model]] = {
    "network": lambda: sv.Network([1, 2, 1], "tanh", seed=0, dtype="float64"),
    "expression": line,
}
every_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


@every_model
def test_the_verbs_and_the_engine_are_those_of_a_model(make: Callable[[], Model]) -> None:
    model = make()
    before = model.bank.value.copy()
    assert model.forward([[0.5], [1.0]]).shape == (2, 1)
    assert model.backward([[1.0], [1.0]]).shape == (2, 1)
    model.freeze()
    model.step(sv.SGD(0.1))
    assert model.frozen and (model.bank.value == before).all()
    model.unfreeze()
    model.step(sv.SGD(0.1))
    assert (model.bank.value != before).any()
    assert model.to("cpu") is model and model.engine == "cpu"
    assert check_engine(model, "python") == ("python", sv.Precision())
    assert model.snapshot().read().value.tolist() == model.bank.value.tolist()
    for engine in ("python", "cpu"):
        refused(EngineError).by(model.to, engine, "mixed")


def test_parameters_on_a_shared_bank_keep_their_names() -> None:
    a, b = sv.Value(2.0, label="a"), sv.Value(3.0, label="b")
    sv.compile(lambda x: a * x + b, inputs=1, engine="python")
    turned = sv.compile(lambda x: b * x + a, inputs=1, engine="python")
    assert [p.label for p in turned.parameters] == ["b", "a"]
    assert turned.bank.value[turned.rows].tolist() == [2.0, 3.0]
    assert [turned.name_of(i) for i in row_numbers(turned)] == ["a", "b"]
    part = sv.compile(lambda x: b * x, inputs=1, engine="python")
    assert [part.name_of(i) for i in row_numbers(part)] == ["b"] and first_row(part) == 1


def test_the_program_of_a_function_has_its_operations() -> None:
    program = line().program
    assert [each.name for each in program.operations] == ["multiply 0", "add 1", "tanh 2"]
    assert [each.name for each in program.operations[0].sources] == ["slope", "x0"]
    assert [each.target.size for each in program.operations] == [1, 1, 1]
    assert not any(each.parameters or each.about.learning for each in program.operations)
    assert program.products == 3 and program.workspace == 1 + 2 + 3
    assert program.operations == program.operations
    assert [moment.name for moment in program.moments] == [
        *("zero_grad", "multiply 0", "add 1", "tanh 2", "loss"),
        *("tanh gradient 2", "add gradient 1", "multiply gradient 0", "step"),
    ]
    assert "2  tanh 2" in repr(program)


def test_a_long_program_is_not_printed_to_its_end() -> None:
    weights = [sv.Value(float(i)) for i in range(250)]  # equal nodes would be one
    f = sv.compile(lambda x: sum((w * x).tanh() for w in weights) * x, 1, engine="python")
    count = len(f.program.operations)
    assert len(repr(f.program).splitlines()) == 203
    assert f"and {count - 200} more" in repr(f.program)


def test_nobody_asks_which_of_the_two_a_model_is() -> None:
    asking = re.compile(r"isinstance\([^\n]*\b(Network|Expression)\b|(has|get)attr\([\w.]*network,")
    files = {str(path.relative_to(PACKAGE)): path for path in PACKAGE.rglob("*.py")}
    found = {name for name, path in files.items() if asking.search(path.read_text("utf-8"))}
    # What users pass to sv.onnx.save, sv.follow and sv.ablated.
    asked = {"files/onnx/writing.py", "training/follow/following.py"}
    asked |= {"training/network/grown_networks.py"}
    assert found == asked


@pytest.mark.parametrize(
    ("names", "frozen"),
    [
        ("0.weight", ["0.weight"]),
        ("0", ["0.weight", "0.bias"]),
        ("*.bias", ["0.bias", "1.0.bias", "2.bias"]),
        (["2", "1.0.w*"], ["1.0.weight", "2.weight", "2.bias"]),
        ([], []),
    ],
)
def test_parameters_are_frozen_by_name(names: str | list[str], frozen: list[str]) -> None:
    net = sv.Network([sv.Dense(2, 3), sv.Residual(sv.Dense(3, 3)), sv.Dense(3, 1)])
    net.freeze(names)
    assert [name for name, each in net.named_parameters() if each.frozen] == frozen
    assert net.bank.frozen.sum() == sum(
        each.value.size for _, each in net.named_parameters() if each.frozen
    )
    net.freeze()
    net.unfreeze(names)
    assert [name for name, each in net.named_parameters() if not each.frozen] == frozen


def test_an_unknown_name_to_freeze_is_refused_with_the_nearest() -> None:
    net = sv.Network([2, 3, 1])
    for call in (net.freeze, net.unfreeze):
        refused(UnknownNameError, "'0.wieght'", "'0.weight'").by(call, "0.wieght")
    refused(UnknownNameError, "''").by(net.freeze, "")
    refused(InputError, "'weight'").by(net[0].freeze, "weight")
    assert not net.bank.frozen.any()


def test_a_session_takes_the_same_names() -> None:
    net = sv.Network([2, 3, 1])
    s = sv.Session(net, sv.data.Xor(), "mse", sv.SGD(0.1))
    s.freeze("0.weight")
    s.set_rate("1", 0.5)
    s.edit("1.bias", 0.25)
    assert net.bank.frozen.tolist() == [True] * 6 + [False] * 7
    assert s.own_rate("1.bias") == 0.5 and net[1].bias.tolist() == [0.25]
    s.freeze("0.weight", False)
    assert not net.bank.frozen.any()
    refused(UnknownNameError, "'2.bias'").by(s.freeze, "2.bias")


@pytest.mark.parametrize("wrong", [None, 1, 0.5, {"0.bias": True}.keys()], ids=str)
def test_what_is_neither_a_name_nor_true_nor_false_freezes_nothing(wrong: object) -> None:
    net = sv.Network([2, 3, 1], "tanh", seed=0)
    refused(InputError, wrong, "['0.weight']").by(net.freeze, wrong)
    refused(InputError).by(net.freeze, net.layers[0])  # type: ignore[arg-type]  # on purpose
    assert not net.bank.frozen.any()
    net.freeze(np.bool_(True))
    assert net.bank.frozen.all()


def test_a_wrong_derivative_is_found() -> None:
    wrong = Formula("wrong", lambda x: x * x, (lambda x, y: 2.0001 * x,))
    refused(GradientMismatchError, "6.0003").by(sv.gradcheck, wrong, 3.0)


def test_an_error_of_a_millionth_is_found_and_one_of_a_billionth_is_not() -> None:
    for factor, found in ((1.0 + 2e-6, True), (1.0 + 1e-9, False)):
        row = Formula("row", lambda x: x * x * x, (lambda x, y, f=factor: 3.0 * x * x * f,))
        if found:
            refused(GradientMismatchError).by(sv.gradcheck, row, 1.3)
        else:
            sv.gradcheck(row, 1.3)


def test_a_right_derivative_is_accepted_where_every_slope_is_tiny() -> None:
    assert sv.gradcheck(lambda x: x.cos() + 5.0, [1e-6]).error < 1e-6


def test_a_layer_that_hands_back_a_wrong_gradient_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Dense.backward_rows
    monkeypatch.setattr(
        Dense, "backward_rows", lambda self, g: [[2 * v for v in row] for row in original(self, g)]
    )
    refused(GradientMismatchError, "input 1", varies=r"-?\d\.\d+(e-\d+)?").by(
        sv.gradcheck, sv.Dense(2, 3), [0.4, 0.6]
    )


def test_a_kink_is_skipped_and_counted() -> None:
    report = sv.gradcheck(lambda a, b: a * a + abs(b - 1.0000003), [2.0, 1.0])
    assert (report.checked, report.total, report.kinks) == (1, 2, 1)
    assert "skipped at kinks: 1" in str(report)


def test_a_float32_network_is_checked_in_float64_and_left_as_it_was() -> None:
    net = sv.Network([2, 4, 2], "tanh", seed=1)
    net.forward([0.1, 0.2])
    value, grad = net.bank.value.copy(), net.bank.grad.copy()
    assert sv.gradcheck(net, [0.3, 0.4]).error < 1e-8
    assert (net.bank.value == value).all() and (net.bank.grad == grad).all()
    assert net.parameters()[0].unmatched == 1


@pytest.mark.parametrize("pick", [lambda n: n.layers[1], lambda n: n.layers[1].perceptrons[0]])
def test_a_part_of_a_network_is_checked_by_itself(pick: object) -> None:
    part = pick(sv.Network([2, 4, 2], "tanh"))  # type: ignore[operator]  # a function of a parametrized test
    assert sv.gradcheck(part, [0.3, 0.4, -0.1, 0.9]).error < 1e-6


def test_a_large_network_is_thinned_out_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scalarviz.training.network.gradcheck.MOST", 20)
    report = sv.gradcheck(sv.Network([6, 5, 2], "tanh"), np.linspace(0, 1, 6))
    assert (report.checked, report.total) == (20, 35 + 12 + 6)
    assert "20 of 53 gradients agree" in str(report)


def test_what_cannot_be_checked_is_refused() -> None:
    refused(InputError, "'net'").by(sv.gradcheck, "net", [1.0])
    refused(InputError, "0.0").by(sv.gradcheck, sv.Weight(1.0), 1.0, tolerance=0.0)
    refused(InputError, "(2,)").by(sv.gradcheck, sv.Network([3, 2]), [1.0, 2.0])


@pytest.mark.parametrize("row", OPERATIONS.values(), ids=OPERATIONS)
def test_every_operation_agrees_with_finite_differences(row: Formula) -> None:
    for point in ([0.7, 1.3, 0.4], [1.9, 0.6, -0.8]):
        assert sv.gradcheck(row, point[: len(row.partials)]).error < 1e-6


def test_a_smaller_gradient_may_not_hide_behind_a_large_one() -> None:
    row = Formula(
        "row", lambda x, y: 100.0 * x + y, (lambda x, y, z: 100.0, lambda x, y, z: 1.0 + 1e-05)
    )
    refused(GradientMismatchError, "1.00001").by(sv.gradcheck, row, [1.0, 1.0])


def test_a_function_must_return_a_finite_value() -> None:
    refused(InputError, "3.0").by(sv.gradcheck, lambda a: 3.0, [1.0])
    refused(InputError).by(sv.gradcheck, lambda a: a.log(), [-1.0])
    refused(InputError, "(2, 2)").by(sv.gradcheck, lambda a, b: a * b, [[1.0, 2.0], [3.0, 4.0]])
    assert sv.gradcheck(lambda a: a * a, 3.0).checked == 1
    refused(InputError, "-1").by(sv.gradcheck, sv.Weight(1.0), 1.0, seed=-1)
    refused(InputError, "[1.0]").by(sv.gradcheck, sv.Weight(1.0), [1.0])


# ---- inputs by name -----------------------------------------------------------------------------

U, X = np.random.default_rng(0).normal(size=(2, 6, 4))
BY_NAME, ROWS = {"x": X[:, 0], "u": U}, np.hstack([U, X[:, :1]])


def operator_network(engine: str = "python") -> sv.Network:
    """Of a function at four points, u, and a place x, as DeepONet."""
    parts = [sv.Slice(5, 0, 4), sv.Dense(4, 3, "tanh")], [sv.Slice(5, 4, 5), sv.Dense(1, 3, "tanh")]
    net = sv.Network([sv.Product(*parts), sv.Dense(3, 1)], engine=engine)
    net.input_widths = {"u": 4, "x": 1}
    return net


@pytest.fixture
def operator() -> sv.Network:
    return operator_network()


@every_engine
def test_inputs_by_name_are_those_side_by_side(engine: str) -> None:
    net = operator_network(engine)
    assert (net.input_rows(BY_NAME) == ROWS).all() and net.input_rows(ROWS) is ROWS
    assert (net(BY_NAME) == net(ROWS)).all()
    assert (net.forward({"u": U, "x": X[:, :1]}) == net.forward(ROWS)).all()
    assert (net.predict_proba(BY_NAME) == net.predict_proba(ROWS)).all()
    losses = [net.loss_on(each, U[:, :1], None, sv.Loss("mse"))() for each in (BY_NAME, ROWS)]
    assert losses[0] == losses[1]


@pytest.mark.parametrize("precision", ["full", "mixed"])
@pytest.mark.parametrize("loss", ["softmax_cross_entropy", sv.Loss("huber", factor=3.0)])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_kernels_compute_the_loss_as_the_loss_itself_does(
    rng: np.random.Generator, loss: Any, precision: str, is_weighted: bool
) -> None:
    net = sv.Network([3, 40, 4], "tanh", seed=0)
    inputs, targets = rng.normal(size=(700, 3)), np.eye(4)[rng.integers(0, 4, 700)]
    weights = rng.random(700) if is_weighted else None
    s = sv.Session(net, (inputs, targets), loss, engine="cpu", precision=precision)
    found = s.network.loss_on(inputs, targets, weights, s.loss_function)
    for _ in range(2):
        assert found() == pytest.approx(s.loss_function(net(inputs), targets, weights), rel=1e-6)
        net.bank.value[:] = rng.normal(size=len(net.bank))


def test_one_sample_by_name_has_one_output(operator: sv.Network) -> None:
    for x in (X[0, 0], X[0, :1], float(X[0, 0])):
        assert operator({"u": U[0].tolist(), "x": x}).tolist() == operator(ROWS[0]).tolist()
    assert operator({"u": U[:1], "x": X[0, :1]}).shape == (1, 1)
    operator.input_widths = dict.fromkeys("abcde", 1)
    assert operator(dict.fromkeys("abcde", 0.5)).shape == (1,)
    assert operator({name: [0.5] for name in "abcde"}).shape == (1, 1)


def test_inputs_by_name_keep_their_type(operator: sv.Network) -> None:
    assert operator.input_rows({"u": np.float32(U), "x": np.float32(X[:, 0])}).dtype == np.float32
    assert operator.input_rows({"u": np.asfortranarray(U), "x": X[::-1, 0]}).dtype == np.float64


@every_engine
def test_a_training_by_name_is_one_by_rows(engine: str) -> None:
    def trained(inputs: object, others: object) -> list[object]:
        net, y = operator_network(engine), U[:, 1]
        losses = [net.train_step(inputs, y), *net.train(inputs, y, steps=3)]
        session = advanced(sv.Session(net, (inputs, y), batch=4, engine=engine), 3)
        session.data = others, y
        session.add_samples({"u": U[0], "x": 0.5} if inputs is BY_NAME else [*U[0], 0.5], 0.25)
        session.advance(3)
        return [*losses, session.loss, session.data.training[0].tolist(), net.bank.value.tolist()]

    assert trained(BY_NAME, {"u": -U, "x": X[:, 1]}) == trained(ROWS, np.hstack([-U, X[:, 1:2]]))


def test_names_of_inputs_stay_with_copies(operator: sv.Network) -> None:
    shaken = pickle.loads(pickle.dumps(operator))
    for each in (
        operator.copy(),
        operator.copy("float64"),
        operator.fresh(3),
        copy.deepcopy(operator),
        shaken,
    ):
        assert [*each.input_widths.items()] == [("u", 4), ("x", 1)]
    operator.copy().input_widths = {"x": 1, "u": 4}
    dict.clear(operator.input_widths)  # type: ignore[arg-type]  # on purpose
    assert [*operator.input_widths] == ["u", "x"]
    operator.input_widths = {}
    refused(InputError, "has no names of inputs").by(operator, BY_NAME)


def test_names_of_inputs_stay_as_the_network_grows() -> None:
    net = sv.Network([5, 4, 1], "tanh")
    net.input_widths = {"u": 4, "x": 1}
    y = U[:, :1]
    session = sv.Session(net, sv.data.Arrays(ROWS, y, standardize=True), batch=6)
    assert len(net.layers) == 3 and [*net.input_widths] == ["u", "x"]
    for grown in (sv.add_neurons(session, 1), sv.reinitialize(session, "he_normal", seed=1)):
        assert grown.network.input_widths == {"u": 4, "x": 1}
        assert grown.network(BY_NAME).shape == (6, 1)


@pytest.mark.parametrize(
    "widths",
    [
        4, {"": 5}, {2: 5}, {"u": 5.0}, {"u": True, "x": 4}, {"u": 5, "x": 0}, {"u": 6, "x": -1},
        {"u": 4}, ["u", "x"],
    ],
    ids=str,
)  # fmt: skip
def test_widths_that_do_not_fit_are_refused(widths: object, operator: sv.Network) -> None:
    with refused(InputError, widths, "the 5 inputs"):
        operator.input_widths = widths  # type: ignore[assignment]  # on purpose
    assert operator.input_widths == {"u": 4, "x": 1}


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"x": None}, InputError, "'x' is missing"),
        ({"y": X}, InputError, "'y' is unknown"),
        ({3: X}, InputError, "3 is unknown"),
        ({"u": U[:, :3]}, ShapeError, "'u'"),
        ({"u": U[:, 0]}, ShapeError, "'u'"),
        ({"x": X}, ShapeError, "'x'"),
        ({"x": X[:3, 0]}, InputError, "{'u': 6, 'x': 3}"),
        ({"x": X[:0, 0], "u": U[:0]}, ShapeError, "'u'"),
        ({"x": "a"}, InputError, "'x'"),
        ({"x": np.full(6, np.nan)}, NotFiniteError, "'x'"),
    ],
    ids=str,
)
def test_inputs_by_name_that_do_not_fit_are_refused(
    change: dict[object, object], error: type[Exception], said: str, operator: sv.Network
) -> None:
    inputs = {name: each for name, each in {**BY_NAME, **change}.items() if each is not None}
    refused(error, said).by(operator, inputs)
    refused(error, said).by(operator.train_step, inputs, U[:, 0])
    refused(error, said).by(sv.Session, operator, (inputs, U[:, 0]))


def test_a_data_set_takes_rows_of_inputs_by_name() -> None:
    refused(InputError, "net.input_rows(x)").by(sv.data.Arrays, BY_NAME, U[:, 0])
    held = sv.data.Arrays(operator_network().input_rows(BY_NAME), U[:, 0], share=0.5)
    assert held.inputs == 5 and held.samples == 3


def test_a_function_has_no_inputs_by_name() -> None:
    function = sv.compile(lambda a, b: a * b, inputs=2)
    refused(InputError, "the expression").by(function, {"a": 1.0, "b": 2.0})
    assert not function.input_widths
