"""Values, compiled functions and networks against fifty digits and against PyTorch."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Value
from scalarviz.core.layers import LAYERS
from scalarviz.core.optimizer import Optimizer
from tests.machine import ROOT
from tests.proofs.report import Proof
from tests.test_against_pytorch import REFERENCE

if TYPE_CHECKING:
    from tests.proofs.fifty_digits import Expression


EPSILON = 2.0**-52
UNITS = 16.0  # of the last digit, by which an operation may be wrong
TRIES = 4  # with other noise; what changes most is the limit
WORST = 1e9  # a result that rounding changes by so many units in the last digit says nothing
LARGEST = 1e12
DIGITS = 1e-10  # of second derivatives, beside the noise


class Exact:
    """The value, the gradient and perhaps the second derivatives, and how far they may be off.

    A kernel does the sums of a compiled function in another order; so there they may be off by what
    rounding makes of their largest term.
    """

    def __init__(self, graph: Expression, chance: random.Random, second: bool) -> None:
        from tests.proofs.fifty_digits import NOISE, mpf

        leaves = [mpf(x) for x in graph.leaves]
        self.along = [chance.uniform(-1.0, 1.0) if second else 0.0 for _ in leaves]

        def numbers(*noise: Any) -> list[Any]:
            value, gradient = graph.exact(leaves, *noise)
            more = graph.exact_second(leaves, self.along, *noise) if second else []
            return [value, *gradient, *more]

        exact = numbers()
        self.numbers = [float(x) for x in exact]
        largest = max(map(abs, self.numbers))
        self.says_something = largest < LARGEST
        self.limits = {}
        for how in ("values", "kernels"):
            noise = [(random.Random(chance.random()), how == "kernels") for _ in range(TRIES)]
            most = zip(exact, *[numbers(*each) for each in noise], strict=True)
            units = [abs(x) + max(abs(y - x) for y in ys) / NOISE for x, *ys in most]
            limits = [UNITS * EPSILON * float(u) + 1e-290 for u in units]
            for i in range(1 + len(leaves), len(exact)):
                limits[i] += DIGITS * (1.0 + largest)
            self.limits[how] = limits
            wild = [u > WORST * (abs(x) + 1) for u, x in zip(units, exact, strict=True)]
            self.says_something &= not any(wild) and not any(u != u for u in units)

    def worst(self, how: str, found: Sequence[float]) -> float:
        """The largest error, as a part of what it may be."""
        errors = np.abs(np.subtract(found, self.numbers[: len(found)]))
        return float(np.max(errors / self.limits[how][: len(found)]))


def by_values(graph: Expression, exact: Exact, second: bool) -> list[float]:
    """What a Value says, the same each time that it is asked."""
    leaves = [Value(x) for x in graph.leaves]
    result = graph.build(leaves)
    result.backward()
    once = [float(x.grad) for x in leaves]
    result.zero_grad()
    result.backward()
    assert [float(x.grad) for x in leaves] == once
    if not second:
        return [result.data, *once]
    result.zero_grad()
    result.backward(create_graph=True)
    slopes = [x.grad for x in leaves]
    assert [float(getattr(x, "data", x)) for x in slopes] == pytest.approx(once, rel=1e-9, abs=1e-9)
    result.zero_grad()
    along = sum((a * x for a, x in zip(exact.along, slopes, strict=True)), Value(0.0))
    along.backward()
    return [result.data, *once, *[float(x.grad) for x in leaves]]


def by_kernels(graph: Expression, parameters: int) -> list[float]:
    """What the compiled function says to three equal samples; some leaves are parameters."""
    known = [Value(x) for x in graph.leaves[:parameters]]
    inputs = graph.leaves[parameters:]
    function = sv.compile(lambda *x: graph.build([*known, *x]), len(inputs), engine="cpu")
    results = function.forward([inputs] * 3)
    gradients = function.backward()
    assert (results == results[0]).all() and (gradients == gradients[0]).all()
    assert (function([inputs] * 3) == results).all()
    return [float(results[0, 0]), *[float(x.grad) / 3.0 for x in known], *gradients[0].tolist()]


@pytest.mark.slow
def test_random_scalar_graphs_against_50_digits(proof: Proof) -> None:
    from tests.proofs.fifty_digits import drawn  # mpmath, which the other tests do not need

    count, seed = proof.count(10_000), 14
    chance = random.Random(seed)
    worst = {"values": 0.0, "kernels": 0.0}
    done = redrawn = seconds = operations = 0
    while done < count:
        second = done % 5 == 0
        graph = drawn(chance, 6 if second else 30)
        exact = Exact(graph, chance, second)
        if not exact.says_something:
            redrawn += 1
            continue
        found = {
            "values": by_values(graph, exact, second),
            "kernels": by_kernels(graph, chance.randrange(len(graph.leaves))),
        }
        for name, numbers in found.items():
            error = exact.worst(name, numbers)
            assert error <= 1.0, f"graph {done}, {name}: {graph} is {numbers}, not {exact.numbers}"
            worst[name] = max(worst[name], error)
        done, seconds, operations = done + 1, seconds + second, operations + len(graph.operations)
    proof.seeds = str(seed)
    proof.tried = [
        f"{done:,} graphs of {operations:,} operations, each as Values and compiled on cpu in "
        f"float64: results and gradients; of {seconds:,} of them second derivatives"
    ]
    proof.found = [
        f"errors of at most {worst['values']:.2f} times the rounding bound as Values, and "
        f"{worst['kernels']:.2f} times compiled",
        f"{redrawn:,} graphs replaced, because rounding leaves them no correct digits",
    ]


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
    groups = "layers", "losses", "optimizers", "activations"
    wanted = {name for group in groups for name in REFERENCE[group]}
    wanted |= {"Residual", "Product", "Concatenate", "Reshape", "Flatten", "Dropout", "Activation"}
    assert wanted <= found, (
        f"no random network has {wanted - found}: let tests/reference/make_networks.py make some"
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
