"""A page draws a network that reads a sequence as a window does, and chooses the same things."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scalarviz.pages.scene_data import scene_data
from scalarviz.scene.canvas.canvas2d import COLUMNS
from scalarviz.scene.layout.sequence_places import Choice
from scalarviz.stage.show import Show
from tests.pages.test_same_drawing import Asked, assert_same, by_words, pages, window
from tests.scene.sequences import reading

CHOICES = Choice(), Choice(0), Choice(5, 3), Choice(head=2)


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


def test_a_page_knows_the_layout_and_the_scale_of_a_sequence() -> None:
    data = scene_data(Show(reading(engine="cpu")))
    assert data["usual"] == 0.3
    assert all(each["sequence"]["rows"]["letters"] == 0 for each in data["layouts"])
