"""Caption, strip and light speak of one operation: of the last one, unless the light catches up."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.core.program import Moment
from scalarviz.stage.stage import Stage
from scalarviz.training.session.caption import Caption

COUNT = 12  # operations of a step of colours


def told(session: sv.Session, steps: int) -> dict[tuple[int, int], Caption]:
    """The caption after each operation, by the clock, as it is without any picture."""
    session, found = session.copy(), {}
    for _ in range(steps * COUNT):
        session.advance(1, "operation")
        found[session.clock.place] = session.caption()
    return found


def seen(stage: Stage) -> tuple[Moment | None, int, str]:
    """The operation that is lit, the cell of the strip, and the caption's sentence."""
    data = stage.frame_data()
    assert data.words.caption is not None
    return data.moment, data.current, data.words.caption.title


@pytest.mark.parametrize(
    "move",
    [
        lambda s: s.advance(5, "operation"),
        lambda s: s.advance(7, "operation"),
        lambda s: s.back(4, "operation"),
        lambda s: (s.advance(6, "operation"), s.back(1, "operation")),
    ],
)
def test_while_the_light_catches_up_the_caption_is_of_the_operation_that_is_lit(
    colours: sv.Session, move: Callable[[sv.Session], object]
) -> None:
    colours.advance(2)
    captions = told(colours, 3)
    colours.advance(8, "operation")
    stage = Stage(colours)
    stage.tick(0.0), stage.frame_data()
    move(colours)
    lit, step, before = [], 2, 8
    for now in np.arange(1.0, 8.0, 0.1):
        stage.tick(float(now))
        moment, current, title = seen(stage)
        assert moment == stage.reading.moments[current - 1]
        step += (current == 1 and before == COUNT) - (current == COUNT and before == 1)
        place = (step + current // COUNT, current % COUNT)
        assert title == captions[place].title
        before = current
        lit.append(current)
    assert len(set(lit)) > 2 and before == colours.clock.operation


@pytest.mark.parametrize("unit", ["operation", "phase"])
def test_a_new_picture_is_of_the_last_operation_of_a_step_too(
    colours: sv.Session, unit: Any
) -> None:
    colours.advance(2)
    following = Stage(colours, reduced_motion=True)
    following.frame_data()
    for _ in range(COUNT):
        colours.advance(1, unit)
        new, old = Stage(colours, reduced_motion=True).frame_data(), following.frame_data()
        assert new.moment is not None and new.moment.name == colours.done
        assert new.words.caption == colours.caption()
        assert (new.moment, new.part, new.current) == (old.moment, old.part, old.current)
        assert new.words == old.words
        for name in ("colors", "sizes", "before", "pushes"):
            np.testing.assert_array_equal(getattr(new.cubes, name), getattr(old.cubes, name))
        if new.moment.kind == "step":
            assert (new.cubes.before != new.cubes.colors).any()


@pytest.mark.parametrize(
    "move",
    [
        lambda s: s.advance(1),
        lambda s: s.seek(3),
        lambda s: s.back(1, "operation"),
        lambda s: s.edit([3], [0.5]),
        lambda s: (s.advance(1), s.back(1)),
    ],
)
def test_after_another_move_a_new_picture_is_of_the_network_at_rest(
    colours: sv.Session, move: Callable[[sv.Session], object]
) -> None:
    colours.advance(COUNT, "operation")
    assert seen(Stage(colours))[1] == COUNT
    colours.advance(1, "operation")
    colours.back(1, "operation")
    assert seen(Stage(colours))[:2] == (None, 0)
    colours.advance(COUNT, "operation")
    move(colours)
    assert seen(Stage(colours))[1] == colours.clock.operation
