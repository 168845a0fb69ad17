"""Ctrl-C at any moment leaves a session whole: its lock free, its clock where its numbers are."""

import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.base.interrupt import ctrl_c
from scalarviz.core.perceptron import Perceptron
from scalarviz.engines.cpu.engine import CpuRun
from scalarviz.engines.cpu.job import CpuJob
from scalarviz.training.session.branches import Clock
from scalarviz.training.session.shared_clock import SharedClock
from scalarviz.training.session.trainer import Trainer
from tests.ctrl_c import at_each_moment
from tests.sessions import advanced, at_work

# Python itself loses an interrupt that comes while it ends a generator or calls a finalizer.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

PLACE = (13, 8)


def training() -> sv.Session:
    """Return a session in the middle of a step, with a past."""
    net = sv.Network([2, 3, 1], "tanh", "sigmoid", seed=1)
    s = sv.Session(net, sv.data.Xor(), "mse", sv.Adam(0.01), engine="cpu", memory=20_000)
    s.advance(10, progress=False)
    s.edit(0, 0.5)
    s.advance(3, progress=False)
    s.advance(8, "operation")
    return s


def is_free(s: sv.Session) -> bool:
    """Whether another thread can have the session."""
    found: list[bool] = []

    def look() -> None:
        with s.still(0.5) as mine:
            found.append(mine)

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    return found[0]


def check_whole(s: sv.Session) -> None:
    """The lock is free, what is shown is so, and numbers are those that lead to this moment."""
    timeline = s.timeline
    assert is_free(s)
    assert not timeline.is_at_work and not timeline.asking
    assert s.clock == timeline.clock and s.current_branch is timeline.branch
    assert timeline.branch in timeline.branches
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler and not ctrl_c._before
    here, values = s.clock, s.network.bank.value.copy()
    with s.doing():
        timeline.restore(0)
        timeline.forward(here)
    assert np.array_equal(values, s.network.bank.value)


def set_rate(s: sv.Session) -> None:
    s.learning_rate = 0.3


MOVES: dict[str, tuple[Callable[[sv.Session], object], int]] = {  # each how manieth moment
    "advance": (lambda s: s.advance(1, "operation"), 5),
    "back": (lambda s: s.back(1), 7),
    "edit": (lambda s: s.edit(1, 0.25), 2),
    "activation": (lambda s: s.set_activation(0, "relu"), 5),
    "rate": (set_rate, 5),
    "undo": (lambda s: s.undo(), 5),
    "branch": (lambda s: s.branch(), 5),
    "reset": (lambda s: s.reset(), 7),
}


@pytest.mark.some(1)
@pytest.mark.parametrize("name", MOVES)
def test_a_call_that_ctrl_c_ends_leaves_numbers_and_clock_in_step(name: str) -> None:
    move, every = MOVES[name]
    made: list[sv.Session] = []

    def act() -> Callable[[], object]:
        made.append(training())
        return lambda: move(made[-1])

    raised = []
    for each in at_each_moment(act, every):
        raised.append(each)
        check_whole(made[-1])
    assert len(raised) > 20 and np.mean(raised) > 0.9


LOOKS: dict[str, tuple[Callable[[sv.Session, Path], object], int]] = {
    "save": (lambda s, folder: s.save(folder / "run", progress=False), 301),
    "first": (lambda s, folder: s.first("grad norm > 100", progress=False), 61),
    "samples": (lambda s, folder: s.samples_that_moved(3, steps=5, progress=False), 601),
    "numbers": (lambda s, folder: s.numbers("affine 0"), 5),
    "caption": (lambda s, folder: s.caption(0), 201),
    "copy": (lambda s, folder: s.copy(), 211),
    "snapshot": (lambda s, folder: s.snapshot().read(), 1),
    "weight": (lambda s, folder: s.network.state_dict(), 1),
}


@pytest.mark.some(1)
@pytest.mark.parametrize("name", LOOKS)
def test_a_session_stays_where_it_is_when_ctrl_c_ends_what_only_looks(
    name: str, tmp_path: Path
) -> None:
    look, every = LOOKS[name]
    s, count = training(), 0
    look(s, tmp_path)  # what is made once is made now
    for _ in at_each_moment(lambda: lambda: look(s, tmp_path), every):
        count += 1
        assert s.clock.place == PLACE
        check_whole(s)
    assert count > 5


@pytest.fixture
def s() -> sv.Session:
    return training()


@pytest.mark.slow
def test_a_visit_whose_steps_are_cut_ends_where_it_began(
    monkeypatch: pytest.MonkeyPatch, s: sv.Session
) -> None:

    def cut(*given: Any) -> None:
        s.network.bank.value[:] = 0.0
        raise KeyboardInterrupt

    visit, change = s.timeline.visit(Clock(11)), monkeypatch.context()
    with s.doing(), suppress(KeyboardInterrupt), visit, change as patch:
        patch.setattr(CpuRun, "steps", cut)
        s.timeline.forward(Clock(12))
    check_whole(s)


def test_sessions_on_one_clock_go_on_after_ctrl_c() -> None:
    sessions = [training(), training()]
    clock = SharedClock(sessions)
    for _ in at_each_moment(lambda: lambda: clock.advance(1, "operation"), 17):
        for s in sessions:
            check_whole(s)
        with clock.still(0.0) as mine:
            assert mine
        clock.play()
        clock.pause()


def test_ctrl_c_ends_the_wait_for_a_session_that_another_thread_holds(s: sv.Session) -> None:
    with at_work(s):
        threading.Timer(0.2, signal.raise_signal, [signal.SIGINT]).start()
        with pytest.raises(KeyboardInterrupt):
            s.advance(1)
    check_whole(s)


def test_a_handler_that_does_not_raise_is_called_once_and_the_call_goes_on() -> None:
    heard: list[int] = []

    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        s = training()
        for _ in at_each_moment(lambda: lambda: s.advance(1, "operation"), 29):
            assert heard == [signal.SIGINT]
            heard.clear()
    finally:
        signal.signal(signal.SIGINT, before)
    assert s.clock.place > PLACE


def shown(s: sv.Session) -> tuple[object, ...]:
    """What a user sees of a session, whatever the number of its branch."""
    values = s.network.bank.value.tolist()
    name = s.current_branch.given_name
    return s.clock.place, values, s.learning_rate, s.network.activations, name


def several(s: sv.Session) -> None:
    with s.doing(as_one=True):
        s.edit(1, 0.25)
        s.learning_rate = 0.3
        s.edit(2, 0.75)


def rename(s: sv.Session) -> None:
    s.current_branch.name = "named"


def edit_and_go_on(s: sv.Session) -> None:
    s.edit(1, 0.25)
    s.advance(4, "operation")


UNDONE = {
    "last": several,
    "before others": edit_and_go_on,
    "name": rename,
    "branch": sv.Session.branch,
}


@pytest.mark.some(1)
@pytest.mark.parametrize("name", UNDONE)
def test_an_undo_or_redo_that_ctrl_c_ends_is_done_or_can_be_done(name: str) -> None:
    made: list[sv.Session] = []

    def changed() -> sv.Session:
        made.append(training())
        UNDONE[name](made[-1])
        return made[-1]

    def undone() -> sv.Session:
        changed().undo()
        return made[-1]

    def again() -> sv.Session:
        undone().redo()
        return made[-1]

    before, after = shown(undone()), shown(again())
    for act in (lambda: changed().undo, lambda: undone().redo):
        for _ in at_each_moment(act, folder="training/session/user_changes"):
            s, log = made[-1], made[-1].timeline.undo_log
            check_whole(s)
            assert len(log.done) + len(log.undone) == 2
            if len(log.undone) == 1:
                s.redo()
                assert shown(s) == after
            s.undo()
            assert shown(s) == before
            s.redo()
            assert shown(s) == after and len(log.done) == 2


LEAPS: dict[str, tuple[Callable[[sv.Session], object], int]] = {
    "reset": (lambda s: s.reset(), 1),
    "branch": (lambda s: s.branch("named"), 1),
    "switch": (lambda s: s.switch(1), 7),
    "name": (rename, 1),
    "several": (several, 3),
}


@pytest.mark.some(2)
@pytest.mark.parametrize("name", LEAPS)
def test_what_ctrl_c_ends_halfway_can_be_undone(name: str) -> None:
    leap, every = LEAPS[name]
    made: list[sv.Session] = []

    def act() -> Callable[[], object]:
        s = training()
        s.branch()
        s.switch(0)
        made.append(s)
        return lambda: leap(s)

    act()
    before, clock = shown(made[-1]), made[-1].clock
    for _ in at_each_moment(act, every, folder="training/session"):
        s, log = made[-1], made[-1].timeline.undo_log
        check_whole(s)
        if len(log.done) > 3:
            s.undo()
        else:
            assert s.current_branch.number == 0, "only the clock has moved"
            with s.doing():
                s.timeline.go(clock)
        assert shown(s) == before and len(log.done) == 3


def test_play_and_pause_that_ctrl_c_ends_leave_one_thread_or_none(s: sv.Session) -> None:

    def play() -> None:
        s.play(1.0, "operation")

    def pause() -> Callable[[], object]:
        play()
        return s.pause

    for act in (lambda: play, pause):
        for _ in at_each_moment(act, folder="training/session/threads"):
            play()
            s.pause(10.0)
            assert not any(each.name == "scalarviz" for each in threading.enumerate())
            assert not s.playing
            check_whole(s)


def cut(
    patch: pytest.MonkeyPatch, owner: Any, name: str, error: type[BaseException] = KeyboardInterrupt
) -> None:
    """Let the next call of a function end with Ctrl-C, or an error, before anything else, once."""
    plain, calls = getattr(owner, name), [0]

    def once(*args: Any, **named: Any) -> Any:
        calls[0] += 1
        if calls[0] == 1:
            raise error
        return plain(*args, **named)

    patch.setattr(owner, name, once)


CHANGES: dict[str, Callable[[sv.Session], object]] = {
    "batch": lambda s: setattr(s, "batch", 3),
    "loss": lambda s: setattr(s, "loss_function", "mae"),
    "activation": lambda s: s.set_activation(0, "relu"),
    "optimizer": lambda s: setattr(s, "optimizer", sv.Adam(0.01)),
}


@pytest.mark.parametrize("engine", ["python", "cpu"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_that_is_cut_in_two_on_the_way_back_is_made_whole(
    engine: str, change: Callable[[sv.Session], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    def made() -> sv.Session:
        net = sv.Network([2, 4, 1], "tanh", "sigmoid", seed=2)
        s = advanced(sv.Session(net, sv.data.Xor(), "mse", sv.SGD(0.05), 2, engine, seed=3), 6)
        change(s)
        s.advance(4)
        return s

    for owner, name in (
        (Trainer, "_make_run"),
        (Perceptron, "set_activation"),
        (CpuJob, "set_optimizer"),
    ):
        s, want = made(), made()
        with monkeypatch.context() as patch:
            cut(patch, owner, name)
            with suppress(KeyboardInterrupt):
                s.seek(7)
        for steps in (0, 5):
            s.advance(steps)
            if steps:
                want.advance(steps)
            else:
                want.seek(s.step_index)
            assert (s.network.bank.value == want.network.bank.value).all(), (name, steps)


def test_what_cannot_be_made_whole_at_once_is_made_so_by_the_next_call(
    monkeypatch: pytest.MonkeyPatch, s: sv.Session
) -> None:
    want = s.copy()
    with monkeypatch.context() as patch:
        for owner, name, error in (
            (CpuRun, "perform", KeyboardInterrupt),
            (Trainer, "_make_run", MemoryError),
        ):
            cut(patch, owner, name, error)
        with pytest.raises(MemoryError):
            s.advance(1, "operation")
        s.advance(1, "operation")
    want.advance(1, "operation")
    assert shown(s) == shown(want)
    check_whole(s)
