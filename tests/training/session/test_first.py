"""The first moment of the past at which something was so, and how it is found."""

import numpy as np
import pytest

from scalarviz.training.session.callbacks import ConditionView
from tests.sessions import advanced
from tests.training.session.test_stops import (
    CHANGES,
    SO,
    STEPS,
    arrivals,
    bits,
    every_engine,
    session,
)


@pytest.mark.some(10)
@every_engine
@pytest.mark.parametrize("condition", [*SO, *CHANGES])
def test_it_is_the_first_step_at_which_the_condition_holds(engine: str, condition: str) -> None:
    past = arrivals(engine)
    if condition in CHANGES:
        signs = [CHANGES[condition](each) < 0 for each in past]
        begin = 2 if condition.startswith("grad") else 1
        expected = [k for k in range(begin, len(past)) if signs[k] != signs[k - 1]][:1]
    else:
        begin = int(condition.startswith("grad"))  # before the first step there are no gradients
        expected = [k for k in range(begin, len(past)) if SO[condition](past[: k + 1])][:1]
    s = advanced(session(engine), STEPS)
    s.advance(3, "operation")
    clock, numbers = s.clock, bits(s)
    assert s.first(condition) == expected[0]
    assert (s.clock, bits(s)) == (clock, numbers)
    s.seek(expected[0] - 1 if expected[0] else 0)
    assert s.first(condition) == (None if expected[0] else 0)


def test_an_own_function_is_asked_at_each_step() -> None:
    s, seen = session(), []
    s.advance(20)

    def is_seventh(view: ConditionView) -> bool:
        seen.append((view.step, view.loss))
        return view.step == 7

    assert s.first(is_seventh) == 7
    assert [step for step, _ in seen] == list(range(8))
    assert [loss for _, loss in seen[1:]] == s.losses[:7].tolist()


def test_what_is_on_record_takes_no_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    s = advanced(session(metrics=["mae"], every=10), 50)
    monkeypatch.setattr(type(s.timeline), "visit", None)
    steps, values = s.metrics["mae"]
    expected = int(steps[np.flatnonzero(values < values[0])[0]])
    assert s.first(f"mae < {float(values[0])!r}") == expected
    assert s.first("loss < 0.004") == int(np.flatnonzero(s.losses < 0.004)[0]) + 1
    assert s.first("not finite") is None


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_cancelled_search_leaves_everything_as_it_was(error: type[BaseException]) -> None:
    s = advanced(session(), 30)
    s.advance(2, "operation")
    clock, numbers = s.clock, bits(s)

    def cancels(view: ConditionView) -> bool:
        if view.step == 12:
            raise error
        return False

    with pytest.raises(error):
        s.first(cancels)
    assert (s.clock, bits(s)) == (clock, numbers)
    s.advance(10)
    plain = advanced(session(), 40)
    assert bits(s) == bits(plain)
