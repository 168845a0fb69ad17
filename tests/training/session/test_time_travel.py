"""Any moment of a long training with many actions can be visited again, in little memory."""

import tracemalloc
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.engines.cpu.engine import CpuRun
from scalarviz.engines.python import PythonRun
from scalarviz.training.session.session import Session
from tests.training.session.test_session import state

MEMORY = 2 * 2**20
STEPS = 20_000


def live(s: Session, rng: np.random.Generator) -> None:
    """20,000 steps in which all sorts of things are done."""
    while s.step_index < STEPS:
        what = rng.integers(8)
        if what == 0:
            s.learning_rate = float(rng.uniform(0.001, 0.02))
        elif what == 1:
            rows = rng.integers(0, len(s.network.bank), 3)
            s.edit(rows, rng.normal(size=3))
        elif what == 2:
            s.freeze(int(rng.integers(len(s.network.bank))), bool(rng.integers(2)))
        elif what == 3:
            s.data = data.Rgb(str(rng.choice(["invert", "sepia", "grey"])), levels=8)
        elif what == 4:
            s.engine = "python"
            s.advance(int(rng.integers(1, 20)))
            s.engine = "cpu"
        elif what == 5 and s.step_index > 1000:
            s.back(int(rng.integers(1, 300)))
        elif what == 6:
            s.advance(int(rng.integers(1, 30)), "operation")
        s.advance(int(rng.integers(1, 400)))


@pytest.mark.slow
def test_200_moments_of_20000_steps_come_back_in_2_megabytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    net = sv.Network([3, 24, 24, 3], "tanh", "sigmoid", seed=1)
    s = sv.Session(
        net, data.Rgb("invert", levels=8), "mse", sv.Adam(0.005), 8, "cpu", memory=MEMORY
    )
    s.advance(10)
    tracemalloc.start()
    rng = np.random.default_rng(7)
    live(s, rng)
    assert len(s.branches) > 3
    kinds = {action.kind for branch in s.branches for action in branch.journal}
    assert kinds == {"learning rate", "edit", "freeze", "data", "engine"}

    seen: dict[tuple[int, int], tuple[Any, ...]] = {}
    taken = count_steps(monkeypatch)
    replays, starts = [], []
    for _ in range(200):
        branch = s.branches[rng.integers(len(s.branches))]
        step = int(rng.integers(0, branch.end.step + 1))
        if s.current_branch is not branch:
            s.switch(branch)
        taken.clear()
        s.seek(0 if step == s.step_index else step)
        s.seek(step)
        replays.append(sum(taken))
        starts.append(branch.frame_before(step).step)  # type: ignore[union-attr]  # it is there
        key = branch.number, step
        found = state(s)
        assert seen.setdefault(key, found) == found
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    # The same moments, reached from the other side: by going on from the very beginning.
    for number in range(len(s.branches)):
        s.switch(number)
        s.seek(0)
        for (branch_number, step), found in sorted(seen.items()):
            if branch_number == number:
                s.seek(step)
                assert state(s) == found

    assert s.timeline.keyframes.used <= MEMORY
    tables = 40 * 2**20  # data sets and their tables in the engine's type
    assert peak < MEMORY + tables
    # Neither from zero, nor from a frame for every step.
    assert len(s.current_branch.frames) < 300
    assert np.mean(np.array(starts) == 0) < 0.1
    assert 0 < np.median(replays) < 2000


def count_steps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many whole steps are taken from now on."""
    taken: list[int] = []

    def counted(self: Any, optimizer: Any, first: int, count: int) -> Any:
        taken.append(count)
        return steps[type(self)](self, optimizer, first, count)

    steps = {each: each.steps for each in (CpuRun, PythonRun)}
    for each in steps:
        monkeypatch.setattr(each, "steps", counted)
    return taken
