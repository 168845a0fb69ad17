"""Every engine agrees with the python engine: values, gradients, whole runs."""

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
    LARGE,
    MAKERS,
    NETWORKS,
    TOLERANCE,
    Array,
    banks_agree,
    difference,
    gradients_agree,
    network,
    numbers,
    schedule_of,
)
from tests.sessions import examples, fast_engines, networks
from tests.warm import SELDOM

both_types = pytest.mark.parametrize("dtype", TOLERANCE)


# In float32 each activation is compared by `test_dispatch`, with the same body in its kernels.
QUICK = {("float32", "tanh"), *(("float64", name) for name in ACTIVATIONS.keys() - SELDOM)}


def usual(names: Iterable[str]) -> list[Any]:
    """The names of formulas; those whose kernels are not compiled before the tests are slow."""
    slow = pytest.mark.slow
    return [pytest.param(each, marks=slow if each in SELDOM else ()) for each in names]


@fast_engines
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


@both_types
def test_a_single_sample_has_the_bits_it_has_in_a_batch(dtype: str) -> None:
    """Alone, it is computed with one number of a layer per lane: whole vectors, and the rest."""
    net = sv.Network([20, 33, 17], "tanh", "tanh", dtype=dtype, seed=1, engine="cpu")
    batch, upstream = numbers(5, 20), numbers(5, 17)
    outputs, gradients = net.forward(batch), net.backward(upstream)
    for i in range(5):
        assert (net.forward(batch[[i]]) == outputs[i]).all()
        assert (net.backward(upstream[[i]]) == gradients[i]).all()


@fast_engines
@pytest.mark.some(1)
@pytest.mark.parametrize("first", ["elu(0.5)", "celu(2)", "softplus(3)", "hard_sigmoid(0.25,0.4)"])
def test_activations_with_settings(engine: str, first: str) -> None:
    net = sv.Network([3, 7, 5, 2], first, "hard_tanh(-2,0.5)", dtype="float64", seed=1)
    gradients_agree(net, engine, numbers(9, 3))


@fast_engines
@pytest.mark.some("rows-9-cpu", "slopes-9-cpu", "pictures in branches-150-cpu", "rows-9-cuda",
                  "all-9-cuda", "convolution-67-cuda", "pictures in branches-1-cuda")  # fmt: skip
@pytest.mark.parametrize("samples", [1, 9, 67, 150])
@pytest.mark.parametrize("name", [*NETWORKS, *LARGE])
def test_every_network(engine: str, name: str, samples: int) -> None:
    """Verbs and whole steps; what they keep of batches is the same too."""
    net = network(name)
    gradients_agree(net, engine, numbers(samples, net.inputs))
    runs_agree(net, engine, sv.Loss("mse"), sv.SGD(0.05), samples, steps=2)


@fast_engines
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


@fast_engines
@both_types
@pytest.mark.parametrize("samples", [1, 2, 3, 63, 64, 127, 128, 129, 200, 700])
def test_every_size_of_batch(engine: str, dtype: str, samples: int) -> None:
    gradients_agree(sv.Network([2, 3, 1], "tanh", dtype=dtype), engine, numbers(samples, 2))


@fast_engines
@pytest.mark.parametrize("sizes", [[1, 1], [4, 4], [5, 6, 7], [2, 9, 1], [17, 3, 8, 2]])
def test_every_width(engine: str, sizes: list[int]) -> None:
    gradients_agree(sv.Network(sizes, "tanh", dtype="float64"), engine, numbers(6, sizes[0]))


@fast_engines
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


@fast_engines
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


@fast_engines
@pytest.mark.parametrize("conditions", CONDITIONS, ids=["plain", "norm", "all"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_over_100_steps(engine: str, name: str, conditions: dict[str, Any]) -> None:
    net = sv.Network([3, 6, 2], "tanh", "sigmoid", dtype="float64")
    runs_agree(net, engine, sv.Loss("mse"), MAKERS[name](1e-3, **conditions), samples=4, steps=100)


@fast_engines
@pytest.mark.parametrize("name", usual(SCHEDULES))
def test_every_schedule(engine: str, name: str) -> None:
    schedule = schedule_of(name, every=5.0, steps=15.0, warmup=4.0)
    net = sv.Network([2, 3], dtype="float64")
    runs_agree(net, engine, sv.Loss(), sv.Adam(0.1, schedule=schedule), samples=3, steps=20)
