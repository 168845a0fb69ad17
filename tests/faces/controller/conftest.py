"""What the tests of this folder share: controllers, which are closed at the end, and a mouse."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import scalarviz as sv
from scalarviz.faces.controller.controller import Controller
from scalarviz.faces.controller.face import Face
from scalarviz.faces.controller.options import Recipe
from scalarviz.faces.controller.pointer import Pointer
from scalarviz.faces.scene_file import find, load
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from scalarviz.stage.stages import Stages
from tests.faces.controller.fake_stage import FakeStage

Open = Callable[..., Any]


@pytest.fixture
def opened() -> Iterator[Open]:
    """opened(session, stage) or opened("scene", stage, option=...): a controller.

    `stage` is a class, or a stage that shows the session.
    """
    made: list[Controller] = []

    def open_shown(
        shown: Any, stage: Any = FakeStage, steps: int | None = None, speed: float | None = None,
        **options: Any,
    ) -> Any:  # fmt: skip
        recipe = None
        if isinstance(shown, str):
            recipe = Recipe(load(find(shown)), {"engine": "python", **options})
            shown = recipe.make({})
        show = Show.of(shown)
        stage = stage(show) if isinstance(stage, type) else stage
        made.append(Face(Stages([stage]), [recipe], steps=steps, speed=speed).lead)
        made[-1].hand.patience = 30.0
        return made[-1]

    yield open_shown
    for controller in made:
        controller.face.quit()
        controller.face.rest()


@pytest.fixture
def controller(opened: Open, show: Show) -> Any:
    """The session of `show`, four steps on."""
    made = opened(show)
    made.time.step(+1, 4)
    return made


@pytest.fixture
def stage(session: sv.Session, studio: Any, request: pytest.FixtureRequest) -> Stage:
    """The stage of the `session` of a module, drawn once in its SIZE."""
    stage = Stage(Show(session))
    studio.stage(stage, 0.0, request.module.SIZE)
    return stage


@pytest.fixture
def pointer(opened: Open, stage: Stage) -> Pointer:
    """The mouse over that stage."""
    return Pointer(opened(stage.show, stage).face)
