"""While pictures follow each other fast, cubes are new in each, and texts five times a second."""

from __future__ import annotations

import math

import numpy as np
import pytest

from scalarviz.stage.background import AT_ONCE
from scalarviz.stage.stage import Stage
from tests.stage.conftest import SIZE, words
from tests.studio import Studio


def hurried(studio: Studio, stage: Stage, now: float) -> list[str]:
    """The words of a picture at a time."""
    studio.stage(stage, now, SIZE)
    return list(stage.picture().words)


@pytest.fixture
def started(studio: Studio, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The words of the first picture of a turn, as while the session plays."""
    monkeypatch.setattr("scalarviz.training.session.session.Session.playing", True)
    stage.patience = AT_ONCE
    return hurried(studio, stage, 1.01)


def test_texts_take_turns_and_cubes_are_new_in_every_picture(
    studio: Studio, stage: Stage, started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.session.advance(40)
    assert hurried(studio, stage, 1.02) == started
    np.testing.assert_array_equal(stage.frame_data().cubes.colors, stage.session.network.bank.value)
    later = hurried(studio, stage, 1.25)
    assert later != started
    monkeypatch.undo()
    assert words(studio, stage) != later  # at rest


def test_what_a_hand_does_is_in_the_next_picture(
    studio: Studio, stage: Stage, started: list[str]
) -> None:
    stage.hover = 3
    assert len(hurried(studio, stage, 1.02)) > len(started)
    stage.hover = None
    assert hurried(studio, stage, 1.025) == started


def test_a_picture_of_a_file_is_always_new(
    studio: Studio, stage: Stage, started: list[str]
) -> None:
    stage.patience = math.inf
    stage.session.advance(40)
    assert hurried(studio, stage, 1.02) != started
