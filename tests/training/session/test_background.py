"""Training in the background.

Callbacks, answers that are awaited, one clock for several sessions.
"""

import asyncio
import os
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.data import Xor
from scalarviz.errors import GradientError, InputError, OrderError
from scalarviz.training.session.callbacks import StepView
from scalarviz.training.session.shared_clock import SharedClock, place_of
from tests.machine import ROOT, until
from tests.sessions import advanced, at_work, bits, colours, every_engine, session_on
from tests.wording import refused

# The end of the program.

SCRIPT = """
import atexit, sys, threading, time
import numpy as np

def last():  # the first to register is the last to be called
    first = [s.timeline.clock for s in sessions]
    time.sleep(0.05)
    moves = [s.timeline.clock for s in sessions] != first
    left = [each.name for each in threading.enumerate() if each.name in ours]
    print("left", left, "moves", moves)
    if {save!r}:
        sessions[0].save({save!r})
        print("saved", sessions[0].step_index > 0)

atexit.register(last)
import scalarviz as sv

samples = np.random.default_rng(0).random((512, 3))
def session():
    net = sv.Network([3, 32, 32, 3], "tanh", "sigmoid")
    pair = samples, 1 - samples
    return sv.Session(net, pair, "mse", sv.Adam(0.01), engine={engine!r}, batch=64)

sessions = [session() for _ in range(3)]
for s in sessions:
    s.advance(2)
    s.explain(3)
known = set(threading.enumerate())
{deed}
time.sleep({rest})
ours = {{each.name for each in threading.enumerate() if "(go)" not in each.name}}
ours -= {{each.name for each in known}}
{end}
"""

DEEDS = {
    "play": "for s in sessions: s.play()",
    "slowly": "for s in sessions: s.play(0.5)",
    "pin": "s = sessions[0]; s.advance({steps}); s.pin([3, 4])",
    "advance": (
        "go = lambda s: s.advance(10**9)\n"
        "for s in sessions: threading.Thread(target=go, args=(s,), daemon=True).start()"
    ),
    "again": (
        "def go(s):\n"
        "    while True: s.advance(1); s.explain(3)\n"
        "for s in 2 * sessions: threading.Thread(target=go, args=(s,), daemon=True).start()"
    ),
}
STEPS = {"cpu": 1500, "python": 50}  # more than are replayed until the end


def ends(deed: str, engine: str, end: str = "", rest: float = 0.05, save: str = "") -> str:
    """Do something, end the program, and tell what it said last."""
    doing = DEEDS[deed].format(steps=STEPS[engine])
    script = SCRIPT.format(deed=doing, engine=engine, end=end, rest=rest, save=save)
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", script],
        capture_output=True,
        text=True,
        timeout=120.0,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    wanted = 1 if "exit" in end or "raise" in end else 0
    assert done.returncode == wanted, done.stderr
    errors = [line for line in done.stderr.splitlines() if "scalarviz " not in line]
    assert not errors or "raise" in end, done.stderr
    return done.stdout


QUICK = ("play", "advance")  # each takes a process of its own


@pytest.mark.some(1)
@pytest.mark.parametrize(
    "deed",
    [deed if deed in QUICK else pytest.param(deed, marks=pytest.mark.slow) for deed in DEEDS],
)
def test_the_end_of_the_program_stops_everything(deed: str) -> None:
    assert ends(deed, "cpu") == "left [] moves False\n"


@pytest.mark.slow
def test_what_is_done_at_the_very_end_still_works(tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    told = ends("play", "cpu", 'raise RuntimeError("a mistake")', save=str(path))
    assert told == "left [] moves False\nsaved True\n"
    assert path.exists()


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["cpu", "python"])
@pytest.mark.parametrize("deed", DEEDS)
def test_no_end_of_the_program_crashes(deed: str, engine: str) -> None:
    for i in range(12):
        end = ("", "sys.exit(1)", 'raise RuntimeError("a mistake")')[i % 3]
        assert ends(deed, engine, end, 0.013 * i) == "left [] moves False\n"


@pytest.fixture
def no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        threading.Thread, "start", Mock(side_effect=RuntimeError("can't start new thread"))
    )


@pytest.mark.usefixtures("no_threads")
def test_without_threads_the_loop_of_asyncio_plays_a_session() -> None:
    session = sv.Session(sv.Network([2, 3, 1]), Xor(), batch=1, engine="python")

    async def watch() -> None:
        session.play()
        assert session.playing
        before = session.step_index
        for _ in range(5):
            await asyncio.sleep(0)
        assert session.step_index > before
        session.play(1e-3)  # slow: takes the place of the first
        session.pause()
        at = session.step_index
        await asyncio.sleep(0.01)
        assert not session.playing and session.step_index == at
        session.play(until=at + 1, film=True)
        while session.playing:
            await asyncio.sleep(0)
        assert session.step_index == at + 1

    asyncio.run(watch())


@pytest.mark.usefixtures("no_threads")
def test_without_threads_an_error_is_raised_later_and_without_a_loop_at_once() -> None:
    s = sv.Session(sv.Network([1, 1]), ([[1.0]], [[0.0]]), "mse", sv.SGD(1e6), engine="python")

    async def watch() -> None:
        s.play()
        while s.playing:
            await asyncio.sleep(0)
        refused(GradientError).by(s.pause)
        s.pin(0)  # nobody else does it where one waits for it
        assert len(s.history(0, wait=True)[0]) == s.step_index + 1

    asyncio.run(watch())
    with pytest.raises(RuntimeError, match="can't start new thread"):
        s.play()
    assert not s.playing


@pytest.fixture
def s() -> sv.Session:
    return sv.Session(sv.Network([3, 4, 3], seed=0), sv.data.Rgb(), engine="python")


def test_a_snapshot_that_was_requested_is_filled_in_between_two_portions(s: sv.Session) -> None:
    snapshot = s.snapshot()
    snapshot.request()
    s.advance(1)
    assert snapshot.ready


def test_a_snapshot_is_awaited(s: sv.Session) -> None:

    async def look() -> list[float]:
        before = await s.snapshot()
        s.advance(3)
        after = await s.snapshot()
        assert not np.array_equal(before.value, after.value)
        return after.value.tolist()

    assert asyncio.run(look()) == s.network.bank.value.tolist()


def test_other_tasks_go_on_while_a_busy_session_is_awaited(s: sv.Session) -> None:
    seen = []

    async def other() -> None:
        for i in range(3):
            seen.append(i)
            await asyncio.sleep(0.002)
        done.set()

    async def look() -> None:
        shot = s.snapshot()
        shot.request()
        assert not shot.ready
        found, _ = await asyncio.gather(shot, other())
        assert found.value.tolist() == s.network.bank.value.tolist()

    with at_work(s) as done:
        asyncio.run(look())
    assert seen == [0, 1, 2]


RNG = np.random.default_rng(7)
X = RNG.random((24, 2))
T = X[:, :1] * X[:, 1:]


def held_out_session(engine: str = "python", **options: Any) -> sv.Session:
    table = data.Arrays(X, T, held_out=8)
    return session_on(
        table, [2, 3, 1], "tanh", optimizer=sv.SGD(0.1), batch=4, engine=engine, **options
    )


@every_engine
def test_a_callback_is_called_on_arrival_at_every_some_steps(engine: str) -> None:
    s, seen = held_out_session(engine, metrics=["mae"], every=2), list[Any]()

    def look(view: StepView) -> None:
        mae = view.metrics["held_out_mae"][1][-1]
        seen.append((view.step, view.loss, view.values[3], view.gradients[1], mae))

    s.on_step(look, every=4)
    s.advance(10)
    other = held_out_session(engine)
    inputs, targets = other.data.held_out or ((), ())
    expected = []
    for step in (4, 8):
        other.seek(step)
        bank, mae = other.network.bank, np.abs(other.network(inputs) - targets).mean()
        numbers = other.losses[step - 1], bank.value[3], bank.grad[1]
        expected.append((step, *numbers, pytest.approx(mae)))
    assert seen == expected
    other.seek(10)
    assert bits(s) == bits(other)  # only looking changes nothing


@every_engine
def test_what_it_changes_is_done_again_without_it(engine: str) -> None:
    s, calls = held_out_session(engine), []

    def tamper(view: StepView) -> None:
        calls.append(view.step)
        view.set_rate(view.learning_rate * 0.5)
        view.edit(1, 0.25)
        view.freeze(2)

    s.on_step(tamper, every=5)
    s.advance(12)
    first, rate = bits(s), s.learning_rate
    assert calls == [5, 10]
    assert rate == 0.025
    assert s.network.bank.frozen[2]
    by_hand = held_out_session(engine)
    for _ in range(2):
        by_hand.advance(5)
        by_hand.learning_rate = by_hand.learning_rate * 0.5
        by_hand.edit(1, 0.25)
        by_hand.freeze(2)
    by_hand.advance(2)
    assert bits(by_hand) == first
    s.seek(3)
    assert s.learning_rate == 0.1
    s.seek(12)
    s.back(1)
    s.advance(1)
    assert calls == [5, 10]
    assert (bits(s), s.learning_rate) == (first, rate)
    assert len(s.branches) == 1


@every_engine
def test_stop_ends_an_advance_there(engine: str) -> None:
    s = held_out_session(engine)
    s.on_step(lambda view: view.stop("enough") if view.step == 7 else None)
    s.advance(100)
    assert (s.step_index, s.stopped) == (7, "enough")
    s.advance(2)
    assert (s.step_index, s.stopped) == (9, "")
    s.reset()
    s.advance(1000, "operation")
    assert (s.step_index, s.done, s.stopped) == (7, "step", "enough")
    s.seek(20)  # not in this branch
    assert s.step_index == 20


@every_engine
def test_an_error_stops_the_training_and_names_the_function(engine: str) -> None:
    s = held_out_session(engine)

    def explode(view: StepView) -> None:
        view.set_rate(5.0)
        raise ZeroDivisionError("mine")

    s.on_step(explode, every=6)
    with pytest.raises(ZeroDivisionError, match="mine") as said:
        s.advance(10)
    text = "".join(traceback.format_exception(said.value))
    assert "in explode" in text
    assert "explode, called at step 6" in text
    assert s.step_index == 6
    assert s.learning_rate == 0.1  # what it asked for was not done
    s.advance(4)
    other = advanced(held_out_session(engine), 10)
    assert bits(s) == bits(other)


CALLS: dict[str, Callable[[sv.Session], Any]] = {
    "advance": lambda s: s.advance(1),
    "seek": lambda s: s.seek(0),
    "edit": lambda s: s.edit(0, 1.0),
    "a rate": lambda s: setattr(s, "learning_rate", 1.0),
    "save": lambda s: s.copy(),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_it_cannot_call_what_moves_or_changes_the_session(call: Any) -> None:
    s = held_out_session()
    s.on_step(lambda view: call(s), every=3)
    refused(OrderError).by(s.advance, 5)
    assert (s.step_index, s.learning_rate) == (3, 0.1)
    assert s.branches[0].journal == []


@every_engine
def test_what_it_writes_into_weights_is_journalled(engine: str) -> None:
    s = held_out_session(engine)

    def write(view: StepView) -> None:
        s.network.bank.value[0] = 0.5

    s.on_step(write, every=4)
    s.advance(6)
    first = bits(s)
    s.seek(0)
    s.seek(6)
    assert bits(s) == first
    assert [action.kind for action in s.current_branch.journal] == ["edit"]


def test_its_view_is_read_only_and_ends_with_it() -> None:
    s, kept = held_out_session(metrics=["mae"], every=2), []
    s.on_step(kept.append, every=2)
    s.advance(2)
    (view,) = kept
    for array in (view.values, view.gradients):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    assert list(view.metrics) == ["mae", "held_out_loss", "held_out_mae"]
    assert view.losses.tolist() == s.losses.tolist()
    for late in (lambda: view.set_rate(1.0), lambda: view.edit(0, 1.0), lambda: view.stop()):
        refused(OrderError, "step 2").by(late)


def test_its_changes_are_checked_at_once() -> None:
    s = held_out_session()
    for wrong in (
        lambda view: view.set_rate(-1.0),
        lambda view: view.edit(99, 1.0),
        lambda view: view.edit(0, np.nan),
        lambda view: view.stop(7),
    ):
        handle = s.on_step(wrong)
        refused(InputError).by(s.advance, 1)
        handle.remove()


def test_unsuitable_callbacks_are_refused() -> None:
    s = held_out_session()
    refused(InputError, "7").by(s.on_step, 7)
    refused(InputError, "view").by(s.on_step, lambda: None)
    refused(InputError, "0").by(s.on_step, print, every=0)


@every_engine
def test_callbacks_change_no_bit_and_looking_back_calls_none(engine: str) -> None:
    s, other, calls = held_out_session(engine), held_out_session(engine), []
    s.on_step(lambda view: calls.append(view.step), every=3)
    for each in (s, other):
        each.advance(7)
        each.numbers("affine 0")
        each.explain(0)
        each.advance(5)
    assert bits(s) == bits(other)
    assert calls == [3, 6, 9, 12]


def make(*sizes: int, **given: Any) -> sv.Session:
    return colours(None, sizes or (3, 8, 3), **{"optimizer": sv.Adam(0.05), **given})


def three() -> list[sv.Session]:
    return [make(3, 3), make(engine="cpu"), make(3, 4, 4, 3, engine="cpu", optimizer=sv.SGD(0.5))]


@pytest.fixture
def sessions() -> list[sv.Session]:
    return three()


def test_all_go_on_and_back_by_the_same_steps(sessions: list[sv.Session]) -> None:
    clock = advanced(SharedClock(sessions), 40)
    assert {session.step_index for session in sessions} == {40} and clock.step_index == 40
    clock.back(15)
    assert {session.step_index for session in sessions} == {25}
    clock.seek(7)
    assert {session.clock.place for session in sessions} == {(7, 0)}
    clock.seek(50)
    assert {session.step_index for session in sessions} == {50}
    clock.advance(1, "epoch")
    assert {session.step_index % 8 for session in sessions} == {0}
    clock.back(100)
    assert {session.step_index for session in sessions} == {0}


def test_who_is_ahead_waits_and_going_back_who_is_behind() -> None:
    first, second, third = three()
    clock = advanced(SharedClock([first, second, third]), 5)
    first.advance(3)
    second.advance(1)
    steps = []
    for _ in range(4):
        clock.advance(1)
        steps.append((first.step_index, second.step_index, third.step_index))
    assert steps == [(8, 6, 6), (8, 7, 7), (8, 8, 8), (9, 9, 9)]
    first.back(2)
    steps = []
    for _ in range(3):
        clock.back(1)
        steps.append((first.step_index, second.step_index, third.step_index))
    assert steps == [(7, 8, 8), (7, 7, 7), (6, 6, 6)]


def test_by_operations_all_are_in_the_same_phase(sessions: list[sv.Session]) -> None:
    clock = advanced(SharedClock(sessions), 2)
    seen, most = [], len(clock.operations)
    assert most == max(len(session.operations) for session in sessions)  # 3-4-4-3 has most of all
    while clock.step_index == 2:
        phases = {session.phase for session in sessions if session.step_index == 2}
        seen.append(min(map(place_of, sessions)))
        clock.advance(1, "operation")
        assert len(phases) <= 2
    assert len(seen) == most  # the one that has most of a phase never waits
    assert {session.clock.place for session in sessions} == {(3, 0)}
    clock.advance(2, "phase")
    assert {session.phase for session in sessions} == {"loss"}
    for _ in range(most + 2):
        clock.back(1, "operation")
    assert {session.step_index for session in sessions} <= {1, 2}
    clock.seek(0)
    clock.back(3, "operation")
    clock.back(1, "phase")
    assert {session.clock.place for session in sessions} == {(0, 0)}


def test_a_step_begun_is_ended_and_going_back_left(sessions: list[sv.Session]) -> None:
    clock = advanced(SharedClock(sessions), 4)
    clock.advance(3, "operation")
    clock.advance(1)
    assert {session.clock.place for session in sessions} == {(5, 0)}
    clock.advance(3, "operation")
    clock.back(1)
    assert {session.clock.place for session in sessions} == {(5, 0)}


def test_a_reset_begins_a_branch_of_each(sessions: list[sv.Session]) -> None:
    clock = advanced(SharedClock(sessions), 5)
    clock.reset()
    assert [len(session.branches) for session in sessions] == [2, 2, 2]
    assert clock.step_index == 0


@pytest.mark.parametrize(("speed", "unit"), [(None, "step"), (400.0, "step"), (300.0, "operation")])
def test_in_the_background_all_stand_at_the_same_step(speed: float | None, unit: Any) -> None:
    together, alone = three(), three()
    clock = SharedClock(together)
    clock.play(speed, unit)
    assert clock.playing and all(session.playing for session in together)
    until(lambda: clock.step_index >= 12)
    with clock.still(5.0) as still:
        assert still
        assert len({session.step_index for session in together}) == 1 or unit == "operation"
    clock.pause()
    assert not clock.playing and not any(session.playing for session in together)
    for session, twin in zip(together, alone, strict=True):
        twin.advance(session.step_index)
        twin.advance(session.clock.operation, "operation")
        assert (session.clock, bits(session)) == (twin.clock, bits(twin))


def test_in_the_background_the_samples_stay(sessions: list[sv.Session]) -> None:
    clock = advanced(SharedClock(sessions), 5)
    clock.play()
    until(lambda: clock.step_index > 50)
    clock.pause()
    assert [each.timeline.here.seen for each in sessions] == [4, 4, 4]
    clock.advance(1)
    assert [each.timeline.here.seen for each in sessions] == [clock.step_index - 1] * 3


def test_one_that_plays_by_itself_is_taken_over_and_a_pause_of_one_is_one_of_all(
    sessions: list[sv.Session],
) -> None:
    sessions[0].play(50.0)
    clock = SharedClock(sessions)
    clock.play()
    until(lambda: clock.step_index > 20)
    sessions[1].pause()
    assert not clock.playing and not sessions[0].playing
    steps = {session.step_index for session in sessions}
    time.sleep(0.05)
    assert {session.step_index for session in sessions} == steps and len(steps) == 1


def test_a_clock_that_nobody_has_any_more_stops(sessions: list[sv.Session]) -> None:
    SharedClock(sessions).play()
    until(lambda: not any(session.playing for session in sessions))


def test_a_session_that_cannot_go_on_is_left_out_until_it_is_moved() -> None:
    wild, calm = make(3, 3), make()
    clock = advanced(SharedClock([wild, calm]), 3)
    wild.network.bank.value[0] = np.inf
    refused(GradientError).by(clock.advance, 2)
    assert calm.step_index == 5 and list(clock.halted) == [wild]
    clock.advance(4)
    assert calm.step_index == 9 and wild.step_index == 3
    wild.back(1)
    wild.edit(0, 0.5)
    assert clock.going == [wild, calm] and not clock.halted
    clock.advance(10)
    assert calm.step_index == wild.step_index == 13


def test_an_error_ends_the_play_and_is_raised_once() -> None:
    wild, calm = make(3, 3), make()
    clock = SharedClock([wild, calm])
    wild.network.bank.value[0] = np.inf
    clock.play()
    until(lambda: not clock.playing)
    refused(GradientError).by(clock.pause)
    clock.pause()
    clock.play()
    until(lambda: calm.step_index > 5)
    clock.pause()
    assert wild.step_index == 0


def test_a_callback_that_stops_a_session_pauses_all_and_the_others_can_go_on() -> None:
    first, second = make(3, 3), make()
    first.on_step(lambda view: view.stop("enough") if view.step == 6 else None)
    clock = SharedClock([first, second])
    clock.play()
    until(lambda: not clock.playing)
    clock.pause()
    assert first.step_index == 6 and second.step_index >= 6
    assert clock.halted[first][1]
    clock.advance(5)
    assert first.step_index == 6 and second.step_index >= 11


def test_bad_numbers_and_units_are_sentences() -> None:
    clock = SharedClock(three())
    refused(InputError, "-1").by(clock.advance, -1)
    refused(InputError, "'steps'").by(clock.advance, 1, "steps")
    refused(InputError, "8 samples").by(clock.back, 1, "sample")
    refused(InputError, "-2").by(clock.seek, -2)
