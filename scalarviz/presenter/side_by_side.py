"""SideBySide: the stages of several sessions as one picture, with common scales and a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, final

import numpy as np

from scalarviz.draw2d.theme import THEMES
from scalarviz.errors import InputError, ScalarvizError
from scalarviz.formulas.table import pick
from scalarviz.layers.perceptron import Perceptron
from scalarviz.presenter.compared_rows import cells_of, colors_of, heads_of
from scalarviz.presenter.scales import Scales, Shown
from scalarviz.presenter.several import Several
from scalarviz.presenter.stage import Stage
from scalarviz.session.caption import Neuron
from scalarviz.view.compared import Compared, ComparedRow
from scalarviz.view.frame_data import CubeValues, Curve, FrameData, Pane
from scalarviz.view.scene.frame import Box
from scalarviz.view.scene.panes import Panes

Part = int | Perceptron | Neuron
Pin = Part | Sequence[Part | None] | None


def setting(name: str) -> Any:
    """Return a property that all stages have in common."""

    def get(side_by_side: SideBySide) -> Any:
        return getattr(side_by_side.stages[0], name)

    def put(side_by_side: SideBySide, value: object) -> None:
        for stage in side_by_side.stages:
            setattr(stage, name, value)

    return property(get, put)


@final
class SideBySide:
    """The pictures of several sessions in panes of one, which share their scales.

    several  the sessions, and their names
    stages   of the panes
    scales   channels and scales of all panes
    chosen   number of the pane that commands on one session mean
    silent   whether the picture has no buttons, as in a file
    """

    def __init__(
        self,
        several: Several,
        theme: str = "dark",
        camera: str = "perspective",
        layout: str = "beads",
        **given: Any,
    ) -> None:
        self.several = several
        self.stages = [Stage(show, theme, camera, layout, **given) for show in several.shows]
        self.scales = Scales()
        self.chosen = 0
        self.silent = False
        self._now = 0.0
        self._extent = (1280.0, 800.0)
        self._picture: Any = None
        self._panes = self._divide()
        for stage in self.stages:
            stage.share(self.scales, self._shown)
            stage.curve_view = self.stages[0].curve_view
            stage.silent = True
        self._place()
        self.rescale()

    def _shown(self) -> list[Shown]:
        return [stage.shown() for stage in self.stages]

    def rescale(self, *, anew: bool = False) -> None:
        """Choose scales for the numbers of all panes, or for numbers that are read `anew`."""
        if anew:
            for stage in self.stages:
                stage.reading.refresh()
        self.scales.choose(self._shown())

    # Settings.

    @property
    def theme(self) -> str:
        return self.stages[0].theme

    @theme.setter
    def theme(self, name: str) -> None:
        for stage in self.stages:
            stage.theme = pick(THEMES, name, "theme").name

    @property
    def channels(self) -> list[str]:
        """Names of the channels for color and size that a session has."""
        return list(dict.fromkeys(name for stage in self.stages for name in stage.channels))

    @property
    def color(self) -> str:
        return self.scales.color

    @color.setter
    def color(self, name: str) -> None:
        self.scales.color = pick({each: each for each in self.channels}, name, "channel")
        self.rescale()

    @property
    def size(self) -> str:
        return self.scales.size

    @size.setter
    def size(self, name: str) -> None:
        self.scales.size = pick({each: each for each in self.channels}, name, "channel")
        self.rescale()

    @property
    def per_layer(self) -> bool:
        return self.scales.per_layer

    @per_layer.setter
    def per_layer(self, on: bool) -> None:
        self.scales.per_layer = on
        self.rescale()

    neuron_maps = setting("neuron_maps")
    test_points = setting("test_points")
    discrete = setting("discrete")
    by_card = setting("by_card")

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

    # Pictures.

    def _divide(self) -> Panes:
        return Panes.of(len(self.stages), *self._extent)

    def resize(self, width: float, height: float) -> None:
        """Set the size in logical pixels."""
        if (width, height) != self._extent:
            self._extent = width, height
            self._panes = self._divide()
            self._place()

    def _place(self) -> None:
        """Tell the stages which panes they have."""
        colors = colors_of(len(self.stages), THEMES[self.theme])
        parts = zip(self.stages, self._panes.panes, self.several.names, colors, strict=True)
        for stage, box, name, color in parts:
            stage.pane = Pane(self._panes.scale, name, color)
            stage.resize(box.width, box.height)

    def tick(self, now: float) -> bool:
        """Advance to the time `now`; return whether something moves by itself."""
        self._now = now
        moving = [stage.tick(now) for stage in self.stages]
        return any(moving)

    def frame_data(self) -> list[FrameData]:
        """Return everything that the panes show now, on common scales."""
        for stage in self.stages:
            stage.read()
        self.scales.follow(self._shown(), self._now)
        self._place()
        return in_common([stage.frame_data() for stage in self.stages])

    def compared(self, panes: list[FrameData]) -> Compared:
        """Return what stands around the panes."""
        heads = heads_of(self.stages)
        rows = [
            ComparedRow(stage.pane.name, stage.pane.color, cells_of(stage, heads), data.curve)
            for stage, data in zip(self.stages, panes, strict=True)
            if stage.pane is not None
        ]
        chosen, seen = self.stages[self.chosen], panes[self.chosen]
        caption = seen.words.caption
        speaks = chosen.motion.walking and caption is not None
        return Compared(
            heads,
            rows,
            legend_of(panes),
            common_axis([data.curve for data in panes]),
            caption.title if caption is not None and speaks else "",
            None if self.silent else self.chosen,
        )

    def draw(self, width: int, height: int, ratio: float) -> None:
        """Draw in the current OpenGL context, `ratio` device pixels per logical pixel."""
        from scalarviz.view.compared_picture import ComparedPicture

        if width < 2 or height < 2:
            return
        self.resize(width / ratio, height / ratio)
        around = self._picture = self._picture or ComparedPicture()
        theme = THEMES[self.theme]
        try:
            panes = self.frame_data()
            around.clear(theme, width, height)
            for stage, data, box in zip(self.stages, panes, self._panes.panes, strict=True):
                left, low, wide, high = device_box(box, self._extent[1], ratio)
                if wide > 1 and high > 1:
                    picture, camera = stage.picture(), stage.eyes.camera
                    picture.draw(data, camera, wide, high, ratio, (left, low))
            around.draw(self._panes, self.compared(panes), theme, width, height, ratio)
        except Exception:
            self.release()  # what it has on the graphics card may be lost
            raise

    def leave(self) -> None:
        """Unpin everything, and free the pictures."""
        for stage in self.stages:
            stage.leave()
        self.release()

    def release(self) -> None:
        """Free the memory on the graphics card; the next picture allocates it again."""
        for stage in self.stages:
            stage.release()
        if self._picture is not None:
            self._picture.release()


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


def device_box(box: Box, high: float, ratio: float) -> tuple[int, int, int, int]:
    """Return left, lower edge, width and height in device pixels, in a picture so `high`."""
    left, right = round(box.x * ratio), round(box.right * ratio)
    low, top = round((high - box.bottom) * ratio), round((high - box.y) * ratio)
    return left, low, right - left, top - low


def in_common(panes: list[FrameData]) -> list[FrameData]:
    """Return the panes with one scale for the activations of all, and one for the gradients."""
    activations = max(data.buffers.scale for data in panes)
    tops = [top_push(data.cubes) for data in panes]
    top = max((each for each in tops if each is not None), default=None)
    return [
        replace(
            data,
            buffers=replace(data.buffers, scale=activations),
            cubes=data.cubes if each is None else replace(data.cubes, top_push=top),
        )
        for data, each in zip(panes, tops, strict=True)
    ]


def top_push(cubes: CubeValues) -> float | None:
    """Return the gradient with the longest arrow; None if there are no arrows."""
    if cubes.pushes is None or cubes.top_push is not None:
        return cubes.top_push
    sizes = np.abs(cubes.pushes)
    sizes = sizes[np.isfinite(sizes)]
    return float(sizes.max()) if len(sizes) else None


def legend_of(panes: list[FrameData]) -> CubeValues:
    """Return what the legend says: the scales of all panes, and how many numbers exceed them."""
    cubes = [data.cubes for data in panes]
    clipped = sum(each.clipped for each in cubes)
    grown = next((each.grown for each in cubes if each.grown), None)
    scales = np.concatenate([each.color_scales for each in cubes])
    return replace(cubes[0], clipped=clipped, grown=grown, color_scales=scales)


def common_axis(curves: list[Curve]) -> Curve:
    """Return a curve with the steps of all, for the axis."""
    first = max(curves, key=lambda curve: curve.whole)
    return replace(first, end=first.whole, others=(), metrics=())
