"""Pointed: what mouse and keyboard do in the picture of a session, what is pinned, and messages."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.perceptron import Perceptron
from scalarviz.core.weight import Weight
from scalarviz.scene.charts import Chart
from scalarviz.scene.frame_data import FrameData, Guess, Work
from scalarviz.scene.layout.division import Projection
from scalarviz.scene.layout.plates import Layout
from scalarviz.scene.marks import corners_of
from scalarviz.scene.overlay import OnTop
from scalarviz.stage.camera_control import CameraController
from scalarviz.stage.chart_view import CurveView, OverlayPointer
from scalarviz.stage.handles import (
    Grip,
    Handle,
    PanelGrip,
    SphereGrip,
    arrow_at,
    blank_of,
    handle_at,
    pad_of,
)
from scalarviz.stage.live_values import LiveValues
from scalarviz.stage.pointing import NOTHING, PointerTarget, neuron_of, next_target, target_at
from scalarviz.story.facts import Neuron
from scalarviz.training.session.session import Session
from scalarviz.training.session.trainer import one_row

# Messages: notices that disappear by themselves, work in the background, buttons that stay.

NOTICE_SECONDS, BUTTON_SECONDS = (
    8.0,
    15.0,
)  # shortest time that a notice stays, and one with a button
READING_SPEED = 15.0  # reading speed in characters per second
MOST_NOTICES = 2


@dataclass
class Notice:
    """A notice; `until` is infinite before the first `tick`."""

    text: str
    action: str
    then: Callable[[], None] | None
    until: float

    @property
    def seconds(self) -> float:
        """How long it stays."""
        return max(
            BUTTON_SECONDS if self.action else NOTICE_SECONDS, len(self.text) / READING_SPEED
        )


class Messages(ABC):
    """The part of a stage that is about messages: notices and offers.

    status    message that stays until it is cleared
    work      work in the background, which stays until it is cleared; or None
    end_work  called by the button of the work
    """

    def __init__(self) -> None:
        self.status = ""
        self.work: Work | None = None
        self.end_work: Callable[[], object] = lambda: None
        self._clock = math.inf  # until the first tick
        self._notices: list[Notice] = []
        self._offers: dict[str, Callable[[], None]] = {}

    @abstractmethod
    def tick(self, now: float) -> bool:
        """Advance to the time `now`; return whether something moves by itself."""

    @final
    def notice(self, text: str, action: str = "", then: Callable[[], None] | None = None) -> None:
        """Show a message for some seconds, in place of the one of its kind.

        `action` is the label of its button, or "".
        """
        kept = [each for each in self._notices if bool(each.action) != bool(action)]
        notice = Notice(text, action, then, 0.0)
        notice.until = self._clock + notice.seconds
        self._notices = [*kept, notice]

    @final
    def offer(self, offers: Mapping[str, Callable[[], None]]) -> None:
        """Show large buttons; an empty mapping removes them."""
        self._offers = dict(offers)

    @final
    def expire(self, now: float) -> bool:
        """Remove expired notices; return whether there were any."""
        self._clock = now
        for each in self._notices:
            each.until = min(each.until, now + each.seconds)
        kept = [each for each in self._notices if each.until > now]
        gone = len(kept) < len(self._notices)
        self._notices = kept
        return gone

    @final
    def press(self, name: str) -> bool:
        """Run the action of a button; return whether the button exists."""
        if self.work is not None and name == self.work.action:
            self.end_work()
            return True
        for each in reversed(self._notices):
            if each.action == name and each.then is not None:
                self._notices.remove(each)
                each.then()
                return True
        if name in self._offers:
            then = self._offers[name]
            self._offers = {}
            then()
            return True
        return False

    @final
    def chips(self) -> list[tuple[str, str]]:
        """Return the messages, at most two: the status, if there is one, and the newest notices."""
        status = [(self.status, "")] if self.status else []
        notices = [(each.text, each.action) for each in self._notices]
        return [*status, *notices[len(status) - MOST_NOTICES :]]

    @property
    def offered(self) -> tuple[str, ...]:
        """Labels of the large buttons."""
        return tuple(self._offers)


# Mouse and keyboard.

MOST_BESIDE = 5  # weights that are pinned beside another one


class Pointed(Messages):
    """The part of a stage that is about pointing; positions are logical pixels.

    pinned, hover  bank indices, or None
    pinned_neuron, hover_neuron  the neuron instead, or None
    beside         further weights that are pinned beside a weight
    walking        whether the keyboard points: what is hovered stays until the mouse is elsewhere
    guess          what is guessed, or None
    over           the mouse over the strip, the caption and the loss curve
    curve_view     the steps that the loss curve shows
    on_top         what lies over the network on the last picture; nothing before the first
    """

    plan: Layout
    reading: LiveValues
    eyes: CameraController
    _picture: Any
    on_top = OnTop()
    _seen: FrameData | None  # of the last picture
    _extent: tuple[float, float]

    def __init__(self) -> None:
        super().__init__()
        self.hover: int | None = None
        self.hover_neuron: Neuron | None = None
        self.walking = False
        self.over = OverlayPointer()
        self.curve_view = CurveView()
        self.pinned: int | None = None
        self.pinned_neuron: Neuron | None = None
        self.beside: tuple[int, ...] = ()
        self.guess: Guess | None = None
        self._forgets = True  # whether the pinned weight's history was not recorded before

    @property
    def session(self) -> Session:
        """The session that is shown."""
        return self.reading.session

    def _see(self, seen: FrameData) -> Projection:
        projection: Projection = self._picture.see(seen, self.eyes.camera, *self._extent)
        return projection

    @final
    def orbit(self, dx: float, dy: float) -> None:
        self.eyes.orbit(dx, dy)

    @final
    def move(self, dx: float, dy: float) -> None:
        self.eyes.move(dx, dy)

    @final
    def zoom(self, factor: float, x: float, y: float) -> None:
        self.eyes.zoom(factor, x, y)

    @final
    def hover_at(self, x: float, y: float) -> None:
        """Point with the mouse."""
        found = NOTHING if self.over.hover(self.on_top, x, y) else self.target_at(x, y)
        if found or not self.walking:
            self.hover, self.hover_neuron = found.row, found.neuron

    @final
    def target_at(self, x: float, y: float) -> PointerTarget:
        """Return the cube or the neuron at a pixel."""
        if self._picture is None or self._seen is None:
            return NOTHING
        parts = self._seen.division(*self._extent)
        covered = any(box.width and box.has(x, y) for box in (parts.exhibit, parts.card))
        if not parts.scene.has(x, y) or covered or self.on_top.on_chart(x, y):
            return NOTHING
        return target_at(self._seen, self._see(self._seen), x, y)

    @final
    def place_of(self, row: int) -> FloatArray | None:
        """Return the pixel (x, y) where the middle of a cube is seen; None before a picture."""
        if self._picture is None or self._seen is None:
            return None
        corners = corners_of(self._seen, row, 0.0)
        return self._see(self._seen)(corners).xy.mean(axis=0) if len(corners) else None

    @property
    def chart(self) -> Chart | None:
        """The loss curve on the last picture, or None."""
        return self.on_top.chart

    @final
    def handle_at(self, x: float, y: float) -> Handle | None:
        """Return the handle of the cube at a pixel, by which its weight is dragged, or None.

        While a guess is asked, only its arrow has one.
        """
        row, seen = self.target_at(x, y).row, self._seen
        if seen is not None and self.hidden is not None:
            return arrow_at(seen, self._see(seen), self.hidden, x, y)
        if row is None or seen is None:
            return None
        return handle_at(seen, self._see(seen), self.reading.numbers.value, row)

    @property
    def own(self) -> FloatArray | None:
        """Inputs of the user's own, shown in place of the sample; None: the sample is shown."""
        return self.reading.own

    @own.setter
    def own(self, inputs: FloatArray | None) -> None:
        if inputs is not None:
            inputs = np.array(inputs, np.float64).reshape(self.reading.program.inputs.size)
            self.reading.pad = pad_of(self.session, inputs)
        self.reading.own = inputs

    @final
    def grip_at(self, x: float, y: float) -> Grip | None:
        """Return the grip at a pixel, by which inputs of the user's own are put in, or None."""
        seen, name = self._seen, self.reading.program.inputs.name
        now = self.reading.way.values.get(name) if self.reading.has_layers else None
        if seen is None or now is None or self.hidden or self.on_top.on_chart(x, y):
            return None
        if seen.exhibit is not None and seen.exhibit.inputs_at(x, y):
            return PanelGrip(now, lambda: self._seen.exhibit if self._seen else None)
        neuron = self.target_at(x, y).neuron
        if neuron is None or neuron[0] != name or neuron[1] >= len(now):
            return None
        is_image = any(line.shape for line in seen.layout.neurons if name in line.buffers)
        return None if is_image else SphereGrip(now, neuron[1], self.session.data, y)

    @final
    @property
    def hidden(self) -> Guess | None:
        """What is guessed, while it is asked and the number is hidden."""
        return self.guess if self.guess is not None and self.guess.result is None else None

    @final
    def put_in(self) -> None:
        """Begin with an input of the user's own: what is shown, or an empty image to draw on."""
        shown = self.reading.way.values.get(self.reading.program.inputs.name)
        if shown is not None:
            self.own = blank_of(self.session, shown)

    @final
    def pin(self, part: Weight | int | Perceptron | Neuron | None) -> None:
        """Pin a Weight or bank index: its history is recorded and its arithmetic shown.

        Of a Perceptron, or a neuron given as the name of a buffer and the place in it, the sum is
        shown. A history that was recorded before is kept when the weight is unpinned.
        """
        neuron = neuron_of(self.session.network, self.plan, part)
        self.beside = ()
        self.pinned_neuron = neuron
        no_weight = part is None or neuron is not None
        row = None if no_weight else one_row(self.session.network, part)
        if row == self.pinned:
            return
        if self.pinned is not None and self._forgets:
            self.session.pin(self.pinned, False)
        if row is not None:
            self._forgets = row not in self.session.pinned
            self.session.pin(row)
            self.curve_view.pin(row)
        self.pinned = row

    @final
    def pin_beside(self, x: float, y: float) -> bool:
        """Pin the weight at a pixel beside the one that is pinned, or unpin it there.

        Returns whether there are both.
        """
        row = self.target_at(x, y).row
        if row is None or self.pinned is None or row == self.pinned:
            return False
        others = tuple(each for each in self.beside if each != row)
        self.beside = others if row in self.beside else (*others, row)[-MOST_BESIDE:]
        self.curve_view.pin(row)
        return True

    def _targets(self) -> tuple[PointerTarget, PointerTarget]:
        """What is hovered, and what is pinned."""
        return PointerTarget(self.hover, self.hover_neuron), PointerTarget(
            self.pinned, self.pinned_neuron
        )

    @final
    def walk(self, way: str) -> None:
        """Point at the next cube or neuron: "left", "right", "up" or "down"; "" begins."""
        if self._picture is not None and self._seen is not None:
            hovered, pinned = self._targets()
            box = self._seen.division(*self._extent).view
            found = next_target(self._seen, self._see(self._seen), box, hovered or pinned, way)
            self.walking, self.hover, self.hover_neuron = True, found.row, found.neuron

    @final
    def pin_pointed(self) -> None:
        """Pin what the keyboard points at, or unpin it."""
        hovered, pinned = self._targets()
        self.pin(None if hovered == pinned else hovered.part)
