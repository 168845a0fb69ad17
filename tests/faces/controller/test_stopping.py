"""Stopping by itself and the first time, as faces offer them, with marks on the loss curve."""

from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.faces.controller import playing
from scalarviz.faces.controller.controller import Controller
from scalarviz.faces.controller.controls import CONTROLS
from scalarviz.faces.controller.pointer import LEFT, CurvePointer, Pointer
from scalarviz.scene.canvas.palette import THEMES, rgb
from scalarviz.scene.charts import Chart
from scalarviz.stage.stage import Stage
from scalarviz.training.session.callbacks import ConditionView
from tests.faces.controller.conftest import Clock, Open
from tests.faces.controller.stages import shown, stage_of
from tests.sessions import advanced
from tests.studio import Studio

SIZE = (800, 500)


@pytest.fixture
def controller(opened: Open, colours: sv.Session) -> Any:
    return opened(colours, Stage)


def told(controller: Controller) -> tuple[str, str]:
    notices = stage_of(controller)._notices
    return notices[-1].text, notices[-1].action


def test_a_typed_condition_stops_it_and_it_is_told(controller: Controller) -> None:
    session = controller.session
    CONTROLS["stop when"].set(controller, "loss < 100 or not finite")
    assert shown(controller, "stop when").value == "loss < 100 or not finite"
    controller.step(+1, 5)
    assert session.step_index == 1
    assert told(controller)[0].startswith("Stopped at step 1: loss < 100 (it is 0.")
    CONTROLS["stop when"].set(controller, "weight 3 < 100")
    controller.play()
    while session.playing:
        pass
    controller.attend()
    assert session.step_index == 2 and told(controller)[0].startswith("Stopped at step 2: weight 3")
    CONTROLS["stop when"].set(controller, "gradient norm < 3")
    assert "did you mean 'grad norm'" in told(controller)[0]
    assert shown(controller, "stop when").value == "weight 3 < 100"
    CONTROLS["stop when"].set(controller, " ")
    assert shown(controller, "stop when").value == "" and session.stop_conditions == []
    controller.undo()
    assert session.stop_conditions == ["weight 3 < 100"]


def test_the_first_time_is_found_and_a_button_goes_there(controller: Controller) -> None:
    session = advanced(controller.session, 40)
    gradients = []
    for step in range(1, 41):
        session.seek(step)
        gradients.append(float(session.network.bank.grad[5]))
    signs = np.array(gradients) < 0.0
    first = int(np.flatnonzero(signs[1:] != signs[:-1])[0]) + 2
    CONTROLS["first time"].set(controller, "gradient 5 changes sign")
    assert session.step_index == 40
    assert told(controller)[0] == f"First at step {first}: gradient 5 changes sign"
    assert stage_of(controller).press(told(controller)[1])
    assert session.step_index == first
    CONTROLS["first time"].set(controller, "loss < 0")
    assert told(controller)[0] == "It was never so up to here: loss < 0"
    assert controller.search.work is None


def test_a_search_shows_how_far_it_is_and_can_be_cancelled(
    controller: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, search, seen = controller.session, controller.search, []
    session.advance(20)
    value, grad = session.network.bank.value.tobytes(), session.clock

    def at_step(step: int) -> None:
        search._done = step
        seen.append(search.work)
        if step == 7:
            controller.cancel_exports()
        if search._is_cancelled:
            raise playing.CancelledError

    monkeypatch.setattr(type(search), "_tell", lambda self, step: at_step(step))
    CONTROLS["first time"].set(controller, "weight 5 > 100")
    assert len(seen) == 8 and seen[5].part == 0.25 and "weight 5 > 100" in seen[5].text
    assert told(controller)[0] == "The search was cancelled: weight 5 > 100"
    assert (session.network.bank.value.tobytes(), session.clock) == (value, grad)
    assert controller.search.work is None


# Marks on the loss curve.


def chart_of(stage: Stage, studio: Studio) -> tuple[Chart, Any]:
    frame = studio.stage(stage, 0.0, SIZE)
    assert stage.chart is not None
    return stage.chart, frame


def test_marks_stand_on_the_curve_and_a_click_goes_there(
    controller: Controller, studio: Studio
) -> None:
    session, stage = controller.session, controller.stage
    assert isinstance(stage, Stage)
    session.advance(60)
    assert session.first("weight 3 < 100") == 0
    session.seek(0)
    session.stop_when(at_twenty)
    session.advance(60)
    session.stop_when()
    session.advance(40)
    chart, frame = chart_of(stage, studio)
    (x, step) = chart.marks[-1]
    assert step == 20 and len(chart.marks) == 2
    accent = 255.0 * rgb((THEMES["dark"].accent,))[0]
    around = frame[round(chart.plot.y) - 2 : round(chart.plot.y) + 3, round(x) - 2 : round(x) + 3]
    assert (np.abs(around[..., :3].astype(float) - accent).max(axis=-1) < 40.0).any()
    pointer = Pointer(controller)
    pointer.curve = CurvePointer(controller, Clock())
    for aside in (-4.0, 4.0):
        session.seek(50)
        pointer.press(LEFT, x + aside, chart.plot.bottom + 5.0)
        pointer.release(LEFT, x + aside, chart.plot.bottom + 5.0)
        assert session.step_index == 20
    stage.hover_at(x + 3.0, chart.plot.bottom + 5.0)
    assert stage.frame_data().curve.pointed == 20
    session.switch(0)
    chart, _ = chart_of(stage, studio)
    assert [step for _, step in chart.marks] == [0]  # those of another branch are not drawn


def at_twenty(view: ConditionView) -> bool:
    return view.step == 20
