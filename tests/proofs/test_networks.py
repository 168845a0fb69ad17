"""Random networks against PyTorch's results (tests/reference/make_networks.py)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.core.formulas.losses import LOSSES, ROW_LOSSES
from scalarviz.core.formulas.optimizers import OPTIMIZERS
from scalarviz.core.layers import LAYERS
from scalarviz.core.optimizer import Optimizer
from tests.proofs.report import Proof
from tests.root import ROOT
from tests.test_against_pytorch import REFERENCE

FILE = ROOT / "tests" / "reference" / "random_networks.npz"
ENGINES = ("python", "cpu")

# Of the largest number: for one pass, and for what some steps add up to.
PASS, STEPS = 1e-12, 1e-10

Numbers = dict[str, np.ndarray]
Case = tuple[dict[str, Any], Numbers]


def cases() -> Iterator[Case]:
    """How each network is made, and its numbers by name."""
    with np.load(FILE) as file:
        about, numbers = json.loads(file["recipes"].tobytes()), file["numbers"]
    at = 0
    for recipe in about["networks"]:
        found = {}
        for name, shape in recipe["shapes"].items():
            count = math.prod(shape)
            found[name] = numbers[at : at + count].reshape(shape)
            at += count
        yield recipe, found
    assert at == len(numbers)


def layer_of(recipe: dict[str, Any]) -> sv.Layer:
    settings = dict(recipe["settings"])
    if "layers" in settings:
        settings["layers"] = [layer_of(each) for each in settings["layers"]]
    return LAYERS[recipe["kind"]](**settings)


def network_of(recipe: dict[str, Any], engine: str) -> sv.Network:
    layers = [layer_of(each) for each in recipe["layers"]]
    return sv.Network([layers[i] for i in recipe["order"]], dtype="float64", engine=engine)


def optimizer_of(recipe: dict[str, Any]) -> Optimizer:
    every = recipe["every"]
    schedule = sv.Schedule("step", every=every, factor=0.7) if every else None
    common = {**recipe["common"], "schedule": schedule}
    return Optimizer(recipe["optimizer"], recipe["lr"], recipe["settings"], **common)


def running(net: sv.Network) -> list[float]:
    """The running statistics of every BatchNorm."""
    found = [layer for layer in dict.fromkeys(net.layers) if isinstance(layer, sv.BatchNorm)]
    return [x for layer in found for x in (*layer.running_mean, *layer.running_variance)]


def error(ours: Any, theirs: np.ndarray) -> float:
    """The largest difference, as a part of the largest number."""
    a = np.asarray(ours, np.float64).reshape(theirs.shape)
    return float(np.abs(a - theirs).max(initial=0.0) / max(np.abs(theirs).max(initial=0.0), 1e-3))


def errors(engine: str, recipe: dict[str, Any], expected: Numbers) -> dict[str, float]:
    """How far each result is from PyTorch's."""
    net, loss = network_of(recipe, engine), sv.Loss(**recipe["loss"])
    net.bank.value[:] = expected["start"]
    outputs = net.forward(expected["inputs"])
    value = loss.forward(outputs, expected["targets"])
    by_inputs = net.backward(loss.backward())
    found = {
        "outputs": error(outputs, expected["outputs"]) / PASS,
        "loss": error(value, expected["losses"][:1]) / PASS,
        "gradients by inputs": error(by_inputs, expected["input_gradients"]) / PASS,
        "gradients by weights": error(net.bank.grad, expected["gradients"]) / PASS,
    }
    net = network_of(recipe, engine)
    net.bank.value[:] = expected["start"]
    inputs, targets, optimizer = expected["inputs"], expected["targets"], optimizer_of(recipe)
    losses = [
        net.train_step(inputs[rows], targets[rows], loss, optimizer) for rows in recipe["batches"]
    ]
    steps = {
        "losses of all steps": (losses, "losses"),
        "weights at the end": (net.bank.value, "end"),
        "running statistics": (running(net), "state"),
        "evaluated at the end": (net(inputs), "evaluated"),
    }
    return found | {what: error(a, expected[b]) / STEPS for what, (a, b) in steps.items()}


def test_random_networks_have_every_kind_of_everything() -> None:
    recipes = [recipe for recipe, _ in cases()]
    layers = [layer for recipe in recipes for layer in recipe["layers"]]
    found = {layer["kind"] for layer in layers} | {recipe["optimizer"] for recipe in recipes}
    found |= {layer["settings"].get("activation", "linear") for layer in layers}
    found |= {recipe["loss"]["name"] for recipe in recipes}
    # A formula of the user, numbers that do not learn, and a copy of numbers.
    apart = {"Elementwise", "Affine", "Spread"}
    wanted = {*LAYERS, *LOSSES, *ROW_LOSSES, *OPTIMIZERS, *REFERENCE["activations"]} - apart
    assert wanted <= found, (
        f"no random network has {wanted - found}: let tests/reference/make_networks.py make some, "
        "with PyTorch; or add to `apart` here what PyTorch lacks"
    )
    assert any(len(recipe["order"]) > len(recipe["layers"]) for recipe in recipes)  # shared ones


@pytest.mark.slow
def test_random_networks_against_pytorch(proof: Proof) -> None:
    known = list(cases())
    chosen = known[: proof.count(len(known))]
    worst: dict[str, float] = {}
    wrong = []
    for engine in ENGINES:
        for i, (recipe, expected) in enumerate(chosen):
            for what, found in errors(engine, recipe, expected).items():
                worst[what] = max(worst.get(what, 0.0), found)
                if not found <= 1.0:
                    wrong.append(f"network {i} on {engine}: {what} {found:.1e} times too far off")
    assert not wrong, "\n".join(wrong)
    steps = len(known[0][1]["losses"])
    proof.seeds = "7"
    proof.tried = [
        f"{len(chosen)} networks of all layers, activations, losses and optimizers, on "
        f"{' and '.join(ENGINES)} in float64: outputs, loss, all gradients, {steps} steps, running "
        "statistics"
    ]
    passes, rest = max(list(worst.values())[:4]), max(list(worst.values())[4:])
    proof.found = [
        f"one pass within {passes * PASS:.0e} of the largest number, {steps} steps within "
        f"{rest * STEPS:.0e}"
    ]
