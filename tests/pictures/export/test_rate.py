"""Portions: a piece of a training takes about as long, whatever a step costs."""

import numpy as np
import pytest

from scalarviz.stage import background
from scalarviz.stage.background import PORTION, Portions


class FakeSession:
    """A session whose steps take some seconds of a clock of its own, and do nothing else."""

    step_index, now = 0, 0.0

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def advance(self, count: int) -> None:
        self.step_index += count
        self.now += count * self.seconds


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> FakeSession:
    made = FakeSession(1e-6)
    monkeypatch.setattr(background, "perf_counter", lambda: made.now)
    return made


def take(portions: Portions, count: int) -> None:
    for _ in range(count):
        portions.take(np.inf)


@pytest.mark.parametrize("seconds", [1e-6, 1e-3, 0.5])
def test_a_portion_takes_about_as_long_whatever_a_step_costs(
    session: FakeSession, seconds: float
) -> None:
    session.seconds = seconds
    portions = Portions(session)
    take(portions, 30)
    start = session.now
    take(portions, 1)
    assert max(PORTION / 2, seconds) <= session.now - start <= max(2 * PORTION, seconds) * 1.01


def test_a_portion_becomes_smaller_where_steps_become_slower(session: FakeSession) -> None:
    portions = Portions(session)
    take(portions, 30)
    session.seconds = 1e-3
    take(portions, 30)
    assert portions.size <= 20
