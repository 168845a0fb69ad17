"""The commands of a controller, with a stage that records its calls."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.base.texts import text
from scalarviz.engines.registry import ENGINES
from scalarviz.faces.controller import clock_control, guide
from scalarviz.faces.controller.control import state_of
from scalarviz.faces.controller.controller import Controller
from scalarviz.faces.controller.controls import CONTROLS
from scalarviz.faces.controller.face import Face, Opening, WatchOptions
from scalarviz.faces.controller.files_and_links import drop, open_run, save
from scalarviz.faces.controller.keys import controls_for, help_rows, keys_of
from scalarviz.faces.controller.pointer import LEFT, Pointer
from scalarviz.faces.controller.stopping import take_offer
from scalarviz.scene.pace import pauses
from scalarviz.stage.commands import page_keys
from scalarviz.stage.explained_sample import sample_to_explain
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from scalarviz.stage.stages import Stages
from scalarviz.training.session import threads
from tests.faces.controller.conftest import Open
from tests.faces.controller.fake_stage import Watcher, attended
from tests.machine import until
from tests.scene.sequences import reading
from tests.sessions import at_work, session_on
from tests.studio import Studio

MakeController = Callable[..., Any]


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done here is quick; on a machine with much else to do it may take a while."""
    for place in ("controller", "clock_control"):
        monkeypatch.setattr(f"scalarviz.faces.controller.{place}.AT_ONCE", 10.0)


@pytest.fixture
def make(opened: Open) -> Open:
    return opened


@pytest.fixture
def controller(make: MakeController, show: Show) -> Any:
    return make(show)


def values(controller: Any) -> list[float]:
    return list(controller.session.network.bank.value)


# Going on, and back.


@pytest.mark.usefixtures("patient")
def test_it_goes_to_an_operation_one_by_one(controller: Any) -> None:
    seen = []

    def walk(operations: int) -> None:
        controller.stage.travel(operations)
        while controller.time.walk.left or controller.hand.busy:
            controller.face.attend()
            if not seen or seen[-1] != controller.session.clock.place:
                seen.append(controller.session.clock.place)
            time.sleep(0.002)

    walk(3)
    assert seen == [(0, 1), (0, 2), (0, 3)]
    walk(-2)
    assert seen[3:] == [(0, 2), (0, 1)]
    walk(0)
    assert controller.session.clock.place == (0, 1)


@pytest.mark.usefixtures("patient")
def test_whatever_else_is_done_ends_the_way_to_an_operation(controller: Any) -> None:
    for command in (controller.time.pause, controller.time.play, lambda: controller.time.step(1)):
        controller.stage.travel(5)
        controller.face.attend()
        command()
        assert controller.time.walk.left == 0
        controller.time.pause()


@pytest.mark.usefixtures("patient")
def test_many_epochs_are_taken_in_the_background_and_end_just_there(controller: Any) -> None:
    controller.time.set_unit("epoch")
    controller.time.step(+1, 20)
    assert controller.session.playing
    attended(controller, lambda: not controller.time.asked)
    assert controller.session.clock.place == (160, 0)
    assert not controller.stage.offered


# By neurons.


@pytest.mark.usefixtures("patient")
def test_arrows_and_point_go_by_neurons_where_they_are_the_unit(controller: Any) -> None:
    shown = controller.stage.motion.by_neuron

    def press(*keys: str, shift: bool = False) -> tuple[tuple[int, int], int]:
        for key in keys:
            assert controller.face.press(key, shift)
        until(lambda: not controller.hand.busy, controller.face.attend)
        step, operation = controller.session.clock.place
        return (step, operation), shown.at(step * len(controller.session.operations) + operation)

    controller.time.set_unit("neuron")
    assert controller.face.state.units[0] == controller.face.state.unit == "neuron"
    assert press("right") == ((0, 1), 1) and press("right") == ((0, 2), 1)
    assert press("right", ".") == ((0, 2), 3)
    assert press("right", shift=True) == ((0, 3), 5)  # 3 + 10 of the eight of each operation
    assert press(",", "left") == ((0, 3), 3)
    assert press("left", shift=True) == ((0, 2), 1)
    controller.time.set_unit("operation")
    assert press("right") == ((0, 3), 0) and press(",") == ((0, 2), 0)


@pytest.mark.usefixtures("patient")
def test_play_shows_whole_operations_one_by_one(
    controller: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    played: list[Any] = []
    monkeypatch.setattr(controller.session, "play", lambda *how: played.append(how))
    controller.time.set_unit("neuron")
    controller.time.step(+1, 3)
    until(lambda: not controller.hand.busy, controller.face.attend)
    assert controller.stage.motion.by_neuron.at(2) == 2
    controller.time.play()
    assert played == [(pytest.approx(1.0), "operation", 2000)]
    assert controller.stage.motion.by_neuron.at(2) == 0
    assert controller.face.state.pace == "an operation in 1 s"


@pytest.mark.usefixtures("patient")
def test_a_network_that_is_too_large_goes_by_operations(make: MakeController) -> None:
    controller = make(session_on(sv.data.Rgb(), [3, 61, 3], optimizer=sv.SGD(0.1)))
    assert "neuron" not in controller.face.state.units
    controller.time.set_unit("neuron")
    assert controller.time.unit == "step" and "at most 60 neurons" in controller.message
    controller.time.unit = "neuron"  # as if a smaller one had grown
    controller.face.attend()
    assert controller.time.unit == "operation"


# Speeds.


@pytest.mark.usefixtures("patient")
def test_a_speed_of_ones_own_replaces_that_of_the_show(
    make: MakeController, colours: sv.Session
) -> None:
    controller = make(Show(colours, speed=10))
    controller.time.set_speed(400.0)
    assert controller.face.state.speed == 400.0
    controller.time.set_speed(0.0)
    assert controller.face.state.speed == 400.0 and "speed" in controller.message
    assert make(Show(colours, speed=10), speed=0).face.state.speed is None


@pytest.mark.usefixtures("patient")
def test_play_goes_by_operation_where_that_is_the_unit(
    controller: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    played: list[Any] = []
    monkeypatch.setattr(controller.session, "play", lambda *how: played.append(how))
    controller.time.set_speed(100.0)
    controller.time.set_unit("operation")
    controller.time.play()
    assert played == [(pytest.approx(1.0), "operation", 2000)]
    assert controller.face.state.pace == "an operation in 1 s"
    controller.time.set_speed(0.25)  # steps per second, of twelve operations
    assert played[-1] == (pytest.approx(3.0), "operation", 2000)
    assert controller.face.state.pace == "3 operations/s"
    controller.time.set_speed(None)  # no faster than can be seen
    assert played[-1] == (pytest.approx(36.0), "operation", 2000)
    controller.time.set_unit("step")
    assert played[-1] == (100.0, "step", 2000) and controller.face.state.speed == 100.0


@pytest.mark.usefixtures("patient")
def test_the_slider_of_the_speed_ends_where_operations_cannot_be_seen(controller: Any) -> None:
    control = CONTROLS["speed"]
    assert control.shown(controller.face.state).scale.number(10_000) is None
    steps = control.shown(controller.face.state).about
    controller.time.set_unit("operation")
    scale = control.shown(controller.face.state).scale
    assert scale.number(scale.last) * len(controller.session.operations) == pytest.approx(36.0)
    assert control.shown(controller.face.state).about != steps


@pytest.mark.usefixtures("patient")
def test_the_speed_is_said_as_measured_while_it_plays_else_as_wanted(controller: Any) -> None:
    controller.time.set_speed(100.0)
    assert controller.face.state.pace == "100/s"
    controller.time.play()
    attended(controller, lambda: controller.time.measured > 20.0)
    assert controller.time.measured < 300.0
    assert float(controller.face.state.pace.removesuffix("/s")) == controller.face.state.measured
    controller.time.pause()
    for _ in range(3):
        controller.face.attend()
        controller.time.step(+1, 10)
        time.sleep(2.0 * clock_control.APART)
    assert controller.time.measured == 0.0, "steps by hand do not count"
    assert controller.face.state.pace == "100/s"


@pytest.mark.usefixtures("patient")
def test_speeds_go_down_to_an_operation_in_four_seconds(controller: Any) -> None:
    count = len(controller.session.operations)
    scale = CONTROLS["speed"].scale(controller.face.state)
    slowest = scale.number(0)
    assert slowest == pytest.approx(0.25 / count, rel=0.05)
    assert scale.number(scale.last) is None and scale.place(slowest) == 0
    assert scale.number(scale.place(1e5)) == 1e5
    for speed, words in (
        (slowest, "an operation in 4 s"),
        (0.5 / count, "an operation in 2 s"),
        (6.0 / count, "6 operations/s"),
        (1.0, "1/s"),
        (3.0, "3/s"),
    ):
        controller.time.set_speed(speed)
        assert controller.face.state.pace == words


def first_pauses(controller: Any) -> list[float]:
    return pauses(controller.session.network.program, again=False)


@pytest.mark.usefixtures("patient")
def test_the_next_step_can_be_read(controller: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    slow, count = Watcher(controller, monkeypatch), len(controller.session.operations)
    assert controller.face.press("s")
    slow.watch(sum(first_pauses(controller)[:-1]) - 0.5)
    assert slow.places == [(0, done) for done in range(1, count)]
    slow.watch(10.0)
    assert slow.places[-1] == (1, 0) and not controller.session.playing


@pytest.mark.usefixtures("patient")
def test_a_second_slow_step_takes_half_the_time_of_the_first_and_a_key_ends_an_operation(
    controller: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, seconds = Watcher(controller, monkeypatch), []
    for step in (1, 2):
        began = slow.now
        controller.time.slow_step()
        assert controller.stage.asked == []
        while controller.time.walk.slow:
            slow.watch(0.05)
        seconds.append(slow.now - began)
        assert controller.session.clock.place == (step, 0)
    assert seconds[0] <= 16.5 and seconds[1] <= 0.5 * seconds[0] + 0.5
    controller.face.press("x")
    assert controller.stage.asked == []
    controller.time.slow_step()
    assert controller.stage.given == pytest.approx(0.5 * first_pauses(controller)[0])
    controller.face.press("x")
    controller.face.click(1.0, 1.0)
    assert [name for name, *_ in controller.stage.asked if name == "finish"] == ["finish"] * 2


@pytest.mark.usefixtures("patient")
def test_it_is_read_while_it_plays_which_goes_on_then(
    controller: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, count = Watcher(controller, monkeypatch), len(controller.session.operations)
    controller.time.set_speed(200.0)
    controller.time.until = 10**6
    controller.time.play()
    until(lambda: controller.session.step_index > 3)
    controller.time.slow_step()
    assert not controller.session.playing
    step = controller.session.step_index
    slow.watch(sum(first_pauses(controller)) - 0.5)
    places = [*((step, done) for done in range(1, count)), (step + 1, 0)]
    assert slow.places == places and not controller.session.playing
    slow.watch(2.0)
    assert controller.session.playing
    assert controller.face.state.speed == 200.0 and controller.time.until == 10**6
    controller.time.slow_step()
    slow.watch(1.5)
    controller.time.slow_step()  # once more: it is still to go on then
    slow.watch(sum(first_pauses(controller)) + 2.0)
    assert controller.session.playing
    controller.time.slow_step()
    controller.time.pause()  # whatever else is done ends it
    slow.watch(30.0)
    assert not controller.session.playing


# The end of a run.


def to_the_end(controller: Any) -> None:
    controller.time.play()
    attended(controller, lambda: not controller.time.asked)


@pytest.mark.usefixtures("patient")
def test_the_first_run_ends_by_itself_and_choices_are_offered(
    make: MakeController, show: Show
) -> None:
    controller = make(show, steps=20)
    to_the_end(controller)
    assert controller.session.step_index == 20
    assert controller.message == "20 steps are done. Press Play to continue."
    assert list(controller.stage.offered) == [
        "Step through it",
        "Back to start",
        "Change a weight",
        "Your own input",
        "Another colour map",
    ]
    controller.time.play()
    assert not controller.stage.offered
    there = controller.session.step_index
    until(lambda: controller.session.step_index > there + 30)
    controller.face.attend()
    assert controller.session.playing, "the second run has no end"


@pytest.mark.usefixtures("patient")
def test_a_slow_step_that_ends_the_run_is_its_last(
    make: MakeController, show: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    controller = make(show, steps=1)
    slow = Watcher(controller, monkeypatch)
    controller.time.set_speed(0.1)
    controller.time.play()
    controller.time.slow_step()
    slow.watch(sum(first_pauses(controller)) - 0.5)
    assert controller.session.clock.place == (1, 0)
    for _ in range(40):
        slow.watch(0.05)
        time.sleep(0.002)
    assert controller.session.clock.place == (1, 0) and controller.stage.offered


@pytest.mark.usefixtures("patient")
def test_what_is_offered_is_done(make: MakeController, show: Show) -> None:
    controller = make(show, steps=5)
    to_the_end(controller)
    controller.stage.press("Step through it")
    assert controller.face.state.unit == "operation" and controller.session.clock.operation == 1
    take_offer(controller, "Back to start")
    assert controller.session.step_index == 0 and not controller.stage.offered
    asked = []
    controller.face.start_editing = lambda name: asked.append(name == "edit")
    take_offer(controller, "Change a weight")
    assert asked == [] and "Click a cube" in controller.message
    controller.stage.pinned = 3
    take_offer(controller, "Change a weight")
    assert asked == [True]
    take_offer(controller, "Another colour map")
    assert controller.session.data.settings()["map"] == "grey" and controller.session.playing


def goes_past(controller: Any, step: int) -> bool:
    """Whether it plays on over a step without a pause."""
    controller.time.play()
    until(lambda: controller.session.step_index > step or not controller.session.playing)
    controller.face.attend()
    return bool(controller.session.playing) and not controller.stage.offered


@pytest.mark.usefixtures("patient")
def test_neither_a_hand_nor_an_errand_is_stopped_twice(make: MakeController, show: Show) -> None:
    by_hand = make(show, steps=5)
    by_hand.time.step(+1, 7)
    assert goes_past(by_hand, 7)
    by_hand.time.reset()
    by_hand.time.set_unit("epoch")
    by_hand.time.step(+1, 20)
    attended(by_hand, lambda: not by_hand.time.asked)
    by_hand.time.seek(100)
    assert goes_past(by_hand, 160)


# What the user changes.


@pytest.mark.usefixtures("patient")
def test_the_rate_doubles_and_halves_from_the_next_step_on(controller: Any) -> None:
    controller.time.operation(+1)
    controller.face.press("up")
    controller.face.press("up")
    assert controller.session.learning_rate == 0.5 and controller.face.state.rate == 2.0
    controller.face.press("down")
    controller.time.step(+1)
    assert controller.face.state.rate == 1.0, "it waits on arrival at the step too"
    controller.time.step(+1)
    assert controller.session.learning_rate == controller.face.state.rate == 1.0


@pytest.mark.usefixtures("patient")
def test_an_edit_in_the_past_begins_a_branch_and_says_how_to_return(controller: Any) -> None:
    controller.time.step(+1, 10)
    at_end = values(controller)
    controller.time.seek(4)
    controller.edit(3, 0.75)
    assert controller.face.state.branch == 1 and values(controller)[3] == 0.75
    assert controller.stage.notices == ["New branch from step 4; the old steps are kept"]
    assert controller.stage.action == "return"
    controller.stage.then()
    assert controller.face.state.branch == 0 and len(controller.stage.notices) == 1
    controller.time.seek(10)
    assert values(controller) == at_end


@pytest.mark.usefixtures("patient")
def test_a_number_that_was_dragged_is_taken_back_at_once(controller: Any) -> None:
    before = values(controller)
    for value in (0.5, 0.6, 0.7):
        controller.edit(3, value, dragged=True)
    controller.edit(3, 0.8)
    assert controller.face.state.undoable == 2
    controller.edit(3, 0.9, dragged=True)
    assert controller.face.state.undoable == 3, "what was typed stays by itself"
    controller.undo()
    controller.undo()
    assert values(controller)[3] == np.float32(0.7)
    controller.undo()
    assert values(controller) == before


@pytest.mark.usefixtures("patient")
def test_branches_come_round(controller: Any) -> None:
    controller.face.press("b")
    assert "one branch so far" in controller.message
    controller.time.step(+1, 5)
    controller.time.seek(2)
    controller.edit(3, 0.0)
    controller.face.press("b")
    assert controller.face.state.branch == 0 and controller.message.startswith(
        "Branch 0 (of 0 to 1): "
    )
    assert "branch 0" in controller.face.state.where
    first, second = controller.face.state.branches
    assert (first.parent, second.parent) == (None, first)
    assert [(each.fork.step, each.end.step) for each in (first, second)] == [(0, 5), (2, 2)]


@pytest.mark.usefixtures("patient")
def test_only_engines_that_run_what_is_shown_are_offered(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ENGINES, "cuda", replace(ENGINES["cuda"], lack=str))
    slope, samples = sv.Value(0.5), ([[1.0]], [[2.0]])
    line = sv.compile(lambda x: slope * x, inputs=1)
    for model, offered in (
        (sv.Network([1, 1]), ("cuda", "cpu", "python")),
        (line, ("cpu", "python")),
    ):
        controller = make(Show.of(sv.Session(model, samples, engine="python")))
        assert controller.engines == offered


# Errors of the training.


@pytest.mark.usefixtures("patient")
def test_a_training_that_fails_is_told_in_one_sentence(controller: Any) -> None:
    controller.session.network.bank.value[:] = np.nan
    controller.time.play()
    until(lambda: not controller.session.playing)
    controller.face.attend()
    assert "is nan, so no step can be taken" in controller.message
    assert len(controller.stage.notices) == 1
    controller.face.attend()
    assert len(controller.stage.notices) == 1


@pytest.mark.usefixtures("patient")
def test_a_refused_step_is_told_with_the_way_back(controller: Any) -> None:
    controller.time.set_unit("step")
    controller.time.step(+1)
    controller.session.optimizer = sv.SGD(1e300)
    controller.time.step(+1)
    assert (
        controller.message.startswith("Step 1 would make layer 0, ")
        and "\n" not in controller.message
    )
    assert controller.session.next == "step" and controller.stage.action == "back to step 1"
    controller.stage.then()
    controller.session.optimizer = sv.SGD(0.01)
    controller.time.step(+1)
    assert controller.session.clock.place == (2, 0)


@pytest.mark.usefixtures("patient")
def test_a_fault_of_ours_in_the_training_is_told_too(
    controller: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(session: sv.Session, *given: object) -> int:
        raise RuntimeError("no more memory")

    monkeypatch.setattr(sv.Session, "_portion", fail)
    controller.time.play()
    until(lambda: not controller.session.playing)
    controller.face.attend()
    assert controller.message == "The training has stopped: RuntimeError: no more memory"


# Options.


def option(controller: Any, name: str) -> Any:
    return next(choice for choice in controller.face.state.choices if choice.name == name)


@pytest.mark.usefixtures("patient")
def test_another_map_keeps_the_weights_and_is_gone_in_the_past(make: MakeController) -> None:
    controller = make("rgb")
    assert option(controller, "map").choices == ("invert", "grey", "sepia", "hue", "swap", "copy")
    assert not option(controller, "map").restarts
    controller.time.step(+1, 3)
    before, session = values(controller), controller.session
    controller.set_option("map", "sepia")
    assert controller.session is session and values(controller) == before
    assert controller.stage.notices == ["Changing the target keeps the weights"]
    controller.face.attend()
    title = controller.face.state.title
    assert title == controller.stage.show.title == "A network learns colours: sepia"
    assert controller.stage.show.task == "Task: turn colours into sepia."
    assert "invert" not in controller.stage.show.about
    controller.time.step(+1)
    controller.time.seek(2)
    controller.face.attend()
    assert option(controller, "map").value == "invert"
    assert controller.face.state.title.endswith("the opposite of every colour")
    controller.time.seek(4)
    assert option(controller, "map").value == "sepia"


@pytest.mark.usefixtures("patient")
def test_another_shape_is_taken_from_the_scenes_own_table(make: MakeController) -> None:
    controller = make("circle", hidden="3")
    shapes = ("circle", "gaussians", "spiral", "moons", "quadrants")
    assert option(controller, "shape").choices == shapes
    before = values(controller)
    controller.set_option("shape", "spiral")
    assert controller.session.data.name == "spiral" and values(controller) == before
    controller.set_option("noise", "0.25")
    assert (
        controller.session.data.name == "spiral"
        and controller.session.data.settings()["noise"] == 0.25
    )


@pytest.mark.usefixtures("patient")
def test_another_size_begins_another_training_and_goes_on_playing(make: MakeController) -> None:
    controller = make("rgb", map="grey")
    assert option(controller, "hidden").restarts
    controller.edit(3, 0.5)
    controller.time.play()
    before = controller.session
    controller.set_option("hidden", "4")
    assert controller.session is not before and not before.playing and controller.session.playing
    assert len(controller.session.network.bank) == 31
    assert controller.stage.show is controller.show
    assert option(controller, "hidden").value == 4 and option(controller, "map").value == "grey"
    assert controller.message == "Hidden set to 4. The previous training run is unchanged"
    kept = before.network.bank.value[3]  # 0.5, and what the steps until then have changed
    controller.stage.then()  # the button of the message
    assert controller.session is before and values(controller)[3] == kept
    assert [action.kind for action in before.timeline.branch.journal] == ["edit"]
    assert option(controller, "hidden").value == 8 and option(controller, "map").value == "grey"


@pytest.mark.usefixtures("patient")
def test_an_option_that_cannot_be_is_told(make: MakeController) -> None:
    controller = make("rgb")
    for name, value in (("map", "blue"), ("hidden", "many"), ("speling", "1"), ("batch", "0")):
        controller.set_option(name, value)
    assert len(controller.stage.notices) == 4
    assert "choose one of invert" in controller.stage.notices[0]
    assert controller.stage.notices[1] == "The option hidden takes a whole number, not 'many'"
    assert option(controller, "hidden").value == 8 and option(controller, "batch").value == "8"


# Files.


def a_picture(path: Path) -> Path:
    pytest.importorskip("PIL.Image").new("RGB", (4, 2), "red").save(path)
    return path


@pytest.mark.usefixtures("patient")
def test_a_picture_that_is_dropped_is_learned(make: MakeController, tmp_path: Path) -> None:
    controller = make("texture", hidden=4, depth=1, batch=16, transform="flip", size=32)
    path = a_picture(tmp_path / "red.png")
    before = values(controller)
    drop(controller, path)
    settings = controller.session.data.settings()
    assert settings["picture"].shape == (2, 4, 3) and settings["transform"] == "flip"
    assert settings["size"] == 32 and values(controller) == before
    assert option(controller, "picture").value == str(path)
    assert controller.message == "red.png is the target from now on; the weights are kept"
    drop(controller, tmp_path / "none.png")
    assert (
        "File not found" in controller.message and controller.session.data.settings()["size"] == 32
    )


@pytest.mark.usefixtures("patient")
def test_a_training_is_saved_and_goes_on(make: MakeController, tmp_path: Path) -> None:
    controller = make("rgb")
    controller.time.step(+1, 4)
    there, path = values(controller), tmp_path / "run.safetensors"
    save(controller, path)
    controller.time.step(+1)
    drop(controller, path)  # as good as loading it
    assert controller.session.step_index == 4 and values(controller) == there
    assert controller.message == f"{path} opened at step 4"
    assert len(controller.face.state.options) == 7
    open_run(controller, tmp_path / "none.safetensors")
    assert "none.safetensors" in controller.message and controller.session.step_index == 4


@pytest.mark.usefixtures("patient")
def test_an_opened_training_has_its_title_and_does_not_play(
    make: MakeController, tmp_path: Path
) -> None:
    path = tmp_path / "run.safetensors"
    for name, options in (("rgb", {"map": "grey", "hidden": 4}), ("xor", {})):
        kept, controller = make(name, **options), make("rgb")
        kept.time.step(+1, 4)
        save(kept, path)
        controller.time.play()
        open_run(controller, path)
        assert controller.show.title == kept.show.title != make("rgb").show.title
        assert controller.session.step_index == 4 and not controller.session.playing
        controller.stage.then()  # the button of the message
        assert controller.show.title == make("rgb").show.title


# How it opens.


@pytest.fixture
def unseen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The tour was not shown before."""
    monkeypatch.setattr(guide, "seen", lambda: tmp_path / "seen")


@pytest.mark.usefixtures("patient", "unseen")
def test_no_camera_moves_by_itself_in_the_tour_and_after_it(
    controller: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    watcher = Watcher(controller, monkeypatch)
    watcher.opening = Opening(controller.face, True)
    watcher.watch(15.0, frame=0.3)
    assert controller.stage.part_of_tour == "" and controller.session.playing
    assert controller.time.film  # on the logarithmic clock
    assert not any(asked[0] in ("look", "frame_pinned") for asked in controller.stage.asked)


@pytest.mark.usefixtures("patient", "unseen")
def test_a_training_that_is_held_begins_with_its_kernels(controller: Any) -> None:
    controller.warming.held = True
    controller.warming.attend = lambda: False
    opening = Opening(controller.face, False)
    opening.attend()
    assert not controller.session.playing
    controller.warming.held = False
    opening.attend()
    assert controller.session.playing


@pytest.mark.usefixtures("patient", "unseen")
@pytest.mark.parametrize(
    "act",
    [
        lambda face: face.press("n"),
        lambda face: face.act(CONTROLS["speed"], 20.0),
        lambda face: Pointer(face).press(LEFT, 300.0, 200.0),
        lambda face: face.lead.edit(0, 0.5),
        lambda face: face.time.seek(0),
    ],
    ids=["key", "speed", "mouse", "edit", "timeline"],
)
def test_a_film_plays_until_the_user_does_something(
    make: MakeController, show: Show, monkeypatch: pytest.MonkeyPatch, act: Callable[[Face], object]
) -> None:
    monkeypatch.setattr(threads, "PICTURE", 60.0)
    controller = make(replace(show, speed=None, film=True))
    Opening(controller.face).attend()
    assert controller.session.playing and not controller.time.flat_out  # and no tour is shown
    act(controller.face)
    until(lambda: not controller.session.playing or controller.session.step_index > 30)


def test_a_film_waits_without_animations_and_a_given_speed_takes_its_place(
    make: MakeController, show: Show
) -> None:
    controller = make(Show(show.session, film=True))
    controller.stage.reduced_motion = True
    Opening(controller.face).attend()
    assert not controller.session.playing
    assert not WatchOptions(speed=20.0).face(controller.show, "dark").lead.show.film


# Keys, and what is shown.


@pytest.mark.usefixtures("patient")
def test_every_key_is_in_the_help_once(controller: Any) -> None:
    state = controller.face.state
    known = controls_for(state)
    keys = [key for each in known for key in keys_of(each.row, tuple(each.names(state)))]
    assert len(keys) == len(set(keys)) > 20
    assert not {each.row.also for each in known} & set(keys)
    rows = help_rows(state)
    assert sum(len(label.replace(", t", "").split()) for label, _ in rows) == len(keys)
    assert all(about for _, about in rows)


@pytest.mark.usefixtures("patient")
def test_arrows_of_a_sequence_choose_a_place_and_step_with_shift(make: MakeController) -> None:
    controller = make(Show(reading()))
    face, stage = controller.face, controller.stage
    attended(controller, lambda: not face.time.held)
    stage.frame_data()
    place = stage.frame_data().choice
    assert face.press("left") and stage.choice != place and face.press("2")
    for key, step in (("right", 1), ("right", 2), ("left", 1)):
        assert face.press(key, shift=True) and controller.session.clock.place == (step, 0)
    rows = dict(help_rows(face.state))
    assert rows["← →"] == "choose a letter of the name"
    assert rows["Shift ← Shift →"] == "back and forward by the unit"
    assert rows["1 2 3 4"].startswith("open and close a head")
    assert not any("camera" in about for about in rows.values())


@pytest.mark.usefixtures("patient")
def test_of_a_record_nothing_is_offered_that_would_change_it(controller: Any) -> None:
    state = replace(controller.face.state, recorded=True)
    changes = {"undo", "reset", "branches", "learning rate", "double rate", "edit", "stop when"}
    assert not {each.name for each in controls_for(state)} & changes
    assert not {*page_keys(recorded=True)["keys"].values()} & changes
    helped = {label for label, _ in help_rows(state)}
    assert not {"r", "e", "b", "z", "↑", "↓"} & {*" ".join(helped).split()}


@pytest.mark.usefixtures("patient")
def test_each_key_is_that_of_its_row(controller: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []
    monkeypatch.setattr(Face, "act", lambda face, control, value: heard.append(control.name))
    state = controller.face.state
    keys = [
        (key, each.name)
        for each in controls_for(state)
        for key in (*keys_of(each.row, tuple(each.names(state))), each.row.also)
        if key
    ]
    assert all(controller.face.press(key) for key, _ in keys)
    assert heard == [name for _, name in keys] and ("t", "play") in keys


@pytest.mark.usefixtures("patient")
def test_keys_do_what_the_help_says(controller: Any) -> None:
    stage = controller.stage
    assert stage.common.keys == help_rows(controller.face.state)
    for key in ("right", "right", "left", "."):
        assert controller.face.press(key)
    assert controller.session.clock.place == (1, 1)
    controller.face.press("right", shift=True)
    assert controller.session.step_index == 11
    for key in ("up", "up", "down", ">", "<", "<", "c", "d", "?"):
        controller.face.press(key)
    assert (controller.face.state.rate, controller.face.state.focus) == (1.0, 1)
    assert (stage.look.color, stage.look.theme) == ("gradient", "light")
    assert stage.common.help
    for key in ("escape", "f", "1", "3"):
        controller.face.press(key)
    looks = [("restore",), ("frame_pinned",), ("look", "perspective"), ("look", "flat")]
    assert stage.asked == looks
    assert not controller.face.press("x") and not controller.face.press("")


@pytest.mark.usefixtures("patient")
def test_after_enter_arrows_walk_and_before_it_they_move_the_clock(controller: Any) -> None:
    stage = controller.stage
    controller.face.press("right")
    assert controller.session.step_index == 1 and not stage.walking
    assert controller.face.press("enter") and "Enter to pin" in controller.message
    for key in ("right", "up", "left", "down"):
        assert controller.face.press(key, shift=key == "up")
    assert controller.session.step_index == 1 and controller.face.state.rate == 0.5
    controller.face.press("enter")
    walked = [("walk", way) for way in ("", "right", "up", "left", "down")]
    assert stage.asked == [*walked, ("pin_pointed",)]
    controller.warming.held = True
    controller.face.press("enter")
    assert controller.message == text("notices.wait") and stage.asked[-1] == ("pin_pointed",)
    controller.warming.held = False
    stage.walking = False
    controller.face.press("left")
    assert controller.session.step_index == 0


@pytest.mark.usefixtures("patient")
def test_what_still_plays_at_the_end_is_paused(controller: Any) -> None:
    controller.session.play()
    controller.face.rest()
    assert not controller.session.playing


@pytest.mark.usefixtures("patient")
def test_channels_are_chosen_by_name(controller: Any) -> None:
    controller.face.take("cubes", "last change")
    assert controller.stage.look.cubes == "last change"
    controller.face.take("color", "flavour")
    assert controller.stage.look.color == "value" and "flavour" in controller.message


@pytest.mark.usefixtures("patient")
def test_a_click_goes_to_the_stage_and_the_pinned_weight_is_shown(controller: Any) -> None:
    assert controller.face.state.pinned is None
    controller.face.click(3.0, 4.0)
    controller.freeze(3, True)
    pinned = controller.face.state.pinned
    assert (*pinned.rows, pinned.frozen) == (3, True)
    assert pinned.name == controller.session.network.bank.name_of(3)
    assert pinned.value == values(controller)[3]
    controller.stage.pinned = 10_000  # of a larger network that is gone
    assert controller.face.state.pinned is None


@pytest.mark.usefixtures("patient")
def test_the_state_is_told_while_somebody_else_is_at_work(controller: Any) -> None:
    controller.time.step(+1, 3)
    told = SimpleNamespace(state=None)
    asker = threading.Thread(
        target=lambda: setattr(told, "state", controller.face.state), daemon=True
    )
    with at_work(controller.session):
        asker.start()
        asker.join(5.0)
    assert told.state is not None and told.state.step == 3


@pytest.fixture
def controller_with_stage(colours: sv.Session, studio: Studio) -> Controller:
    stage = Stage(Show(colours))
    studio.stage(stage, 0.0, (800, 500))
    return Face(Stages([stage])).lead


def test_controls_and_curve_show_the_moment_that_was_read(
    controller_with_stage: Controller,
) -> None:
    stage, session = controller_with_stage.stage, controller_with_stage.session
    assert isinstance(stage, Stage)
    session.advance(5)
    here = stage.read()
    session.advance(4)  # as the thread that plays does meanwhile
    state, curve = state_of(controller_with_stage, here), stage.frame_data().curve
    assert (state.step, state.end, state.loss) == (5, 5, curve.loss)
    assert (curve.at, curve.whole, len(curve.losses)) == (5.0, 5.0, 5)


def test_a_picture_that_nobody_has_read_for_reads_by_itself(
    controller_with_stage: Controller,
) -> None:
    stage, session = controller_with_stage.stage, controller_with_stage.session
    assert isinstance(stage, Stage)
    stage.read()
    stage.frame_data()
    session.advance(3)
    assert (
        stage.frame_data().curve.at,
        controller_with_stage.face.state.step,
        controller_with_stage.face.state.end,
    ) == (
        3.0,
        3,
        3,
    )


def test_a_step_that_is_walked_shows_the_sample_that_is_easiest_to_follow(controller: Any) -> None:
    session = controller.session
    wanted = sample_to_explain(session)
    assert wanted is not None and session.focus == 0
    controller.time.operation(+1)
    assert session.focus == wanted
    chosen = (wanted + 1) % session.trainer.batches.size or 1
    session.focus = chosen  # by a user
    controller.time.step(+1)
    controller.time.operation(+1)
    assert session.focus == chosen
