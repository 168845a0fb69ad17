"""What a user can do at a desk, whatever it looks like: with a stage that only takes notes."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.controller import export as desk_export
from scalarviz.controller import play as desk_play
from scalarviz.controller import startup as desk_opening
from scalarviz.controller.controller import Desk
from scalarviz.controller.keys import ALIASES, DEEDS, KEYS, help_rows
from scalarviz.controller.options import Recipe
from scalarviz.controller.startup import Opening
from scalarviz.presenter.show import Show
from scalarviz.scenefiles.find import find, load
from tests.controller.fake_stage import FakeStage

MakeDesk = Callable[..., Any]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done here is quick; on a machine with much else to do it may take a while."""
    for place in ("controller.hand", "controller.play"):
        monkeypatch.setattr(f"scalarviz.{place}.AT_ONCE", 10.0)


@pytest.fixture
def make() -> Iterator[MakeDesk]:
    """make(show=..., **options) or make("scene", option=...): a desk, which is left in the end."""
    made: list[Desk] = []

    def make(shown: Any, steps: int | None = None, speed: float | None = None, **given: Any) -> Any:
        recipe = None
        if isinstance(shown, str):
            recipe = Recipe(load(find(shown)), {"engine": "python", **given})
            shown = recipe.make({})
        made.append(Desk(shown, FakeStage(shown), recipe, steps=steps, speed=speed))
        return made[-1]

    yield make
    for desk in made:
        desk.playing.session.pause()


@pytest.fixture
def desk(make: MakeDesk, show: Show) -> Any:
    return make(show)


def wait(until: Callable[[], object], seconds: float = 10.0) -> None:
    end = time.perf_counter() + seconds
    while not until():
        assert time.perf_counter() < end, "it never happened"
        time.sleep(0.002)


def values(desk: Any) -> list[float]:
    return list(desk.session.network.bank.value)


# Going on, and back.


def test_it_plays_in_the_background_until_paused(desk: Any) -> None:
    desk.toggle_play()
    assert desk.state.playing
    wait(lambda: desk.session.step_index > 3)
    desk.toggle_play()
    there = desk.session.step_index
    time.sleep(0.02)
    assert not desk.state.playing and desk.session.step_index == there


@pytest.mark.parametrize(
    ("unit", "once", "ten_times"),
    [
        ("operation", (0, 1), (1, 0)),  # a step has ten operations
        ("phase", (0, 1), (2, 0)),  # and five phases
        ("step", (1, 0), (10, 0)),
        ("epoch", (8, 0), (80, 0)),
    ],
)
def test_the_unit_says_how_far_a_step_goes(
    desk: Any, unit: str, once: tuple[int, int], ten_times: tuple[int, int]
) -> None:
    operations = len(desk.session.operations)
    desk.set_unit(unit)
    desk.step(+1)
    assert desk.session.clock.place == once
    desk.step(-1)
    assert desk.session.clock.place == (0, 0)
    desk.step(+1, 10)
    step, operation = desk.session.clock.place
    if unit == "operation":
        assert step * operations + operation == 10
    else:
        assert (step, operation) == ten_times
    desk.step(-1, 10)
    assert desk.session.clock.place == (0, 0)


def test_samples_are_a_unit_only_where_a_step_has_one(make: MakeDesk, desk: Any) -> None:
    assert "sample" not in desk.state.units
    desk.set_unit("sample")
    assert desk.unit == "step" and "batch has 8 samples" in desk.message
    xor = make("xor")
    xor.set_unit("sample")
    xor.step(+1)
    assert xor.unit == "sample" and xor.session.step_index == 1


def test_operations_go_whatever_the_unit(desk: Any) -> None:
    desk.operation(-1)  # there is nothing before the start
    desk.operation(+1)
    desk.operation(-1)
    desk.step(+1)
    desk.set_unit("operation")
    desk.step(+1, 10)
    desk.step(+1)
    assert desk.session.clock.place == (1, 11)


def test_a_step_by_hand_pauses(desk: Any) -> None:
    desk.play()
    desk.step(-1)
    assert not desk.session.playing


def test_a_seek_stays_within_what_is_known(desk: Any) -> None:
    desk.step(+1, 10)
    desk.seek(4)
    assert desk.session.step_index == 4
    desk.seek(99)
    assert desk.session.step_index == 10
    desk.seek(-5)
    assert desk.session.step_index == 0 and desk.state.end == 10


def test_many_epochs_are_taken_in_the_background_and_end_just_there(desk: Any) -> None:
    desk.set_unit("epoch")
    desk.step(+1, 20)
    assert desk.session.playing

    def attended() -> bool:
        desk.attend()
        return not desk.session.playing

    wait(attended)
    assert desk.session.clock.place == (160, 0)
    assert desk.stage.offers == {}


def test_starting_again_keeps_what_was_done(desk: Any) -> None:
    before = values(desk)
    desk.step(+1, 10)
    desk.reset()
    assert values(desk) == before and desk.session.step_index == 0
    assert "the old future is kept" in desk.stage.notices[-1]
    desk.stage.then()
    assert desk.session.current_branch.number == 0 and desk.state.end == 10


# Speeds.


class Ticks:
    """A time that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_an_opening_doubles_its_speed_until_it_is_flat_out(
    make: MakeDesk, colours: sv.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Ticks()
    monkeypatch.setattr(desk_play, "perf_counter", clock)
    desk = make(Show(colours, speed=10))
    desk.play()
    seen = []
    for seconds in (0.0, 5.9, 6.1, 8.9, 9.1, 60.0):
        clock.now = seconds
        desk.attend()
        seen.append(desk.state.speed)
    assert seen == [10.0, 10.0, 20.0, 20.0, 40.0, None]
    desk.reset()
    desk.play()
    desk.attend()
    assert desk.state.speed == 10.0
    desk.pause()
    clock.now = 1000.0  # a pause does not count
    desk.step(+1)
    desk.play()
    desk.attend()
    assert desk.state.speed == 10.0


def test_a_speed_of_ones_own_ends_the_opening(make: MakeDesk, colours: sv.Session) -> None:
    desk = make(Show(colours, speed=10))
    desk.set_speed(400.0)
    assert desk.state.speed == 400.0 and desk.playing.opening is None
    desk.set_speed(0.0)
    assert desk.state.speed == 400.0 and "speed" in desk.message
    assert make(Show(colours, speed=10), speed=0).state.speed is None


def test_the_stage_is_told_how_fast_it_goes(desk: Any) -> None:
    desk.set_speed(100.0)
    desk.play()

    def measured() -> bool:
        desk.attend()
        return bool(desk.stage.rate > 20.0)

    wait(measured)
    assert desk.stage.rate < 300.0
    desk.pause()
    for _ in range(3):
        desk.attend()
        desk.step(+1, 10)
        time.sleep(2.0 * desk_play.APART)
    assert desk.stage.rate == 0.0, "steps by hand do not count"


# The end of a run.


def to_the_end(desk: Any) -> None:
    desk.play()

    def attended() -> bool:
        desk.attend()
        return not desk.session.playing

    wait(attended)


def test_the_first_run_ends_by_itself_and_choices_are_offered(make: MakeDesk, show: Show) -> None:
    desk = make(show, steps=20)
    to_the_end(desk)
    assert desk.session.step_index >= 20
    assert list(desk.stage.offers) == [
        "Step through it",
        "Back to start",
        "Change a weight",
        "Another colour map",
    ]
    desk.play()
    assert desk.stage.offers == {}
    there = desk.session.step_index
    wait(lambda: desk.session.step_index > there + 30)
    desk.attend()
    assert desk.session.playing, "the second run has no end"


def test_what_is_offered_is_done(make: MakeDesk, show: Show) -> None:
    desk = make(show, steps=5)
    to_the_end(desk)
    desk.stage.offers["Step through it"]()
    assert desk.state.unit == "operation" and desk.session.clock.operation == 1
    desk.take("Back to start")
    assert desk.session.step_index == 0 and desk.stage.offers == {}
    asked = []
    desk.start_editing = lambda: asked.append(True)
    desk.take("Change a weight")
    assert asked == [True]
    desk.take("Another colour map")
    assert desk.session.data.settings()["map"] == "grey" and desk.session.playing


def goes_past(desk: Any, step: int) -> bool:
    """Whether it plays on over a step without a pause."""
    desk.play()
    wait(lambda: desk.session.step_index > step or not desk.session.playing)
    desk.attend()
    return bool(desk.session.playing) and desk.stage.offers == {}


def test_neither_a_hand_nor_an_errand_is_stopped_twice(make: MakeDesk, show: Show) -> None:
    by_hand = make(show, steps=5)
    by_hand.step(+1, 7)
    assert goes_past(by_hand, 7)
    by_hand.reset()
    by_hand.set_unit("epoch")
    by_hand.step(+1, 20)
    wait(lambda: [by_hand.attend(), not by_hand.session.playing][1])
    by_hand.seek(100)
    assert goes_past(by_hand, 160)


# What the user changes.


def test_the_rate_doubles_and_halves_from_the_next_step_on(desk: Any) -> None:
    desk.operation(+1)
    desk.press("up")
    desk.press("up")
    assert desk.session.learning_rate == 0.5 and desk.state.rate == 2.0
    desk.press("down")
    desk.step(+1)
    assert desk.state.rate == 1.0, "it waits on arrival at the step too"
    desk.step(+1)
    assert desk.session.learning_rate == desk.state.rate == 1.0


def test_a_bad_number_is_told_and_changes_nothing(desk: Any) -> None:
    before = values(desk)
    desk.edit(3, "half")
    assert desk.stage.notices == ["a number is wanted, such as 0.5, not 'half'"]
    desk.edit(3, "1e99")
    desk.set_rate(-1.0)
    assert len(desk.stage.notices) == 3 and values(desk) == before
    assert desk.session.learning_rate == 0.5


def test_an_edit_in_the_past_begins_a_branch_and_says_how_to_return(desk: Any) -> None:
    desk.step(+1, 10)
    at_end = values(desk)
    desk.seek(4)
    desk.edit(3, 0.75)
    assert desk.state.branch == 1 and values(desk)[3] == 0.75
    assert desk.stage.notices == ["New branch from step 4; the old future is kept"]
    assert desk.stage.action == "return"
    desk.stage.then()
    assert desk.state.branch == 0 and len(desk.stage.notices) == 1
    desk.seek(10)
    assert values(desk) == at_end


def test_undo_takes_back_edits_and_freezes_one_by_one(desk: Any) -> None:
    before = values(desk)
    desk.edit(3, 0.75)
    desk.freeze(3, True)
    desk.edit(5, 0.25)
    desk.undo()
    assert values(desk)[5] == before[5] and desk.session.network.bank.frozen[3]
    desk.undo()
    assert not desk.session.network.bank.frozen[3]
    desk.undo()
    assert values(desk) == before
    desk.undo()
    assert desk.stage.notices == ["there is no edit and no freeze to undo before this moment"]


def test_a_number_that_was_dragged_is_taken_back_at_once(desk: Any) -> None:
    before = values(desk)
    for value in (0.5, 0.6, 0.7):
        desk.edit(3, value, dragged=True)
    desk.edit(3, 0.8)
    assert desk.state.edits == 2
    desk.edit(3, 0.9, dragged=True)
    assert desk.state.edits == 3, "what was typed stays by itself"
    desk.undo()
    desk.undo()
    assert values(desk)[3] == np.float32(0.7)
    desk.undo()
    assert values(desk) == before


def test_what_lies_in_the_future_or_in_another_branch_is_not_undone(desk: Any) -> None:
    desk.step(+1, 3)
    desk.edit(3, 0.75)
    desk.seek(1)
    before = values(desk)
    desk.undo()
    assert values(desk) == before and "to undo" in desk.stage.notices[-1]


def test_other_samples_come_round(desk: Any) -> None:
    desk.previous_sample()
    assert desk.state.focus == 7
    desk.next_sample()
    assert desk.state.focus == 0


def test_branches_come_round(desk: Any) -> None:
    desk.press("b")
    assert "one branch so far" in desk.message
    desk.step(+1, 5)
    desk.seek(2)
    desk.edit(3, 0.0)
    desk.press("b")
    assert desk.state.branch == 0 and desk.message == "Branch 0 of 0 to 1"
    assert "branch 0" in desk.state.where
    assert [(f.parent, f.start, f.end) for f in desk.state.branches] == [(-1, 0, 5), (0, 2, 2)]


def test_an_engine_is_chosen_by_its_name(desk: Any) -> None:
    assert "python" in desk.state.engines
    desk.set_engine("steam")
    assert "unknown engine 'steam'" in desk.message and desk.state.engine == "python"


# Errors of the training.


def test_a_training_that_fails_is_told_in_one_sentence(desk: Any) -> None:
    desk.session.network.bank.value[:] = np.nan
    desk.play()
    wait(lambda: not desk.session.playing)
    desk.attend()
    assert "gradient" in desk.message and len(desk.stage.notices) == 1
    desk.attend()
    assert len(desk.stage.notices) == 1


def test_a_refused_step_is_told_with_the_way_back(desk: Any) -> None:
    desk.set_unit("step")
    desk.step(+1)
    desk.session.optimizer = sv.SGD(1e300)
    desk.step(+1)
    assert desk.message.startswith("step 1 would make layer 0, ") and "\n" not in desk.message
    assert desk.session.next == "step" and desk.stage.action == "back to step 1"
    desk.stage.then()
    desk.session.optimizer = sv.SGD(0.01)
    desk.step(+1)
    assert desk.session.clock.place == (2, 0)


def test_a_fault_of_ours_in_the_training_is_told_too(
    desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(session: sv.Session, most: int | None, unit: str) -> int:
        raise RuntimeError("no more memory")

    monkeypatch.setattr(sv.Session, "_portion", fail)
    desk.play()
    wait(lambda: not desk.session.playing)
    desk.attend()
    assert desk.message == "The training has stopped: RuntimeError: no more memory"


# Options.


def option(desk: Any, name: str) -> Any:
    return next(choice for choice in desk.state.options if choice.name == name)


def test_another_map_keeps_the_weights_and_is_gone_in_the_past(make: MakeDesk) -> None:
    desk = make("rgb")
    assert option(desk, "map").choices == ("invert", "grey", "sepia", "hue", "swap", "copy")
    assert not option(desk, "map").restarts
    desk.step(+1, 3)
    before, session = values(desk), desk.session
    desk.set_option("map", "sepia")
    assert desk.session is session and values(desk) == before
    assert desk.stage.notices == ["Changing the target keeps the weights"]
    desk.attend()
    assert desk.state.title == desk.stage.show.title == "A 3-8-3 network learns colours: sepia"
    desk.step(+1)
    desk.seek(2)
    desk.attend()
    assert option(desk, "map").value == "invert" and desk.state.title.endswith(": invert")
    desk.seek(4)
    assert option(desk, "map").value == "sepia"


def test_a_session_without_a_scene_has_its_map_to_choose(desk: Any) -> None:
    assert [choice.name for choice in desk.state.options] == ["map"]
    desk.set_option("map", "hue")
    assert desk.session.data.settings()["map"] == "hue"
    assert desk.session.data.settings()["levels"] == 4, "the rest of the data stays"
    assert option(desk, "map").value == "hue"


def test_a_choice_within_a_step_is_seen_at_once_though_it_waits(make: MakeDesk) -> None:
    desk = make("rgb")
    desk.operation(+1)
    desk.set_option("map", "grey")
    assert desk.session.data.settings()["map"] == "invert"
    assert option(desk, "map").value == "grey"


def test_another_shape_is_taken_from_the_scenes_own_table(make: MakeDesk) -> None:
    desk = make("circle", hidden="3")
    shapes = ("circle", "gaussians", "spiral", "moons", "quadrants")
    assert option(desk, "shape").choices == shapes
    before = values(desk)
    desk.set_option("shape", "spiral")
    assert desk.session.data.name == "spiral" and values(desk) == before
    desk.set_option("noise", "0.25")
    assert desk.session.data.name == "spiral" and desk.session.data.settings()["noise"] == 0.25


def test_another_activation_goes_to_the_layers_that_the_scene_means(make: MakeDesk) -> None:
    desk = make("circle", activation="relu")
    session = desk.session
    desk.set_option("activation", "tanh")
    desk.set_option("activation", "sigmoid")
    assert desk.session is session and session.network.activations == ("sigmoid", "sigmoid", "tanh")
    assert option(desk, "activation").value == "sigmoid"


def test_another_size_begins_another_training_and_goes_on_playing(make: MakeDesk) -> None:
    desk = make("rgb", map="grey")
    assert option(desk, "hidden").restarts
    desk.edit(3, 0.5)
    desk.play()
    before = desk.session
    desk.set_option("hidden", "4")
    assert desk.session is not before and not before.playing and desk.session.playing
    assert len(desk.session.network.bank) == 31
    assert desk.stage.asked[-1] == ("replace",) and desk.stage.show is desk.show
    assert option(desk, "hidden").value == 4 and option(desk, "map").value == "grey"
    assert desk.state.edits == 0


def test_an_option_that_cannot_be_is_told(make: MakeDesk) -> None:
    desk = make("rgb")
    for name, value in (("map", "blue"), ("hidden", "many"), ("speling", "1"), ("batch", "0")):
        desk.set_option(name, value)
    assert len(desk.stage.notices) == 4
    assert "choose one of invert" in desk.stage.notices[0]
    assert desk.stage.notices[1] == "the option hidden takes a whole number, not 'many'"
    assert option(desk, "hidden").value == 8 and option(desk, "batch").value == 8


def test_the_rate_and_the_engine_are_options_too(make: MakeDesk) -> None:
    desk = make("rgb")
    desk.set_option("lr", "0.125")
    desk.set_option("engine", "python")
    assert desk.session.learning_rate == 0.125
    assert {"lr", "engine"}.isdisjoint(choice.name for choice in desk.state.options)


# Files.


def a_picture(path: Path) -> Path:
    image = pytest.importorskip("PIL.Image")
    image.new("RGB", (4, 2), "red").save(path)
    return path


def test_a_picture_that_is_dropped_is_learned(make: MakeDesk, tmp_path: Path) -> None:
    desk = make("texture", hidden=4, depth=1, batch=16, transform="flip", size=32)
    path = a_picture(tmp_path / "red.png")
    before = values(desk)
    desk.drop(path)
    settings = desk.session.data.settings()
    assert settings["picture"].shape == (2, 4, 3) and settings["transform"] == "flip"
    assert settings["size"] == 32 and values(desk) == before
    assert option(desk, "picture").value == str(path)
    desk.drop(tmp_path / "none.png")
    assert "there is no file" in desk.message and desk.session.data.settings()["size"] == 32


def test_a_picture_that_is_dropped_elsewhere_is_refused(desk: Any, tmp_path: Path) -> None:
    desk.drop(a_picture(tmp_path / "red.png"))
    assert desk.stage.notices == [
        "this network does not learn a picture: drop one on `scalarviz watch texture`"
    ]


def test_a_training_is_saved_and_goes_on(make: MakeDesk, tmp_path: Path) -> None:
    desk = make("rgb")
    desk.step(+1, 4)
    there, path = values(desk), tmp_path / "run.safetensors"
    desk.save(path)
    desk.step(+1)
    desk.drop(path)  # as good as loading it
    assert desk.session.step_index == 4 and values(desk) == there
    assert desk.message == f"Goes on from {path}" and len(desk.state.options) == 5
    desk.load(tmp_path / "none.safetensors")
    assert "none.safetensors" in desk.message and desk.session.step_index == 4


def test_a_video_is_drawn_by_another_process(
    desk: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.export(tmp_path / "it.mp4")
    assert "nothing to make a video of" in desk.message
    desk.export(tmp_path / "it.doc")
    assert "unknown kind of file '.doc'" in desk.message
    program = "import sys; open(sys.argv[3], 'w').write(sys.argv[4])"
    monkeypatch.setattr(desk_export, "COMMAND", ("-c", program, "-"))
    desk.step(+1, 3)
    desk.export(tmp_path / "it.mp4")
    wait(lambda: [desk.attend(), desk.message.startswith("Exported")][1])
    told = json.loads((tmp_path / "it.mp4").read_text())
    assert told["title"] == "colours" and told["look"]["theme"] == "dark"
    monkeypatch.setattr(desk_export, "COMMAND", ("-c", "raise SystemExit('no room')"))
    desk.export(tmp_path / "it.gif")
    wait(lambda: [desk.attend(), "was not made" in desk.message][1])
    assert desk.message == "it.gif was not made: no room"
    desk.export(tmp_path / "it.gif")
    desk.quit()
    assert desk.exports.results() == []


@pytest.mark.slow
def test_who_draws_a_run_removes_it(desk: Any, tmp_path: Path) -> None:
    desk.step(+1)
    (tmp_path / "kept").mkdir()
    desk.session.save(tmp_path / "kept" / "run.safetensors")
    about = {"title": "it", "look": {"size": (320, 200)}}
    run, out = tmp_path / "kept" / "run.safetensors", tmp_path / "it.html"
    desk_export.main(str(run), str(out), json.dumps(about))
    assert [path.name for path in tmp_path.iterdir()] == ["it.html"]


@pytest.mark.slow
def test_a_video_and_a_page_of_what_was_done_are_exported(desk: Any, tmp_path: Path) -> None:
    pytest.importorskip("av")
    desk.step(+1, 4)
    for name in ("it.gif", "step.html"):
        desk.export(tmp_path / name)
        wait(lambda: [desk.attend(), "being drawn" not in desk.message][1], 120.0)
        assert desk.message == f"Exported to {tmp_path / name}"
        assert (tmp_path / name).stat().st_size > 1000
    assert desk.session.step_index == 4


# How it opens.


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Ticks:
    clock = Ticks()
    monkeypatch.setattr(desk_opening, "perf_counter", clock)
    monkeypatch.setattr("scalarviz.controller.tour.seen", lambda: tmp_path / "seen")
    return clock


def test_the_first_step_is_shown_by_operations_and_then_it_plays(desk: Any, ticks: Ticks) -> None:
    opening = Opening(desk, None)
    places = []
    for seconds in range(40):
        ticks.now = float(seconds)
        opening.attend()
        places.append(desk.session.clock.place)
        if desk.session.playing:
            break
    operations = len(desk.session.operations)
    shown = list(dict.fromkeys(places))
    assert shown[: operations + 1] == [*((0, done) for done in range(operations)), (1, 0)]
    assert desk.session.playing
    desk.pause()
    opening.attend()
    assert not desk.session.playing, "it plays by itself only once"
    assert not Opening(desk, None).tour.active


def test_whoever_does_something_has_seen_enough(desk: Any, ticks: Ticks) -> None:
    opening = Opening(desk, True)
    opening.attend()
    ticks.now = 4.0
    opening.attend()
    assert desk.session.clock.operation == 1
    desk.operation(-1)
    ticks.now = 40.0
    for _ in range(3):
        opening.attend()
    assert desk.session.clock.place == (0, 0) and not desk.session.playing


def test_the_tour_is_skipped_by_what_is_offered_with_it(desk: Any, ticks: Ticks) -> None:
    opening = Opening(desk, True)
    opening.attend()
    assert desk.stage.action == "skip"
    desk.stage.then()
    opening.attend()
    assert desk.session.playing and not opening.tour.active


def test_a_training_that_is_held_begins_with_its_kernels(desk: Any, ticks: Ticks) -> None:
    desk.warming.held = True
    desk.warming.attend = lambda: False
    opening = Opening(desk, False)
    opening.attend()
    assert not desk.session.playing
    desk.warming.held = False
    opening.attend()
    assert desk.session.playing


# Keys, and what is shown.


def test_every_key_is_in_the_help_once() -> None:
    names = [name for key in KEYS for name in key.deeds]
    assert len(names) == len(set(names)) == len(DEEDS)
    assert set(ALIASES.values()) <= set(names)
    assert all(label and about for label, about in help_rows())


def test_keys_do_what_the_help_says(desk: Any) -> None:
    stage = desk.stage
    assert stage.keys == help_rows()
    for key in ("right", "right", "left", "."):
        assert desk.press(key)
    assert desk.session.clock.place == (1, 1)
    desk.press("right", shift=True)
    assert desk.session.step_index == 11
    for key in ("up", "up", "down", "<", "c", "l", "d", "?"):
        desk.press(key)
    assert (desk.state.rate, desk.state.focus) == (1.0, 7)
    assert (stage.color, stage.layout, stage.theme) == ("gradient", "posters", "light")
    assert stage.help
    desk.press("escape")
    assert not stage.help and ("frame_all",) not in stage.asked
    for key in ("escape", "f", "1", "3"):
        desk.press(key)
    looks = [("frame_all",), ("frame_pinned",), ("look", "perspective"), ("look", "flat")]
    assert [asked for asked in stage.asked if asked[0] != "stepped"] == looks
    assert not desk.press("x") and not desk.press("")


def test_t_plays_as_space_does_and_q_asks_to_leave(desk: Any) -> None:
    desk.press("t")
    assert desk.session.playing
    desk.press("space")
    assert not desk.session.playing
    left = []
    desk.leave = lambda: left.append(True)
    desk.press("q")
    assert left == [True]


def test_e_asks_for_a_cube_where_none_is_pinned(desk: Any) -> None:
    desk.press("e")
    assert "Click on a cube" in desk.message


def test_channels_are_chosen_by_name(desk: Any) -> None:
    desk.set_channel("size", "last change")
    assert desk.stage.size == "last change"
    desk.set_channel("color", "flavour")
    assert desk.stage.color == "value" and "flavour" in desk.message


def test_a_click_goes_to_the_stage_and_the_pinned_weight_is_shown(desk: Any) -> None:
    assert desk.state.pinned is None
    desk.click(3.0, 4.0)
    desk.freeze(3, True)
    pinned = desk.state.pinned
    assert (pinned.row, pinned.frozen) == (3, True)
    assert pinned.name == desk.session.network.bank.name_of(3)
    assert pinned.value == values(desk)[3]
    desk.stage.pinned = 10_000  # of a larger network that is gone
    assert desk.state.pinned is None


def test_the_state_is_told_while_somebody_else_is_at_work(desk: Any) -> None:
    desk.step(+1, 3)
    inside, done = threading.Event(), threading.Event()

    def work() -> None:
        with desk.session.doing():
            inside.set()
            done.wait(10.0)

    worker = threading.Thread(target=work)
    worker.start()
    inside.wait(10.0)
    told = SimpleNamespace(state=None)
    asker = threading.Thread(target=lambda: setattr(told, "state", desk.state), daemon=True)
    asker.start()
    asker.join(5.0)
    done.set()
    worker.join()
    assert told.state is not None and told.state.step == 3


def test_a_state_is_equal_to_itself_while_nothing_happens(make: MakeDesk) -> None:
    desk = make("rgb")
    desk.step(+1)
    assert desk.state == desk.state
    before = desk.state
    desk.operation(+1)
    assert desk.state != before
