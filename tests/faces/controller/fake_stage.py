"""Stages for controllers in tests: one that records its calls, and what the real one says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from scalarviz.faces.controller import controller
from scalarviz.faces.controller.control import Shown
from scalarviz.faces.controller.controller import Controller
from scalarviz.faces.controller.controls import CONTROLS
from scalarviz.faces.controller.precompile import Warming
from scalarviz.scene.look import Look
from scalarviz.stage.chart_view import CurveView
from scalarviz.stage.stage import Stage
from scalarviz.story.guide import ByNeuron
from tests.machine import until

GROUNDS = {"dark": (0.25, 0.5, 0.25, 1.0), "light": (0.75, 1.0, 0.75, 1.0)}


class FakeStage:
    """As much of a stage as a controller and a window need; `asked` lists what they asked for."""

    channels = ("value", "gradient", "last change")

    def __init__(self, show: Any, look: Look | None = None) -> None:
        self.show = show
        self.own = None
        self.look = (look or Look(cubes="gradient")).in_theme("dark")
        self.pinned: int | None = None
        self.guess: Any = None
        self.hidden: Any = None
        self.pinned_neuron: Any = None
        self.hover: int | None = None
        self.hover_neuron: Any = None
        self.help = self.marks = self.present = self.walking = False
        self.reduced_motion = False
        self.nodes: Any = None
        self.name = "perspective"
        self.has_walls = self.has_plane = False
        self.keys: list[tuple[str, str]] = []
        self.patience = 0.0
        self.status = self.part_of_tour = ""
        self.common = self.scales = self.eyes = self.motion = self.reading = self  # has all of them
        self.silent = False
        self.work: Any = None
        self.end_work: Callable[[], object] = lambda: None
        self.adding = self.menus = self.panel = 0.0
        self.asleep = False
        self.narration = SimpleNamespace(lesson=None)
        self.chart = None
        self.curve_view = CurveView()
        self.looks = ()
        self.by_neuron = ByNeuron()
        self.asked: list[tuple[Any, ...]] = []
        self.drawn: list[tuple[int, int, float]] = []
        self.notices: list[str] = []
        self.action, self.then = "", lambda: None
        self.offers: Mapping[str, Callable[[], None]] = {}
        self.broken: Exception | None = None

    @property
    def pinned_part(self) -> Any:
        return self.pinned if self.pinned_neuron is None else self.pinned_neuron

    def __getattr__(self, name: str) -> Callable[..., None]:
        known = "finish orbit move zoom frame_pinned pin_pointed restore hover_at rescale"
        if name not in known.split():
            raise AttributeError(name)
        return lambda *given, **_: self.asked.append((name, *given))

    def look_as(self, look: Look, changed: Any) -> None:
        self.look = look.in_theme(self.look.theme)
        if "camera" in changed:
            self.asked.append(("look", look.camera))

    def place_of(self, row: int) -> tuple[float, float]:
        return 300.0, 200.0

    def handle_at(self, x: float, y: float) -> None:
        return None

    def grip_at(self, x: float, y: float) -> None:
        return None

    def click(self, x: float, y: float) -> None:
        self.asked.append(("click", x, y))
        self.pinned = 3

    def walk(self, way: str) -> None:
        self.walking = True
        self.asked.append(("walk", way))

    def stepped(self, forward: bool) -> None:
        self.asked.append(("stepped", forward))

    def notice(self, text: str, action: str = "", then: Any = None) -> None:
        self.notices.append(text)
        self.action, self.then = action, then

    def offer(self, offers: Mapping[str, Callable[[], None]]) -> None:
        self.offers = offers

    @property
    def offered(self) -> tuple[str, ...]:
        return tuple(self.offers)

    def take(self, offer: str) -> None:
        self.offers[offer]()

    def release(self) -> None:
        self.asked.append(("release",))

    def replace(self, show: Any) -> None:
        self.asked.append(("replace",))
        self.show = show
        self.pinned = self.hover = None

    def tick(self, now: float) -> bool:
        return False

    def read(self) -> Any:
        return self.show.session.timeline.here

    def draw(self, width: int, height: int, ratio: float) -> None:
        from vispy import gloo

        if self.broken is not None:
            raise self.broken
        self.drawn.append((width, height, ratio))
        gloo.set_viewport(0, 0, width, height)
        gloo.clear(GROUNDS[self.look.theme])


HANG = 300.0  # seconds that only what hangs takes


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands, and changes of the engine, are done when they return: none is left for later."""
    monkeypatch.setattr(controller, "AT_ONCE", HANG)
    monkeypatch.setattr(Warming.settle, "__defaults__", (HANG,))
    monkeypatch.setattr(Warming._give_back, "__defaults__", (HANG,))


def stage_of(controller: Controller) -> Stage:
    assert isinstance(controller.stage, Stage)
    return controller.stage


def chips_of(controller: Controller) -> list[str]:
    """The words of all messages over the picture."""
    return [words for words, _ in stage_of(controller).chips()]


def shown(controller: Controller, name: str) -> Shown:
    """What a control shows now."""
    return CONTROLS[name].shown(controller.face.state)


def attended(controller: Any, happened: Callable[[], object], seconds: float = HANG) -> None:
    """Wait for something while the controller is attended to, as faces do."""
    until(happened, controller.face.attend, seconds)
