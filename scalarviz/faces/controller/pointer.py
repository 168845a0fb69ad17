"""Pointer: the mouse over the picture, independent of a toolkit."""

from __future__ import annotations

from typing import final

from scalarviz.faces.controller.controller import Controller
from scalarviz.faces.controller.curve_pointer import LEFT, STILL, CurvePointer
from scalarviz.faces.controller.dragging import drag, let_go
from scalarviz.faces.controller.group import Group
from scalarviz.faces.controller.own_input import put_in
from scalarviz.stage.handles import Grip, Handle

NOTCH = 1.15  # zoom factor per notch of the wheel


@final
class Pointer:
    """Left button: rotate or click; other buttons: move; wheel: zoom at the pointer.

    On the loss curve, see `CurvePointer`. On a large enough cube the left button drags the weight,
    up for more; on the sphere of an input, the image of the inputs or the panel of what is learned
    it puts in an input of the user's own; around the cube that is guessed about it turns the
    arrow. With shift, a click on a cube pins it beside the one that is pinned.

    Of several sessions, a press chooses the one under the pointer.

    Buttons are numbered, 1 is left; positions are logical pixels from the upper left corner.
    """

    def __init__(self, controller: Controller | Group) -> None:
        self.group = Group.of(controller)
        self.curve = CurvePointer(self.group)
        self._button: int | None = None  # the first one pressed
        self._start = self._last = (0.0, 0.0)
        self._moved = self._shift = False
        self._handle: Handle | None = None  # the cube, or the arrow of a guess, that is held
        self._grip: Grip | None = None  # what puts in an input

    @property
    def controller(self) -> Controller:
        """The controller of the chosen session."""
        return self.group.lead

    def press(self, button: int, x: float, y: float, *, shift: bool = False) -> None:
        if self._button is None:
            self._button, self._moved = button, False
            self._start = self._last = x, y
            self._shift = shift
            self._handle = self._grip = None
            on_curve = self.curve.press(button, x, y, shift=shift)
            if not on_curve:
                self.group.choose_at(x, y)
            if button == LEFT and not on_curve:
                self._handle = self.group.stage.handle_at(x, y)
                self._grip = self.group.stage.grip_at(x, y)
                if self._grip is not None and self._grip.at_once:
                    put_in(self.controller, self._grip.inputs_at(x, y))

    def move(self, x: float, y: float) -> None:
        """Drag, or hover."""
        stage = self.group.stage
        if self._button is None:
            stage.hover_at(x, y)
            return
        if self.curve.move(x, y):
            return
        far = max(abs(x - self._start[0]), abs(y - self._start[1]))
        self._moved = self._moved or far >= STILL
        if self._grip is not None and (self._moved or self._grip.at_once):
            put_in(self.controller, self._grip.inputs_at(x, y))
        elif self._moved and self._handle is not None:
            drag(self.controller, self._handle, self._start[1] - y)
        elif self._moved:
            self.leave()
            act = stage.orbit if self._button == LEFT else stage.move
            act(x - self._last[0], y - self._last[1])
            self._last = x, y

    def release(self, button: int, x: float, y: float) -> None:
        if button != self._button:
            return
        self._button = None
        if self.curve.release():
            return
        if self._grip is not None and (self._moved or self._grip.at_once):
            return
        if not self._moved and button == LEFT:
            stages = self.group.stage.stages  # only one alone has pins beside each other
            if not (self._shift and len(stages) == 1 and stages[0].pin_beside(x, y)):
                self.group.click(x, y)
        elif self._moved and self._handle is not None:
            let_go(self.controller, self._handle, self._start[1] - y)
        elif self._moved:
            self.group.stage.hover_at(x, y)

    def wheel(self, notches: float, x: float, y: float) -> None:
        """Zoom in by notches of the wheel; negative ones zoom out."""
        if not self.curve.wheel(notches, x, y):
            self.group.stage.zoom(NOTCH**notches, x, y)

    def pinch(self, factor: float, x: float, y: float) -> None:
        """Zoom in by a factor, out by one below 1."""
        if not self.curve.zoom(factor, x, y):
            self.group.stage.zoom(factor, x, y)

    def leave(self) -> None:
        """End hovering."""
        self.group.stage.hover_at(-1.0, -1.0)
