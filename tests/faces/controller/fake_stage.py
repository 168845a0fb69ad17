"""Stages for controllers in tests: one that records its calls, and what the real one says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from scalarviz.faces.controller import controller, guide
from scalarviz.faces.controller.control import ControlState
from scalarviz.faces.controller.controller import Controller
from scalarviz.faces.controller.controls import CONTROLS
from scalarviz.faces.controller.face import Opening
from scalarviz.faces.controller.pointer import LEFT, Pointer
from scalarviz.scene.look import Look
from scalarviz.stage.stage import Stage
from tests.machine import until

GROUNDS = {"dark": (0.25, 0.5, 0.25, 1.0), "light": (0.75, 1.0, 0.75, 1.0)}


class FakeStage(Stage):  # type: ignore[misc]  # final for those who use it
    """A stage that draws a plain colour; `asked` lists what controllers and windows asked for."""

    has_walls = has_plane = False  # type: ignore[assignment]  # a property
    chart: Any = None

    def __init__(self, show: Any, look: Look | None = None) -> None:
        self.asked: list[tuple[Any, ...]] = []
        super().__init__(show, look or Look(cubes="gradient"))
        self.notices: list[str] = []
        self.drawn: list[tuple[int, int, float]] = []
        self.broken: Exception | None = None
        for owner, names in (
            (self, "frame_pinned pin_pointed restore hover_at"),
            (self.eyes, "orbit move zoom look"),
            (self.motion, "finish"),
        ):
            for name in names.split():
                setattr(owner, name, self._noting(name, getattr(owner, name)))

    def _noting(self, name: str, act: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*given: Any, **named: Any) -> Any:
            self.asked.append((name, *given))
            return act(*given, **named)

        return noted

    @property
    def action(self) -> str:
        return self._notices[-1].action

    def then(self) -> None:
        """Press the button of the last message."""
        self._notices[-1].then()

    def place_of(self, row: int) -> Any:
        return np.array([300.0, 200.0])

    def walk(self, way: str) -> None:
        self.asked.append(("walk", way))
        self.walking = True

    def click(self, x: float, y: float) -> None:
        self.asked.append(("click", x, y))
        self.pinned = 3

    def notice(self, text: str, action: str = "", then: Any = None) -> None:
        self.notices.append(text)
        super().notice(text, action, then)

    def draw(self, width: int, height: int, ratio: float) -> None:
        from vispy import gloo

        if self.broken is not None:
            raise self.broken
        self.drawn.append((width, height, ratio))
        gloo.set_viewport(0, 0, width, height)
        gloo.clear(GROUNDS[self.look.theme])


FRAME = 0.05  # seconds from one look to the next


class Watcher:
    """A controller whose time is set by hand, and what is seen of it.

    Attributes:
        seen: at each look the time, the part of the tour, the last operation, how many samples are
            added up, and the sample in focus
    """

    def __init__(self, controller: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
        self.controller, self.session, self.now = controller, controller.session, 0.0
        self.stage: Any = controller.stage
        self.opening: Opening | None = None
        self.seen: list[tuple[float, str, str, float, int]] = []
        self.places: list[tuple[int, int]] = []  # where the session stood, one after the other
        monkeypatch.setattr(guide, "perf_counter", lambda: self.now)

    def watch(self, seconds: float, frame: float = FRAME) -> None:
        end = self.now + seconds - 0.5 * frame
        while self.now < end:
            if self.opening is not None:
                self.opening.attend()
            self.controller.face.attend()
            session = self.session
            done = session.done if session.step_index < 2 else "more"
            tour = self.stage.part_of_tour, done
            self.seen.append((self.now, *tour, self.stage.adding, session.focus))
            if session.clock.place not in self.places[-1:]:
                self.places.append(session.clock.place)
            self.now += frame

    def at(self, seconds: float) -> tuple[str, str]:
        """The part of the tour, and the last operation, at a time."""
        return next(each[1:3] for each in reversed(self.seen) if each[0] <= seconds + 1e-9)

    @property
    def operations(self) -> list[str]:
        return list(dict.fromkeys(each[2] for each in self.seen))


Place = tuple[float, float]


def drag(pointer: Pointer, *places: Place, button: int = LEFT, **how: bool) -> None:
    """Press at the first place, move over the others, and release at the last: of one, a click."""
    pointer.press(button, *places[0], **how)
    for place in places[1:]:
        pointer.move(*place)
    pointer.release(button, *places[-1])


HANG = 300.0  # seconds that only what hangs takes


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands are done when they return: none is left for later."""
    monkeypatch.setattr(controller, "AT_ONCE", HANG)


def stage_of(controller: Controller) -> Stage:
    assert isinstance(controller.stage, Stage)
    return controller.stage


def chips_of(controller: Controller) -> list[str]:
    """The words of all messages over the picture."""
    return [words for words, _ in stage_of(controller).chips()]


def shown(controller: Controller, name: str) -> ControlState:
    """What a control shows now."""
    return CONTROLS[name].shown(controller.face.state)


def attended(controller: Any, happened: Callable[[], object], seconds: float = HANG) -> None:
    """Wait for something while the controller is attended to, as faces do."""
    until(happened, controller.face.attend, seconds)
