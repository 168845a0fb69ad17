"""What a notebook shows of a check: the graph with the wrong number, and a record."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

import scalarviz as sv
from scalarviz.faces.notebook import notebook_cells
from tests.training.checking.test_checking import Broken, checked


def test_a_notebook_shows_the_graph_and_keeps_a_record(monkeypatch: pytest.MonkeyPatch) -> None:
    published: list[Any] = []
    shell = SimpleNamespace(
        kernel=None,
        execution_count=1,
        display_pub=SimpleNamespace(publish=lambda data, **_: published.append(data)),
    )
    monkeypatch.setattr(notebook_cells, "shell", lambda: shell)
    found = checked("value", "self.grad += other.data", "self.grad = other.data")
    found._ipython_display_()  # the last value of the same cell
    (wrong,) = published
    assert "<img" in wrong["text/html"] and "← yours: 4.5" in wrong["text/html"]
    assert wrong["text/plain"].splitlines()[1] == "    a: data 0.5, grad 9  ← yours: 4.5"
    record = {"lesson": "", "key": "check Value", "guesses": [], "right": False}
    assert wrong["application/vnd.scalarviz.answer+json"] == record
    assert found.bundle() == wrong  # and again
    checked("dense")
    right = published[-1]
    assert right["text/html"] == "<p>Mine is right: every number agrees.</p>"
    record = {"lesson": "", "key": "check Dense", "guesses": [], "right": True}
    assert json.loads(json.dumps(right["application/vnd.scalarviz.answer+json"])) == record


def test_code_of_a_learner_is_escaped_in_a_notebook() -> None:
    made = type("<b>", (Broken,), {"forward": lambda self, x: 1 / 0})
    assert "<b>" not in sv.check(made).bundle()["text/html"]
