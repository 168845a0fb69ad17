"""WatchOptions: how a window or a notebook shows a training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from scalarviz.base.checks import number
from scalarviz.core.formulas.formula import pick
from scalarviz.faces.controller.autosave import Keep
from scalarviz.faces.controller.controller import Controller
from scalarviz.faces.controller.group import Group
from scalarviz.faces.controller.options import Recipe
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.stage.background import AT_ONCE
from scalarviz.stage.render_options import RenderOptions
from scalarviz.stage.show import Several, Show
from scalarviz.stage.side_by_side import stage_of


@final
@dataclass(frozen=True)
class WatchOptions:
    """The arguments of `sv.watch` for a window or a notebook; InputError for one out of range.

    recipes  how the scenes were made, one for each session; empty: nobody knows
    """

    steps: int | None = None
    speed: float | None = None
    theme: str = "auto"
    keep: Keep = field(default_factory=Keep)
    recipes: Sequence[Recipe | None] = ()
    size: tuple[int, int] | None = None
    play: bool | None = None
    tour: bool = False
    reduced_motion: bool = False
    present: bool = False
    nodes: Callable[[Any], object] | None = None
    color: str = "value"
    cubes: str = "value"
    pin: Any = None

    def __post_init__(self) -> None:
        pick({"auto": "", **THEMES}, self.theme, "theme")
        if self.speed is not None:
            number(self.speed, "the speed", 0.0)
        if self.size is not None:
            object.__setattr__(self, "size", RenderOptions(size=self.size).size)

    def group(self, show: Show | Several, theme: str, *, reduced_motion: bool = False) -> Group:
        """Return the controllers of a show, or of several, and their picture in a `theme`.

        reduced_motion  True: no animations, whatever the options say
        """
        still = self.reduced_motion or reduced_motion
        stage = stage_of(show, theme, reduced_motion=still, patience=AT_ONCE)
        stage.present, stage.nodes = self.present, self.nodes
        stage.color, stage.size = self.color, self.cubes
        if self.pin is not None:
            stage.pin(self.pin)
        if isinstance(show, Several):
            return Group.side_by_side(stage, self.recipes, steps=self.steps, speed=self.speed)
        recipe = next(iter(self.recipes), None)
        return Group.of(Controller(show, stage, recipe, steps=self.steps, speed=self.speed))
