"""The losses of long trainings: exact at the end, extremes of blocks before, in bounded memory."""

from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.training.session import branches
from scalarviz.training.session import branches as losses
from scalarviz.training.session.branches import Losses
from tests.sessions import advanced, reloaded


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few losses are kept, so that a short training is a long one."""
    monkeypatch.setattr(losses, "EXACT", 64)
    monkeypatch.setattr(branches, "EXACT", 64)
    monkeypatch.setattr(losses, "BLOCK", 8)
    monkeypatch.setattr(losses, "MOST_BLOCKS", 16)


def training() -> sv.Session:
    net = sv.Network([2, 3, 1], "tanh", seed=1)
    return sv.Session(net, sv.data.Xor(), "mse", sv.SGD(0.3), batch=1, engine="cpu")


def test_two_million_losses_take_no_more_room_than_one() -> None:
    record, plain = Losses(5), np.random.default_rng(3).random(2**22 + 1000)
    for first in range(0, len(plain), 100_000):
        record.record(5 + first, plain[first : first + 100_000])
    assert len(record) == len(plain)
    assert sum(each.nbytes for each in record._kept[1:3]) < 17 * 2**20
    assert np.array_equal(record.between(0, len(record))[-(2**20) :], plain[-(2**20) :])
    old = record.between(0, len(record))[: 2**20].reshape(-1, 1024)
    true = plain[: 2**20].reshape(-1, 1024)
    assert np.array_equal(old.min(axis=1), true.min(axis=1))
    assert np.array_equal(old.max(axis=1), true.max(axis=1))


def test_a_long_training_goes_back_and_is_saved_as_a_short_one(
    small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    s = advanced(training(), 700, progress=False)
    kept = s.losses
    assert len(kept) == 700 and not s.current_branch.is_exact(100)
    loaded = reloaded(s, tmp_path)
    assert np.array_equal(loaded.losses, kept)
    monkeypatch.undo()
    plain = advanced(training(), 700, progress=False)
    assert np.array_equal(kept[-64:], plain.losses[-64:])
    for step in (650, 301, 40, 1):
        for session in (s, loaded, plain):
            session.seek(step)
        assert s.loss == loaded.loss == plain.loss == plain.losses[step - 1]
    for session in (s, plain):
        session.seek(700)
    middle = (plain.losses.min() + plain.losses.max()) / 2
    assert s.first(f"loss < {middle}") == plain.first(f"loss < {middle}")
    steps, means = s.current_branch.curve(100)
    assert np.array_equal(steps, plain.current_branch.curve(100)[0])
    assert plain.losses.min() <= means.min() and means.max() <= plain.losses.max()


def test_the_ends_of_a_long_stretch_are_few_and_those_of_its_steps() -> None:
    record = Losses(0)
    record.record(0, np.random.default_rng(3).random(2**22 + 1000))
    old = record._kept[0]
    for start, end in ((0, old), (70_000, 90_000), (old - 5000, old + 5000)):
        ends, steps = record.between(start, end, ends=True), record.between(start, end)
        assert (ends.min(), ends.max()) == (steps.min(), steps.max())
        assert len(ends) <= len(steps) / 100 or end > old
    assert not len(record.between(0, 0, ends=True))
    last = record.between(old, len(record), ends=True)
    assert (last == record.between(old, len(record))).all()
