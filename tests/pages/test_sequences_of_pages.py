"""A page draws a network that reads a sequence as a window does, and chooses the same things."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scalarviz.pages.scene_data import scene_data
from scalarviz.scene.canvas.canvas2d import COLUMNS
from scalarviz.scene.layout.sequence_places import Choice
from scalarviz.stage.show import Show
from tests.pages.states import Walk, compare, expected
from tests.pages.test_same_drawing import Asked, assert_same, by_words, pages, window
from tests.scene.sequences import reading

CHOICES = Choice(), Choice(0), Choice(5, 3), Choice(head=2), Choice(neuron=40)


@pytest.mark.parametrize("look", [{}, {"theme": "light"}], ids=str)
def test_a_page_draws_a_sequence_as_a_window_does(look: dict[str, Any]) -> None:
    show = Show(reading(engine="cpu"))
    drawn, states = [], []
    for choice in CHOICES:
        canvas, stage, state = window(show, Asked(look=look), choice=choice)
        state["options"]["choice"] = choice.__dict__
        drawn.append(canvas)
        states.append(state)
    for canvas, theirs in zip(drawn, pages(show, stage, states), strict=True):
        rows, said = canvas.drawn
        texts = sorted((tuple(given) for given in theirs["texts"]), key=by_words)
        said = sorted(said, key=by_words)
        assert [each[2:] for each in texts] == [each[2:] for each in said]
        places = [np.array([each[:2] for each in both]) for both in (texts, said)]
        np.testing.assert_allclose(*places, atol=0.0101)
        assert_same(rows, np.array(theirs["rows"], np.float64).reshape(-1, COLUMNS))


@pytest.mark.parametrize("operation", [20, 31, 34])
def test_a_page_draws_slopes_that_come_back_as_a_window_does(operation: int) -> None:
    session = reading(engine="cpu")
    session.advance(operation, "operation")
    show = Show(session)
    canvas, stage, state = window(show, Asked(operation), choice=Choice(2))
    state["options"]["choice"] = Choice(2).__dict__
    [theirs] = pages(show, stage, [state])
    rows, said = canvas.drawn
    texts = sorted((tuple(given) for given in theirs["texts"]), key=by_words)
    assert [each[2:] for each in texts] == [each[2:] for each in sorted(said, key=by_words)]
    assert_same(rows, np.array(theirs["rows"], np.float64).reshape(-1, COLUMNS))


def test_captions_of_a_sequence_are_those_of_python(tmp_path: Path) -> None:
    session = reading()
    asked: list[dict[str, Any]] = [{}, {"neuron": ["inputs", 1]}, {"row": 700}]
    every, states, wanted = [("caption", each) for each in asked], [], []
    for state in islice(Walk(session).states(), len(session.operations) - 1):
        states.append({"state": state, "asked": every})
        wanted.append([expected(session, state, *each) for each in every])
    compare(session, states, wanted, tmp_path)
    titles = {each["title"] for moment in wanted for each in moment}
    assert not [each for each in titles if "filter" in each or "map" in each]


def test_a_page_knows_the_layout_and_the_scale_of_a_sequence() -> None:
    data = scene_data(Show(reading(engine="cpu")))
    assert data["usual"] == 0.3
    assert all(each["sequence"]["rows"]["letters"] == 0 for each in data["layouts"])
