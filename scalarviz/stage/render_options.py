"""RenderOptions: how pictures, videos and storyboards are rendered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from scalarviz.base.checks import answers, number, require, shorten, true_or_false
from scalarviz.base.checks import size as count_of
from scalarviz.core.formulas.formula import pick
from scalarviz.core.past_numbers import KINDS
from scalarviz.scene.layout.camera import Camera
from scalarviz.scene.overlay import TABS_OF_PAST
from scalarviz.stage.encoders import Frame
from scalarviz.stage.show import Several, Show
from scalarviz.stage.stages import Pin, Stages, stages_of

if TYPE_CHECKING:
    from scalarviz.scene.picture import Canvas
    from scalarviz.stage.sweep_stage import SweepStage


LARGEST = 8192  # pixels along a side
PASTS = {name: name for name in (*KINDS, *TABS_OF_PAST)}
SWITCHES = "per_layer", "every_weight", "neuron_maps", "test_points", "discrete", "numbers"


@answers
@dataclass(frozen=True)
class RenderOptions:
    """How a picture is rendered; raises InputError for a value out of range.

    size       width and height in logical pixels, 16 to 8192 each
    ratio      device pixels per logical pixel, 0.25 to 8
    samples    each pixel is the mean of samples x samples, 1 to 4
    theme      "dark" or "light"
    camera     "perspective", "orthographic" or "flat", or a Camera
    color      what the colors of cubes show; `cubes` what their sizes show; see `Stage.channels`
    per_layer  whether each layer has its own color scale
    pin        bank index of the weight whose arithmetic is shown, or a Perceptron: its sum; a list
               of them for several sessions
    every_weight  whether each layer is a wall in which every weight is a cube, as tables are anyway
    neuron_maps  whether squares show what their neurons compute over all places
    test_points  whether held-out samples are drawn on the map of the plane
    discrete   whether maps of the plane have two colors only
    numbers    whether all cubes have their numbers
    past       what stands below the network: all weights over time, their "value", "gradient" or
               "change", these by "distance", "norms" of layers, such as "gradient norms", or the
               "landscape"; None: nothing
    """

    size: tuple[int, int] = (1280, 800)
    ratio: float = 1.0
    samples: int = 2
    theme: str = "dark"
    camera: str | Camera = "perspective"
    color: str = "value"
    cubes: str = "value"
    per_layer: bool = False
    pin: Pin = None
    every_weight: bool = False
    neuron_maps: bool = True
    test_points: bool = False
    discrete: bool = False
    numbers: bool = False
    past: str | None = None

    def __post_init__(self) -> None:
        given = self.size.tolist() if isinstance(self.size, np.ndarray) else self.size
        require(
            isinstance(given, (tuple, list)) and len(given) == 2,
            f"a picture has a width and a height, such as size=(800, 500), not {shorten(given)}",
        )
        object.__setattr__(self, "size", tuple(given))
        for pixels, what in zip(self.size, ("width", "height"), strict=True):
            require(
                16 <= count_of(pixels, f"the {what} of a picture") <= LARGEST,
                f"the {what} of a picture is 16 to {LARGEST} pixels, not {shorten(pixels)}",
            )
        require(
            0.25 <= number(self.ratio, "the ratio of a picture", 0.0) <= 8.0,
            f"the ratio of a picture is 0.25 to 8, not {shorten(self.ratio)}",
        )
        require(
            1 <= count_of(self.samples, "the samples of a picture") <= 4,
            f"a pixel has 1 to 4 samples a side, not {shorten(self.samples)}",
        )
        for name in SWITCHES:
            true_or_false(getattr(self, name), name)

    def check(self, show: object) -> None:
        """Raise InputError if a name or the pinned row is unknown, DisplayError without OpenGL."""
        with self.canvas(), self.on(show):
            pass

    @contextmanager
    def on(self, show: object) -> Iterator[Stages]:
        """Return what draws a session, or several, with these options; closed with the block."""
        name = "perspective" if isinstance(self.camera, Camera) else self.camera
        stage = stages_of(show, self.theme, name, reduced_motion=True)
        try:
            stage.silent = True
            self.choose(stage)
            stage.resize(*self.size)
            if isinstance(self.camera, Camera):
                for part in stage.panes:
                    part.eyes.go(self.camera)
            yield stage
        finally:
            stage.leave()

    def choose(self, stage: Stages) -> None:
        """Choose what these options say in a picture; InputError if the pinned row is unknown."""
        stage.size = self.cubes
        for each in ("color", *SWITCHES):
            setattr(stage, each, getattr(self, each))
        if self.pin is not None:
            stage.pin(self.pin)  # which checks it
        if self.past is not None:
            stage.curve_view.large = True
            for name in str(self.past).split():
                stage.curve_view.choose(pick(PASTS, name, "past"))

    def canvas(self) -> Canvas:
        from scalarviz.scene.picture import Canvas  # slow to import

        return Canvas(*self.size)


PAGE = RenderOptions(size=(1200, 760), samples=1)  # default of storyboards


def looked(look: RenderOptions, given: Mapping[str, Any]) -> RenderOptions:
    """Return `look` with those of its fields that are `given` and not None.

    Raises InputError if `look` is no RenderOptions.
    """
    require(
        isinstance(look, RenderOptions),
        f"look takes a RenderOptions, not {shorten(look)}: leave it out",
    )
    names = RenderOptions.__dataclass_fields__
    return replace(look, **{name: given[name] for name in names if given[name] is not None})


def shown(given: object) -> Show | Several:
    """Return a Show of a session, or several of a list; raise InputError for anything else."""
    if not isinstance(given, (Several, list, tuple, Mapping)):
        return Show.of(given)
    several = Several.of(given)
    return several if len(several.shows) > 1 else several.shows[0]


def drawn(canvas: Canvas, stage: Stages | SweepStage, look: RenderOptions) -> Frame:
    """Return the stage as rendered pixels."""
    return canvas.frame(stage.draw, look.ratio, look.samples)
