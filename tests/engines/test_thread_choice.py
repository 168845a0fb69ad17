"""Several threads or one: whichever takes less time, and the same bits with both."""

import itertools
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.engines.cpu import calls
from scalarviz.engines.cpu.calls import ThreadChoice


class Machine:
    """A clock, and kernels that take so many seconds a step with all cores and with one."""

    def __init__(self, together: float, alone: float) -> None:
        self.now = 0.0
        self.seconds = {True: together, False: alone}
        self.way = True
        self.steps: list[tuple[bool, int]] = []
        self.choice = ThreadChoice(self.use)

    def use(self, together: bool) -> None:
        self.way = together

    def call(self, count: int) -> bool:
        self.now += count * self.seconds[self.way]
        self.steps.append((self.way, count))
        return True

    def run(self, calls: int, count: int) -> float:
        """Share of the steps of some calls that all cores take."""
        self.steps = []
        for _ in range(calls):
            self.choice.run(count, self.call)
        assert sum(n for _, n in self.steps) == calls * count
        return sum(n for way, n in self.steps if way) / (calls * count)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(1e-3, 2e-3)
    monkeypatch.setattr(calls, "time", SimpleNamespace(perf_counter=lambda: made.now))
    return made


@pytest.mark.parametrize("count", [1, 40])
def test_all_cores_are_used_while_they_are_faster(machine: Machine, count: int) -> None:
    assert machine.run(400, count) > 0.98
    start = machine.now
    machine.run(400, count)
    assert machine.now - start < 1.02 * 400 * count * 1e-3


@pytest.mark.parametrize("count", [1, 40])
def test_one_core_is_used_while_others_are_busy(machine: Machine, count: int) -> None:
    machine.run(400, count)
    machine.seconds[True] = 50e-3
    machine.run(10, count)
    assert machine.run(2000, count) < 0.01
    machine.seconds[True] = 1e-3
    machine.run(10_000 // count, count)
    assert machine.run(400, count) > 0.95


def test_a_call_that_is_disturbed_changes_nothing(machine: Machine) -> None:
    """Nor does the first one, which loads kernels, nor one core that is a little faster."""
    machine.now -= 1.0
    machine.seconds[True] = 0.3
    machine.run(1, 1)
    for _ in range(50):
        machine.seconds[True] = 1e-3
        assert machine.run(1, 1) == 1.0 or machine.way
        machine.seconds[True] = 5e-3
        machine.run(1, 1)
        assert machine.way
    machine.seconds = {True: 1e-3, False: 0.9e-3}
    assert machine.run(400, 1) > 0.98


def test_a_training_that_stops_ends_the_call(machine: Machine) -> None:
    calls = []

    def stops(count: int) -> bool:
        calls.append(count)
        machine.now += 1e-3
        return False

    machine.run(2, 4)
    machine.choice.run(10, stops)
    assert calls == [1]


@pytest.mark.parametrize("batch", [300, 100], ids=["four chunks", "layers on all cores"])
def test_bits_do_not_depend_on_the_choice(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads are tried after any number of steps."""
    rng = np.random.default_rng(0)
    pair = rng.random((600, 40)), rng.random((600, 7))
    ways = []
    for times in (itertools.repeat(0.0), itertools.count(0.0, 0.01), iter(rng.random(10_000))):
        with monkeypatch.context() as patch:
            clock = SimpleNamespace(perf_counter=partial(next, times))
            patch.setattr(calls, "time", clock)
            session = sv.Session(
                sv.Network([40, 300, 300, 7], "tanh"), pair, batch=batch, engine="cpu"
            )
            for steps in (1, 1, 5, 1, 9, 2):
                session.advance(steps, progress=False)
            ways.append(
                (session.network.bank.value.copy(), session.losses, session.network(pair[0]))
            )
    for way in ways[1:]:
        for numbers, others in zip(way, ways[0], strict=True):
            assert (numbers == others).all()
