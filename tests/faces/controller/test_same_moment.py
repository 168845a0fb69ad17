"""The picture and the controls beside it show the same moment while a training goes on."""

import pytest

import scalarviz as sv
from scalarviz.faces.controller.control import state_of
from scalarviz.faces.controller.controller import Controller
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from tests.studio import Studio


@pytest.fixture
def controller(colours: sv.Session, studio: Studio) -> Controller:
    stage = Stage(Show(colours))
    studio.stage(stage, 0.0, (800, 500))
    return Controller(stage.show, stage)


def test_controls_and_curve_show_the_moment_that_was_read(controller: Controller) -> None:
    stage, session = controller.stage, controller.session
    assert isinstance(stage, Stage)
    session.advance(5)
    here = stage.read()
    session.advance(4)  # as the thread that plays does meanwhile
    state, curve = state_of(controller, here), stage.frame_data().curve
    assert (state.step, state.end, state.loss) == (5, 5, curve.loss)
    assert (curve.at, curve.whole, len(curve.losses)) == (5.0, 5.0, 5)


def test_a_picture_that_nobody_has_read_for_reads_by_itself(controller: Controller) -> None:
    stage, session = controller.stage, controller.session
    assert isinstance(stage, Stage)
    stage.read()
    stage.frame_data()
    session.advance(3)
    curve = stage.frame_data().curve
    assert (curve.at, controller.state.step, controller.state.end) == (3.0, 3, 3)
