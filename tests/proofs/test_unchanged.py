"""The comparison of what a change must leave notices a changed number, caption and picture."""

from pathlib import Path

import numpy as np
import pytest

from scalarviz.training.session.session import Session
from tests.proofs import unchanged


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The facts of one small scene, written before a change."""
    monkeypatch.setattr(unchanged, "scenes", lambda: ["xor"])
    monkeypatch.setattr(unchanged, "STEPS", {"python": 3})
    monkeypatch.setattr(unchanged, "CAPTIONS", 4)
    unchanged.write(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_it_notices_what_changed(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert unchanged.compare(written) == []

    advance, caption = Session.advance, unchanged.caption

    def advance_and_err(session: Session, *way: object) -> None:
        advance(session, *way)  # type: ignore[arg-type]  # passed on as they came
        session.network.bank.value[0] = np.nextafter(session.network.bank.value[0], 9.0)

    with monkeypatch.context() as patch:
        patch.setattr(Session, "advance", advance_and_err)
        found = unchanged.compare(written)
    assert {each.split(":")[0] for each in found} >= {"bank", "walk"}

    monkeypatch.setattr(unchanged, "caption", lambda *given: f"{caption(*given)}!")
    found = unchanged.compare(written)
    assert len(found) == unchanged.CAPTIONS
    assert "!" in found[0]


def test_a_picture_with_one_other_pixel_is_another() -> None:
    one = np.zeros((4, 5, 3), np.uint8)
    other = one.copy()
    other[1, 2, 0] = 1
    assert unchanged.different(one, one) == 0.0
    assert unchanged.different(one, other) == 1 / 20
    assert unchanged.different(one, one[1:]) == 1.0
