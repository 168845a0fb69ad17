"""A page in a frame as a person meets it: what is seen of it, and what a mouse does with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

FIRST_IN_SIGHT = """state.value.reduce((found, _, row) => {
  const { picture } = scalarviz
  const { x, y } = picture.placeOf({ row })
  return found ?? (picture.at(x, y)?.row === row ? [row, x, y] : null)
}, null)"""


class SeenPage:
    """The page of a session in a frame.

    A class of it has `mouse` and `frame`, those of Playwright, and `wait` and `rest`, which let
    messages pass: until a function returns something true, or for some seconds.
    """

    @property
    def mouse(self) -> Any:
        raise NotImplementedError

    @property
    def frame(self) -> Any:
        raise NotImplementedError

    def wait(self, true: Callable[[], Any]) -> Any:
        raise NotImplementedError

    def rest(self, seconds: float = 0.3) -> None:
        raise NotImplementedError

    @property
    def is_drawn(self) -> bool:
        return bool(self.frame.evaluate("document.body?.classList.contains('drawn') ?? false"))

    def app(self, expression: str) -> Any:
        """The value of an expression of the page's app."""
        return self.frame.evaluate(f"scalarviz.{expression}")

    def do(self, expression: str) -> None:
        """Evaluate an expression of the page's app that acts."""
        self.frame.evaluate(f"scalarviz.{expression}; null")

    @property
    def step(self) -> int:
        """The step that it shows; -1 before its first state."""
        return int(self.app("state?.step ?? -1"))

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Where a place of the picture is on the tab."""
        box = self.frame.locator("#cubes").bounding_box()
        return box["x"] + x, box["y"] + y

    def place_of(self, thing: str) -> tuple[float, float]:
        """Where a cube or a neuron is seen, once the picture stands."""
        self.rest(0.2)
        place = self.app(f"picture.placeOf({thing})")
        return self.at(place["x"], place["y"])

    def cube_in_sight(self) -> tuple[int, float, float]:
        """The row of a cube that no other hides, and where it is seen."""
        self.rest(0.2)
        row, x, y = self.app(FIRST_IN_SIGHT)
        return row, *self.at(x, y)

    def camera(self) -> str:
        return json.dumps(self.app("picture.eyes"), sort_keys=True, default=str)

    def drag(self) -> None:
        """Turn the picture."""
        self.mouse.move(*self.at(30.0, 60.0))
        self.mouse.down()
        self.mouse.move(*self.at(130.0, 90.0), steps=4)
        self.mouse.up()

    def turns(self) -> bool:
        """Whether a drag turns it."""
        before = self.camera()
        self.drag()
        self.rest(0.1)
        return self.camera() != before
