"""Conditions that the engine watches hold where they do if they are read after each step."""

import random
from collections.abc import Callable
from typing import Any

import pytest

import scalarviz as sv
from scalarviz.errors import ScalarvizError
from scalarviz.session.trainer import Trainer
from tests.session.test_stops import bits, session

WATCHED = Trainer.steps_watched
CONDITIONS = [
    "weight 1 changes sign", "weight 12 > 0.3", "grad norm rises 5x", "grad norm falls 8x",
    "gradient 4 falls 100x", "weight 1 rises 20x", "loss rises 3x", "loss < 0.004", "mae < 0.05",
    "learning rate < 0.05", "not finite", "gradient 8 changes sign", "grad norm > 0.5",
]  # fmt: skip
SETTINGS: list[Callable[[random.Random, sv.Session], object]] = [
    lambda draw, s: setattr(s, "learning_rate", draw.choice([0.01, 0.2, 0.5, 2.0])),
    lambda draw, s: setattr(s, "optimizer", draw.choice([sv.SGD(0.1), sv.Adam(0.02)])),
    lambda draw, s: setattr(s, "optimizer", sv.SGD(0.3, not_finite="zero")),
    lambda draw, s: setattr(s, "batch", draw.choice([1, 4, 8])),
    lambda draw, s: s.edit(draw.randrange(13), draw.uniform(-1.0, 1.0)),
    lambda draw, s: s.freeze(draw.randrange(13)),
    lambda draw, s: s.unfreeze(draw.randrange(13)),
]
DEEDS: list[Callable[[random.Random, sv.Session], object]] = [
    *[lambda draw, s: s.advance(draw.choice([1, 2, 5, 17, 60]))] * 4,
    lambda draw, s: s.advance(draw.randrange(1, 9), "operation"),
    lambda draw, s: s.back(draw.choice([1, 2, 9])),
    lambda draw, s: s.seek(draw.randrange(s.step_index + 10)),
    lambda draw, s: s.stop_when(*draw.sample(CONDITIONS, draw.randrange(4))),
    lambda draw, s: s.first(*draw.sample(CONDITIONS, 2), progress=False),
    lambda draw, s: draw.choice(SETTINGS)(draw, s),
    lambda draw, s: draw.choice([s.undo, s.redo, s.reset])(),
    lambda draw, s: s.switch(draw.randrange(len(s.branches))),
]


def after(s: sv.Session, deed: Callable[[], object], watches: bool) -> tuple[Any, ...]:
    """What a session has after a deed: its numbers, where it stopped, and the error."""
    why = ""
    Trainer.steps_watched = WATCHED if watches else lambda *given: None  # type: ignore[assignment,method-assign,misc,return-value]  # on purpose
    try:
        deed()
    except ScalarvizError as error:
        why = str(error)
    finally:
        Trainer.steps_watched = WATCHED  # type: ignore[method-assign]  # as it was
    marks = [(mark.branch.number, mark.step, mark.text) for mark in s.timeline.stops.marks]
    return bits(s), s.clock, s.stopped, marks, why


@pytest.mark.parametrize(
    "seeds", [range(2), pytest.param(range(2, 80), marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_whatever_one_does_it_stops_at_the_same_steps(seeds: range) -> None:
    stopped = 0
    for seed in seeds:
        first, second = (session("cpu", metrics=["mae"], every=7) for _ in range(2))
        draws = [random.Random(seed) for _ in range(2)]
        for number in range(40):
            found = []
            for s, draw, watches in zip((first, second), draws, (True, False), strict=True):
                found.append(after(s, lambda: draw.choice(DEEDS)(draw, s), watches))  # noqa: B023
            assert found[0] == found[1], (seed, number)
            stopped += bool(first.stopped)
    assert stopped > 4 * len(seeds)
