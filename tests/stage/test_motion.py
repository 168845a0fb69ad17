"""Motion: which operation is highlighted, how far, and which gradients are shown as arrows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.scene.pace import ARRIVES, BEHIND, LONGEST, SHORTEST, longest, moved
from scalarviz.stage.channels import ChannelSource
from scalarviz.stage.live_values import LiveValues
from scalarviz.stage.motion import Motion, passed, pushes
from tests.stage.conftest import go


class Viewer:
    """A reading and its motion, looked at now and then."""

    def __init__(self, session: sv.Session, *, cuts: bool = False) -> None:
        self.session = session
        self.reading = LiveValues(session)
        self.motion = Motion(self.reading, cuts=cuts)

    def look(self, now: float) -> bool:
        """Whether something moves."""
        moving = self.motion.tick(now)
        self.reading.refresh()
        self.motion.follow(now)
        return moving

    def shown(self) -> tuple[str, float]:
        moment, part = self.motion.shown()
        return (moment.name if moment else ""), round(part, 6)

    def seconds(self, number: int) -> float:
        """The seconds for an operation of a step, from 0."""
        return longest(self.reading.program, self.reading.moments[number])

    def mixed(self, color: str = "value", size: str = "gradient"):
        reading = self.reading
        source = ChannelSource(reading.numbers, reading.last.value, reading.program, reading.way)
        return self.motion.mixed(color, size, source)


@pytest.fixture
def viewer(colours: sv.Session) -> Viewer:
    colours.advance(2)
    return Viewer(colours)


def test_an_operation_is_shown_from_its_beginning_to_its_end(viewer: Viewer) -> None:
    names = [moment.name for moment in viewer.reading.moments]
    for number, name in enumerate(names):
        viewer.session.advance(1, "operation")
        start = 10.0 * (number + 1)
        viewer.look(start)
        assert viewer.shown() == (name, 0.0) and viewer.motion.walking
        seconds = viewer.seconds(number)
        assert viewer.look(start + 0.3 * seconds) and viewer.shown() == (name, 0.3)
        assert not viewer.look(start + seconds + 1e-9) and viewer.shown() == (name, 1.0)
        assert viewer.motion.done == (number + 1) % len(names)


def test_an_operation_that_is_undone_runs_backward_and_leaves_the_one_before(
    viewer: Viewer,
) -> None:
    names = [moment.name for moment in viewer.reading.moments]
    viewer.session.advance(len(names), "operation")
    viewer.look(1.0)
    for number, name in reversed(list(enumerate(names))):
        viewer.session.back(1, "operation")
        start = 1000.0 - 10.0 * number
        viewer.look(start)
        assert viewer.shown() == (name, 1.0)
        assert viewer.motion.done == (number + 1) % len(names)
        assert (viewer.reading.held is not None) == (name in ("zero_grad", "step"))
        seconds = viewer.seconds(number)
        viewer.look(start + 0.3 * seconds)
        assert viewer.shown() == (name, 0.7)
        assert not viewer.look(start + seconds + 1e-9) and viewer.reading.held is None
        assert viewer.shown() == (names[number - 1] if number else "", 1.0)
        assert viewer.motion.done == number


@pytest.mark.parametrize(
    "moves",
    [
        [("advance", 1)],
        [("back", 2)],
        [("seek", 0)],
        [("branch",), ("advance", 1, "operation")],
    ],
)
def test_a_leap_is_not_shown_as_an_operation(viewer: Viewer, moves: Any) -> None:
    viewer.session.advance(1, "operation")
    viewer.look(0.0)
    assert viewer.motion.walking
    go(viewer.session, *moves)
    viewer.look(0.1)
    assert not viewer.motion.walking and viewer.shown() == ("", 1.0)


def test_who_goes_quickly_sees_short_operations_and_a_slow_step_gives_seconds(
    viewer: Viewer,
) -> None:
    motion, now = viewer.motion, 0.0
    cases = (9.0, 0.0, LONGEST), (0.5, 0.0, 0.4), (0.0, 0.0, SHORTEST), (9.0, 0.5, 0.475)
    for pause, given, seconds in cases:
        now, motion.given = now + pause, given
        viewer.session.advance(1, "operation")
        viewer.look(now)
        assert motion.seconds == pytest.approx(seconds) and motion.hasty == (seconds < 0.45)
    assert viewer.shown()[1] == 0.0
    motion.finish()
    assert viewer.shown()[1] == 1.0


FRAME = 1.0 / 60.0


def watch(
    viewer: Viewer, start: float, seconds: float, frame: float = FRAME
) -> list[tuple[int, float]]:
    """The operations and parts seen from a time on, those of consecutive pictures."""
    seen = []
    for i in range(round(seconds / frame)):
        viewer.look(start + i * frame)
        seen.append((viewer.motion.current, viewer.shown()[1]))
    return seen


def runs(seen: list[tuple[int, float]]) -> list[int]:
    """The operations in the order in which they were shown; each may have many pictures."""
    order: list[int] = []
    for number, _ in seen:
        if not order or order[-1] != number:
            order.append(number)
    return order


def falls(seen: list[tuple[int, float]]) -> int:
    """How often the part of an operation was smaller than in the picture before."""
    return sum(a[0] == b[0] and b[1] < a[1] for a, b in pairwise(seen))


@pytest.mark.some("1.0", "12.0", "36.0")
@pytest.mark.parametrize("pace", [0.25, 1.0, 3.0, 12.0, 36.0])
def test_each_operation_is_shown_once_in_order_whatever_the_speed(
    viewer: Viewer, pace: float
) -> None:
    count, seen, now = len(viewer.reading.moments), [], 100.0
    for i in range(2 * count):
        viewer.session.advance(1, "operation")
        until = 100.0 + (i + 1) / pace
        while now < until:
            viewer.look(now)
            seen.append((viewer.motion.current, viewer.shown()[1]))
            unseen = len(runs(seen))
            assert unseen > i or now - (100.0 + unseen / pace) <= BEHIND + FRAME
            now += FRAME
    seen += watch(viewer, now, 3.0)
    assert runs(seen) == [*range(1, count + 1)] * 2
    assert not falls(seen) and seen[-1] == (count, 1.0)


def test_light_catches_up_with_a_picture_that_took_two_seconds(viewer: Viewer) -> None:
    count = len(viewer.reading.moments)
    viewer.session.advance(2, "operation")
    seen = watch(viewer, 10.0, 1.0)
    viewer.session.advance(3, "operation")
    viewer.look(13.0)
    assert viewer.motion.current == 3  # and not the last one at once
    seen += watch(viewer, 13.0, 1.0)
    assert runs(seen) == [1, 2, 3, 4, 5] and not falls(seen)
    assert [number for number, _ in seen[60:]].index(5) * FRAME < 2 * BEHIND
    viewer.session.advance(3 * count - 1, "operation")  # three steps on, in one picture
    seen = watch(viewer, 16.0, 1.0)
    assert runs(seen) == [1, 2, 3, 4]  # of the step that is under way


def test_whoever_turns_round_sees_both_ways(viewer: Viewer) -> None:
    viewer.session.advance(3, "operation")
    watch(viewer, 0.0, 2.0)
    viewer.session.advance(1, "operation")
    seen = watch(viewer, 10.0, 0.3)
    viewer.session.back(1, "operation")
    seen += watch(viewer, 10.3, 3.0)
    assert runs(seen) == [4, 3]
    parts = [part for number, part in seen if number == 4]
    top = parts.index(max(parts))
    assert parts[: top + 1] == sorted(parts[: top + 1])
    assert parts[top:] == sorted(parts[top:], reverse=True)


def test_results_are_shown_when_the_light_has_arrived(viewer: Viewer) -> None:
    session, names = viewer.session, [moment.name for moment in viewer.reading.moments]
    comes = (0.1, False), (ARRIVES - 0.01, False), (ARRIVES + 0.01, True)
    goes = (0.1, True), (1.1 - ARRIVES, False)
    for name, buffer, kind in (
        ("affine 0", "affine 0", "values"),
        ("tanh 0", "tanh 0", "values"),
        ("delta 1", "affine 1", "flows"),
    ):
        session.seek(2)
        session.advance(names.index(name), "operation")
        watch(viewer, 0.0, 3.0)
        for later, move, parts in ((10.0, session.advance, comes), (14.0, session.back, goes)):
            start = 10.0 * names.index(name) + later
            move(1, "operation")
            viewer.look(start)
            for part, there in parts:
                viewer.look(start + viewer.seconds(names.index(name)) * part)
                buffers = viewer.reading.buffers(viewer.motion.done)
                assert (buffer in getattr(buffers, kind)) == there, (name, part)


def test_no_later_number_is_shown_with_an_earlier_light(viewer: Viewer) -> None:
    """Numbers of the bank and of the sample are those of the operation that is lit."""
    session, count = viewer.session, len(viewer.reading.moments)
    known = []  # values and gradients after each operation
    for _ in range(2 * count):
        session.advance(1, "operation")
        bank = session.network.bank
        known.append((bank.value.copy(), bank.grad.copy()))
    session.back(2 * count, "operation")
    viewer.look(0.0)
    viewer.motion.stop()
    done, now = 0, 10.0
    for portion in (3, 5, 1, 2, 4, 3, 2):  # across the end of the step, as a slow picture does
        session.advance(portion, "operation")
        for _ in range(60):
            viewer.look(now)
            now += FRAME
            moment, part = viewer.motion.shown()
            if moment is None:
                continue
            if done % count + 1 == viewer.motion.current:
                done += 1
            place = done - 1
            colors, *_ = viewer.mixed()
            old = known[place - 1][0] if place else known[0][0]
            if moment.kind == "step":
                part = moved(part, viewer.motion.seconds)
            allowed = old + part * (known[place][0] - old)
            np.testing.assert_allclose(colors, allowed, atol=1e-6)
            if moment.kind == "weight gradient" and part >= 1.0:
                rows = viewer.reading.program.operations[moment.operation].parameters
                grad = viewer.motion.ends[1].grad
                np.testing.assert_array_equal(grad[rows], known[place][1][rows])
    assert done == 20 and not viewer.reading.held


def test_of_a_way_over_many_steps_the_last_one_is_shown() -> None:
    new, last, old = (False, False), (True, False), (True, True)
    assert passed((2, 3), (2, 6), 12).places == [(2, 4, new), (2, 5, new), (2, 6, new)]
    places = [(2, 11, old), (2, 12, last), (3, 1, new), (3, 2, new)]
    assert passed((2, 10), (3, 2), 12).places == places
    assert passed((3, 0), (2, 10), 12).places == [(2, 12, (False, True)), (2, 11, new)]
    assert [number for _, number, _ in passed((3, 2), (2, 10), 12).places] == [2, 1, 12, 11]
    far = passed((2, 3), (6, 3), 12)
    assert far.skips and far.places == [(6, 1, new), (6, 2, new), (6, 3, new)]
    assert not passed((2, 3), (6, 0), 12).places
    assert [number for _, number, _ in passed((6, 3), (2, 9), 12).places] == [11, 10]


def test_cubes_go_from_the_numbers_before_to_those_after(viewer: Viewer) -> None:
    bank = viewer.session.network.bank
    viewer.session.advance(len(viewer.reading.moments) - 1, "operation")
    viewer.look(0.0)
    old, grad = bank.value.copy(), bank.grad.copy()
    viewer.session.advance(1, "operation")
    new = bank.value.copy()
    viewer.look(10.0)
    for part in (0.0, 0.5, 1.0):
        viewer.look(10.0 + (LONGEST + 1e-9) * part)
        colors, sizes, before = viewer.mixed("value", "value")
        np.testing.assert_allclose(colors, old + part * (new - old), atol=1e-7)
        assert sizes is colors
        np.testing.assert_array_equal(before, old)
        assert viewer.mixed("value", "gradient")[2] is None
    viewer.session.advance(1, "operation")  # zero_grad
    viewer.look(20.0)
    np.testing.assert_allclose(viewer.mixed()[1], grad, rtol=1e-5)
    viewer.look(22.0)
    assert not viewer.mixed()[1].any() and viewer.mixed()[2] is None


GRAD = np.arange(1.0, 60.0)


def of(
    session: sv.Session, name: str, part: float = 1.0, frozen: Sequence[int] = (), grad: Any = GRAD
):
    program = session.network.program
    place = [moment.name for moment in program.moments].index(name) + 1
    mask = np.isin(np.arange(len(GRAD)), frozen)
    return pushes(program, program.moments, place, part, 2.0 * grad, grad, mask)


def test_only_gradients_that_are_computed_push(colours: sv.Session) -> None:
    for name in ("affine 0", "sigmoid 1", "loss", "delta 1"):
        assert of(colours, name) is None
    found = of(colours, "weight gradient 1")
    rows = colours.network.program.operations[2].parameters
    last = np.arange(rows.start, rows.stop)
    np.testing.assert_array_equal(np.flatnonzero(np.isfinite(found)), last)
    np.testing.assert_array_equal(found[last], GRAD[last])
    np.testing.assert_array_equal(of(colours, "input gradient 1"), found)
    np.testing.assert_array_equal(of(colours, "weight gradient 0"), GRAD)


def test_they_grow_when_light_meets_at_the_cubes_and_go_into_the_step(colours: sv.Session) -> None:
    assert of(colours, "weight gradient 1", 0.5) is None
    np.testing.assert_allclose(
        of(colours, "weight gradient 1", 0.75), 0.5 * of(colours, "weight gradient 1")
    )
    half = of(colours, "weight gradient 0", 0.75)
    assert half[0] == 0.5 * GRAD[0] and half[-1] == GRAD[-1]
    np.testing.assert_allclose(of(colours, "step", 0.25), 0.5 * GRAD)
    assert of(colours, "step", 0.5) is None and of(colours, "step") is None


def test_old_gradients_shrink_to_nothing_and_frozen_weights_are_not_pushed(
    colours: sv.Session,
) -> None:
    np.testing.assert_allclose(of(colours, "zero_grad", 0.25), 1.5 * GRAD)
    assert of(colours, "zero_grad") is None
    found = of(colours, "weight gradient 0", frozen=[3, 40])
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(found)), [3, 40])


@pytest.mark.parametrize("name", ["zero_grad", "weight gradient 0", "step"])
def test_infinite_gradients_do_not_disturb_the_others(name: str, colours: sv.Session) -> None:
    infinite = np.where(GRAD < 3.0, -np.inf, GRAD)
    for part in (0.0, 0.25, 0.75, 1.0):
        found, usual = (of(colours, name, part, grad=grad) for grad in (infinite, GRAD))
        assert (found is None) == (usual is None)
        if found is not None:
            np.testing.assert_array_equal(found[2:], usual[2:])
