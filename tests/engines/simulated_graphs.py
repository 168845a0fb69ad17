"""The cuda engine in numba's simulator: steps that are captured once and launched as graphs.

A stand-in for the driver captures and launches; run by `test_cuda.py`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.core.optimizer import Optimizer
from scalarviz.data.batches import Batches, InOrder, Picked, Shuffled
from scalarviz.engines.cuda.card import Steps
from scalarviz.engines.cuda.engine import CudaRun
from tests.engines.agreement import bits_of
from tests.engines.fake_driver import FakeDriver, Stream
from tests.engines.simulator import pair, run_of


@dataclass(frozen=True)
class Training:
    """A training, and how many steps each call takes."""

    net: sv.Network
    batches: Batches
    optimizer: Optimizer
    calls: tuple[int, ...] = (3, 1, 2)


def plain() -> Training:
    net = sv.Network([3, 4, 2], "tanh")
    return Training(net, Shuffled(*pair(net), 19, seed=2), sv.Adam(0.01))  # of 19 and of 8


def batch_norm() -> Training:
    net = sv.Network([sv.Dense(3, 4), sv.BatchNorm(4), sv.Dropout(4, 0.3), sv.Dense(4, 2)])
    return Training(net, Shuffled(*pair(net), 19, seed=2), sv.SGD(0.05))


def clipped() -> Training:
    net = sv.Network([3, 4, 2], "tanh")
    optimizer = sv.Adam(0.1, schedule=sv.Schedule("cosine", steps=5), clip_norm=0.05, l1=0.1)
    return Training(net, Picked(*pair(net), 9, seed=3), optimizer)


def refused_gradient() -> Training:
    net = sv.Network([1, 2, 1], "exp", seed=2)
    inputs = np.repeat([[0.5], [0.6], [500.0]], 9, axis=0)
    return Training(net, InOrder(inputs, np.ones((27, 1)), 9), sv.Adam(1e-3), (6,))


def overflow() -> Training:
    inputs = np.random.default_rng(0).random((18, 3))
    schedule = sv.Schedule("step", every=2, factor=1e300)
    batches = InOrder(inputs, 2 - inputs, 9)
    return Training(sv.Network([3, 3], seed=1), batches, sv.SGD(0.1, schedule=schedule), (6,))


def capture(run: CudaRun) -> None:
    """Let a run capture its steps: on a stream of the stand-in, as the simulator has none."""
    run._work.steps = Steps(Stream("the engine's", external=True), graphs=True)


EVERY = [plain, batch_norm, clipped, refused_gradient, overflow]


@pytest.mark.some("batch_norm", "refused_gradient")
@pytest.mark.parametrize("make", EVERY)
def test_a_graph_has_the_bits_of_launches_one_by_one(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver, training, found = FakeDriver(monkeypatch), make(), []
    for graphs in (False, True):
        net = training.net.copy()
        run = run_of(net, training.batches, whole=False)
        if graphs:
            capture(run)
        here: list[Any] = []
        first = 0
        for count in training.calls:
            outcome = run.steps(training.optimizer, first, count)
            error = outcome.overflow and str(outcome.overflow.at(len(outcome.losses)))
            here += [outcome.losses.tolist(), outcome.bad, error, *bits_of(net.bank)]
            here.append(net.bank.step_count)
            first += count
        found.append(here)
        assert driver.count("cuGraphLaunch") == graphs * (first - 1)
    assert found[0] == found[1]
    assert driver.count("cuStreamBeginCapture") == 1
    assert run._work.steps.refused == ""


def test_a_graph_is_kept_from_call_to_call_and_made_anew_for_other_tables_or_formulas(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver, training = FakeDriver(monkeypatch), plain()
    run = run_of(training.net, training.batches, whole=False)
    capture(run)
    for step in range(4):
        run.steps(sv.Adam(0.01) if step % 2 else sv.Adam(0.1, clip_norm=0.1), step, 1)
    assert (driver.count("cuStreamBeginCapture"), driver.count("cuGraphLaunch")) == (1, 3)
    run.batches = InOrder(*pair(training.net, 40), 19)  # more samples: other memory
    run.steps(sv.Adam(0.01), 0, 3)
    assert (driver.count("cuStreamBeginCapture"), driver.count("cuGraphLaunch")) == (2, 5)
    assert driver.count("cuGraphExecDestroy") == 1
    run.steps(sv.SGD(0.1), 3, 3)  # another formula: other kernels
    assert (driver.count("cuStreamBeginCapture"), driver.count("cuGraphLaunch")) == (3, 7)


@pytest.mark.slow
def test_a_step_takes_as_many_launches_as_it_has_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two for each gradient of parameters; one each for forward and gradients of inputs."""
    driver = FakeDriver(monkeypatch)
    net = sv.Network([3, 4, 4, 2], "tanh")
    run = run_of(net, InOrder(*pair(net)), whole=False)
    capture(run)
    run.steps(sv.Adam(0.01), 0, 1)
    first = driver.count("kernel")
    operations = len(net.program.operations)
    # clear, draw, forwards, loss (2), its gradient, backward, update (2)
    assert first == 2 + operations + 2 + 1 + 2 * 3 + (operations - 1) + 2
    run.steps(sv.Adam(0.01), 1, 1)
    run.steps(sv.Adam(0.01), 2, 5)
    assert driver.count("cuGraphLaunch") == 6
    assert driver.count("kernel") == 2 * first  # once more, while they are captured


def test_the_simulator_captures_nothing() -> None:
    assert not run_of(plain().net, plain().batches)._work.steps.graphs
