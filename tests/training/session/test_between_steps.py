"""Between two steps, numbers and explanations are those of the step that is done."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import OrderError
from tests.sessions import advanced
from tests.training.session.test_session import COLOURS, every_engine, session, state
from tests.wording import refused

CHANGES: dict[str, Callable[[sv.Session], object]] = {
    "nothing": lambda s: None,
    "relu": lambda s: s.set_activation(0, "relu"),
    "linear": lambda s: s.set_activation(0, "linear"),
    "both": lambda s: [s.set_activation(i, "relu") for i in (0, 1)],
    "engine": lambda s: s.to("python" if s.engine == "cpu" else "cpu"),
    "mixed": lambda s: s.to("cpu", "mixed"),
    "data": lambda s: setattr(s, "data", (COLOURS[:5], COLOURS[:5])),
    "optimizer": lambda s: setattr(s, "optimizer", sv.Momentum(0.5)),
    "loss": lambda s: setattr(s, "loss_function", "huber"),
    "batch": lambda s: setattr(s, "batch", 2),
    "rate": lambda s: setattr(s, "learning_rate", 0.5),
    "edit": lambda s: s.edit([0, 5], 0.75),
    "freeze": lambda s: s.freeze(0),
    "branch": lambda s: s.branch(),
}


def told(s: sv.Session) -> list[Any]:
    """Everything about the step that is done."""
    found: list[Any] = []
    for name in ("affine 0", "tanh 0", "affine 1", "sigmoid 1"):
        numbers = s.numbers(name)
        parts = numbers.inputs, numbers.outputs, numbers.upstream, numbers.gradient
        found.append([None if part is None else part.tolist() for part in parts])
    # But for the edit itself, which is said below the step.
    steps = [replace(s.explain(row), edit=None) for row in (0, 30, 58)]
    return [*found, *map(str, steps)]


@every_engine
@pytest.mark.parametrize("change", CHANGES)
def test_the_step_that_is_done_is_told_whatever_is_set_after_it(engine: str, change: str) -> None:
    s = advanced(session(engine, dtype="float32"), 3)
    expected = told(s)
    CHANGES[change](s)
    before, moment = state(s), s.clock
    assert told(s) == expected
    assert state(s) == before and s.clock == moment and len(s.current_branch.journal) <= 2
    s.advance(2)
    reference = advanced(session(engine, dtype="float32"), 3)
    CHANGES[change](reference)
    reference.advance(2)
    assert state(s) == state(reference)


@every_engine
@pytest.mark.parametrize("change", ["relu", "linear", "engine", "data", "optimizer", "rate"])
def test_what_waits_for_the_next_step_is_not_seen_in_this_one(engine: str, change: str) -> None:
    s, untouched = session(engine), session(engine)
    for each in (s, untouched):
        each.advance(3)
        each.advance(4, "operation")
    CHANGES[change](s)
    for operations in (0, 5, 3):  # within the step, and where it ends
        for each in (s, untouched):
            each.advance(operations, "operation") if operations else None
        assert told(s) == told(untouched)
    assert s.clock.place == (4, 0)
    s.advance(1)
    replayed = state(s)
    s.seek(0)
    s.seek(5)
    assert state(s) == replayed


@every_engine
def test_a_step_goes_on_after_something_was_set_past_the_session(engine: str) -> None:
    s, reference = session(engine), session(engine)
    for each in (s, reference):
        each.advance(2)
        each.advance(5, "operation")
    s.network.to("python" if engine == "cpu" else "cpu")
    with refused(OrderError):
        s.advance(1, "operation")
    assert s.clock == reference.clock
    assert np.array_equal(s.numbers("tanh 0").outputs, reference.numbers("tanh 0").outputs)
    for each in (s, reference):
        each.advance(3)
    assert state(s) == state(reference)
