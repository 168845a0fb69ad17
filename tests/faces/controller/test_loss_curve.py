"""The mouse on the loss curve: steps, branches, zoom, smoothing, and marks of stops."""

import time
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.base.texts.decimals import rounded
from scalarviz.core.bank import Bank
from scalarviz.faces.controller import stopping
from scalarviz.faces.controller.controller import Controller
from scalarviz.faces.controller.controls import CONTROLS
from scalarviz.faces.controller.pointer import LEFT, Pointer
from scalarviz.scene.canvas.palette import THEMES, rgb
from scalarviz.scene.loss_chart import SMOOTHED_PART, Chart
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from scalarviz.training.session import over_time
from scalarviz.training.session.replays import arrivals
from scalarviz.training.session.timeline import Timeline
from tests.faces.controller.conftest import Open
from tests.faces.controller.fake_stage import drag, shown, stage_of
from tests.sessions import advanced
from tests.studio import Studio

SIZE = (800, 500)
RIGHT = 2


@pytest.fixture
def session(colours: sv.Session) -> sv.Session:
    """Two branches: 0 with 60 steps, and 1, which is shown, from step 20 to 40."""
    colours.advance(60)
    colours.seek(20)
    colours.learning_rate = 1e-9
    colours.advance(20)
    return colours


def chart_of(stage: Stage, studio: Studio) -> Chart:
    studio.stage(stage, 0.0, SIZE)
    assert stage.chart is not None
    return stage.chart


def on_line(chart: Chart, step: float) -> tuple[float, float]:
    """Where the line of branch 0 is at a step."""
    points = dict(chart.others)[0]
    x = chart.plot.x + (step - chart.first) / (chart.last - chart.first) * chart.plot.width
    return x, float(np.interp(x, *points.T))


def on_curve(chart: Chart, step: float) -> tuple[float, float]:
    """Where a step is on the axis of steps."""
    x = chart.plot.x + (step - chart.first) / (chart.last - chart.first) * chart.plot.width
    return x, chart.plot.bottom + 5.0


# Numbers.


def test_the_mouse_reads_the_loss_of_that_step_and_not_a_mean_of_its_neighbours(
    session: sv.Session, stage: Stage, pointer: Pointer, studio: Studio
) -> None:
    session.advance(2_000)  # more steps than points of the curve
    chart = chart_of(stage, studio)
    for step in 7, 20, 21, 1_333, 2_040:
        pointer.move(*on_curve(chart, step))
        curve = stage.frame_data().curve
        assert curve.pointed is not None
        assert curve.reads == session.current_branch.loss_at(curve.pointed - 1)
    pointer.move(chart.plot.x, chart.plot.y - 200.0)
    assert np.isnan(stage.frame_data().curve.reads)


@pytest.mark.slow
def test_under_a_mouse_that_rests_the_step_is_that_of_the_chart_as_it_is_now(
    session: sv.Session, stage: Stage, pointer: Pointer, studio: Studio
) -> None:
    x, y = on_curve(chart_of(stage, studio), 30)
    pointer.move(x, y)
    assert stage.frame_data().curve.pointed == 30
    session.advance(500)
    chart = chart_of(stage, studio)
    pointed = stage.frame_data().curve.pointed
    assert pointed == chart.step_at(x) and pointed > 200
    assert pointer.controller.face.press("l")  # the large chart stands elsewhere
    chart_of(stage, studio)
    pointer.controller.face.press("l")
    pointer.move(*on_curve(chart, 100))
    pointer.controller.face.press("l")
    chart_of(stage, studio)
    assert stage.frame_data().curve.pointed is None


# Branches.


def test_a_click_on_the_line_of_a_branch_goes_to_its_step(
    pointer: Pointer, stage: Stage, studio: Studio
) -> None:
    session = stage.session
    drag(pointer, on_line(chart_of(stage, studio), 52))
    assert session.current_branch.number == 0 and session.step_index == 52
    assert stage.pinned is None
    curve = stage.frame_data().curve  # the line under the mouse is that of the branch shown now
    assert curve.meant is None and curve.name == ""
    pointer.controller.undo()
    assert session.current_branch.number == 1 and session.step_index == 40


@pytest.mark.slow
def test_a_drag_from_the_line_of_a_branch_is_that_of_the_slider(
    pointer: Pointer, stage: Stage, studio: Studio
) -> None:
    session, chart = stage.session, chart_of(stage, studio)
    x, y = on_line(chart, 52)
    drag(pointer, (x, y), (on_curve(chart, 10)[0], y))
    assert session.current_branch.number == 1 and session.step_index == 10


def test_the_mouse_on_the_line_of_a_branch_shows_its_name_and_its_loss(
    stage: Stage, studio: Studio
) -> None:
    losses = stage.session.branches[0].losses
    for large in (False, True):
        stage.common.curve_view.large = large
        x, y = on_line(chart_of(stage, studio), 52)
        stage.hover_at(x, y)
        pixels = studio.stage(stage, 0.0, SIZE)
        (words,) = (each for each in stage.picture().words if "loss" in each and "branch" in each)
        assert f"loss {losses[51]:#.3g}" in words
        quiet = rgb((THEMES["dark"].quiet,))[0] * 255.0
        x, y = on_line(chart_of(stage, studio), 43)
        near = pixels[round(y) - 4 : round(y) + 4, round(x) - 1 : round(x) + 2]
        assert np.abs(near - quiet).max(axis=2).min() < 40.0
        stage.hover_at(0.0, 0.0)
        studio.stage(stage, 0.0, SIZE)
        assert not any("loss" in each and "branch" in each for each in stage.picture().words)


@pytest.mark.slow
def test_on_the_line_of_a_long_branch_the_loss_is_that_of_the_step(
    session: sv.Session, stage: Stage, studio: Studio
) -> None:
    session.switch(0)
    session.seek(60)
    session.advance(2_000)
    session.switch(1)
    stage.common.curve_view.large = True
    losses = session.branches[0].losses
    stage.hover_at(*on_line(chart_of(stage, studio), 1_333))
    curve = stage.frame_data().curve
    assert curve.meant == 0 and curve.pointed is not None
    assert curve.there == losses[curve.pointed - 1]


def test_only_the_newest_branches_have_lines(session: sv.Session) -> None:
    stage = Stage(Show(session))
    for i in range(25):
        session.seek(30)
        session.learning_rate = 0.01 + 0.001 * i
        session.advance(2)
    assert [line.number for line in stage.frame_data().curve.others] == list(range(6, 26))


# Zoom.


@pytest.mark.slow
def test_the_wheel_shows_the_steps_around_the_pointer(
    pointer: Pointer, stage: Stage, studio: Studio
) -> None:
    chart, camera = chart_of(stage, studio), stage.eyes.camera
    x, y = on_curve(chart, 30)
    for _ in range(3):
        pointer.wheel(1.0, x, y)
        chart = chart_of(stage, studio)
        assert chart.step_at(x) == 30
    assert 0 < chart.first < 30 < chart.last < 60 and stage.eyes.camera == camera
    near = f"{chart.first:,.0f} to {chart.last:,.0f}"
    assert any(near in words for words in stage.picture().words)
    for _ in range(9):
        pointer.wheel(1.0, x, y)
        chart = chart_of(stage, studio)
    assert chart.last - chart.first == pytest.approx(10.0)
    for _ in range(20):
        pointer.wheel(-1.0, x, y)
        chart = chart_of(stage, studio)
    assert (chart.first, chart.last) == (0.0, 60.0)
    assert "60" in stage.picture().words


@pytest.mark.some(1)
@pytest.mark.parametrize(("button", "shift"), [(RIGHT, False), (LEFT, True)])
def test_a_drag_with_the_right_button_or_shift_moves_the_curve(
    pointer: Pointer, stage: Stage, studio: Studio, button: int, shift: bool
) -> None:
    for _ in range(3):
        pointer.wheel(1.0, *on_curve(chart_of(stage, studio), 30))
    before, camera = chart_of(stage, studio), stage.eyes.camera
    x, y = on_curve(before, before.last)
    pointer.press(button, x, y, shift=shift)
    for dx in (-20.0, -40.0):
        pointer.move(x + dx, y)
        chart_of(stage, studio)
    pointer.release(button, x - 40.0, y)
    after = chart_of(stage, studio)
    steps = 40.0 / before.plot.width * (before.last - before.first)
    assert after.first - before.first == pytest.approx(steps)
    assert after.last - before.last == pytest.approx(steps)
    assert stage.session.step_index == 40 and stage.eyes.camera == camera
    drag(pointer, (x, y), (x + 4000.0, y), button=button, shift=shift)
    assert chart_of(stage, studio).first == 0.0  # no further


@pytest.mark.slow
def test_a_double_click_shows_all_steps_and_goes_nowhere(
    pointer: Pointer, stage: Stage, studio: Studio
) -> None:
    for _ in range(3):
        pointer.wheel(1.0, *on_curve(chart_of(stage, studio), 30))
    place = on_curve(chart_of(stage, studio), 25)
    drag(pointer, place)
    drag(pointer, place)
    assert stage.common.curve_view.is_zoomed and stage.session.step_index == 25
    pointer.controller.time.seek(33)
    drag(pointer, place)
    drag(pointer, place, twice=True)
    assert not stage.common.curve_view.is_zoomed and stage.session.step_index == 33


def test_escape_shows_all_steps_then_closes_the_large_chart(
    pointer: Pointer, stage: Stage, studio: Studio
) -> None:
    controller, view = pointer.controller, stage.common.curve_view
    assert controller.face.press("l") and view.large
    for _ in range(3):
        pointer.wheel(1.0, *on_curve(chart_of(stage, studio), 30))
    controller.face.press("escape")
    assert not view.is_zoomed and view.large
    controller.face.press("escape")
    assert not view.large


# The large chart, and means.


def test_a_click_on_the_title_makes_the_chart_large_and_small(
    pointer: Pointer, stage: Stage, studio: Studio
) -> None:
    small = chart_of(stage, studio)
    drag(pointer, (small.title.x + 10.0, small.title.y + 10.0))
    large = chart_of(stage, studio)
    assert large.box.height > 1.5 * small.box.height
    assert not stage.target_at(*on_line(large, 50))  # nothing behind it
    drag(pointer, on_curve(large, 11))
    assert stage.session.step_index == 11
    drag(pointer, (large.title.x + 10.0, large.title.y + 10.0))
    assert chart_of(stage, studio).plot == small.plot


def test_losses_are_smoothed_if_wanted(stage: Stage) -> None:
    stage.session.switch(0)
    stage.session.advance(300)
    curve = stage.frame_data().curve
    around = len(curve.losses) // (2 * SMOOTHED_PART)
    assert len(curve.smoothed) == len(curve.losses) > 200 and around > 1
    logs = np.log(curve.losses)
    assert curve.smoothed[0] == pytest.approx(np.exp(np.mean(logs[: around + 1])))
    assert curve.smoothed[50] == pytest.approx(np.exp(np.mean(logs[50 - around : 51 + around])))
    stage.common.curve_view.smooth = False
    assert not len(stage.frame_data().curve.smoothed)


def on_strip(chart: Chart, step: float, tile: int) -> tuple[float, float]:
    """Where a tile of the strip of weights is at a step."""
    assert chart.strip is not None
    x = chart.plot.x + (step - chart.first) / (chart.last - chart.first) * chart.plot.width
    return x, chart.strip.y + (tile + 0.5) / chart.tiles * chart.strip.height


@pytest.fixture
def strip(stage: Stage, studio: Studio) -> Chart:
    """The large chart, when all moments of the strip are known."""
    stage.common.curve_view.large = True
    chart_of(stage, studio)
    stage.reading.curves.past.filled.background.complete()
    return chart_of(stage, studio)


def test_the_mouse_on_the_strip_reads_a_weight_at_a_step(
    stage: Stage, studio: Studio, strip: Chart, session: sv.Session
) -> None:
    assert strip.tiles == len(session.network.bank)
    for tile, step in ((0, 7), (12, 33)):
        stage.hover_at(*on_strip(strip, step, tile))
        studio.stage(stage, 0.0, SIZE)
        (said,) = (each for each in stage.picture().words if f"at step {step}" in each)
        session.seek(step)
        value = rounded(float(session.network.bank.value[tile]), 3)
        session.seek(40)
        assert f": {value} at step" in said
        assert stage.hover is None  # nothing behind the chart


def test_the_colors_of_the_strip_are_those_of_its_numbers(
    stage: Stage, studio: Studio, strip: Chart, session: sv.Session
) -> None:
    pixels = studio.stage(stage, 0.0, SIZE)
    seen = stage.frame_data().curve.below
    assert seen is not None
    assert seen.scale == np.abs(seen.over_time.tiles).max()
    for tile, step in ((3, 5), (20, 30), (40, 38)):
        x, y = on_strip(strip, step + 0.5, tile)
        value = seen.over_time.tiles[tile, seen.over_time.moment_at(step + 0.5)]
        wanted = THEMES["dark"].map(value, seen.scale) * 255.0
        assert np.abs(pixels[int(y), int(x)] - wanted).max() < 12.0


def test_a_click_on_the_strip_goes_to_a_step_and_a_drag_compares_two(
    pointer: Pointer, stage: Stage, studio: Studio, strip: Chart
) -> None:
    session = stage.session
    drag(pointer, on_strip(strip, 12, 4))
    assert session.step_index == 12 and stage.common.curve_view.compared is None
    drag(pointer, on_strip(strip, 30, 4), on_strip(strip, 10, 6))
    assert stage.common.curve_view.compared == (10, 30)
    assert session.step_index == 12
    studio.stage(stage, 0.0, SIZE)
    values = {}
    for step in (10, 30):
        session.seek(step)
        values[step] = float(session.network.bank.value[6])
    first, last = (rounded(values[step], 3) for step in (10, 30))
    change = rounded(values[30] - values[10], 3)
    change = change if values[30] < values[10] else f"+{change}"
    words = stage.picture().words
    assert any(f"{first} to {last}, a change of {change}" in each for each in words), words
    stage.hover_at(0.0, 0.0)
    studio.stage(stage, 0.0, SIZE)
    assert any(each.startswith("largest change, steps 10 to 30:") for each in stage.picture().words)
    stage.restore()  # Esc
    assert stage.common.curve_view.compared is None and stage.common.curve_view.large


def test_nothing_is_computed_when_nobody_looks(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(twin: Timeline, steps: Iterable[int]) -> Iterator[tuple[int, Bank | None]]:
        for each in arrivals(twin, steps):
            time.sleep(0.1)
            yield each

    monkeypatch.setattr(over_time, "arrivals", slow)
    reading = stage.reading
    curves, filled = reading.curves, reading.curves.past.filled
    curves.past.waits = False
    for facts in (reading.facts, None):
        curves.pointed(stage.over, stage.common.curve_view, reading.now, facts)
        assert filled.background.busy == (facts is not None)
    filled.background.stop()


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
    controller.time.step(+1, 5)
    assert session.step_index == 1
    assert told(controller)[0].startswith("Stopped at step 1: loss < 100 (it is 0.")
    CONTROLS["stop when"].set(controller, "grad norm < 100")
    controller.time.play()
    while session.playing:
        pass
    controller.face.attend()
    assert session.step_index == 2 and told(controller)[0].startswith(
        "Stopped at step 2: grad norm"
    )
    CONTROLS["stop when"].set(controller, "gradient norm < 3")
    assert "did you mean 'grad norm'" in told(controller)[0]
    assert shown(controller, "stop when").value == "grad norm < 100"
    CONTROLS["stop when"].set(controller, " ")
    assert shown(controller, "stop when").value == "" and session.stop_conditions == []
    controller.undo()
    assert session.stop_conditions == ["grad norm < 100"]


def test_the_first_time_is_found_and_a_button_goes_there(controller: Controller) -> None:
    session = advanced(controller.session, 40)
    norms = []
    for step in range(1, 41):
        session.seek(step)
        norms.append(float(np.linalg.norm(session.network.bank.grad)))
    first = int(np.argmax(norms)) + 1
    condition = f"grad norm > {0.9999 * max(norms):.9g}"
    CONTROLS["first time"].set(controller, condition)
    assert session.step_index == 40
    assert told(controller)[0] == f"First at step {first}: {condition}"
    assert stage_of(controller).press(told(controller)[1])
    assert session.step_index == first
    CONTROLS["first time"].set(controller, "loss < 0")
    assert told(controller)[0] == "Not found up to here: loss < 0"
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
            controller.search.cancel()
        if search._is_cancelled:
            raise stopping.CancelledError

    monkeypatch.setattr(type(search), "_tell", lambda self, step: at_step(step))
    CONTROLS["first time"].set(controller, "grad norm > 1e9")
    assert len(seen) == 8 and seen[5].part == 0.25 and "grad norm > 1e9" in seen[5].text
    assert told(controller)[0] == "The search was cancelled: grad norm > 1e9"
    assert (session.network.bank.value.tobytes(), session.clock) == (value, grad)
    assert controller.search.work is None


# Marks on the loss curve.


def chart_and_frame_of(stage: Stage, studio: Studio) -> tuple[Chart, Any]:
    frame = studio.stage(stage, 0.0, SIZE)
    assert stage.chart is not None
    return stage.chart, frame


def test_marks_stand_on_the_curve_and_a_click_goes_there(
    controller: Controller, studio: Studio
) -> None:
    session, stage = controller.session, controller.stage
    assert isinstance(stage, Stage)
    session.advance(60)
    assert session.first("grad norm < 100") == 1
    session.seek(5)
    session.edit(0, 0.5)  # begins a branch
    session.advance(55)
    session.stops.mark(session.current_branch, 20, "here")
    chart, frame = chart_and_frame_of(stage, studio)
    (x, step) = chart.marks[-1]
    assert step == 20 and len(chart.marks) == 2
    accent = 255.0 * rgb((THEMES["dark"].accent,))[0]
    around = frame[round(chart.plot.y) - 2 : round(chart.plot.bottom), round(x) - 2 : round(x) + 3]
    assert (np.abs(around[..., :3].astype(float) - accent).max(axis=-1) < 40.0).any()
    pointer = Pointer(controller.face)
    for aside in (-4.0, 4.0):
        session.seek(50)
        drag(pointer, (x + aside, chart.plot.bottom + 5.0))
        assert session.step_index == 20
    stage.hover_at(x + 3.0, chart.plot.bottom + 5.0)
    assert stage.frame_data().curve.pointed == 20
    session.switch(0)
    chart, _ = chart_and_frame_of(stage, studio)
    assert [step for _, step in chart.marks] == [1]  # of this branch only
