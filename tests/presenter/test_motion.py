"""Motion: which operation is highlighted, and how far, while a user goes by operations."""

from collections.abc import Callable

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.presenter.channels import Source
from scalarviz.presenter.live_values import LiveValues
from scalarviz.presenter.motion import LONGEST, SHORTEST, Motion, between
from scalarviz.view.scene.layout import LAYOUTS


class Viewer:
    """A reading and its motion, looked at now and then."""

    def __init__(self, session: sv.Session, *, cuts: bool = False) -> None:
        self.session = session
        self.reading = LiveValues(session)
        self.motion = Motion(self.reading, cuts=cuts)
        self.plates = LAYOUTS["crossbar"](self.reading.program, lambda i: ("", "")).plates

    def look(self, now: float) -> bool:
        """Whether something moves."""
        moving = self.motion.tick(now)
        self.reading.refresh()
        self.motion.follow(now)
        return moving

    def shown(self) -> tuple[str, float]:
        moment, part = self.motion.shown()
        return (moment.name if moment else ""), round(part, 6)

    def mixed(self, color: str = "value", size: str = "gradient"):
        reading = self.reading
        source = Source(reading.numbers, reading.last.value, reading.program, reading.way)
        return self.motion.mixed(color, size, source, self.plates)


@pytest.fixture
def viewer(colours: sv.Session) -> Viewer:
    colours.advance(2)
    return Viewer(colours)


def test_at_rest_nothing_is_shown(viewer: Viewer) -> None:
    assert not viewer.look(0.0) and viewer.shown() == ("", 1.0)
    assert not viewer.motion.walking and viewer.motion.done == 0
    mixed = viewer.mixed()
    np.testing.assert_array_equal(mixed.colors, viewer.session.network.bank.value)
    np.testing.assert_array_equal(mixed.sizes, viewer.session.network.bank.grad)
    assert mixed.before is None and mixed.size_scales is None and mixed.size_name == ""


def test_an_operation_is_shown_from_its_beginning_to_its_end(viewer: Viewer) -> None:
    names = [moment.name for moment in viewer.reading.moments]
    for number, name in enumerate(names):
        viewer.session.advance(1, "operation")
        start = 10.0 * (number + 1)
        viewer.look(start)
        assert viewer.shown() == (name, 0.0) and viewer.motion.walking
        assert viewer.look(start + 0.3 * LONGEST) and viewer.shown() == (name, 0.3)
        assert not viewer.look(start + LONGEST + 1e-9) and viewer.shown() == (name, 1.0)
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
        assert viewer.motion.done == (number + 1) % len(names) and viewer.reading.held
        viewer.look(start + 0.3 * LONGEST)
        assert viewer.shown() == (name, 0.7)
        assert not viewer.look(start + LONGEST + 1e-9) and not viewer.reading.held
        assert viewer.shown() == (names[number - 1] if number else "", 1.0)
        assert viewer.motion.done == number


@pytest.mark.parametrize(
    "move",
    [
        lambda s: s.advance(1),
        lambda s: s.advance(2, "operation"),
        lambda s: s.back(2),
        lambda s: s.seek(0),
        lambda s: (s.branch(), s.advance(1, "operation")),
    ],
)
def test_a_leap_is_not_shown_as_an_operation(
    viewer: Viewer, move: Callable[[sv.Session], None]
) -> None:
    viewer.session.advance(1, "operation")
    viewer.look(0.0)
    assert viewer.motion.walking
    move(viewer.session)
    viewer.look(0.1)
    assert not viewer.motion.walking and viewer.shown() == ("", 1.0)


def test_who_goes_quickly_sees_short_operations(viewer: Viewer) -> None:
    now = 0.0
    for pause, seconds, hasty in ((9.0, LONGEST, False), (0.5, 0.4, True), (0.01, SHORTEST, True)):
        now += pause
        viewer.session.advance(1, "operation")
        viewer.look(now)
        assert viewer.motion.hasty == hasty
        viewer.motion.tick(now + 0.5 * seconds)
        assert viewer.shown()[1] == pytest.approx(0.5)


def test_with_reduced_motion_all_is_done_at_once(colours: sv.Session) -> None:
    viewer = Viewer(colours, cuts=True)
    for name in ("zero_grad", "affine 0", "tanh 0"):
        colours.advance(1, "operation")
        assert not viewer.look(1.0) and viewer.shown() == (name, 1.0)
    colours.back(1, "operation")
    assert not viewer.look(2.0) and viewer.shown() == ("affine 0", 1.0)
    assert not viewer.reading.held and viewer.motion.done == 2


def test_cubes_go_from_the_numbers_before_to_those_after(viewer: Viewer) -> None:
    bank = viewer.session.network.bank
    count = len(viewer.reading.moments)
    viewer.session.advance(count - 1, "operation")
    viewer.look(0.0)
    old, grad = bank.value.copy(), bank.grad.copy()
    viewer.session.advance(1, "operation")
    new = bank.value.copy()
    viewer.look(10.0)
    for part in (0.0, 0.5, 1.0):
        viewer.look(10.0 + (LONGEST + 1e-9) * part)
        mixed = viewer.mixed()
        np.testing.assert_allclose(mixed.colors, old + part * (new - old), atol=1e-7)
        np.testing.assert_allclose(mixed.sizes, new - old, atol=1e-8)
        np.testing.assert_array_equal(mixed.before, old)
        assert mixed.size_name == "change in this step"
        assert (mixed.size_scales >= np.abs(new - old).max()).all()
    viewer.session.advance(1, "operation")  # zero_grad
    viewer.look(20.0)
    grad = np.maximum(np.abs(grad), 1e-4 * np.abs(grad).max())
    np.testing.assert_allclose(viewer.mixed().sizes, grad, rtol=1e-5)
    viewer.look(22.0)
    assert not viewer.mixed().sizes.any() and viewer.mixed().before is None


def test_what_changes_no_numbers_changes_no_cubes(viewer: Viewer) -> None:
    viewer.session.advance(1, "operation")
    for number in range(3):
        viewer.session.advance(1, "operation")
        viewer.look(10.0 * number)
        mixed = viewer.mixed()
        np.testing.assert_array_equal(mixed.colors, viewer.session.network.bank.value)
        assert mixed.before is None


def test_sizes_on_the_way_are_seen_all_the_way() -> None:
    first, last = np.array([0.0, 1.0, -1e-2, 1e-9]), np.array([1.0, 0.0, 1e-2, 1e-3])
    np.testing.assert_allclose(between(first, last, 0.5), [1e-2, 1e-2, 1e-2, 10**-3.5])
    np.testing.assert_allclose(between(first, last, 0.0), [1e-4, 1.0, 1e-2, 1e-4])
    assert between(first, last, 1.0) is last
    nothing = np.zeros(3)
    assert between(nothing, nothing, 0.5) is nothing
    strange = np.array([np.nan, np.inf, 1.0])
    found = between(strange, np.ones(3), 0.5)
    assert not np.isfinite(found[:2]).any() and found[2] == pytest.approx(1.0)
