"""Runs with published results: XOR in a game engine, XNOR in an array language.

Each is trained twice from the same initial numbers, by our objects and by a few independent lines
of numpy, and must match the measurements of the original (in float64, over at least 200 seeds, the
source of the medians and shares below).
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

import scalarviz as sv

Array = npt.NDArray[np.float64]
TOLERANCE = 1e-12

# ---- XOR: 3-3-1 without biases, the third input is always 1; one random corner a step -----------

CORNERS = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
XOR = np.array([[0.0], [1.0], [1.0], [0.0]])
XOR_RATE = 0.1
LOOK_EVERY = 100  # steps


class Rule(NamedTuple):
    """A rule for training XOR, and the median number of steps to a largest error below .25."""

    activation: str
    factor: float  # in the gradient factor * (o - t) of the sum of (t - o)^2
    median: int


RULES = {
    "as posted": Rule("sigmoid", 1.0, 19_400),  # the posted update drops the factor 2
    "true gradient": Rule("sigmoid", 2.0, 10_900),
    "tanh": Rule("tanh", 1.0, 1_000),
}
every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)

# By y, the result.
DERIVATIVES: dict[str, Callable[[Array], Array]] = {
    "sigmoid": lambda y: y * (1.0 - y),
    "tanh": lambda y: 1.0 - y * y,
}
FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "sigmoid": lambda x: 1.0 / (1.0 + np.exp(-x)),
    "tanh": np.tanh,
}


def xor_network(rule: Rule, seed: int) -> sv.Network:
    layers = [
        sv.Dense(3, 3, rule.activation, bias=False),
        sv.Dense(3, 1, rule.activation, bias=False),
    ]
    init = sv.Init("uniform", low=-1.0, high=1.0)
    return sv.Network(layers, init=init, seed=seed, dtype="float64")


def random_corners(seed: int, steps: int) -> Any:
    return np.random.default_rng(seed).integers(4, size=steps).tolist()


def train_xor(net: sv.Network, rule: Rule, corners: list[int]) -> None:
    loss = sv.Loss("mse", factor=rule.factor / 2.0, mean="none")
    optimizer = sv.SGD(XOR_RATE)
    for corner in corners:
        net.train_step(CORNERS[corner], XOR[corner], loss, optimizer)


def train_xor_in_numpy(start: Array, rule: Rule, corners: list[int]) -> Array:
    """Return the weights after these corners; both layers are updated with the old weights."""
    f, derivative = FUNCTIONS[rule.activation], DERIVATIVES[rule.activation]
    hidden, output = start[:9].reshape(3, 3).copy(), start[9:].reshape(1, 3).copy()
    for corner in corners:
        h = f(hidden @ CORNERS[corner])
        o = f(output @ h)
        output_delta = rule.factor * (o - XOR[corner]) * derivative(o)
        hidden_delta = (output.T @ output_delta) * derivative(h)
        output -= XOR_RATE * np.outer(output_delta, h)
        hidden -= XOR_RATE * np.outer(hidden_delta, CORNERS[corner])
    return np.concatenate([hidden.ravel(), output.ravel()])


@cache
def steps_to_learn_xor(rule: Rule, seed: int, most: int) -> int | None:
    """Return the steps until the largest error was below .25; None if `most` were too few."""
    net = xor_network(rule, seed)
    corners = random_corners(seed, most)
    for step in range(0, most, LOOK_EVERY):
        if np.abs(net(CORNERS) - XOR).max() < 0.25:
            return step
        train_xor(net, rule, corners[step : step + LOOK_EVERY])
    return None


@pytest.mark.some(1)
@pytest.mark.parametrize("seed", [0, 1])
@every_rule
def test_xor_takes_the_course_of_plain_numpy(rule: Rule, seed: int) -> None:
    net = xor_network(rule, seed)
    corners = random_corners(seed, 2_000)
    expected = train_xor_in_numpy(net.bank.value, rule, corners)
    train_xor(net, rule, corners)
    assert np.abs(net.bank.value - expected).max() <= TOLERANCE * np.abs(expected).max()


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 4))]
)
def test_the_true_gradient_learns_xor_sooner_and_tanh_much_sooner(seed: int) -> None:
    posted, true, tanh = [
        steps_to_learn_xor(rule, seed, 2 * rule.median) or 0 for rule in RULES.values()
    ]
    assert 0 < 5 * tanh < true < 0.7 * posted


@pytest.mark.slow
@every_rule
def test_the_median_run_of_xor_takes_as_long_as_published(rule: Rule) -> None:
    runs = [steps_to_learn_xor(rule, seed, 2 * rule.median) for seed in range(11)]
    learned = [steps for steps in runs if steps is not None]
    assert len(learned) >= 8  # 88% or more of the published runs learned, some of them later
    assert rule.median / 1.5 < np.median(learned) < rule.median * 1.5


# ---- XNOR: [2 8 8 1], linear and ReLU alternate, all four corners at each step ------------------

XNOR_CORNERS = CORNERS[:, :2]
XNOR = 1.0 - XOR
XNOR_RATE = 0.01
XNOR_STEPS = 1_000


def xnor_network(seed: int) -> sv.Network:
    init = sv.Init("he_uniform", bias="fan_out")
    return sv.Network([2, 8, 8, 1], activation="relu_right", init=init, seed=seed, dtype="float64")


def train_xnor_in_numpy(start: Array) -> Array:
    """Return the parameters after 1,000 steps. Columns are samples, Y = W X + b."""
    weights, biases, rest = [], [], start.copy()
    for fan_in, fan_out in [(2, 8), (8, 8), (8, 1)]:
        weight, bias, rest = np.split(rest, [fan_in * fan_out, fan_in * fan_out + fan_out])
        weights.append(weight.reshape(fan_out, fan_in))
        biases.append(bias.reshape(fan_out, 1))
    for _ in range(XNOR_STEPS):
        inputs, sums = [XNOR_CORNERS.T], []
        for weight, bias in zip(weights, biases, strict=True):
            sums.append(weight @ inputs[-1] + bias)
            inputs.append(np.maximum(sums[-1], 0.0))
        # The backbone, last to first: the gradient with respect to each sum. ReLU'(0) = 1.
        backbone = [(sums[-1] - XNOR.T) / 4]
        for layer in (2, 1):
            back = weights[layer].T @ backbone[0]
            backbone.insert(0, back * (sums[layer - 1] >= 0.0))
        # Then the leaves.
        for layer, gradient in enumerate(backbone):
            weights[layer] -= XNOR_RATE * gradient @ inputs[layer].T
            biases[layer] -= XNOR_RATE * gradient.sum(axis=1, keepdims=True)
    pairs = zip(weights, biases, strict=True)
    return np.concatenate([array.ravel() for pair in pairs for array in pair])


# 96 of 100 seeds get every corner right; 0, 1 and 4 are among them.
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 4))]
)
def test_xnor_is_learned_on_the_course_of_plain_numpy(seed: int) -> None:
    net = xnor_network(seed)
    expected = train_xnor_in_numpy(net.bank.value)
    loss = sv.Loss("mse", factor=0.5, mean="samples")  # its gradient is (p - t) / batch
    optimizer = sv.SGD(XNOR_RATE)
    for _ in range(XNOR_STEPS):
        net.train_step(XNOR_CORNERS, XNOR, loss, optimizer)
    assert np.abs(net.bank.value - expected).max() <= TOLERANCE * np.abs(expected).max()
    assert np.abs(net(XNOR_CORNERS) - XNOR).max() < 0.5


@pytest.mark.parametrize(("layer", "fan_in", "fan_out"), [(0, 2, 8), (1, 8, 8), (2, 8, 1)])
def test_xnor_begins_within_the_published_bounds(layer: int, fan_in: int, fan_out: int) -> None:
    nets = [xnor_network(seed) for seed in range(60)]
    numbers = np.array([net.bank.value[net.layers[layer].rows] for net in nets])
    weights, biases = np.split(np.abs(numbers), [fan_in * fan_out], axis=1)
    for drawn, bound in [(weights, np.sqrt(6.0 / fan_in)), (biases, np.sqrt(6.0 / fan_out))]:
        assert 0.9 * bound < drawn.max() <= bound
