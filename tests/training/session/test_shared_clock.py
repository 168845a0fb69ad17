"""Several sessions on one clock: bit for bit as alone, waiting for each other, and played."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.errors import GradientError, InputError
from scalarviz.training.session.shared_clock import SharedClock, place_of
from tests.sessions import advanced
from tests.waiting import until
from tests.wording import refused


def make(sizes: Sequence[int] = (3, 8, 3), engine: str = "python", **given: Any) -> sv.Session:
    network = sv.Network([*sizes], "tanh", "sigmoid", seed=0)
    optimizer = given.pop("optimizer", None) or sv.Adam(0.05)
    given = {"batch": 8, **given}
    return sv.Session(network, data.Rgb(levels=4), "mse", optimizer, engine=engine, **given)


def three() -> list[sv.Session]:
    return [make((3, 3)), make(engine="cpu"), make((3, 4, 4, 3), "cpu", optimizer=sv.SGD(0.5))]


def bits(session: sv.Session) -> tuple[Any, ...]:
    bank = session.network.bank
    blocks = [block.tobytes() for block in bank.blocks.values()]
    return session.clock, bank.value.tobytes(), bank.grad.tobytes(), *blocks


@pytest.mark.parametrize("unit", ["step", "epoch", "phase", "operation"])
def test_together_gives_the_same_bits_as_alone(unit: Any) -> None:
    together, alone = three(), three()
    clock = SharedClock(together)
    for count in (1, 3, 17):
        clock.advance(count, unit)
    clock.back(2, unit)
    clock.advance(2, unit)
    for session, twin in zip(together, alone, strict=True):
        twin.advance(session.step_index)
        twin.advance(session.clock.operation, "operation")
        assert bits(session) == bits(twin)
        assert session.losses.tobytes() == twin.losses.tobytes()


def test_all_go_on_and_back_by_the_same_steps() -> None:
    sessions = three()
    clock = advanced(SharedClock(sessions), 40)
    assert {session.step_index for session in sessions} == {40} and clock.step_index == 40
    clock.back(15)
    assert {session.step_index for session in sessions} == {25} and clock.end == 40
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


def test_by_operations_all_are_in_the_same_phase() -> None:
    sessions = three()
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


def test_a_step_begun_is_ended_and_going_back_left() -> None:
    sessions = three()
    clock = advanced(SharedClock(sessions), 4)
    clock.advance(3, "operation")
    clock.advance(1)
    assert {session.clock.place for session in sessions} == {(5, 0)}
    clock.advance(3, "operation")
    clock.back(1)
    assert {session.clock.place for session in sessions} == {(5, 0)}


def test_a_reset_begins_a_branch_of_each() -> None:
    sessions = three()
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
        steps = {session.step_index for session in together}
        assert len(steps) == 1 or unit == "operation"
    clock.pause()
    assert not clock.playing and not any(session.playing for session in together)
    for session, twin in zip(together, alone, strict=True):
        twin.advance(session.step_index)
        twin.advance(session.clock.operation, "operation")
        assert bits(session) == bits(twin)


def test_in_the_background_the_samples_stay() -> None:
    sessions = three()
    clock = SharedClock(sessions)
    clock.advance(5)
    clock.play()
    until(lambda: clock.step_index > 50)
    clock.pause()
    assert [each.timeline.here.seen for each in sessions] == [4, 4, 4]
    clock.advance(1)
    assert [each.timeline.here.seen for each in sessions] == [clock.step_index - 1] * 3


def test_one_that_plays_by_itself_is_taken_over_and_a_pause_of_one_is_one_of_all() -> None:
    sessions = three()
    sessions[0].play(50.0)
    clock = SharedClock(sessions)
    clock.play()
    until(lambda: clock.step_index > 20)
    sessions[1].pause()
    assert not clock.playing and not sessions[0].playing
    steps = {session.step_index for session in sessions}
    time.sleep(0.05)
    assert {session.step_index for session in sessions} == steps and len(steps) == 1


def test_a_clock_that_nobody_has_any_more_stops() -> None:
    sessions = three()
    SharedClock(sessions).play()
    until(lambda: not any(session.playing for session in sessions))


def test_a_session_that_cannot_go_on_is_left_out_until_it_is_moved() -> None:
    wild, calm = make((3, 3)), make()
    clock = advanced(SharedClock([wild, calm]), 3)
    wild.network.bank.value[0] = np.inf
    with pytest.raises(GradientError):
        clock.advance(2)
    assert calm.step_index == 5 and list(clock.halted) == [wild]
    clock.advance(4)
    assert calm.step_index == 9 and wild.step_index == 3
    wild.back(1)
    wild.edit(0, 0.5)
    assert clock.going == [wild, calm] and not clock.halted
    clock.advance(10)
    assert calm.step_index == wild.step_index == 13


def test_an_error_ends_the_play_and_is_raised_once() -> None:
    wild, calm = make((3, 3)), make()
    clock = SharedClock([wild, calm])
    wild.network.bank.value[0] = np.inf
    clock.play()
    until(lambda: not clock.playing)
    with pytest.raises(GradientError):
        clock.pause()
    clock.pause()
    clock.play()
    until(lambda: calm.step_index > 5)
    clock.pause()
    assert wild.step_index == 0


def test_a_callback_that_stops_a_session_pauses_all_and_the_others_can_go_on() -> None:
    first, second = make((3, 3)), make()
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
    with refused(InputError, "-1"):
        clock.advance(-1)
    with refused(InputError, "'steps'"):
        clock.advance(1, "steps")  # type: ignore[arg-type]  # on purpose
    with refused(InputError, "8 samples"):
        clock.back(1, "sample")
    with refused(InputError, "-2"):
        clock.seek(-2)
