"""The pace of a training: when a step is due, and how large a portion is."""

import numpy as np
import pytest

from scalarviz.errors import InputError
from scalarviz.pictures.export.rate import FRAME, PORTION, Pace, Portions, steps_due
from tests.wording import refused


def test_it_opens_slowly_and_then_doubles() -> None:
    assert steps_due(5.0, None, 10.0) == 50.0
    rates = [steps_due(t + 0.01, None, 10.0) - steps_due(t, None, 10.0) for t in (6.0, 9.0, 12.0)]
    assert np.divide(rates, 0.01) == pytest.approx([10.0, 20.0, 40.0], rel=0.01)


def test_a_speed_that_is_asked_for_is_kept() -> None:
    assert steps_due(3.0, 20.0, None) == 60.0
    assert steps_due(0.0, 0.0, None) == np.inf


def run(pace: Pace, clock, seconds: float, last: int = 10**9) -> int:
    """Go on for some seconds, twenty times a second: how many steps are done then."""
    end = clock.now + seconds
    while clock.now < end - 1e-9:
        began = clock.now
        pace.measure()
        pace.take(began + FRAME, last)
        clock.now = max(clock.now, began + FRAME)
    return pace.session.step_index


def test_steps_come_at_the_opening_speed_and_none_after_the_last(fake, clock) -> None:
    pace = Pace(fake(speed=10.0))
    assert run(pace, clock, 3.0) == pytest.approx(30, abs=1)
    assert pace.rate == pytest.approx(10.0, rel=0.2)
    assert run(pace, clock, 3.0, last=40) == 40


def test_so_many_steps_a_picture(fake, clock) -> None:
    assert run(Pace(fake(frame=7)), clock, 1.0) == 7 * 20


def test_a_pause_is_no_part_of_the_opening_and_nothing_is_caught_up(fake, clock) -> None:
    pace = Pace(fake(speed=10.0))
    run(pace, clock, 2.0)
    pace.stop()
    clock.wait(100.0)
    pace.session.advance(5)
    pace.start()
    assert run(pace, clock, 2.0) == pytest.approx(45, abs=2)
    assert pace.note == "10 steps a second at first"
    run(pace, clock, 3.0)
    assert pace.note == "twice as fast every 3 seconds"


@pytest.mark.parametrize("seconds", [1e-6, 1e-3, 0.5])
def test_a_portion_takes_about_as_long_whatever_a_step_costs(fake, clock, seconds: float) -> None:
    show = fake(seconds)
    portions = Portions(show.session)
    for _ in range(30):
        portions.take(np.inf)
    start = clock.now
    portions.take(np.inf)
    assert max(PORTION / 2, seconds) <= clock.now - start <= max(2 * PORTION, seconds) * 1.01


def test_a_portion_becomes_smaller_where_steps_become_slower(fake, clock) -> None:
    show = fake(1e-6)
    portions = Portions(show.session)
    for _ in range(30):
        portions.take(np.inf)
    show.session.seconds = 1e-3
    for _ in range(30):
        portions.take(np.inf)
    assert portions.size <= 20


def test_the_note_says_why_it_is_so_fast(fake, clock) -> None:
    assert Pace(fake()).note == "as fast as it goes"
    assert Pace(fake(), 5.0).note == "5 steps a second, as asked"
    assert Pace(fake(frame=128)).note == "128 steps a picture"
    with refused(InputError, "-3.0"):
        Pace(fake(), -3.0)
