"""Ctrl-C ends a training soon, with whole numbers: its lock free, its clock where these are."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.base.interrupt import ctrl_c
from scalarviz.core.perceptron import Perceptron
from scalarviz.engines.cpu.engine import CpuRun
from scalarviz.engines.cpu.job import CpuJob
from scalarviz.errors import Interrupted
from scalarviz.training.session.branches import Clock
from scalarviz.training.session.shared_clock import SharedClock
from scalarviz.training.session.trainer import Trainer
from tests.sessions import advanced, at_work

SOON = 2.0  # seconds, on a busy machine
MANY = 10**9  # steps


def training(engine: str = "cpu") -> sv.Session:
    """Return a session in the middle of a step, with a past."""
    net = sv.Network([2, 3, 1], "tanh", "sigmoid", seed=1)
    s = sv.Session(net, sv.data.Xor(), "mse", sv.Adam(0.01), engine=engine, memory=20_000)
    s.advance(10, progress=False)
    s.edit(0, 0.5)
    s.advance(3, progress=False)
    s.advance(8, "operation")
    return s


@pytest.fixture
def s() -> sv.Session:
    return training()


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
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler and not ctrl_c.waits
    here, values = s.clock, s.network.bank.value.copy()
    with s.doing():
        timeline.restore(0)
        timeline.forward(here)
    assert np.array_equal(values, s.network.bank.value)


@contextmanager
def interrupted(*after: float) -> Iterator[None]:
    """Send SIGINT after these seconds; the block ends soon after the last one, by its error."""
    to_main = [threading.main_thread().ident, signal.SIGINT]
    timers = [threading.Timer(each, signal.pthread_kill, to_main) for each in after]
    for timer in timers:
        timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        yield
    assert time.monotonic() - start < after[-1] + SOON
    for timer in timers:
        timer.join()


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_a_training_ends_soon_and_goes_on_with_the_same_numbers(engine: str) -> None:
    s, want = training(engine), training(engine)
    with interrupted(0.2):
        s.advance(MANY, progress=False)
    check_whole(s)
    assert s.step_index > 13 and s.clock.operation == 0
    s.advance(3, progress=False)
    want.seek(s.step_index)
    assert (s.network.bank.value == want.network.bank.value).all()


def test_a_training_without_a_session_ends_with_its_losses() -> None:
    net = sv.Network([2, 3, 1], "tanh", seed=1, engine="cpu")
    again = net.copy()
    with interrupted(0.2):
        try:
            net.train([[0.0, 1.0]], [[1.0]], optimizer=sv.SGD(0.01), steps=MANY, progress=False)
        except Interrupted as error:
            losses = error.losses
            raise
    again.train([[0.0, 1.0]], [[1.0]], optimizer=sv.SGD(0.01), steps=len(losses), progress=False)
    assert (net.bank.value == again.bank.value).all()


def test_replicas_end_after_the_same_step() -> None:
    runs = sv.replicate(training(), range(3))
    runs.prepare()
    with interrupted(0.2):
        runs.advance(MANY, progress=False)
    assert set(runs.taken.tolist()) == {runs.step_index}
    assert [bank.step_count for bank in runs.banks] == [runs.step_index] * 3


def test_a_way_back_ends_soon(s: sv.Session) -> None:
    s.advance(200_000, progress=False)
    with interrupted(0.01):
        for _ in range(MANY):
            s.seek(150_001)
            s.seek(s.current_branch.end.step)
    check_whole(s)


def test_sessions_on_one_clock_go_on_after_ctrl_c() -> None:
    sessions = [training(), training()]
    clock = SharedClock(sessions)
    with interrupted(0.2):
        clock.advance(MANY)
    for s in sessions:
        check_whole(s)
    with clock.still(0.0) as mine:
        assert mine
    clock.play()
    clock.pause()


def test_a_callback_that_takes_long_is_left_by_a_second_signal(s: sv.Session) -> None:
    def wait(view: Any) -> None:
        time.sleep(MANY)

    handle = s.on_step(wait)
    with interrupted(0.2, 0.4):
        s.advance(1)
    handle.remove()
    check_whole(s)


def test_ctrl_c_ends_the_wait_for_a_session_that_another_thread_holds(s: sv.Session) -> None:
    with at_work(s), interrupted(0.2):
        s.advance(1)
    check_whole(s)


def test_a_handler_that_does_not_raise_is_called_and_the_call_goes_on(s: sv.Session) -> None:
    heard: list[int] = []

    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        s.on_step(lambda view: signal.raise_signal(signal.SIGINT))
        s.advance(3, progress=False)
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [signal.SIGINT] * 3 and s.step_index == 16


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


def shown(s: sv.Session) -> tuple[object, ...]:
    """What a user sees of a session, whatever the number of its branch."""
    values = s.network.bank.value.tolist()
    name = s.current_branch.given_name
    return s.clock.place, values, s.learning_rate, s.network.activations, name


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
