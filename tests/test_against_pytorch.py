"""Every table against PyTorch, with reference values from reference/make_reference.py.

The tests only read reference/pytorch.json, so they do not require PyTorch.
"""

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.core.formulas.activations import ACTIVATIONS, activation_row
from scalarviz.core.formulas.arithmetic import OPERATIONS
from scalarviz.core.formulas.formula import Formula
from scalarviz.core.formulas.initializers import BIASES
from scalarviz.core.formulas.optimizers import OPTIMIZERS
from scalarviz.core.layers import LAYERS

REFERENCE = json.loads(
    (Path(__file__).parent / "reference" / "pytorch.json").read_text(encoding="utf-8")
)
TOLERANCE = 1e-12


def every(group: str) -> pytest.MarkDecorator:
    """One test for each row of a table that PyTorch supports."""
    return pytest.mark.parametrize("name", REFERENCE[group])


def difference(ours: Any, theirs: Any, least: float = 0.0) -> float:
    """Return the largest difference, relative to the largest value, or `least` if all are smaller.

    It is infinite if only one is finite, if the infinities differ, and if all reference values are
    0 but ours are not.
    """
    a, b = np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    assert a.shape == b.shape
    finite = np.isfinite(a) & np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return math.inf
    largest = np.abs(b[finite]).max(initial=least)
    apart = np.abs(a[finite] - b[finite]).max(initial=0.0)
    if apart == 0.0:
        return 0.0
    return float(apart / largest) if largest > 0.0 else math.inf


def assert_agree(ours: Any, theirs: Any, what: str = "", least: float = 0.0) -> None:
    found = difference(ours, theirs, least)
    assert found <= TOLERANCE, f"{what} {ours} is not {theirs}: {found:.1e} apart"


# ---- single numbers ------------------------------------------------------------------------------

# Every derivative is compared individually, however small. If that of tanh is small, 1 - y * y has
# few correct digits, in PyTorch as here: it is compared with 1.
LEAST_DERIVATIVE = {"tanh": 1.0}


def assert_same_at_every_point(row: Formula, expected: Mapping[str, Any]) -> None:
    for i, point in enumerate(expected["points"]):
        value = row.value(*point)
        assert_agree(value, expected["value"][i], f"{row.name} at {point}:")
        for partial, theirs in zip(row.partials, expected["partials"], strict=True):
            what = f"{partial.__name__} of {row.name} at {point}:"
            least = LEAST_DERIVATIVE.get(row.name, 0.0)
            assert_agree(partial(*point, value), theirs[i], what, least)


@every("activations_with_settings")
def test_an_activation_with_settings(name: str) -> None:
    row = activation_row(name)
    assert row.name == name
    assert_same_at_every_point(row, REFERENCE["activations_with_settings"][name])


@pytest.mark.parametrize(
    ("kind", "row"),
    [
        *[("activations", ACTIVATIONS[each]) for each in REFERENCE["activations"]],
        *[("operations", OPERATIONS[each]) for each in REFERENCE["operations"]],
    ],
)
def test_a_function_and_its_derivatives(kind: str, row: Formula) -> None:
    assert_same_at_every_point(row, REFERENCE[kind][row.name])


@pytest.mark.parametrize("mean", ["all", "samples", "none"])
@every("losses")
def test_a_loss_and_its_gradient(name: str, mean: Any) -> None:
    for batch in REFERENCE["losses"][name]:
        loss = sv.Loss(name, mean=mean)
        expected = batch["means"][mean]
        assert_agree(loss.forward(batch["prediction"], batch["target"]), expected["value"])
        gradient = loss.backward().ravel()
        for ours, theirs in zip(gradient, np.ravel(expected["gradient"]), strict=True):
            assert_agree(ours, theirs)


@every("losses")
def test_the_factor_multiplies_a_loss_and_its_gradient(name: str) -> None:
    batch = REFERENCE["losses"][name][0]
    expected = batch["means"]["samples"]
    loss = sv.Loss(name, factor=0.5, mean="samples")
    assert_agree(loss.forward(batch["prediction"], batch["target"]), 0.5 * expected["value"])
    assert_agree(loss.backward(), 0.5 * np.array(expected["gradient"]))


# ---- optimizers and schedules -------------------------------------------------------------------

CLASSES: dict[str, Callable[..., sv.Optimizer]] = {
    kind().name: kind for kind in sv.Optimizer.__subclasses__()
}


@every("optimizers")
def test_ten_steps_of_an_optimizer(name: str) -> None:
    for case, expected in REFERENCE["optimizers"][name].items():
        optimizer = CLASSES[name](lr=expected["lr"], **expected["settings"], **expected["common"])
        bank = sv.Bank(len(REFERENCE["steps"]["start"]), "float64")
        bank.value[:] = REFERENCE["steps"]["start"]
        for gradient, weights in zip(
            REFERENCE["steps"]["gradients"], expected["weights"], strict=True
        ):
            bank.grad[:] = gradient
            bank.step(optimizer, slice(None))
            for ours, theirs in zip(bank.value, weights, strict=True):
                assert_agree(ours, theirs, f"{case}:")
        assert bank.slots.keys() == expected["slots"].keys()
        for slot, theirs in expected["slots"].items():
            assert_agree(bank.slots[slot], theirs, f"{case}, {slot}:")


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_defaults_of_an_optimizer_by_class_and_by_name(name: str) -> None:
    assert CLASSES[name](lr=0.1).settings == sv.Optimizer(name, 0.1).settings


@every("schedules")
def test_a_schedule(name: str) -> None:
    expected = REFERENCE["schedules"][name]
    optimizer = sv.SGD(expected["lr"], schedule=sv.Schedule(name, **expected["settings"]))
    for step, rate in enumerate(expected["rates"]):
        assert_agree(optimizer.rate(step), rate, f"step {step}:")


# ---- initializers -------------------------------------------------------------------------------


@every("initializers")
def test_what_initial_weights_are_drawn_from(name: str) -> None:
    expected = REFERENCE["initializers"][name]
    init = sv.Init(name, **expected["settings"])
    assert init.weight.kind == expected["kind"]
    for shape, theirs in zip(expected["shapes"], expected["spreads"], strict=True):
        assert_agree(init.weight.spread(*shape, *init.settings.values()), theirs, f"{shape}:")


@every("biases")
def test_what_initial_biases_are_drawn_from(name: str) -> None:
    expected = REFERENCE["biases"][name]
    assert BIASES[name].kind == expected["kind"]
    for shape, theirs in zip(expected["shapes"], expected["spreads"], strict=True):
        assert_agree(BIASES[name].spread(*shape), theirs, f"{shape}:")


# ---- layers and networks ------------------------------------------------------------------------


@every("layers")
def test_a_layer_and_all_its_gradients(name: str) -> None:
    for expected in REFERENCE["layers"][name]:
        layer = LAYERS[name](**expected["settings"])
        layer.bank.value[:] = expected["parameters"]
        assert_agree(layer.forward(expected["inputs"]), expected["outputs"])
        assert_agree(layer.backward(expected["upstream"]), expected["input_gradients"])
        assert_agree(layer.bank.grad, expected["gradients"])
        assert_agree(layer(expected["inputs"]), expected.get("evaluated", expected["outputs"]))


def small() -> sv.Network:
    return sv.Network([3, 8, 3], "tanh", "sigmoid", dtype="float64")


def encoded() -> sv.Network:
    layers = [
        sv.FrequencyEncoding(2, octaves=3),
        sv.Dense(12, 6, "leaky_relu"),
        sv.LayerNorm(6),
        sv.Dense(6, 3, "sigmoid", bias=False),
    ]
    return sv.Network(layers, dtype="float64")


def shared() -> sv.Network:
    twice = sv.Dense(5, 5, "tanh")
    return sv.Network([sv.Dense(3, 5, "tanh"), twice, twice, sv.Dense(5, 2)], dtype="float64")


NETWORKS = {
    "3-8-3, Adam": (small, sv.Adam(0.02)),
    "3-8-3, SGD": (small, sv.SGD(0.5)),
    "encoded": (encoded, sv.Adam(0.01)),
    "shared": (shared, sv.Momentum(0.05)),
}


@every("networks")
def test_the_gradients_of_a_network(name: str) -> None:
    expected = REFERENCE["networks"][name]
    net = NETWORKS[name][0]()
    net.bank.value[:] = expected["start"]
    loss = sv.Loss("mse")
    outputs = net.forward(expected["inputs"])
    loss.forward(outputs, expected["targets"])
    inputs = net.backward(loss.backward())
    assert_agree(outputs, expected["outputs"])
    assert_agree(inputs, expected["input_gradients"])
    assert_agree(net.bank.grad, expected["gradients"])


@every("networks")
def test_a_hundred_steps_of_training(name: str) -> None:
    expected = REFERENCE["networks"][name]
    make, optimizer = NETWORKS[name]
    net = make()
    net.bank.value[:] = expected["start"]
    losses = [
        net.train_step(expected["inputs"], expected["targets"], "mse", optimizer)
        for _ in expected["losses"]
    ]
    assert_agree(losses, expected["losses"])
    assert_agree(net.bank.value, expected["end"])
