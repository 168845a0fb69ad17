"""SideBySide: the stages of several sessions as one picture, with common scales and a table."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.pictures.draw2d.theme import THEMES
from scalarviz.pictures.presenter.by_neuron import ByNeuron
from scalarviz.pictures.presenter.captions.strip import cells_of as cells_in
from scalarviz.pictures.presenter.channels import DIFFERENCE
from scalarviz.pictures.presenter.compared_rows import cells_of, colors_of, heads_of
from scalarviz.pictures.presenter.curves import loss_at
from scalarviz.pictures.presenter.pointed_panes import PointedPanes, of_chosen, setting
from scalarviz.pictures.presenter.scales import Scales, Shown, of_scales
from scalarviz.pictures.presenter.several import Several, alike, sizes_of
from scalarviz.pictures.presenter.show import Show
from scalarviz.pictures.presenter.stage import Stage
from scalarviz.pictures.view.compared import Compared, ComparedRow
from scalarviz.pictures.view.frame_data import CubeValues, Curve, FrameData, Pane
from scalarviz.pictures.view.scene.frame import Box
from scalarviz.pictures.view.scene.panes import Panes
from scalarviz.pictures.view.strip import label
from scalarviz.training.session.timeline import Position


@final
class SideBySide(PointedPanes):
    """The pictures of several sessions in panes of one, which share their scales.

    several   the sessions, and their names
    names     the names, which follow the sizes of networks that grow
    scales    channels and scales of all panes
    silent    whether the picture has no buttons, as in a file
    present   whether letters are larger
    still     returns a context in which no session moves, which holds True; False if that has to
              wait for too long
    """

    def __init__(
        self,
        several: Several,
        theme: str = "dark",
        camera: str = "perspective",
        **given: Any,
    ) -> None:
        super().__init__()
        self.several = several
        self.stages = [Stage(show, theme, camera, **given) for show in several.shows]
        self.names = list(several.names)
        self.scales = Scales()
        self.silent = False
        self.present, self.reduced_motion = False, self.stages[0].reduced_motion
        self.travel: Callable[[int], object] = lambda operations: None
        self.still: Callable[[], AbstractContextManager[bool]] = lambda: nullcontext(True)
        self._is_read = False
        self._now = 0.0
        self._extent = (1280.0, 800.0)
        self._picture: Any = None
        self._sizes = [sizes_of(stage.session) for stage in self.stages]
        self._panes = self._divide()
        for stage in self.stages:
            stage.share(self.scales, self._shown, partial(self._first_for, stage))
            stage.curve_view = self.stages[0].curve_view
            stage.silent = True
        self._place()
        self.rescale()

    def _shown(self) -> list[Shown]:
        return [stage.shown() for stage in self.stages]

    def _first_for(self, stage: Stage) -> FloatArray | None:
        """Return the values of the first session, if a session's network has the same shape."""
        first = self.stages[0]
        return first.reading.numbers.value if alike(first.session, stage.session) else None

    def rescale(self, *, anew: bool = False) -> None:
        """Choose scales for the numbers of all panes, or for numbers that are read `anew`."""
        if anew:
            for stage in self.stages:
                stage.refresh()
        self.scales.choose(self._shown())

    # Settings.

    show: Show = of_chosen("show")
    part_of_tour: str = of_chosen("part_of_tour")
    adding: float = of_chosen("adding")
    asleep: bool = of_chosen("asleep")
    camera: str = of_chosen("camera")
    nodes: Callable[[Any], object] | None = setting("nodes")
    patience: float = setting("patience")
    theme: str = setting("theme")
    menus: float = setting("menus")
    panel: float = setting("panel")
    neuron_maps: bool = setting("neuron_maps")
    test_points: bool = setting("test_points")
    discrete: bool = setting("discrete")
    color: str = of_scales("color")
    size: str = of_scales("size")
    per_layer: bool = of_scales("per_layer")
    picture: Callable[[], Any] = of_chosen("picture")
    given: float = setting("given")
    finish: Callable[[], None] = of_chosen("finish")
    by_neuron: ByNeuron = of_chosen("by_neuron")

    @property
    def has_plane(self) -> bool:
        """Whether the data of a session lie in a plane."""
        return any(stage.has_plane for stage in self.stages)

    @property
    def channels(self) -> list[str]:
        """Names of the channels for color and size that a session has, or that compare some."""
        found = dict.fromkeys(name for stage in self.stages for name in stage.channels)
        first, *others = [stage.session for stage in self.stages]
        if any(alike(first, other) for other in others):
            found[DIFFERENCE] = None
        return list(found)

    def look(self, name: str) -> None:
        """Move all cameras to a preset."""
        for stage in self.stages:
            stage.look(name)

    def replace(self, show: object) -> None:
        """Show another session in the chosen pane."""
        self.stages[self.chosen].replace(show)
        self.scales.keep_to(self.channels)
        self.rescale()

    # Pictures.

    def _divide(self) -> Panes:
        return Panes.of(len(self.stages), *self._extent, present=self.present)

    def resize(self, width: float, height: float) -> None:
        """Set the size in logical pixels."""
        self._extent = width, height
        self._panes = self._divide()
        self._place()

    def _place(self) -> None:
        """Tell the stages which panes they have."""
        colors = colors_of(len(self.stages), THEMES[self.theme])
        for i, (stage, box) in enumerate(zip(self.stages, self._panes.panes, strict=True)):
            before, sizes = self._sizes[i], sizes_of(stage.session)
            if sizes != before:  # the network has grown
                self.names[i] = self.names[i].replace(before, sizes) if before else self.names[i]
                self._sizes[i] = sizes
            about = done_of(stage) or self._compared_with(stage)
            stage.pane = Pane(self._panes.scale, self.names[i], colors[i], about)
            stage.resize(box.width, box.height)

    def _compared_with(self, stage: Stage) -> str:
        """Return why a pane shows no difference to the first network; "" if it does."""
        if DIFFERENCE not in (self.color, self.size):
            return ""
        if stage is self.stages[0]:
            return text("compared.first")
        return "" if alike(self.stages[0].session, stage.session) else text("compared.other_shape")

    def tick(self, now: float) -> bool:
        """Advance to the time `now`; return whether something moves by itself."""
        self._now = now
        moving = [stage.tick(now) for stage in self.stages]
        return self.expire(now) or any(moving)

    def read(self) -> Position:
        """Read all sessions at one moment; return where the chosen one stands then.

        If a session is busy for too long, all stay as they were read before.
        """
        with self.still() as still:
            for stage in self.stages if still else ():
                stage.read()
        self._is_read = True
        return self.stages[self.chosen].reading.here

    def frame_data(self) -> list[FrameData]:
        """Return everything that the panes show now, on common scales."""
        if not self._is_read:
            self.read()
        self._is_read = False
        self.scales.follow(self._shown(), self._now)
        self._place()
        return in_common([stage.frame_data() for stage in self.stages])

    def compared(self, panes: list[FrameData]) -> Compared:
        """Return what stands around the panes."""
        self._point_at_chart()
        heads = heads_of(self.stages)
        rows = [
            ComparedRow(
                stage.pane.name,
                stage.pane.color,
                cells_of(stage, heads),
                replace(data.curve, reads=loss_at(stage.reading.here.branch, self.pointed)),
            )
            for stage, data in zip(self.stages, panes, strict=True)
            if stage.pane is not None
        ]
        chosen, seen = self.stages[self.chosen], panes[self.chosen]
        caption, own = seen.words.caption, chosen.own is not None
        speaks = caption is not None and (chosen.motion.walking or own)
        axis = replace(
            common_axis([data.curve for data in panes]),
            pointed=self.pointed,
            on_title=self.on_title,
            large=self.curve_view.large,
        )
        speakers = [self, *([] if self.silent else self.stages)]
        works = [each.work for each in speakers if each.work is not None]
        return Compared(
            heads,
            rows,
            legend_of(panes),
            axis,
            caption.title if caption is not None and speaks else "",
            None if self.silent else self.chosen,
            self._chips(),
            works[0] if works else None,
            [*self.offered, *chosen.offered],
            self.keys if self.help else (),
        )

    def _chips(self) -> list[tuple[str, str]]:
        """Return the messages of all; those of one session under its name."""
        found = dict.fromkeys(self.chips())
        of_each = [dict.fromkeys(stage.chips()) for stage in self.stages]
        for name, chips in zip(self.names, of_each, strict=True):
            for words, action in chips:
                is_common = all((words, action) in each for each in of_each)
                said = words if is_common else text("compared.of", name=name, words=words)
                found[said, action] = None
        return list(found)

    def draw(self, width: int, height: int, ratio: float) -> None:
        """Draw in the current OpenGL context, `ratio` device pixels per logical pixel."""
        from scalarviz.pictures.view.compared_picture import ComparedPicture

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
                    stage.on_top = picture.draw(data, camera, wide, high, ratio, (left, low))
            self.on_top = around.draw(
                self._panes, self.compared(panes), theme, width, height, ratio
            )
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


AnyStage = Stage | SideBySide


def done_of(stage: Stage) -> str:
    """Return the last operation that is done, if a step is under way; else ""."""
    reading, done = stage.reading, stage.reading.place[1]
    cells = cells_in(reading.program, reading.moments)
    return label(cells[done - 1]) if done else ""


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
    before = max(curve.before for curve in curves)
    return replace(first, end=first.whole, before=before, others=(), metrics=())


def stage_of(show: object, *given: Any, **more: Any) -> AnyStage:
    """Return the picture of a show, or of several; the arguments are those of `Stage`."""
    if isinstance(show, Several):
        return SideBySide(show, *given, **more)
    return Stage(show, *given, **more)
