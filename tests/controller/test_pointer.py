"""The mouse on the loss curve: it reads, goes to a step, and is dragged as a slider."""

from collections.abc import Iterator

import pytest

import scalarviz as sv
from scalarviz.controller.controller import Controller
from scalarviz.controller.pointer import LEFT, Pointer
from scalarviz.presenter.show import Show
from scalarviz.presenter.stage import Stage
from tests.studio import Studio

SIZE = (800, 500)
RIGHT = 2


@pytest.fixture
def session(colours: sv.Session) -> sv.Session:
    colours.advance(40)
    return colours


@pytest.fixture
def stage(session: sv.Session, studio: Studio) -> Stage:
    stage = Stage(Show(session))
    studio.stage(stage, 0.0, SIZE)
    return stage


@pytest.fixture
def pointer(stage: Stage) -> Iterator[Pointer]:
    controller = Controller(stage.show, stage)
    controller.hand.patience = 10.0
    yield Pointer(controller)
    controller.quit()
    controller.rest()


def place(stage: Stage, step: int) -> tuple[float, float]:
    """Where a step is on the curve."""
    chart = stage.picture().chart
    assert chart is not None
    return chart.plot.x + step / chart.last * chart.plot.width, chart.plot.bottom - 5.0


def test_a_click_on_the_curve_goes_to_that_step(pointer: Pointer, stage: Stage) -> None:
    for step in (10, 40, 0, 23):
        pointer.press(LEFT, *place(stage, step))
        pointer.release(LEFT, *place(stage, step))
        assert stage.session.step_index == step
    assert stage.pinned is None


def test_the_curve_is_dragged_as_a_slider(pointer: Pointer, stage: Stage) -> None:
    x, y = place(stage, 30)
    pointer.press(LEFT, x, y)
    before = stage.eyes.camera
    for step in (20, 12):
        pointer.move(*place(stage, step))
        assert stage.session.step_index == step
    pointer.move(0.0, y - 200.0)  # far outside it is still held
    assert stage.session.step_index == 0
    pointer.release(LEFT, 0.0, y - 200.0)
    assert stage.eyes.camera == before and stage.session.step_index == 0


def test_other_buttons_and_places_go_nowhere(pointer: Pointer, stage: Stage) -> None:
    pointer.press(RIGHT, *place(stage, 10))
    pointer.release(RIGHT, *place(stage, 10))
    pointer.press(LEFT, 300.0, 200.0)
    pointer.move(*place(stage, 10))
    pointer.release(LEFT, *place(stage, 10))
    assert stage.session.step_index == 40


def test_the_mouse_reads_the_loss_of_a_step(stage: Stage, studio: Studio) -> None:
    stage.hover_at(*place(stage, 17))
    studio.stage(stage, 0.0, SIZE)
    words = stage.picture().words
    assert "step 17" in words and f"loss {stage.session.losses[16]:#.3g}" in words
    stage.hover_at(0.0, 0.0)
    studio.stage(stage, 0.0, SIZE)
    assert "step 17" not in stage.picture().words
