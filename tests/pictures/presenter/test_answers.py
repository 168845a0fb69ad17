"""Slow requests do not stop the picture: results are shown when they arrive."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from scalarviz.scene.frame_data import History
from scalarviz.stage.background import AT_ONCE, Answer
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from tests.training.session.test_threads import SOON, Gate, ours
from tests.waiting import until


def held(value: object, asked: list[object], opened: threading.Event) -> Callable[[], Any]:
    def ask() -> object:
        asked.append(value)
        assert opened.wait(30.0), "whoever asked waits"
        return value

    return ask


def test_the_answer_before_stands_until_the_new_one_is_there() -> None:
    answer, asked, opened = Answer[Any]("before"), [], threading.Event()
    ask = held("one", asked, opened)
    assert answer.get(1, ask, 0.01) == "before" and answer.pending
    assert answer.get(1, ask, 0.01) == "before"
    opened.set()
    until(lambda: not answer.pending)
    assert answer.get(1, ask, 0.01) == "one" and asked == ["one"]


def test_an_error_is_raised_where_it_was_asked_and_once() -> None:
    answer = Answer[Any]("before")

    def fail() -> None:
        raise RuntimeError("no answer")

    with pytest.raises(RuntimeError, match="no answer"):
        answer.get(1, fail, 10.0)
    assert answer.get(1, fail, 10.0) == "before" and not answer.pending


# A stage.


def seen(stage: Stage) -> Any:
    """Everything that is said, and that is computed for it."""
    frame_data = stage.frame_data()
    card = frame_data.pinned
    assert card is not None
    return (
        frame_data.words,
        [block for block in card.blocks if not isinstance(block, History)],
        frame_data.buffers.values,
        stage.reading.numbers.value.tolist(),
    )


def test_a_picture_does_not_wait_for_the_step_that_goes_on() -> None:
    gate = Gate()
    stage = Stage(Show(gate.session), patience=AT_ONCE)
    with gate.closed(lambda: gate.session.advance(2)):
        start = time.perf_counter()
        stage.pin(4)
        stage.color = "last change"
        for now in (0.0, 0.1):
            stage.tick(now)
            stage.frame_data()
        Stage(Show(gate.session), patience=AT_ONCE).frame_data()
        assert time.perf_counter() - start < SOON
    gate.session.history(4, wait=True)


@pytest.mark.parametrize("unit", ["step", "operation"])
def test_what_a_picture_asks_for_is_shown_when_it_is_there(unit: Any) -> None:
    gate = Gate()
    s = gate.session
    stages = [Stage(Show(s), patience=AT_ONCE), Stage(Show(s))]
    for stage in stages:
        stage.color = "last change"
        stage.pin(4)
        stage.frame_data()
    until(lambda: not stages[0].reading.pending)
    s.advance(3, unit)
    gate.opened.clear()
    start = time.perf_counter()
    seen(stages[0])
    assert time.perf_counter() - start < SOON and stages[0].tick(1.0)
    gate.opened.set()
    until(lambda: (stages[0].frame_data(), not stages[0].reading.pending)[1])
    seen(stages[1])
    for stage in stages:
        stage.tick(9.0)  # to the last operation
    words, *others = seen(stages[1])
    now, *same = seen(stages[0])
    assert str(same) == str(others) and now.caption == words.caption
    s.history(4, wait=True)
    until(lambda: ours() == [])
