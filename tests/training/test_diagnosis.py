"""diagnose: planted faults are named, healthy trainings are not, and a session stays as it was."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.data.batches import GeneratedBatches
from scalarviz.errors import GradientError, InputError, OrderError
from scalarviz.training.diagnosis import FAULTS, Finding, Measures, judge, measures_of, samples_of
from tests.sessions import advanced, inverting
from tests.wording import refused

Make = Callable[[int], sv.Session]


def session(
    net: sv.Network, table: object, loss: str = "mse", optimizer: Any = None, **options: Any
) -> sv.Session:
    """A session on the cpu engine, by default with Adam(0.01) and batches of 16."""
    options = {"batch": 16, "engine": "cpu"} | options
    return sv.Session(net, table, loss, optimizer or sv.Adam(0.01), **options)


def trained(*about: Any, steps: int = 300, **options: Any) -> sv.Session:
    """The same after some steps, or up to one that is refused."""
    made = session(*about, **options)
    with suppress(GradientError):
        made.advance(steps)
    return made


def on_plane(seed: int, activation: str = "tanh") -> tuple[sv.Network, data.DataSet]:
    """A 2-16-1 network with sigmoid outputs, and the circle."""
    return sv.Network([2, 16, 1], activation, "sigmoid", seed=seed), circle(seed)


def circle(seed: int) -> data.DataSet:
    return data.Circle(samples=200, seed=seed)


def numbers(seed: int) -> tuple[Any, Any]:
    """200 samples of four inputs, and a smooth function of them."""
    x = np.random.default_rng(seed).normal(size=(200, 4))
    return x, np.sin(x[:, :1]) + 0.5 * x[:, 1:2] * x[:, 2:3]


def clouds(seed: int) -> tuple[Any, Any]:
    """200 points of three clouds in four dimensions, and their labels."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, 3, 200)
    return generator.normal(size=(200, 4)) / 2 + 2 * generator.normal(size=(3, 4))[labels], labels


def small(seed: int, activation: str = "tanh", output: str | None = None, **options: Any) -> Any:
    return sv.Network([4, 16, 1], activation, output, seed=seed, **options)


# Faults, each with the finding that names it.


def dead_relus(seed: int) -> sv.Session:
    net, table = on_plane(seed, "relu")
    net.layers[0].bias[:12] = -8.0
    return trained(net, table)


def bounded_loss(seed: int) -> sv.Session:
    return trained(*on_plane(seed, "relu"), "mse", sv.Adam(3.0))


def diverging(seed: int) -> sv.Session:
    return trained(small(seed), numbers(seed), "mse", sv.SGD(3.0))


def raised_rate(seed: int) -> sv.Session:
    made = trained(small(seed), numbers(seed))
    made.learning_rate = 3.0
    return advanced(made, 300)


def crawling(seed: int) -> sv.Session:
    return trained(small(seed), numbers(seed), "mse", sv.SGD(1e-6))


def equal_weights(seed: int) -> sv.Session:
    net, table = on_plane(seed)
    net.bank.value[:] = 0.5
    return trained(net, table)


def zero_weights(seed: int) -> sv.Session:
    net = small(seed, "relu")
    net.bank.value[:] = 0.0
    return trained(net, numbers(seed))


def huge_weights(seed: int) -> sv.Session:
    return trained(small(seed, init=sv.Init("normal", deviation=10.0)), numbers(seed))


def wide_column(seed: int) -> sv.Session:
    x, y = numbers(seed)
    return trained(small(seed), (x * [1, 1, 1000, 1], y))


def shuffled_labels(seed: int) -> sv.Session:
    x, labels = clouds(seed)
    labels = np.random.default_rng(seed).permutation(labels)
    net = sv.Network([4, 16, 3], "tanh", seed=seed)
    return trained(net, (x, labels), "softmax_cross_entropy")


def leaked_column(seed: int) -> sv.Session:
    x, y = numbers(seed)
    return trained(sv.Network([5, 16, 1], "tanh", seed=seed), (np.hstack([x, 3 * y + 1]), y))


def leaked_class(seed: int) -> sv.Session:
    x, labels = clouds(seed)
    net = sv.Network([5, 16, 3], "tanh", seed=seed)
    return trained(net, (np.column_stack([labels, x]), labels), "softmax_cross_entropy")


def pinned_outputs(seed: int) -> sv.Session:
    net, table = on_plane(seed)
    net.layers[1].bias[:] = 12.0
    return trained(net, table, "mse", sv.SGD(0.5))


def softmax_and_mse(seed: int) -> sv.Session:
    x, labels = clouds(seed)
    layers = [sv.Dense(4, 16, "tanh"), sv.Dense(16, 3), sv.Softmax(3)]
    return trained(sv.Network(layers, seed=seed), (x, np.eye(3)[labels]))


def targets_out_of_reach(seed: int) -> sv.Session:
    return trained(small(seed, output="sigmoid"), numbers(seed))


def frozen_layer(seed: int) -> sv.Session:
    net = small(seed)
    net.layers[0].freeze()
    return trained(net, numbers(seed))


def batches_of_one(seed: int) -> sv.Session:
    return trained(*on_plane(seed), "mse", sv.SGD(0.3), batch=1)


def deep_sigmoids(seed: int) -> sv.Session:
    net = sv.Network([2, 8, 8, 8, 8, 8, 8, 1], "sigmoid", seed=seed)
    return trained(net, circle(seed), "mse", sv.SGD(0.1))


def wrong_labels(seed: int) -> sv.Session:
    net, _ = on_plane(seed)
    x, y = data.Circle(samples=400, seed=seed).training
    y[[3, 50]] = 1.0 - y[[3, 50]]
    return trained(net, (x, y), "mse", sv.Adam(0.02), steps=600)


PLANTED: dict[Make, tuple[str, str]] = {
    dead_relus: ("dead", "layer 0"),
    diverging: ("rate", ""),
    bounded_loss: ("rate", ""),
    raised_rate: ("rate", ""),
    crawling: ("slow", ""),
    equal_weights: ("alike", "layer 0"),
    zero_weights: ("alike", "layer 0"),
    huge_weights: ("large weights", "layer 0"),
    wide_column: ("scale", "input 2"),
    shuffled_labels: ("labels", ""),
    leaked_column: ("leak", "input 4"),
    leaked_class: ("leak", "input 0"),
    pinned_outputs: ("saturated", "layer 1"),
    softmax_and_mse: ("loss", "outputs"),
    targets_out_of_reach: ("reach", "outputs"),
    frozen_layer: ("still", "layer 0"),
    batches_of_one: ("batch", ""),
    deep_sigmoids: ("vanishing", "layer 0"),
    wrong_labels: ("samples", "samples"),
}


def is_named(make: Make, seed: int) -> bool:
    kind, where = PLANTED[make]
    found = [each for each in sv.diagnose(make(seed)) if each.kind == kind]
    return bool(found) and all(each.where.startswith(where) for each in found)


@pytest.mark.parametrize("make", PLANTED, ids=lambda make: make.__name__)
def test_a_planted_fault_is_named(make: Make) -> None:
    assert is_named(make, 0)


@pytest.mark.slow
@pytest.mark.parametrize("make", PLANTED, ids=lambda make: make.__name__)
def test_a_planted_fault_is_named_whatever_the_seed(make: Make) -> None:
    missed = [seed for seed in range(1, 11) if not is_named(make, seed)]
    assert len(missed) <= (2 if make is wrong_labels else 0), missed


def test_each_kind_of_fault_is_planted_or_judged() -> None:
    named = {kind for kind, _ in PLANTED.values()}
    assert {*FAULTS} - named == {"not finite", "exploding", "stuck"}  # see below


# Healthy trainings: nothing is found.


def digits(seed: int) -> sv.Session:
    net = sv.Network([64, 32, 10], "relu", seed=seed)
    return trained(net, data.Digits(seed=seed), "softmax_cross_entropy", sv.Adam(0.003), batch=32)


def deep(seed: int) -> sv.Session:
    net = sv.Network([2, 16, 16, 1], "tanh", seed=seed)
    return trained(net, circle(seed), "sigmoid_cross_entropy", sv.Momentum(0.05), steps=1000)


def xor(seed: int) -> sv.Session:
    net = sv.Network([2, 4, 1], "tanh", seed=seed)
    return trained(net, data.Xor(), "mse", sv.Adam(0.05), batch=None)


def converged(seed: int) -> sv.Session:
    net = sv.Network([2, 8, 1], "tanh", seed=seed)
    return trained(net, data.Xor(), "mse", sv.SGD(0.1), batch=None, steps=3000)


def one_by_one(seed: int) -> sv.Session:
    net = sv.Network([3, 8, 3], "tanh", "sigmoid", seed=seed)
    return trained(net, data.Rgb("copy"), "mse", sv.SGD(0.3), batch=1, steps=6000)


def standardized(seed: int) -> sv.Session:
    x, y = numbers(seed)
    table = data.Arrays(x * [1, 1000, 0.01, 1], y, standardize=True)
    return trained(small(seed), table, steps=600)


HEALTHY: dict[str, Make] = {
    "xor": xor,
    "converged": converged,
    "circle": lambda seed: trained(*on_plane(seed, "relu"), "mse", sv.Adam(0.02), steps=600),
    "deep": deep,
    "rgb": lambda seed: advanced(inverting("cpu"), 1000 + seed),
    "one by one": one_by_one,
    "digits": digits,
    "regression": lambda seed: trained(small(seed), numbers(seed), "huber", sv.RMSProp(0.005)),
    "standardized": standardized,
    "sigmoids": lambda seed: trained(
        sv.Network([4, 16, 3], "sigmoid", seed=seed),
        clouds(seed),
        "softmax_cross_entropy",
        sv.SGD(0.5),
        steps=800,
    ),
    "fresh": lambda seed: trained(small(seed, "relu"), numbers(seed), steps=3),
    "one sample": lambda seed: trained(small(seed), ([[0.5, 1, 0, 1]], [[0.3]]), batch=None),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_nothing_is_found_in_a_healthy_training(name: str) -> None:
    found = sv.diagnose(HEALTHY[name](0))
    assert not found, found


@pytest.mark.slow
def test_hardly_anything_is_found_in_healthy_trainings_whatever_the_seed() -> None:
    found = [sv.diagnose(make(seed)) for make in HEALTHY.values() for seed in range(1, 11)]
    assert sum(map(bool, found)) <= 2, [each for each in found if each]  # of 120


def test_of_a_healthy_training_it_says_what_was_looked_at() -> None:
    said = "Nothing wrong was found in 30 losses, and in the weights at 25 moments."
    assert repr(sv.diagnose(advanced(inverting(), 30))) == said


# Since when.


def test_a_fault_of_the_middle_of_a_training_began_there() -> None:
    (found,) = [each for each in sv.diagnose(raised_rate(0)) if each.kind == "rate"]
    assert 300 <= found.step < 310


def test_a_gradient_that_is_not_finite_is_found_in_the_step_that_was_refused() -> None:
    made = diverging(0)
    (found,) = [each for each in sv.diagnose(made) if each.kind == "not finite"]
    assert found.step <= made.step_index and found.where.startswith("layer")


def test_a_finding_is_a_sentence_with_its_step() -> None:
    found = sv.diagnose(frozen_layer(0))
    assert repr(found) == (
        "step 0, layer 0: its weights have never moved, unlike the weights of other layers. "
        "Try s.freeze(part, on=False), or a higher rate for it."
    )
    assert str(Finding("slow", "", 1200, "a", "b")) == "step 1,200: a. b."


# The session, and what else can be diagnosed.


@pytest.mark.parametrize("operations", [0, 3])
@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_a_session_stays_as_it_was(engine: str, operations: int) -> None:
    made, other = [advanced(inverting(engine), 40) for _ in range(2)]
    for each in (made, other):
        each.learning_rate = 0.3
        each.advance(20)
        each.back(5)
        each.advance(operations, "operation")
    sv.diagnose(made)
    assert (made.clock, made.current_branch.end) == (other.clock, other.current_branch.end)
    assert np.array_equal(made.losses, other.losses) and len(made.branches) == len(other.branches)
    for each in (made, other):
        assert np.array_equal(each.network.bank.grad, other.network.bank.grad)
        each.advance(20)
    assert np.array_equal(made.network.bank.value, other.network.bank.value)


def test_updates_and_gradients_are_those_of_the_steps() -> None:
    made = advanced(inverting(), 50)
    found = measures_of(made)
    rows, step = slice(0, 16), int(found.steps[7])
    made.seek(step)
    before = made.network.bank.value[rows].astype(np.float64)
    made.advance(1)
    change, grad = made.network.bank.value[rows] - before, made.network.bank.grad[rows]
    sizes = [np.sqrt(np.mean(np.square(each, dtype=float))) for each in (before, grad, change)]
    wanted = found.values[7, 0], found.gradients[7, 0], found.updates[7, 0]
    assert sizes == pytest.approx(wanted, rel=1e-6) and len(found.steps) == 25


def test_a_compiled_function_is_diagnosed() -> None:
    w = [sv.Value(0.1 * i) for i in range(1, 4)]
    f = sv.compile(lambda x, y: (w[0] * x + w[1] * y + w[2]).tanh(), inputs=2)
    made = sv.Session(f, ([[0, 1], [1, 0], [1, 1]], [2, 2, 2]), "mse", sv.SGD(0.1), engine="python")
    assert [each.kind for each in sv.diagnose(advanced(made, 20))] == []


def test_before_the_first_step_there_is_nothing_to_diagnose() -> None:
    refused(OrderError).by(sv.diagnose, inverting())


def test_something_else_is_refused() -> None:
    refused(InputError, 3).by(sv.diagnose, 3)


# Measures of others: `judge` needs nothing but arrays.


def followed(**changes: Any) -> Measures:
    """Measures of a training of two modules that does well, with the least that has to be known."""
    table = np.full((10, 2), 1.0)
    losses, none = np.linspace(1.0, 0.01, 500) ** 2, np.full((10, 2), np.nan)
    about = np.arange(0, 500, 50), losses, ["in", "out"], table, table, table / 1e3, none, none
    return replace(Measures(*about), **changes)


class Followed:
    """A training of another library."""

    def measures(self) -> Measures:
        return followed(dead=np.full((10, 2), [0.9, np.nan]), losses=np.ones(500))


def test_anything_with_measures_is_diagnosed() -> None:
    assert [(each.kind, each.where) for each in sv.diagnose(Followed())] == [("dead", "in")]


def test_of_what_is_unknown_nothing_is_said() -> None:
    assert judge(followed()) == []
    unknown = np.where(np.arange(500) % 50, np.nan, followed().losses)
    assert judge(followed(losses=unknown)) == []
    assert {each.name for each in fields(Measures)} >= {"steps", "losses", "dead", "oddness"}


LATE = np.arange(10)[:, np.newaxis] >= 4


@pytest.mark.parametrize(
    ("changes", "kind", "where", "step"),
    [
        ({"gradients": np.full((10, 2), [1e5, 1.0])}, "exploding", "in", 0),
        ({"gradients": np.where(LATE, [1e-5, 1.0], 1.0)}, "vanishing", "in", 200),
        ({"gradients": np.where(LATE, [1.0, np.inf], 1.0)}, "not finite", "out", 200),
        ({"updates": np.full((10, 2), [0.0, 1e-3])}, "still", "in", 0),
        ({"dead": np.where(LATE, [0.7, 0.0], 0.0)}, "dead", "in", 200),
        ({"saturated": np.where(LATE, [0.0, 0.7], 0.0)}, "saturated", "out", 200),
        ({}, "stuck", "", 0),
    ],
    ids=str,
)
def test_a_fault_is_found_by_arrays_alone(
    changes: dict[str, Any], kind: str, where: str, step: int
) -> None:
    (found,) = judge(followed(losses=np.ones(500), **changes))
    assert (found.kind, found.where, found.step) == (kind, where, step)


def test_numbers_that_are_too_large_are_called_infinite() -> None:
    losses = np.where(np.arange(500) < 300, 5.0, np.inf)
    updates = np.where(LATE, [np.inf, np.inf], 5.0)
    [found] = [x for x in judge(followed(losses=losses, updates=updates)) if x.kind == "rate"]
    assert found.text == (
        "a step changes its weights by 5 times their size, and losses reach infinitely many times "
        "the first loss"
    )


def test_the_first_loss_that_is_not_finite_is_named() -> None:
    losses = np.where(np.arange(500) < 321, 1.0, np.inf)
    assert [each.step for each in judge(followed(losses=losses)) if each.kind == "not finite"] == [
        321
    ]


def test_a_large_table_is_sampled_and_new_samples_are_those_of_the_first_step() -> None:
    inputs = np.arange(10_000.0)[:, np.newaxis]
    chosen, targets = samples_of(data.Arrays(inputs, -inputs).batches(None, 0), 4096)
    assert len(chosen) == 4096 and np.array_equal(targets, -chosen)
    assert set(np.diff(chosen[:, 0])) == {2.0, 3.0}
    made = GeneratedBatches(lambda step: (np.full((1, 1), step + 1.0), np.ones((1, 1))), (1, 1), 1)
    assert samples_of(made, 4096)[0].tolist() == [[1.0]]
