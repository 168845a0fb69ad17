"""What the tests of stages share."""

from typing import Any

import pytest

import scalarviz as sv
from scalarviz.scene.look import Look
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from tests.studio import Studio, Walk, face

SIZE = (800, 600)


def go(thing: Any, *moves: tuple[Any, ...]) -> None:
    """Call methods of a session or a stage, given by name, with their arguments."""
    for name, *given in moves:
        getattr(thing, name)(*given)


@pytest.fixture
def faced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cubes are seen from the front."""
    face(monkeypatch)


@pytest.fixture
def stage(colours: sv.Session, faced: None) -> Stage:
    colours.advance(3)
    return Stage(Show(colours, title="colours", about="About it."), Look(camera="flat"))


def words(studio: Studio, stage: Stage, size: tuple[int, int] = SIZE) -> list[str]:
    """All that is written on the picture."""
    studio.stage(stage, 0.0, size)
    return list(stage.picture().words)


@pytest.fixture
def walk(studio: Studio, faced: None, monkeypatch: pytest.MonkeyPatch) -> Walk:
    """Pictures without numbers on the cubes, whose colors and sizes are measured."""
    monkeypatch.setattr("scalarviz.scene.picture.draw_numbers", lambda *given: None)
    return Walk(studio)
