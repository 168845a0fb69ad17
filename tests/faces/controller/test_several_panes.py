"""Several sessions under one face: on one clock, alone, in videos, and as branches in a window."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.base.texts import text
from scalarviz.faces.controller.controls import CONTROLS
from scalarviz.faces.controller.face import Face
from scalarviz.faces.controller.pointer import Pointer
from scalarviz.scene.layout.plates import HALF
from scalarviz.stage.render_options import shown
from scalarviz.stage.stages import stages_of
from tests.faces.controller.fake_stage import drag
from tests.machine import until
from tests.sessions import colours
from tests.studio import Studio

SIZE = 1000, 700


def make(*sizes: int, **given: Any) -> sv.Session:
    return colours(None, sizes or (3, 8, 3), **given)


class Faced:
    """A face of sessions: it attends, reads and draws like a window, without one."""

    def __init__(self, *sessions: sv.Session, **given: Any) -> None:
        shows = shown(list(sessions))  # a show, or several
        self.stage = stages_of(shows, reduced_motion=True, patience=0.05)
        self.face = Face(self.stage, **given)
        self.sessions = list(sessions)

    @property
    def places(self) -> list[tuple[int, int]]:
        return [session.clock.place for session in self.sessions]

    @property
    def steps(self) -> list[int]:
        return [session.step_index for session in self.sessions]

    def until(self, happened: Callable[[], object], seconds: float = 20.0) -> None:
        until(happened, self.face.attend, seconds)

    def press(self, *keys: str, shift: bool = False) -> None:
        for key in keys:
            assert self.face.press(key, shift), key
            self.until(lambda: not self.face.lead.hand.busy)

    def told(self) -> list[str]:
        return [words for words, _ in self.stage.all_chips()]

    def draw(self, studio: Studio) -> np.ndarray:
        return studio.shoot(lambda: self.stage.draw(*SIZE, 1.0), *SIZE)

    def cube(self, number: int, row: int) -> tuple[float, float]:
        """The middle of a cube of a pane, on the last picture."""
        stage, box = self.stage.panes[number], self.stage._boxes.panes[number]
        found = stage.plan.plate_of(row)
        assert found is not None and stage._seen is not None
        plate, i, j = found
        x, y = stage._see(stage._seen)(plate.point(j + 0.5, i + 0.5, HALF)).xy[0].tolist()
        return x + box.x, y + box.y


@pytest.fixture
def open_face() -> Iterator[Callable[..., Faced]]:
    faces: list[Faced] = []

    def opened(*sessions: sv.Session, **given: Any) -> Faced:
        faces.append(Faced(*(sessions or (make(3, 3), make(), make(3, 4, 4, 3))), **given))
        return faces[-1]

    yield opened
    for face in faces:
        face.face.quit()
        face.face.rest()


@pytest.fixture
def face(open_face: Callable[..., Faced]) -> Faced:
    """A face of three panes."""
    return open_face()


def test_a_face_of_one_pane_has_its_time_and_no_names(controller: Any) -> None:
    face = controller.face
    assert face.panes == [controller] and face.time is controller.time
    assert not face.several and not face.names and not face.state.names


def test_arrows_and_commas_move_all_on_one_clock(face: Faced) -> None:
    face.press("right", "right")
    assert face.places == [(2, 0)] * 3
    face.press("right", shift=True)
    assert face.places == [(12, 0)] * 3
    face.press("left")
    assert face.places == [(11, 0)] * 3
    face.press(".", ".")
    assert {session.done for session in face.sessions} == {"affine 0"}
    face.press(",")
    assert {session.done for session in face.sessions} == {"zero_grad"}
    face.press("r")  # nothing was changed: the same training, and nothing to undo
    assert face.places == [(0, 0)] * 3 and [len(s.branches) for s in face.sessions] == [1] * 3
    face.press("right", "z")
    assert face.places == [(1, 0)] * 3


def test_space_plays_all_at_the_same_step_and_pauses_them(face: Faced) -> None:
    face.press("space")
    assert face.face.time.is_playing and all(session.playing for session in face.sessions)
    face.until(lambda: min(face.steps) > 20)
    for _ in range(20):
        assert face.stage.read() is not None
        assert len({stage.reading.place for stage in face.stage.panes}) == 1
    face.press("space")
    assert not face.face.time.is_playing and len(set(face.steps)) == 1


def test_a_slow_step_leads_all_through_their_operations(
    monkeypatch: pytest.MonkeyPatch, face: Faced
) -> None:
    face.press("right", ".")
    quick = lambda seconds, again: [0.001] * len(seconds)  # noqa: E731
    monkeypatch.setattr("scalarviz.faces.controller.clock_control.shared", quick)
    face.press("s")
    face.until(lambda: face.places == [(2, 0)] * 3)


def test_the_rate_changes_in_the_chosen_one_and_is_undone_there(face: Faced) -> None:
    rates = lambda: [session.learning_rate for session in face.sessions]  # noqa: E731
    face.face.act(CONTROLS["learning rate in numbers"], "0.25")
    face.press("x")
    face.face.act(CONTROLS["learning rate in numbers"], "0.125")
    assert face.face.state.name == "3-8-3" and rates() == [0.25, 0.125, 0.5]
    face.press("z")
    assert rates() == [0.25, 0.5, 0.5] and not face.face.state.undoable
    face.face.choose("3-3")
    assert face.face.state.undoable
    face.press("z")
    assert rates() == [0.5] * 3
    face.press("y")
    assert rates() == [0.25, 0.5, 0.5]
    face.press("right")
    assert face.places == [(1, 0)] * 3


def test_one_that_an_undo_has_moved_catches_up_with_the_others(face: Faced) -> None:
    face.press("right", "right")
    face.face.act(CONTROLS["learning rate in numbers"], "0.25")
    face.press("right", "right", "z")
    assert face.steps == [2, 4, 4]
    face.press("right", "right", "right")
    assert face.steps == [5, 5, 5]


def test_channels_cameras_and_themes_are_those_of_the_picture(face: Faced) -> None:
    for row, value in (("color", "gradient"), ("size", "w*x"), ("theme", "light")):
        face.face.act(CONTROLS[row], value)
    face.press("2")
    assert (face.stage.look.color, face.stage.look.cubes, face.stage.look.theme) == (
        "gradient",
        "w*x",
        "light",
    )
    assert {stage.eyes.name for stage in face.stage.panes} == {"orthographic"}
    assert face.face.state.look.color == "gradient"
    face.press("?")
    assert face.stage.common.help
    face.press("escape")
    assert not face.stage.common.help


def test_a_click_chooses_a_session_and_pins_in_it_and_in_equal_ones(
    open_face: Callable[..., Faced], studio: Studio
) -> None:
    face = open_face(make(first=1), make(3, 3), make(first=2))
    face.draw(studio)
    pointer = Pointer(face.face)
    at = face.cube(2, 5)
    pointer.move(*at)
    assert [stage.hover for stage in face.stage.panes] == [None, None, 5]
    drag(pointer, at)
    assert face.stage.chosen == 2
    assert [stage.pinned for stage in face.stage.panes] == [5, None, 5]


def test_a_drag_turns_all_and_chooses_the_one_under_the_mouse(studio: Studio, face: Faced) -> None:
    before, pointer = face.draw(studio), Pointer(face.face)
    face.stage.chosen = 2
    cameras = [stage.eyes.camera.azimuth for stage in face.stage.panes]
    box = face.stage._boxes.panes[0]
    drag(pointer, (box.x + 8.0, box.bottom - 30.0), (box.x + 90.0, box.bottom - 30.0))
    turned = np.subtract([stage.eyes.camera.azimuth for stage in face.stage.panes], cameras)
    assert np.ptp(turned) < 1e-9 and abs(turned[0]) > 5.0 and face.stage.chosen == 0
    assert (face.draw(studio) != before).any()


def test_the_curves_seek_and_grow(studio: Studio, face: Faced) -> None:
    face.face.act(CONTROLS["seek"], 0)
    face.face.time.clock.advance(40)
    face.draw(studio)
    chart, pointer = face.stage.chart, Pointer(face.face)
    assert chart is not None and chart.last == 40.0
    x, y = chart.plot.x + 0.25 * chart.plot.width, chart.plot.y + 0.5 * chart.plot.height
    pointer.move(x, y)
    face.draw(studio)
    assert face.stage.over.step == 10
    drag(pointer, (x, y))
    face.until(lambda: face.steps == [10, 10, 10])
    face.press("l")
    face.draw(studio)
    large = face.stage.chart
    assert large is not None and large.plot.width > 1.3 * chart.plot.width
    face.press("escape")
    assert not face.stage.common.curve_view.large


def test_an_error_is_told_under_the_name_of_its_session(open_face: Callable[..., Faced]) -> None:
    wild, calm = make(3, 3), make()
    face = open_face(wild, calm)
    wild.network.bank.value[0] = np.inf
    face.press("space")
    face.until(lambda: face.told())
    assert [words.partition(":")[0] for words in face.told()] == ["3-3"]
    assert not face.face.time.is_playing
    face.press("space")
    face.until(lambda: calm.step_index > 10)
    face.press("space")
    assert wild.step_index == 0


def test_what_a_callback_said_is_told_and_the_others_go_on(open_face: Callable[..., Faced]) -> None:
    first, second = make(3, 3), make()
    first.on_step(lambda view: view.stop("good enough") if view.step == 5 else None)
    face = open_face(first, second)
    face.press("space")
    face.until(face.told)
    assert face.told() == ["3-3: good enough"] and not face.face.time.is_playing
    face.press("right")
    assert len(face.told()) == 1
    assert first.step_index == 5 and second.step_index > 5


def test_the_same_message_of_all_stands_once(face: Faced) -> None:
    for pane in face.face.panes:
        pane.tell("ready")
    assert face.told() == ["ready"]
    face.face.act(CONTROLS["learning rate in numbers"], "fast")
    assert len(face.told()) == 3 and any("fast" in each for each in face.told())


def test_a_run_of_some_steps_pauses_and_says_so(open_face: Callable[..., Faced]) -> None:
    face = open_face(steps=30)
    face.press("space")
    end = time.perf_counter() + 20.0
    while min(face.steps) < 30 and time.perf_counter() < end:
        time.sleep(0.002)  # nobody attends to it meanwhile
    face.until(lambda: "Step 30 is reached" in str(face.told()))
    assert face.steps == [30] * 3 and not face.face.time.is_playing
    face.face.time.set_unit("step")
    face.face.time.step(+1, 300)
    face.until(lambda: not face.face.time.is_playing and face.steps == [face.steps[0]] * 3)


def test_together_they_go_by_operations_in_place_of_neurons(face: Faced) -> None:
    assert "neuron" not in face.face.state.units
    face.face.time.set_unit("neuron")
    face.press("right", "right")
    assert face.places == [(0, 2)] * 3


def test_the_keys_of_several_are_in_their_help_alone(controller: Any, face: Faced) -> None:
    labels = [label for label, _ in face.stage.common.keys]
    assert "x" in labels
    assert "x" not in [label for label, _ in controller.stage.common.keys]
    assert not controller.face.press("x")


def test_a_video_ends_where_the_last_session_stops_by_itself(tmp_path: Path) -> None:
    first, second = make(), make(3, 3)
    first.stop_when("loss < 100")
    second.on_step(lambda view: view.stop() if view.step == 4 else None)
    options: dict[str, Any] = {"size": (160, 100), "samples": 1, "fps": 1}
    assert sv.record([first, second], tmp_path / "both.gif", 20, every=2, **options) == 4
    assert (first.step_index, second.step_index) == (1, 4)


# Whatever the number of panes: what a command changes, in whom, and that it is undone there.

PANES = pytest.mark.parametrize("count", [1, 2, 5])
CHANGES: dict[str, tuple[Callable[[Any], object], Callable[[Any], object], bool]] = {
    # what is done with a face, what it changes in a pane, whether in all of them
    "learning rate": (
        lambda face: face.act(CONTROLS["learning rate in numbers"], "0.25"),
        lambda pane: pane.session.learning_rate,
        False,
    ),
    "stop": (
        lambda face: face.act(CONTROLS["stop when"], "loss < 0.001"),
        lambda pane: pane.session.stop_conditions,
        False,
    ),
    "value": (
        lambda face: face.act(CONTROLS["edit"], "0.75"),
        lambda pane: float(pane.session.network.bank.value[3]),
        False,
    ),
    "frozen": (
        lambda face: face.act(CONTROLS["freeze"], True),
        lambda pane: bool(pane.session.network.bank.frozen[3]),
        False,
    ),
    "layer rate": (
        lambda face: face.act(CONTROLS["layer rate"], "0.125"),
        lambda pane: pane.session.own_rate(3),
        False,
    ),
    "preset": (
        lambda face: (  # which plays at once
            setattr(face.lead.session, "learning_rate", 0.0),
            face.act(CONTROLS["go wrong"], text("presets.zero")),
        ),
        lambda pane: bool(pane.session.network.bank.value.any()),
        False,
    ),
    "preset of another network": (
        lambda face: face.act(CONTROLS["go wrong"], text("presets.shallow")),
        lambda pane: len(pane.session.network.layers),
        False,
    ),
    "neuron": (
        lambda face: face.act(CONTROLS["add neuron"], 1),
        lambda pane: len(pane.session.network.bank),
        False,
    ),
    "option": (
        lambda face: face.lead.set_option("loss", "mae"),
        lambda pane: pane.session.loss_function.name,
        False,
    ),
    "branch name": (
        lambda face: face.act(CONTROLS["branch name"], "mine"),
        lambda pane: pane.session.current_branch.name,
        False,
    ),
    "reset": (
        lambda face: (face.lead.edit(3, 0.5), face.act(CONTROLS["reset"], 1)),
        lambda pane: pane.session.step_index,
        True,
    ),
}


ANOTHER = {"preset of another network", "neuron"}  # another session, which Undo does not leave


@pytest.fixture
def panes(open_face: Callable[..., Faced], count: int) -> Any:
    """A face of `count` panes, two steps on, the last one chosen, with a weight pinned in it."""
    face = open_face(*(make(first=number) for number in range(count))).face
    for pane in face.panes:
        pane.hand.patience = 30.0
    face.time.step(+1, 2)
    face.stage.chosen = count - 1
    face.lead.stage.pin(3)
    return face


@PANES
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_in_the_panes_that_it_is_for_and_undone_in_the_chosen_one(
    panes: Any, name: str
) -> None:
    do, read, is_of_all = CHANGES[name]
    seen = lambda: [read(pane) for pane in panes.panes]  # noqa: E731
    before = seen()
    do(panes)
    until(lambda: not panes.hand.busy, panes.attend)
    after = seen()
    changed = [now != then for now, then in zip(after, before, strict=True)]
    assert changed == [is_of_all or pane is panes.lead for pane in panes.panes]
    undone = after if name in ANOTHER else [*after[:-1], before[-1]]
    for key, expected in (("z", undone), ("y", after), ("z", undone)):
        panes.press(key)
        until(lambda: not panes.hand.busy, panes.attend)
        assert seen() == expected, key


@PANES
def test_the_sample_in_focus_is_another_one_in_all_panes(panes: Any) -> None:
    panes.press(">")
    panes.press(">")
    assert [pane.session.focus for pane in panes.panes] == [2] * len(panes.panes)


@PANES
def test_a_stop_is_told_by_the_pane_that_it_is_of(panes: Any) -> None:
    panes.act(CONTROLS["stop when"], "loss < 100")
    panes.press("space")
    until(lambda: not panes.time.is_playing and panes.stage.all_chips(), panes.attend)
    told = [words for words, _ in panes.stage.all_chips() if "loss < 100" in words]
    name = f"{panes.names[-1]}: " if panes.names else ""
    assert len(told) == 1 and told[0].startswith(name)
    assert [bool(pane.session.stopped) for pane in panes.panes] == [
        pane is panes.lead for pane in panes.panes
    ]


def test_commands_of_panes_wait_side_by_side(face: Faced) -> None:
    gate = threading.Event()
    face.face.hand.patience = 0.0
    face.face.lead.do(lambda: gate.wait(10.0))
    for name in face.face.names:
        face.face.choose(name)
        face.face.act(CONTROLS["learning rate in numbers"], "0.125")
    gate.set()
    face.until(lambda: not face.face.hand.busy)
    assert [each.learning_rate for each in face.sessions] == [0.125] * 3


def test_they_play_on_together_after_an_option_of_one(face: Faced) -> None:
    face.press("space")
    face.face.lead.set_option("batch", "4")
    face.until(lambda: not face.face.hand.busy)
    face.until(lambda: all(session.playing for session in face.sessions))
    begun = min(face.steps)
    face.until(lambda: min(face.steps) > begun + 5)
    face.press("space")


def test_they_go_back_to_the_start_however_often_they_are_asked(face: Faced) -> None:
    face.press("right")
    face.face.time.go(-1, 2**53, "step")
    face.until(lambda: not face.face.hand.busy)
    assert face.places == [(0, 0)] * 3
