"""The pointer over the picture: what a mouse does there, whichever toolkit tells of it."""

from __future__ import annotations

from typing import final

from scalarviz.controller.controller import Controller

STILL = 4.0  # pixels; a press that moves less is a click
NOTCH = 1.15  # by what a notch of the wheel zooms
LEFT = 1


@final
class Pointer:
    """The left button turns, the others move, the wheel zooms where it points, a click chooses.

    Buttons are numbers, 1 is the left one; places are logical pixels from the upper left corner.
    """

    def __init__(self, controller: Controller) -> None:
        self.controller = controller
        self._button: int | None = None  # that was pressed first
        self._start = self._last = (0.0, 0.0)
        self._moved = False

    def press(self, button: int, x: float, y: float) -> None:
        if self._button is None:
            self._button, self._moved = button, False
            self._start = self._last = x, y

    def move(self, x: float, y: float) -> None:
        """Drag, or point at something."""
        stage = self.controller.stage
        if self._button is None:
            stage.hover_at(x, y)
            return
        far = max(abs(x - self._start[0]), abs(y - self._start[1]))
        self._moved = self._moved or far >= STILL
        if self._moved:
            act = stage.orbit if self._button == LEFT else stage.move
            act(x - self._last[0], y - self._last[1])
            self._last = x, y

    def release(self, button: int, x: float, y: float) -> None:
        if button != self._button:
            return
        self._button = None
        if not self._moved and button == LEFT:
            self.controller.click(x, y)

    def wheel(self, notches: float, x: float, y: float) -> None:
        """Nearer by so many notches, or farther."""
        self.controller.stage.zoom(NOTCH**notches, x, y)

    def leave(self) -> None:
        """It points at nothing any more."""
        self.controller.stage.hover_at(-1.0, -1.0)
