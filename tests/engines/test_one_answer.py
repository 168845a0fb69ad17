"""Every engine agrees with the python engine: values, gradients, whole runs."""

import copy
from collections.abc import Iterable
from itertools import product
from typing import Any

import pytest
from hypothesis import given

import scalarviz as sv
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.losses import LOSSES, ROW_LOSSES
from scalarviz.core.formulas.optimizers import OPTIMIZERS, SCHEDULES
from scalarviz.core.optimizer import Optimizer
from tests.engines.agreement import (
    MAKERS,
    TOLERANCE,
    Array,
    banks_agree,
    difference,
    numbers,
    schedule_of,
)
from tests.sessions import RUNNABLE, examples, networks
from tests.warm import SELDOM

FAST = [name for name in RUNNABLE if name != "python"]

every_engine = pytest.mark.parametrize("engine", FAST)
both_types = pytest.mark.parametrize("dtype", TOLERANCE)


def gradients_agree(net: sv.Network, engine: str, batch: Array) -> None:
    """The verbs give the same outputs and gradients, and so does a whole step."""
    reference, fast = net.copy().to("python"), net.copy().to(engine)
    near = TOLERANCE[net.dtype]
    assert difference(reference(batch), fast(batch)) < near
    assert difference(reference.forward(batch), fast.forward(batch)) < near
    upstream = numbers(len(batch), net.outputs)
    assert difference(reference.backward(upstream), fast.backward(upstream)) < near
    assert difference(reference.bank.grad, fast.bank.grad) < near


# In float32 each activation is compared by `test_dispatch`, with the same body in its kernels.
QUICK = {("float32", "tanh"), *(("float64", name) for name in ACTIVATIONS.keys() - SELDOM)}


def usual(names: Iterable[str]) -> list[Any]:
    """The names of formulas; those whose kernels are not compiled before the tests are slow."""
    slow = pytest.mark.slow
    return [pytest.param(each, marks=slow if each in SELDOM else ()) for each in names]


@every_engine
@pytest.mark.parametrize(
    ("dtype", "activation"),
    [
        pytest.param(*case, marks=() if case in QUICK else pytest.mark.slow)
        for case in product(TOLERANCE, ACTIVATIONS)
    ],
)
def test_every_activation(engine: str, dtype: str, activation: str) -> None:
    net = sv.Network([3, 7, 5, 2], activation, activation, dtype=dtype, seed=1)
    gradients_agree(net, engine, numbers(9, 3))


@every_engine
@pytest.mark.some(1)
@pytest.mark.parametrize("first", ["elu(0.5)", "celu(2)", "softplus(3)", "hard_sigmoid(0.25,0.4)"])
def test_activations_with_settings(engine: str, first: str) -> None:
    net = sv.Network([3, 7, 5, 2], first, "hard_tanh(-2,0.5)", dtype="float64", seed=1)
    gradients_agree(net, engine, numbers(9, 3))


@every_engine
@both_types
def test_every_kind_of_layer(engine: str, dtype: str) -> None:
    shared = sv.Dense(9, 9, "swish")
    layers = [
        sv.FrequencyEncoding(2, octaves=3),
        sv.Dense(12, 9, "leaky_relu"),
        sv.LayerNorm(9),
        shared,
        sv.RMSNorm(9),
        shared,
        sv.Dense(9, 3, bias=False),
    ]
    net = sv.Network(layers, dtype=dtype, seed=3)
    net.bank.value[:] += 0.1 * numbers(len(net.bank))
    gradients_agree(net, engine, numbers(5, 2))


PICTURES: dict[str, list[sv.Layer]] = {
    "convolution": [sv.Conv2d((1, 4, 4), 3, padding=1, activation="tanh"), sv.Dense(48, 2)],
    "strides": [
        sv.Conv2d((1, 4, 4), 2, (3, 2), 2, 1),
        sv.Conv2d((2, 2, 3), 6, 2, 1, 1, "tanh", bias=False),
        sv.Flatten((6, 3, 4)),
        sv.Dense(72, 2),
    ],
    "pools": [
        sv.Conv2d((1, 4, 4), 5, padding=1, activation="relu"),
        sv.MaxPool2d((5, 4, 4)),
        sv.Conv2d((5, 2, 2), 3, 2, padding=1),
        sv.AvgPool2d((3, 3, 3), 3, 1, 1),
        sv.Dense(27, 2),
    ],
    "batch_norm": [
        sv.Conv2d((1, 4, 4), 3, padding=1, activation="tanh"),
        sv.BatchNorm((3, 4, 4)),
        sv.Dense(48, 4, "tanh"),
        sv.BatchNorm(4),
        sv.Dense(4, 2),
    ],
    "dropout": [
        sv.Dropout((1, 4, 4), 0.2), sv.Dense(16, 8, "tanh"), sv.Dropout(8), sv.Dense(8, 2),
    ],
    "residual": [
        sv.Residual(sv.Conv2d((1, 4, 4), 2, padding=1, activation="tanh"),
                    sv.Conv2d((2, 4, 4), 1, padding=1)),
        sv.Activation((1, 4, 4), "relu"),
        sv.Residual(sv.Dense(16, 16, "tanh")),
        sv.Residual(sv.Residual(sv.Dense(16, 16, "relu")), sv.BatchNorm(16)),
        sv.Dense(16, 2),
    ],
    "branches": [
        sv.Concatenate(sv.Conv2d((1, 4, 4), 2, padding=1), sv.Activation((1, 4, 4), "tanh")),
        sv.BatchNorm((3, 4, 4)),
        sv.Product([sv.Dense(48, 5, "tanh"), sv.Dropout(5, 0.3)], sv.Dense(48, 5, "sigmoid")),
        sv.Concatenate(sv.Product(sv.Dense(5, 3), sv.Dense(5, 3)), sv.Residual(sv.Dense(5, 5))),
        sv.Dense(8, 2),
    ],
}  # fmt: skip


@pytest.mark.some(4)
@every_engine
@pytest.mark.parametrize("samples", [1, 7, 64, 70, 150])
@pytest.mark.parametrize("layers", PICTURES.values(), ids=PICTURES)
def test_networks_that_see_pictures(engine: str, layers: list[sv.Layer], samples: int) -> None:
    """Verbs and whole steps; what they keep of batches is the same too."""
    net = sv.Network(copy.deepcopy(layers), dtype="float64", seed=5)
    gradients_agree(net, engine, numbers(samples, 16))
    runs_agree(net, engine, sv.Loss("mse"), sv.SGD(0.05), samples, steps=3)


@every_engine
@given(networks(learning=True))
@examples(15, 60)
def test_random_networks_that_learn(engine: str, case: tuple[sv.Network, Array]) -> None:
    """Layers that do something else while they learn, among all others: three steps, and after."""
    net, batch = case
    reference, fast = net.copy().to("python"), net.copy().to(engine)
    for each in (reference, fast):
        each.train(batch, numbers(len(batch), net.outputs), "mse", sv.SGD(1e-3), steps=3)
    assert difference(reference.bank.state, fast.bank.state) < 1e-9
    assert difference(reference(batch), fast(batch)) < 1e-8


@every_engine
@both_types
@pytest.mark.parametrize("samples", [1, 2, 3, 63, 64, 127, 128, 129, 200, 700])
def test_every_size_of_batch(engine: str, dtype: str, samples: int) -> None:
    gradients_agree(sv.Network([2, 3, 1], "tanh", dtype=dtype), engine, numbers(samples, 2))


@every_engine
@pytest.mark.parametrize("sizes", [[1, 1], [4, 4], [5, 6, 7], [2, 9, 1], [17, 3, 8, 2]])
def test_every_width(engine: str, sizes: list[int]) -> None:
    gradients_agree(sv.Network(sizes, "tanh", dtype="float64"), engine, numbers(6, sizes[0]))


@every_engine
@given(networks())
@examples(15, 40)
def test_random_networks(engine: str, case: tuple[sv.Network, Array]) -> None:
    net, batch = case
    reference, fast = net.copy().to("python"), net.copy().to(engine)
    upstream = numbers(len(batch), net.outputs)
    for each in (reference, fast):
        each.forward(batch)
        each.backward(upstream)
    assert difference(reference.bank.grad, fast.bank.grad) < 1e-10


def runs_agree(
    net: sv.Network, engine: str, loss: sv.Loss, optimizer: Optimizer, samples: int, steps: int
) -> None:
    reference, fast = net.copy().to("python"), net.copy().to(engine)
    inputs, targets = numbers(samples, net.inputs), abs(numbers(samples, net.outputs))
    targets /= targets.sum(axis=1, keepdims=True)
    for _ in range(steps):
        expected = reference.train_step(inputs, targets, loss, optimizer)
        assert fast.train_step(inputs, targets, loss, optimizer) == pytest.approx(expected)
    banks_agree(reference.bank, fast.bank, steps)


@every_engine
@pytest.mark.parametrize("mean", ["all", "samples", "none"])
@pytest.mark.parametrize("loss", usual([*LOSSES, *ROW_LOSSES]))
def test_every_loss(engine: str, loss: str, mean: str) -> None:
    net = sv.Network([3, 5, 4], "tanh", dtype="float64")
    chosen = sv.Loss(loss, mean=mean, factor=0.3)  # type: ignore[arg-type]  # one of the names
    runs_agree(net, engine, chosen, sv.SGD(1e-3), samples=7, steps=3)


CONDITIONS: list[dict[str, Any]] = [
    {},
    {"clip_norm": 0.05},
    {"clip_value": 0.01, "l1": 0.1, "l2": 0.2},
]


@every_engine
@pytest.mark.parametrize("conditions", CONDITIONS, ids=["plain", "norm", "all"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_over_100_steps(engine: str, name: str, conditions: dict[str, Any]) -> None:
    net = sv.Network([3, 6, 2], "tanh", "sigmoid", dtype="float64")
    runs_agree(net, engine, sv.Loss("mse"), MAKERS[name](1e-3, **conditions), samples=4, steps=100)


@every_engine
@pytest.mark.parametrize("name", usual(SCHEDULES))
def test_every_schedule(engine: str, name: str) -> None:
    schedule = schedule_of(name, every=5.0, steps=15.0, warmup=4.0)
    net = sv.Network([2, 3], dtype="float64")
    runs_agree(net, engine, sv.Loss(), sv.Adam(0.1, schedule=schedule), samples=3, steps=20)
