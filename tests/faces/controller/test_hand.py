"""A user interface never waits for a training: long requests are finished in another thread."""

import math
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import scalarviz as sv
from scalarviz.faces.controller.changes import set_learning_rate
from scalarviz.faces.controller.controller import CommandQueue, Controller
from scalarviz.faces.controller.export import save
from scalarviz.faces.controller.group import Opening
from scalarviz.stage.background import AT_ONCE
from scalarviz.stage.show import Show
from scalarviz.story.tour import LONGEST
from tests.faces.controller.fake_stage import FakeStage
from tests.training.session.test_threads import SOON, Gate
from tests.waiting import until

# A hand.


def told(seen: list[Any]) -> Callable[[Any, BaseException | None], None]:
    return lambda result, error: seen.append(error or result)


def test_what_is_quick_is_done_at_once() -> None:
    hand, seen = CommandQueue(), []
    hand.patience = 10.0
    for i in range(5):
        hand.do(lambda i=i: 10 * i, told(seen))
        assert seen == [10 * j for j in range(i + 1)] and not hand.busy
    hand.do(lambda: 1 // 0, told(seen))
    assert isinstance(seen[-1], ZeroDivisionError)


def test_what_takes_long_is_told_later_and_in_order() -> None:
    hand, seen, opened = CommandQueue(), [], threading.Event()
    hand.patience = 0.0
    hand.do(lambda: opened.wait(30.0), told(seen))
    for i in range(5):
        hand.do(lambda i=i: i, told(seen))
    assert hand.busy and seen == []
    opened.set()
    until(lambda: (hand.attend(), not hand.busy)[1])
    assert seen == [True, 0, 1, 2, 3, 4]


def test_of_what_waits_under_one_name_the_newest_is_done() -> None:
    hand, seen = CommandQueue(), []
    hand.patience = 0.0
    hand.do(lambda: time.sleep(0.1), told(seen))
    for i in range(50):
        hand.do(lambda i=i: i, told(seen), "seek")
    hand.do(lambda: "other", told(seen))
    hand.do(lambda: "seek", told(seen), "seek")
    until(lambda: (hand.attend(), not hand.busy)[1])
    assert seen == [None, 49, "other", "seek"]


def test_what_waits_can_be_dropped() -> None:
    hand, seen = CommandQueue(), []
    hand.patience = 0.0
    hand.do(lambda: time.sleep(0.1), told(seen))
    until(lambda: not hand._waiting)
    hand.do(lambda: "never", told(seen))
    hand.do(lambda: "kept", told(seen), kept=True)
    hand.drop()
    hand.finish()
    hand.attend()
    assert seen == [None, "kept"]


def test_what_is_kept_is_reported_alone() -> None:
    hand, seen = CommandQueue(), []
    hand.patience = 0.0
    hand.do(lambda: time.sleep(0.1), told(seen))
    hand.do(lambda: "kept", told(seen), kept=True)
    hand.finish()
    hand.attend(kept=True)
    assert seen == ["kept"]


# A controller.


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.opened.set()
    gate.session.pause()


@pytest.fixture
def controller(gate: Gate) -> Any:
    show = Show(gate.session)
    return Controller(show, FakeStage(show))  # type: ignore[arg-type]  # as much of one as it needs


def settle(controller: Any) -> None:
    until(lambda: (controller.attend(), not controller.hand.busy)[1])


DEEDS: dict[str, Callable[[Any, Path], object]] = {
    "pause": lambda controller, path: controller.pause(),
    "play": lambda controller, path: controller.play(),
    "speed": lambda controller, path: controller.set_speed(100.0),
    "step": lambda controller, path: controller.step(+1),
    "far": lambda controller, path: controller.step(+1, 500),
    "back": lambda controller, path: controller.step(-1),
    "operation": lambda controller, path: controller.operation(+1),
    "seek": lambda controller, path: controller.seek(1),
    "reset": lambda controller, path: controller.reset(),
    "rate": lambda controller, path: set_learning_rate(controller, 0.25),
    "scale": lambda controller, path: controller.press("up"),
    "engine": lambda controller, path: controller.set_engine("python"),
    "activation": lambda controller, path: controller.set_activation(0, "relu"),
    "edit": lambda controller, path: controller.edit(3, 0.5),
    "freeze": lambda controller, path: controller.freeze(3, True),
    "undo": lambda controller, path: controller.undo(),
    "sample": lambda controller, path: controller.next_sample(),
    "branch": lambda controller, path: controller.press("b"),
    "save": lambda controller, path: save(controller, path / "run.safetensors"),
    "option": lambda controller, path: controller.set_option("lr", "0.125"),
    "click": lambda controller, path: controller.click(1.0, 1.0),
    "quit": lambda controller, path: controller.quit(),
}


@pytest.mark.some(3)
@pytest.mark.parametrize("deed", DEEDS)
def test_no_command_waits_for_the_step_that_goes_on(
    deed: str, controller: Any, gate: Gate, tmp_path: Path
) -> None:
    with gate.closed(controller.play):
        start = time.perf_counter()
        DEEDS[deed](controller, tmp_path)
        for _ in range(3):
            controller.attend()
            controller.state  # noqa: B018  # to read it is the point
        controller.playing.undisturbed(lambda: None)
        assert time.perf_counter() - start < SOON
    settle(controller)
    controller.quit()
    controller.rest()
    assert not controller.session.playing and not controller.hand.busy


def test_no_picture_waits_twice_for_one_step(
    controller: Any, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[object] = []
    still = sv.Session.still
    monkeypatch.setattr(
        sv.Session, "still", lambda s, seconds: (waits.append(seconds), still(s, seconds))[1]
    )
    with gate.closed(controller.play):
        for _ in range(20):
            controller.drawing(lambda: None)
        assert waits == [AT_ONCE]
    controller.pause()
    settle(controller)


def test_what_was_asked_for_meanwhile_is_done_in_order(controller: Any, gate: Gate) -> None:
    with gate.closed(controller.play):
        set_learning_rate(controller, 0.25)
        controller.press("up")
        controller.press("up")
        controller.edit(3, 0.5)
        controller.freeze(3, True)
        controller.pause()
        assert (
            controller.session.learning_rate == 0.1
            and not controller.session.current_branch.journal
        )
    settle(controller)
    assert (
        controller.session.learning_rate == 1.0 and controller.session.network.bank.value[3] == 0.5
    )
    kinds = [action.kind for action in controller.session.current_branch.journal]
    assert kinds == ["learning rate"] * 3 + ["edit", "freeze"]
    assert controller.state.undoable == 5


def test_a_step_that_takes_long_is_taken_while_the_face_goes_on(
    controller: Any, gate: Gate
) -> None:
    start, at = time.perf_counter(), controller.session.step_index
    gate.opened.clear()
    controller.step(+1, 3)
    assert time.perf_counter() - start < SOON and controller.hand.busy
    controller.attend()
    gate.opened.set()
    settle(controller)
    assert controller.session.step_index == at + 3
    start = time.perf_counter()
    gate.opened.clear()
    for step in range(at + 3):
        controller.seek(step)
    assert time.perf_counter() - start < SOON
    gate.opened.set()
    settle(controller)
    assert controller.session.step_index == at + 2


def test_an_error_and_a_branch_are_told_when_they_are_there(controller: Any, gate: Gate) -> None:
    controller.seek(1)
    controller.hand.patience, gate.seconds = 0.0, 0.1
    controller.step(+1)
    controller.set_activation(0, "no such")
    controller.edit(3, 0.5)
    assert controller.message == ""
    settle(controller)
    first, second = controller.stage.notices
    assert first.startswith("Unknown activation 'no such'")
    assert second.startswith("New branch from step 2; the old future is kept")
    gate.seconds = 0.0


def test_an_error_of_the_last_portion_is_told_though_it_was_paused(
    controller: Any, gate: Gate
) -> None:
    with gate.closed(controller.play):
        controller.pause()
        assert controller.message == ""
        gate.session.network.bank.grad[:] = 0.0
        gate.fails = True
    until(lambda: (controller.attend(), "the disk is gone" in controller.message)[1])
    gate.fails = False
    settle(controller)


def test_a_tour_goes_on_though_its_operations_take_long(
    controller: Any, gate: Gate, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("scalarviz.story.tour.seen", lambda: tmp_path / "seen")
    monkeypatch.setattr("scalarviz.faces.controller.guide.perf_counter", lambda: now[0])
    controller.session.reset()
    now, slow = [0.0], 0.6  # seconds of each step
    controller.session.on_step(lambda view: now.__setitem__(0, now[0] + slow))
    controller.hand.patience, gate.seconds = 0.0, 0.05
    Opening(controller, True, play=False).attend()
    end = time.perf_counter() + 20.0
    while controller.guide.tour is not None and time.perf_counter() < end:
        if not controller.hand.busy:
            now[0] += 0.05 if now[0] < 7.0 else 5.0  # the pictures come slowly at the end
        controller.attend()
        time.sleep(0.002)
    gate.seconds = 0.0
    assert controller.session.step_index == 1 + math.ceil(LONGEST / slow)
    assert (tmp_path / "seen").exists()
