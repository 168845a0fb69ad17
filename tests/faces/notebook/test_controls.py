"""The controls of a notebook and a controller: both ways, and from any thread."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.faces.controller.controller import Controller
from scalarviz.faces.controller.time_controls import RATES, speeds
from scalarviz.faces.notebook.controls import NotebookControls
from scalarviz.pictures.presenter.show import Show
from tests.faces.controller.fake_stage import FakeStage
from tests.sessions import advanced


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
        controls.made["on"].click()
    controls.made["back"].click()
    assert controls.controller.session.step_index == 2
    again(controls)
    assert (controls.made["timeline"].value, controls.made["timeline"].max) == (2, 3)
    assert controls.made["where"].value == "2 of 3"
    controls.made["start"].click()
    assert controls.controller.session.step_index == 0


def test_the_unit_is_that_of_the_buttons(controls: NotebookControls) -> None:
    assert "sample" not in controls.made["unit"].options
    controls.made["unit"].value = "operation"
    controls.made["on"].click()
    assert controls.controller.session.done == "zero_grad"
    again(controls)
    assert controls.made["on"].tooltip == "On by one operation"
    assert controls.made["where"].value.startswith("0 + 1 of 0")


def test_play_becomes_pause(controls: NotebookControls) -> None:
    controls.made["play"].click()
    assert controls.controller.session.playing
    again(controls)
    assert (controls.made["play"].icon, controls.made["play"].tooltip) == ("pause", "Pause")
    controls.made["play"].click()
    assert not controls.controller.session.playing
    again(controls)
    assert controls.made["play"].icon == "play"


def test_the_timeline_seeks(controls: NotebookControls) -> None:
    controls.controller.session.advance(10)
    again(controls)
    controls.made["timeline"].value = 4
    assert controls.controller.session.step_index == 4


def test_showing_a_state_does_nothing_to_the_training(controls: NotebookControls) -> None:
    session = advanced(controls.controller.session, 10)
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
    speed, scale = controls.made["speed"], speeds(controls.controller.state)
    assert speed.value == speed.max == scale.last
    speed.value = scale.place(50.0)
    assert controls.controller.playing.speed == 50.0
    controls.controller.set_speed(640.0)
    again(controls)
    assert speed.value == scale.place(640.0) and controls.made["pace"].value == "640/s"
    speed.value = speed.max
    assert controls.controller.playing.speed is None


def test_the_rate_by_its_slider_and_by_its_number(controls: NotebookControls) -> None:
    session, rate = controls.controller.session, controls.made["rate"]
    in_numbers = controls.made["rate in numbers"]
    assert in_numbers.value == 0.5
    rate.value = RATES.place(0.01)
    assert session.learning_rate == 0.01
    in_numbers.value = 0.3
    assert session.learning_rate == 0.3
    session.learning_rate = 0.1
    again(controls)
    assert (rate.value, in_numbers.value) == (RATES.place(0.1), 0.1)


def test_a_slider_has_whole_places_so_that_a_page_sends_none_back(
    controls: NotebookControls,
) -> None:
    for rate in (0.5, 5.0, 0.0123, 3e-9, 1e9):
        controls.controller.session.learning_rate = rate
        again(controls)
        assert type(controls.made["rate"].value) is int
        assert controls.controller.session.learning_rate == rate


@pytest.mark.parametrize("ends", [(20, 300), (-9, -5)])
def test_a_slider_whose_ends_a_message_has_changed_gets_its_own_back(
    controls: NotebookControls, ends: tuple[int, int]
) -> None:
    slider = controls.made["speed"]
    before = slider.min, slider.max
    with slider.hold_trait_notifications():
        slider.min, slider.max = ends
    again(controls)
    assert (slider.min, slider.max) == before


def test_a_slider_can_be_moved_back(controls: NotebookControls) -> None:
    place = controls.made["rate"].value
    controls.made["rate"].value = place - 100
    controls.made["rate"].value = place
    assert controls.controller.session.learning_rate == 0.5


def test_what_is_refused_does_not_stay_in_its_field(controls: NotebookControls) -> None:
    controls.made["rate in numbers"].value = -1.0
    again(controls)
    assert controls.made["rate in numbers"].value == 0.5
    assert "learning rate" in controls.controller.message


def test_channels(controls: NotebookControls) -> None:
    assert controls.made["color"].options == tuple(controls.controller.stage.channels)
    controls.made["color"].value = "gradient"
    assert controls.controller.stage.color == "gradient"
    controls.controller.set_channel("size", "value")
    again(controls)
    assert controls.made["size"].value == "value"


def test_samples(controls: NotebookControls) -> None:
    controls.made["after"].click()
    again(controls)
    assert controls.made["sample"].value == "2 of 8"
    controls.made["before"].click()
    assert controls.controller.session.focus == 0


def test_the_pinned_weight(controls: NotebookControls) -> None:
    controller = controls.controller
    assert controls.made["value"].disabled and controls.made["frozen"].disabled
    controller.stage.pinned = 5
    again(controls)
    assert not controls.made["value"].disabled
    assert controls.made["value"].value == pytest.approx(
        float(controller.session.network.bank.value[5])
    )
    controls.made["value"].value = 0.75
    assert controller.session.network.bank.value[5] == 0.75
    controls.made["frozen"].value = True
    assert controller.session.network.bank.frozen[5]
    again(controls)
    assert not controls.made["undo"].disabled
    controls.made["undo"].click()
    controls.made["undo"].click()
    assert not controller.session.network.bank.frozen[5]
    assert controller.session.network.bank.value[5] != 0.75


def test_a_number_that_no_page_can_be_told_is_told_in_words(controls: NotebookControls) -> None:
    controller = controls.controller
    controller.stage.pinned = 5
    controller.session.network.bank.value[5] = float("nan")
    again(controls)
    assert controls.made["value"].value == 0.0
    assert controls.made["value"].tooltip.endswith(": nan")


def test_options_that_change_leave_no_controls_behind(controls: NotebookControls) -> None:
    before = [control for group in controls.scene.children for control in group.children]
    controls.controller.set_option("map", "grey")
    again(controls)
    assert "grey" in {group.children[1].value for group in controls.scene.children}
    assert [control.comm for control in before] == [None] * len(before)


def test_more_is_shown_when_it_is_asked_for(controls: NotebookControls) -> None:
    assert controls.more.layout.display == "none"
    controls.options.value = True
    assert controls.more.layout.display == ""


def test_branches(controls: NotebookControls) -> None:
    session = advanced(controls.controller.session, 4)
    session.back(2)
    session.learning_rate = 0.1
    session.advance(1)
    again(controls)
    assert [*controls.made["branches"].options] == [
        "0: from the start, to step 4",
        "1: from step 2: rate 0.1, to step 3",
    ]
    assert controls.made["branches"].index == 1
    assert controls.made["branch name"].value == "from step 2: rate 0.1"
    controls.made["branch name"].value = "slow"
    assert session.branches[1].name == "slow"
    again(controls)
    assert controls.made["branches"].value == "1: slow, to step 3"
    controls.made["branches"].index = 0
    assert session.timeline.branch.number == 0


def test_options_of_the_scene(controls: NotebookControls) -> None:
    names = [group.children[0].value for group in controls.scene.children]
    assert [name for name in ("engine", "map") if any(f">{name}<" in n for n in names)] == [
        "engine",
        "map",
    ]
    place = next(i for i, name in enumerate(names) if ">map<" in name)
    field = controls.scene.children[place].children[1]
    assert field.value == "invert"
    field.value = "grey"
    assert controls.controller.session.data.settings()["map"] == "grey"


def test_of_a_slider_that_moves_the_newest_counts_and_of_a_button_every_click(
    controller: Controller,
) -> None:
    waiting: list[Callable[[], None]] = []
    sought: list[int] = []
    controller.seek = sought.append  # type: ignore[method-assign, assignment]  # in its place
    controller.session.advance(9)
    controls = NotebookControls(controller, waiting.append)
    controls.show_state(controller.state)
    for step in (8, 7, 6):
        controls.made["timeline"].value = step
    controls.made["on"].click()
    controls.made["on"].click()
    for deed in waiting:
        deed()
    assert sought == [6]
    assert controller.session.step_index == 11


def test_what_a_browser_says_on_another_thread_is_done_on_the_desks(controller: Controller) -> None:
    waiting: list[Callable[[], None]] = []
    controls = NotebookControls(controller, waiting.append)
    controls.show_state(controller.state)
    thread = threading.Thread(
        target=lambda: setattr(controls.made["rate in numbers"], "value", 0.2)
    )
    thread.start()
    thread.join()
    assert controller.session.learning_rate == 0.5
    waiting[0]()
    assert controller.session.learning_rate == 0.2


def test_a_control_that_is_moved_is_left_alone_meanwhile(controls: NotebookControls) -> None:
    controls.controller.session.advance(10)
    again(controls)
    controls.made["timeline"].value = 4
    controls.controller.session.advance(1)
    controls.show_state(controls.controller.state)
    assert controls.made["timeline"].value == 4
    again(controls)
    assert controls.made["timeline"].value == 5
