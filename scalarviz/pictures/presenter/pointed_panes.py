"""PointedPanes: what mouse and keyboard do in the picture of several sessions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.perceptron import Perceptron
from scalarviz.errors import InputError, ScalarvizError
from scalarviz.pictures.presenter.curve_view import CurveView
from scalarviz.pictures.presenter.handles import Handle
from scalarviz.pictures.presenter.notifications import Messages
from scalarviz.pictures.presenter.own_input import Grip
from scalarviz.pictures.presenter.several import alike
from scalarviz.pictures.presenter.stage import Stage
from scalarviz.pictures.view.charts import Chart
from scalarviz.pictures.view.frame_data import Guess
from scalarviz.pictures.view.on_top import OnTop
from scalarviz.pictures.view.scene.panes import Panes
from scalarviz.training.session.caption import Neuron

Part = int | Perceptron | Neuron
Pin = Part | Sequence[Part | None] | None


def setting(name: str) -> Any:
    """Return a property that all stages have in common."""

    def get(panes: PointedPanes) -> Any:
        return getattr(panes.stages[0], name)

    def put(panes: PointedPanes, value: object) -> None:
        for stage in panes.stages:
            setattr(stage, name, value)

    return property(get, put)


def of_chosen(name: str) -> Any:
    """Return a property of the chosen stage."""

    def get(panes: PointedPanes) -> Any:
        return getattr(panes.stages[panes.chosen], name)

    def put(panes: PointedPanes, value: object) -> None:
        setattr(panes.stages[panes.chosen], name, value)

    return property(get, put)


class PointedPanes(Messages):
    """The part of a picture of several sessions that is about pointing, in logical pixels.

    stages    of the panes
    chosen    number of the pane that commands on one session mean
    together  whether cameras turn together, and weights of equal networks are pinned together
    help      whether the list of `keys` is shown
    on_top    what lies over the panes on the last picture; nothing before the first
    """

    stages: list[Stage]
    _panes: Panes
    _picture: Any
    on_top = OnTop()

    def __init__(self) -> None:
        super().__init__()
        self.chosen = 0
        self.together = True
        self.help = False
        self.keys: list[tuple[str, str]] = []
        self.pointed: int | None = None  # the step under the mouse in the chart
        self.on_title = False  # whether the mouse is on the title of the chart
        self._mouse = -1.0, -1.0

    pinned: int | None = of_chosen("pinned")
    pinned_neuron: Neuron | None = of_chosen("pinned_neuron")
    hover: int | None = of_chosen("hover")
    hover_neuron: Neuron | None = of_chosen("hover_neuron")
    walking: bool = of_chosen("walking")
    marks: bool = of_chosen("marks")
    own: FloatArray | None = of_chosen("own")
    guess: Guess | None = of_chosen("guess")
    hidden: Guess | None = of_chosen("hidden")
    curve_view: CurveView = setting("curve_view")

    @property
    def chart(self) -> Chart | None:
        """The loss curves on the last picture, or None."""
        return self.on_top.chart

    @property
    def looks(self) -> tuple[object, ...]:
        """Changes with how the chart looks: then it is drawn anew."""
        return *self.curve_view.looks, *(stage.guess for stage in self.stages)

    @abstractmethod
    def look(self, name: str) -> None:
        """Move the cameras to a preset."""

    @final
    @property
    def _moved(self) -> list[Stage]:
        """The stages whose cameras move: all together, or the chosen one."""
        return self.stages if self.together else [self.stages[self.chosen]]

    @final
    def orbit(self, dx: float, dy: float) -> None:
        for stage in self._moved:
            stage.orbit(dx, dy)

    @final
    def move(self, dx: float, dy: float) -> None:
        for stage in self._moved:
            stage.move(dx, dy)

    @final
    def zoom(self, factor: float, x: float, y: float) -> None:
        """Zoom in on a pixel of a pane, and on the same place of the others."""
        number = self._panes.at(x, y)
        if number is None:
            return
        box = self._panes.panes[number]
        across, down = (x - box.x) / box.width, (y - box.y) / box.height
        stages = self.stages if self.together else [self.stages[number]]
        for stage in stages:
            own = self._panes.panes[self.stages.index(stage)]
            stage.zoom(factor, across * own.width, down * own.height)

    @final
    def frame_pinned(self) -> None:
        """Look at the pinned weights closely; at the whole network where none is pinned."""
        for stage in self._moved:
            stage.frame_pinned()

    @final
    def restore(self) -> None:
        """Close help or the large chart, else do so with the chosen pane, or with all."""
        if self.help:
            self.help = False
        elif not self.curve_view.close():
            for stage in self._moved:
                stage.restore()

    # The mouse.

    @final
    def place_of(self, row: int) -> FloatArray | None:
        """Return the pixel (x, y) where the middle of a cube of the chosen session is seen."""
        found, box = self.stages[self.chosen].place_of(row), self._panes.panes[self.chosen]
        return None if found is None else found + np.array((box.x, box.y))

    @final
    def choose_at(self, x: float, y: float) -> bool:
        """Choose the session whose pane, or row of the table, is at a pixel; return if there is."""
        number = self._panes.at(x, y)
        number = self._panes.row_at(x, y) if number is None else number
        if number is not None and not self._covers(x, y):
            self.chosen = number
        return number is not None

    def _covers(self, x: float, y: float) -> bool:
        """Return whether a button or the chart lies over the panes at a pixel."""
        return self.on_top.on_chart(x, y) or self.on_top.button_at(x, y) is not None

    def _within(self, x: float, y: float) -> tuple[Stage | None, float, float]:
        """Return the stage whose pane is at a pixel, and the pixel within it."""
        number = self._panes.at(x, y)
        if number is None or self._covers(x, y):
            return None, x, y
        box = self._panes.panes[number]
        return self.stages[number], x - box.x, y - box.y

    @final
    def hover_at(self, x: float, y: float) -> None:
        """Point with the mouse."""
        found, inner_x, inner_y = self._within(x, y)
        for stage in self.stages:
            if stage is found:
                stage.hover_at(inner_x, inner_y)
            elif not stage.walking:
                stage.hover_at(-1.0, -1.0)
        self._mouse = x, y
        self._point_at_chart()

    def _point_at_chart(self) -> None:
        """Point at the step that is under the mouse now: the chart moves while it trains."""
        (x, y), chart = self._mouse, self.chart
        self.pointed = None if chart is None else chart.step_under(x, y)
        self.on_title = chart is not None and chart.title.has(x, y)

    @final
    def handle_at(self, x: float, y: float) -> Handle | None:
        """Return the handle of the cube at a pixel, by which its weight is dragged, or None."""
        stage, x, y = self._within(x, y)
        return None if stage is None else stage.handle_at(x, y)

    @final
    def grip_at(self, x: float, y: float) -> Grip | None:
        """Return the grip at a pixel, by which inputs of the user's own are put in, or None."""
        number = self._panes.at(x, y)
        stage, inner_x, inner_y = self._within(x, y)
        grip = None if stage is None else stage.grip_at(inner_x, inner_y)
        if grip is None or number is None:
            return None
        return PaneGrip(grip, self._panes.panes[number].x, self._panes.panes[number].y)

    @final
    def put_in(self) -> None:
        """Begin with an input of the user's own, in the chosen session."""
        self.stages[self.chosen].put_in()

    @final
    def click(self, x: float, y: float) -> None:
        """Press the button at a pixel, else choose the session there, and pin what is there."""
        if (name := self.on_top.button_at(x, y)) is not None:
            self._press(name)
            return
        self.hover_at(x, y)
        if self.on_title:
            self.curve_view.large = not self.curve_view.large
            return
        self.choose_at(x, y)
        stage, inner_x, inner_y = self._within(x, y)
        if stage is not None:
            stage.click(inner_x, inner_y)
            self._pin_alike(stage)

    def _press(self, name: str) -> None:
        """Press the button of the picture, or those of this name of the sessions."""
        if not self.press(name):
            for stage in self.stages:
                stage.press(name)

    def _pin_alike(self, pinned: Stage) -> None:
        """Pin the same in all sessions of equal networks, if they go together."""
        for stage in self.stages if self.together else ():
            if stage is not pinned and alike(stage.session, pinned.session):
                neuron = pinned.pinned_neuron
                stage.pin(pinned.pinned if neuron is None else neuron)

    @final
    def walk(self, way: str) -> None:
        """Point at the next cube or neuron of the chosen session; see `Stage.walk`."""
        self.stages[self.chosen].walk(way)

    @final
    def pin_pointed(self) -> None:
        """Pin what the keyboard points at, or unpin it."""
        self.stages[self.chosen].pin_pointed()
        self._pin_alike(self.stages[self.chosen])

    @final
    def pin(self, part: Pin) -> None:
        """Pin a row of the bank in each session that has it, a Perceptron in its own, or nothing.

        A list has a part, or None, for each session. Raises InputError for what no session has.
        """
        count = len(self.stages)
        given = list_of_parts(part, count)
        parts: list[Any] = given or [part] * count
        errors: list[ScalarvizError] = []
        for stage, each in zip(self.stages, parts, strict=True):
            try:
                stage.pin(each)
            except ScalarvizError as error:
                errors.append(error)
        if errors and (given or len(errors) == count):
            raise errors[0]


@final
class PaneGrip(Grip):
    """A grip in a pane whose upper left corner is at a pixel of the picture."""

    def __init__(self, grip: Grip, x: float, y: float) -> None:
        self._grip, self._x, self._y = grip, x, y
        self.at_once = grip.at_once

    def inputs_at(self, x: float, y: float) -> FloatArray:
        return self._grip.inputs_at(x - self._x, y - self._y)


def list_of_parts(part: Pin, count: int) -> list[Part | None] | None:
    """Return the parts to pin of a list, one for each of `count` sessions; None for one part."""
    is_neuron = isinstance(part, tuple) and len(part) == 2 and isinstance(part[0], str)
    if is_neuron or not isinstance(part, (list, tuple)):
        return None
    if len(part) != count:
        raise InputError(
            f"side by side are {count} sessions, and pin has {len(part)} parts: write one for each "
            "session, None for nothing"
        )
    return list(part)
