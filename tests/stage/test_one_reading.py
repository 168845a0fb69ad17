"""A picture reads its session once, before it is made: meanwhile nothing asks it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from traceback import walk_stack
from typing import Any

import numpy as np
import pytest

from scalarviz.scene.look import Look
from scalarviz.stage.background import Answer
from scalarviz.stage.stage import Stage
from scalarviz.stage.stages import Stages
from scalarviz.training.session.session import Session
from scalarviz.training.session.timeline import Timeline
from scalarviz.training.session.trainer import Trainer
from tests.sessions import advanced, inverting, plane
from tests.stage.conftest import go

# They compute in the background what a large chart shows.
WORKERS = {"scalarviz.training.session.over_time", "scalarviz.training.session.landscape"}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What this thread reads of sessions, but for questions, to which they are handed over."""
    found, questions, here = list[str](), list[object](), threading.get_ident()

    def read(thing: object, name: str) -> object:
        callers = [each.f_globals["__name__"] for each, _ in walk_stack(sys._getframe(1))]
        if threading.get_ident() == here and not questions and WORKERS.isdisjoint(callers):
            found.append(f"{type(thing).__name__}.{name} in {callers[0]}")
        return object.__getattribute__(thing, name)

    def get(answer: Answer[object], *given: object) -> object:
        questions.append(answer)
        try:
            return plain(answer, *given)
        finally:
            questions.pop()

    plain: Callable[..., object] = Answer.get
    monkeypatch.setattr(Answer, "get", get)
    for each in (Session, Timeline, Trainer):
        monkeypatch.setattr(each, "__getattribute__", read, raising=False)
    return found


# What happens between two pictures, to the session and to its stage.
MOVES: dict[str, Any] = {
    "step": ("advance", 1),
    "operation": ("advance", 1, "operation"),
    "start": ("seek", 0),
    "edit": ("edit", 3, 0.5),
    "frozen": ("freeze", 3),
    "playing": ("play", 50.0),
}
VIEWS: dict[str, Any] = {
    "weight": ("pin", 7),
    "neuron": ("pin", ("tanh 0", 1)),
    "hover": ("__setattr__", "hover", 3),
    "own input": ("__setattr__", "own", np.zeros(2)),
    "channels": ("look_as", Look(color="change since start", cubes="last change"), ()),
    "maps": ("look_as", Look(neuron_maps=True), ()),
    "walls": ("look_as", Look(every_weight=True), ()),
}


@pytest.mark.parametrize(
    ("change", "past"),
    [*((each, "") for each in [*MOVES, *VIEWS]), ("step", "value"), ("step", "landscape")],
)
def test_no_frame_asks_its_session(change: str, past: str, asked: list[str]) -> None:
    stage = Stage(advanced(plane(), 3))
    stage.pin(2)
    if past:
        stage.common.curve_view.large = True
        stage.common.curve_view.choose(past)
    stage.frame_data()
    go(stage if change in VIEWS else stage.session, (MOVES | VIEWS)[change])
    try:
        stage.read()
        asked.clear()
        stage.frame_data()
        assert asked == []
    finally:
        stage.session.pause()


def test_several_ask_none_of_their_sessions(asked: list[str]) -> None:
    stages = Stages([Stage(advanced(inverting(), steps)) for steps in (2, 5)], ["a", "b"])
    stages.take(color="difference to first")
    stages.pin(1)
    stages.compared(stages.frame_data())
    stages.lead.session.advance(1)
    stages.read()
    asked.clear()
    stages.compared(stages.frame_data())
    assert asked == []


def test_what_is_asked_is_seen(asked: list[str]) -> None:
    assert not plane().playing and any("Session.playing in tests" in each for each in asked)
