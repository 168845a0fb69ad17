"""The captions and cards of a page are those of Python, word for word."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.losses import LOSSES, MEANS
from scalarviz.story.equations import change_between
from scalarviz.story.formats import said
from tests.additions.layer_classes import Radial, Sines
from tests.pages.walks import Walk, compare, compared, expected, questions, said_by_node, spec_of
from tests.sessions import advanced

Make = Callable[[], sv.Session]

OPTIMIZERS = [
    sv.Momentum(0.1),
    sv.Nesterov(0.1),
    sv.RMSProp(0.01),
    sv.Adam(0.01),
    sv.AdamW(0.01),
    sv.Adam(0.01, schedule=sv.Schedule("cosine", steps=10)),
    sv.SGD(0.1, schedule=sv.Schedule("warmup_cosine", warmup=3, steps=10, floor=0.1)),
    sv.SGD(0.1, schedule=sv.Schedule("step", every=2)),
    sv.SGD(0.1, clip_value=0.01),
    sv.SGD(0.1, clip_norm=0.01),
    sv.SGD(0.1, clip_norm=0.01, clip_value=0.003, l1=0.01, l2=0.02),
    sv.Momentum(0.1, l2=0.1),
]


def colours(*layers: Any, batch: int = 4, lr: float = 0.5, **options: Any) -> sv.Session:
    """A network that learns colours on the python engine."""
    network = sv.Network([*layers], seed=1)
    options = {"optimizer": sv.SGD(lr), **options}
    return sv.Session(network, data.Rgb(), batch=batch, engine="python", **options)


def classes(network: sv.Network, inputs: int, batch: int = 4) -> sv.Session:
    """A network that learns two classes of made-up samples."""
    x = np.random.default_rng(0).normal(size=(10, inputs))
    samples = data.Arrays(x, np.arange(10) % 2)
    options = {"loss": "softmax_cross_entropy", "optimizer": sv.Adam(0.05)}
    return sv.Session(network, samples, batch=batch, engine="python", **options)


def with_kernels(pool: Any) -> sv.Session:
    kernels = sv.Conv2d((1, 8, 8), 3, 3, activation="relu", padding=1)
    return classes(sv.Network([kernels, pool((3, 8, 8), 2), sv.Dense(48, 2)], seed=1), 64, 3)


def with_groups() -> sv.Session:
    few = sv.Conv2d((4, 5, 5), 4, 3, (2, 1), 1, "relu", dilation=(1, 2), groups=2)
    depthwise = sv.Conv2d((4, 3, 3), 8, 2, groups=4)
    return classes(sv.Network([few, depthwise, sv.Dense(32, 2)], seed=1), 100, 3)


def part_frozen() -> sv.Session:
    session = colours(sv.Dense(3, 8, "tanh"), sv.Dense(8, 3, "sigmoid"))
    session.freeze(session.network.layers[0])
    return session


def held_norm() -> sv.Session:
    session = advanced(colours(sv.Dense(3, 4, "tanh"), sv.BatchNorm(4), sv.Dense(4, 3)), 2)
    session.freeze(session.network.layers[1])
    return session


def own_rates(optimizer: sv.Optimizer) -> sv.Session:
    session = colours(sv.Dense(3, 8, "tanh"), sv.Dense(8, 3, "sigmoid"), optimizer=optimizer)
    session.set_rate(session.network.layers[0], 0.0123)
    return session


COSINE = sv.Schedule("cosine", steps=10)
# Layers that learn colours, and options.
COLOURS: dict[str, tuple[list[sv.Layer], dict[str, Any]]] = {
    "one sample": ([sv.Dense(3, 8, "tanh"), sv.Dense(8, 3, "sigmoid")], {"batch": 1}),
    "large batch": ([sv.Dense(3, 40, "tanh"), sv.Dense(40, 3, "sigmoid")], {"batch": 100}),
    "deep": ([sv.Dense(3, 6, "elu"), sv.Dense(6, 4, "elu"), sv.Dense(4, 3)], {}),
    "no biases": ([sv.Dense(3, 4, "tanh", bias=False), sv.Dense(4, 3, bias=False)], {}),
    "linear only": ([sv.Dense(3, 3)], {}),
    "softmax": ([sv.Dense(3, 5, "tanh"), sv.Dense(5, 3), sv.Softmax(3)], {}),
    "log_softmax": ([sv.Dense(3, 5, "selu"), sv.Dense(5, 3), sv.LogSoftmax(3)], {}),
    "layer norm": ([sv.Dense(3, 5, "tanh"), sv.LayerNorm(5), sv.Dense(5, 3)], {}),
    "rms norm": ([sv.Dense(3, 5, "tanh"), sv.RMSNorm(5), sv.Dense(5, 3)], {}),
    "batch norm": ([sv.Dense(3, 5, "tanh"), sv.BatchNorm(5), sv.Dense(5, 3)], {}),
    "slopes": ([sv.PReLU(3), sv.Dense(3, 4), sv.PReLU(4, slopes=2), sv.Dense(4, 3)], {}),
    "dropout": ([sv.Dense(3, 8, "tanh"), sv.Dropout(8, 0.5), sv.Dense(8, 3)], {}),
    "residual": ([sv.Dense(3, 4, "tanh"), sv.Residual(sv.Dense(4, 4, "tanh")), sv.Dense(4, 3)], {}),
    "gate": (
        [
            sv.Dense(3, 8, "tanh"),
            sv.Product(sv.Activation((2, 2, 2), "linear"), [sv.Dense(8, 2), sv.Spread((2, 2, 2))]),
            sv.Dense(8, 3),
        ],
        {},
    ),
    "projection": (
        [sv.Dense(3, 4), sv.Residual(sv.Dense(4, 5, "tanh"), skip=sv.Dense(4, 5)), sv.Dense(5, 3)],
        {},
    ),
    "product": (
        [sv.Product([sv.Dense(3, 4, "tanh"), sv.Dense(4, 3)], sv.Dense(3, 3)), sv.Dense(3, 3)],
        {},
    ),
    "concatenation": (
        [
            sv.Dense(3, 4),
            sv.Concatenate(sv.Dense(4, 3, "tanh"), sv.Dense(4, 2)),
            sv.Dense(5, 3),
        ],
        {},
    ),
    "as Python": ([sv.Dense(3, 4, "tanh"), Radial(4, 6), sv.Dense(6, 3)], {}),
    "as Python inside": ([sv.Dense(3, 4), sv.Residual(Sines(4, 4)), sv.Dense(4, 3)], {}),
    "waves": ([sv.FrequencyEncoding(3, 2), sv.Dense(12, 3)], {}),
    "diverging": ([sv.Dense(3, 4, "relu"), sv.Dense(4, 3)], {"lr": 1e4}),
    "tiny steps": ([sv.Dense(3, 4, "tanh"), sv.Dense(4, 3)], {"lr": 1e-6}),
}
NETWORKS: dict[str, Make] = {
    **{name: partial(colours, *layers, **options) for name, (layers, options) in COLOURS.items()},
    "settings": lambda: colours(sv.Dense(3, 5, "elu(0.5)"), sv.Dense(5, 3, "hard_tanh(-2,0.5)")),
    "frozen": part_frozen,
    "held batch norm": held_norm,
    "own rates": partial(own_rates, sv.SGD(0.1)),
    "scheduled own rates": partial(own_rates, sv.Adam(0.1, schedule=COSINE)),
    "max pool": partial(with_kernels, sv.MaxPool2d),
    "average pool": partial(with_kernels, sv.AvgPool2d),
    "groups": with_groups,
}


def test_captions_of_a_small_network_are_those_of_python(tmp_path: Path) -> None:
    network = sv.Network([2, 4, 1], "tanh", "sigmoid", seed=0)
    session = sv.Session(network, data.Xor(), optimizer=sv.SGD(0.5), engine="python", batch=4)
    assert compared(session, tmp_path) > 100


def test_captions_of_classes_with_adam_are_those_of_python(tmp_path: Path) -> None:
    network = sv.Network([4, 3, 2], "leaky_relu", "linear", seed=0)
    assert compared(classes(network, 4), tmp_path) > 100


def test_captions_and_cards_of_edited_weights_are_those_of_python(tmp_path: Path) -> None:
    session = colours(sv.Dense(3, 4, "tanh"), sv.Dense(4, 3))
    walk, states, wanted = Walk(session), [], []
    asked = [(name, {"row": row}) for row in (1, 20) for name in ("caption", "card")]
    for done, state in enumerate(walk.states(2), 1):
        if done in (4, 8, len(session.operations)):  # the last one is after a whole step
            walk.edit(1 if done != 8 else 20, 0.1 * done)
            state = walk.state()
        states.append({"state": state, "asked": asked})
        wanted.append([expected(session, state, *each) for each in asked])
    compare(session, states, wanted, tmp_path)


def test_what_learns_is_explained_by_itself(tmp_path: Path) -> None:
    session = colours(sv.Dense(3, 4, "tanh"), sv.Dense(4, 3))
    session.freeze([0, 1, 2])
    states, asked, wanted = [], ("caption", {}), []
    for state in Walk(session).states(2):
        states.append({"state": state, "asked": [asked]})
        wanted.append([expected(session, state, *asked)])
    assert session.caption().rows == (3,)
    compare(session, states, wanted, tmp_path)


def test_captions_without_the_whole_batch_have_the_same_titles(tmp_path: Path) -> None:
    session = colours(sv.Dense(3, 4, "tanh"), sv.Dense(4, 3), optimizer=sv.Adam(0.01))
    asked = [("caption", each) for each in questions(session)]
    lean, wanted = [], []
    for state in Walk(session).states(2):
        wanted.append([expected(session, state, *each)["title"] for each in asked])
        missing = {"all": None, "fresh": None, "gradBefore": None, "earlier": None}
        lean.append({"state": {**state, **missing}, "asked": asked})
    found = said_by_node({"spec": spec_of(session), "states": lean}, tmp_path)["states"]
    assert [[caption["title"] for caption in captions] for captions in found] == wanted
    assert all(caption["lines"] for captions in found for caption in captions)


def test_a_card_between_played_steps_has_what_is_known(tmp_path: Path) -> None:
    session = colours(sv.Dense(3, 4, "tanh"), sv.Dense(4, 3))
    state = [*Walk(session).states(2)][-1]
    rests = {"moment": -1, "gradients": {}, "all": None}
    unknown = {**rests, "before": None, "slotsBefore": None, "earlier": None}
    states = [
        {"state": {**state, **each}, "asked": [("card", {"row": 5})]} for each in (rests, unknown)
    ]
    (known,), (bare,) = said_by_node({"spec": spec_of(session), "states": states}, tmp_path)[
        "states"
    ]
    old, new = state["before"][5], state["value"][5]
    assert known["blocks"][0]["words"] == "{} → {}".format(*change_between(old, new)[:2])
    assert known["blocks"][-1]["words"].startswith("new w = ")
    grad = said(float(state["grad"][5]))
    assert bare["blocks"][0]["words"] == said(float(new), 3)
    assert [block["words"] for block in bare["blocks"][2:]] == [
        f"The chain rule gives a gradient of {grad}."
    ]


@pytest.mark.slow
def test_captions_in_float32_are_those_of_python(tmp_path: Path) -> None:
    network = sv.Network([3, 8, 3], "tanh", "sigmoid", seed=0, dtype="float32")
    session = sv.Session(network, data.Rgb(), optimizer=sv.SGD(0.5), batch=8, engine="cpu")
    assert compared(session, tmp_path, steps=20) > 1000


@pytest.mark.slow
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_captions_of_every_activation_are_those_of_python(name: str, tmp_path: Path) -> None:
    for sizes, ends in (([3, 8, 3], (name, "sigmoid")), ([3, 5, 3], ("tanh", name))):
        network = sv.Network(sizes, *ends, seed=1)
        session = sv.Session(network, data.Rgb(), optimizer=sv.SGD(0.1), batch=8, engine="python")
        assert compared(session, tmp_path, steps=4) > 300


@pytest.mark.slow
@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("name", LOSSES)
def test_captions_of_every_loss_are_those_of_python(name: str, mean: Any, tmp_path: Path) -> None:
    loss = sv.Loss(name, mean=mean, factor=1.0 if mean == "all" else 0.5)
    session = colours(sv.Dense(3, 4, "tanh"), sv.Dense(4, 3), loss=loss, batch=3, lr=0.05)
    assert compared(session, tmp_path, steps=4) > 300


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=repr)
def test_captions_of_every_optimizer_are_those_of_python(
    optimizer: sv.Optimizer, tmp_path: Path
) -> None:
    session = colours(sv.Dense(3, 5, "tanh"), sv.Dense(5, 3, "sigmoid"), optimizer=optimizer)
    assert compared(session, tmp_path, steps=4, skip=3) > 300


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_captions_of_every_kind_are_those_of_python(name: str, tmp_path: Path) -> None:
    assert compared(NETWORKS[name](), tmp_path, steps=3) > 50
