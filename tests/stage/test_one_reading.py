"""A picture reads its session once, before it is made: meanwhile nothing asks it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from traceback import walk_stack

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.scene.look import Look
from scalarviz.stage.background import Answer
from scalarviz.stage.stage import Stage
from scalarviz.stage.stages import Stages
from scalarviz.training.session.session import Session
from scalarviz.training.session.timeline import Timeline
from scalarviz.training.session.trainer import Trainer
from tests.sessions import advanced, inverting, plane

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


def hovering(stage: Stage) -> None:
    stage.hover = 3


def charted(kind: str) -> Callable[[Stage], None]:
    def chart(stage: Stage) -> None:
        stage.curve_view.large = True
        stage.curve_view.choose(kind)
        stage.over.tile, stage.over.step = 1, 1

    return chart


def putting_in(stage: Stage) -> None:
    stage.session.advance(1)
    stage.own = np.zeros(2)


def playing(stage: Stage) -> None:
    stage.session.play(50.0)


CHANGES: dict[str, Callable[[Stage], object]] = {
    "step": lambda stage: stage.session.advance(1),
    "operation": lambda stage: stage.session.advance(1, "operation"),
    "start": lambda stage: stage.session.seek(0),
    "branch": lambda stage: (stage.session.seek(1), stage.session.edit(3, 0.5)),
    "frozen": lambda stage: stage.session.freeze(3),
    "weight": lambda stage: stage.pin(7),
    "neuron": lambda stage: stage.pin(("tanh 0", 1)),
    "hover": hovering,
    "channels": lambda stage: stage.take(color="change since start", cubes="last change"),
    "maps": lambda stage: stage.take(neuron_maps=True),
    "walls": lambda stage: stage.take(every_weight=True),
    "own input": putting_in,
    "values": charted("value"),
    "landscape": charted("landscape"),
    "playing": playing,
}


@pytest.mark.parametrize("change", CHANGES)
def test_no_frame_asks_its_session(change: str, asked: list[str]) -> None:
    stage = Stage(advanced(plane(), 3), Look(camera="flat"))
    stage.pin(2)
    stage.frame_data()
    CHANGES[change](stage)
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
    s = sv.Session(sv.Network([2, 2, 1], seed=0), data.Xor(), engine="python")
    asked.clear()
    assert s.playing is False and "Session.playing in" in asked[0]
