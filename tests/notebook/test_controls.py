"""The controls of a notebook and a controller: both ways, and from any thread."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.controller.controller import Controller
from scalarviz.notebook import controls as controls_module
from scalarviz.notebook.controls import FLAT_OUT, NotebookControls
from scalarviz.presenter.show import Show
from tests.controller.fake_stage import FakeStage


@pytest.fixture
def controller() -> Any:
    net = sv.Network([3, 4, 3], "tanh", output="sigmoid", seed=0)
    session = sv.Session(net, data.Rgb("invert"), "mse", sv.SGD(0.5), batch=8, engine="python")
    show = Show(session, title="colours")
    made = Controller(show, FakeStage(show))
    yield made
    made.pause()


@pytest.fixture
def controls(controller: Controller) -> NotebookControls:
    def at_once(deed: Callable[[], None]) -> None:
        deed()

    made = NotebookControls(controller, at_once)
    made.show_state(controller.state)
    return made


def again(controls: NotebookControls) -> None:
    """Show the state as it is later, when nobody is at a control any more."""
    controls._touched.clear()
    controls.show_state(controls.controller.state)


def test_buttons_go_on_and_back(controls: NotebookControls) -> None:
    for _ in range(3):
        controls.on.click()
    controls.back.click()
    assert controls.controller.session.step_index == 2
    again(controls)
    assert (controls.timeline.value, controls.timeline.max) == (2, 3)
    assert controls.where.value.startswith("2 of 3 ")
    controls.start.click()
    assert controls.controller.session.step_index == 0


def test_the_unit_is_that_of_the_buttons(controls: NotebookControls) -> None:
    assert "sample" not in controls.unit.options
    controls.unit.value = "operation"
    controls.on.click()
    assert controls.controller.session.done == "zero_grad"
    again(controls)
    assert controls.on.tooltip == "On by one operation"
    assert controls.where.value.startswith("0 + 1 of 0")


def test_play_becomes_pause(controls: NotebookControls) -> None:
    controls.play.click()
    assert controls.controller.session.playing
    again(controls)
    assert (controls.play.icon, controls.play.tooltip) == ("pause", "Pause")
    controls.play.click()
    assert not controls.controller.session.playing
    again(controls)
    assert controls.play.icon == "play"


def test_the_timeline_seeks(controls: NotebookControls) -> None:
    controls.controller.session.advance(10)
    again(controls)
    controls.timeline.value = 4
    assert controls.controller.session.step_index == 4


def test_showing_a_state_does_nothing_to_the_training(controls: NotebookControls) -> None:
    session = controls.controller.session
    session.advance(10)
    session.learning_rate = 0.0123456789
    session.advance(4)
    session.back(2)
    before = repr(session), repr(session.branches), session.learning_rate
    again(controls)
    controls.controller.session.focus = 3
    again(controls)
    assert (repr(session), repr(session.branches), session.learning_rate) == before
    assert before[2] == 0.0123456789
    assert len(session.branches) == 1


def test_speeds(controls: NotebookControls) -> None:
    assert controls.speed.value == FLAT_OUT
    controls.speed.value = 50.0
    assert controls.controller.playing.speed == 50.0
    controls.controller.set_speed(640.0)
    again(controls)
    assert (controls.speed.value, controls.pace.value) == (500.0, "640/s")
    controls.speed.value = FLAT_OUT
    assert controls.controller.playing.speed is None


def test_the_rate_by_its_slider_and_by_its_number(controls: NotebookControls) -> None:
    session = controls.controller.session
    assert controls.rate_text.value == 0.5
    controls.rate.value = -2.0
    assert session.learning_rate == 0.01
    controls.rate_text.value = 0.3
    assert session.learning_rate == 0.3
    session.learning_rate = 0.1
    again(controls)
    assert (controls.rate.value, controls.rate_text.value) == (-1.0, 0.1)


def test_a_browser_that_rounds_the_slider_does_not_set_the_rate(controls: NotebookControls) -> None:
    controls.rate.value = -0.3  # the rate is 0.5, whose power is -0.30103
    assert controls.controller.session.learning_rate == 0.5


def test_the_slider_of_rates_stands_at_one_of_its_places(controls: NotebookControls) -> None:
    for rate in (0.5, 5.0, 0.0123, 3e-9, 1e9):
        controls.controller.session.learning_rate = rate
        again(controls)
        place = (controls.rate.value - controls.rate.min) / controls.rate.step
        assert abs(place - round(place)) < 1e-9
        assert controls.controller.session.learning_rate == rate


def test_a_slider_can_be_moved_back(controls: NotebookControls) -> None:
    controls.rate.value = -2.0
    controls.rate.value = -0.3
    assert controls.controller.session.learning_rate == 0.501


def test_a_place_that_a_page_was_told_long_ago_can_be_chosen(
    controls: NotebookControls, monkeypatch: pytest.MonkeyPatch
) -> None:
    controls.controller.session.learning_rate = 5.0
    now = controls_module.perf_counter()
    for look in range(12):
        monkeypatch.setattr(controls_module, "perf_counter", lambda look=look: now + look)
        controls.show_state(controls.controller.state)
    controls.rate.value = -0.3
    assert controls.controller.session.learning_rate == 0.501


def test_what_is_refused_does_not_stay_in_its_field(controls: NotebookControls) -> None:
    controls.rate_text.value = -1.0
    again(controls)
    assert controls.rate_text.value == 0.5
    assert "learning rate" in controls.controller.message


def test_channels(controls: NotebookControls) -> None:
    assert controls.color.options == tuple(controls.controller.stage.channels)
    controls.color.value = "gradient"
    assert controls.controller.stage.color == "gradient"
    controls.controller.set_channel("size", "value")
    again(controls)
    assert controls.size.value == "value"


def test_samples(controls: NotebookControls) -> None:
    controls.after.click()
    again(controls)
    assert controls.focus.value == "2 of 8"
    controls.before.click()
    assert controls.controller.session.focus == 0


def test_the_pinned_weight(controls: NotebookControls) -> None:
    controller = controls.controller
    assert controls.value.disabled and controls.frozen.disabled
    controller.stage.pinned = 5
    again(controls)
    assert not controls.value.disabled
    assert controls.value.value == pytest.approx(float(controller.session.network.bank.value[5]))
    controls.value.value = 0.75
    assert controller.session.network.bank.value[5] == 0.75
    controls.frozen.value = True
    assert controller.session.network.bank.frozen[5]
    again(controls)
    assert not controls.undo.disabled
    controls.undo.click()
    controls.undo.click()
    assert not controller.session.network.bank.frozen[5]
    assert controller.session.network.bank.value[5] != 0.75


def test_a_number_that_no_page_can_be_told_is_told_in_words(controls: NotebookControls) -> None:
    controller = controls.controller
    controller.stage.pinned = 5
    controller.session.network.bank.value[5] = float("nan")
    again(controls)
    assert controls.value.value == 0.0
    assert controls.value.tooltip.endswith(": nan")


def test_options_that_change_leave_no_controls_behind(controls: NotebookControls) -> None:
    before = [control for group in controls.scene.children for control in group.children]
    controls.controller.set_option("map", "grey")
    again(controls)
    assert controls.scene.children[1].children[1].value == "grey"
    assert [control.comm for control in before] == [None] * len(before)


def test_more_is_shown_when_it_is_asked_for(controls: NotebookControls) -> None:
    assert controls.more.layout.display == "none"
    controls.options.value = True
    assert controls.more.layout.display == ""


def test_branches(controls: NotebookControls) -> None:
    session = controls.controller.session
    session.advance(4)
    session.back(2)
    session.learning_rate = 0.1
    session.advance(1)
    again(controls)
    assert [text for text, _ in controls.branches.options] == [
        "0: from the start to step 4",
        "1: from step 2 to step 3",
    ]
    assert controls.branches.value == 1
    controls.branches.value = 0
    assert session.course.branch.number == 0


def test_options_of_the_scene(controls: NotebookControls) -> None:
    names = [group.children[0].value for group in controls.scene.children]
    assert [name for name in ("engine", "map") if any(f">{name}<" in n for n in names)] == [
        "engine",
        "map",
    ]
    field = controls.scene.children[1].children[1]
    assert field.value == "invert"
    field.value = "grey"
    assert controls.controller.session.data.settings()["map"] == "grey"


def test_of_a_slider_that_moves_the_newest_counts_and_of_a_button_every_click(
    controller: Controller,
) -> None:
    waiting: list[Callable[[], None]] = []
    sought: list[int] = []
    controller.seek = sought.append  # type: ignore[method-assign, assignment]
    controller.session.advance(9)
    controls = NotebookControls(controller, waiting.append)
    controls.show_state(controller.state)
    for step in (8, 7, 6):
        controls.timeline.value = step
    controls.on.click()
    controls.on.click()
    for deed in waiting:
        deed()
    assert sought == [6]
    assert controller.session.step_index == 11


def test_what_a_browser_says_on_another_thread_is_done_on_the_desks(controller: Controller) -> None:
    waiting: list[Callable[[], None]] = []
    controls = NotebookControls(controller, waiting.append)
    controls.show_state(controller.state)
    thread = threading.Thread(target=lambda: setattr(controls.rate_text, "value", 0.2))
    thread.start()
    thread.join()
    assert controller.session.learning_rate == 0.5
    waiting[0]()
    assert controller.session.learning_rate == 0.2


def test_a_control_that_is_moved_is_left_alone_meanwhile(controls: NotebookControls) -> None:
    controls.controller.session.advance(10)
    again(controls)
    controls.timeline.value = 4
    controls.controller.session.advance(1)
    controls.show_state(controls.controller.state)
    assert controls.timeline.value == 4
    again(controls)
    assert controls.timeline.value == 5
