"""A new action of a user is a function that does it, and one that checks it when it is loaded."""

from pathlib import Path
from typing import Any

import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.core.bank import Bank
from scalarviz.errors import FileError
from scalarviz.files import journal
from scalarviz.training.session import trainer
from tests.wording import refused


def shrink(bank: Bank, factor: float) -> None:
    bank.value[:] *= factor


def check_shrink(network: sv.Network, details: dict[str, Any]) -> None:
    journal.check_type(details["factor"], float, "factor")


@pytest.fixture
def shrunk(monkeypatch: pytest.MonkeyPatch) -> sv.Session:
    monkeypatch.setitem(trainer.WRITES, "shrink", shrink)
    s = sv.Session(sv.Network([2, 3, 1], seed=0), data.Xor(), engine="python")
    s.advance(2)
    s._do("shrink", factor=0.5)
    s.advance(2)
    return s


def test_it_is_replayed_saved_and_loaded(
    shrunk: sv.Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(journal.CHECKS, "shrink", check_shrink)
    numbers = shrunk.network.bank.value.copy()
    shrunk.save(tmp_path / "run")
    for s in (shrunk, sv.Session.load(tmp_path / "run")):
        s.seek(1)
        s.seek(4)
        assert s.network.bank.value.tolist() == numbers.tolist()


def test_a_wrong_detail_is_refused_when_it_is_loaded(
    shrunk: sv.Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(journal.CHECKS, "shrink", check_shrink)
    shrunk.branches[0].journal[0].details["factor"] = True
    shrunk.save(tmp_path / "run")
    with refused(FileError, "factor is True"):
        sv.Session.load(tmp_path / "run")


def test_a_file_with_an_action_that_has_no_check_is_refused(
    shrunk: sv.Session, tmp_path: Path
) -> None:
    shrunk.save(tmp_path / "run")
    with refused(FileError, "unknown action 'shrink'"):
        sv.Session.load(tmp_path / "run")
