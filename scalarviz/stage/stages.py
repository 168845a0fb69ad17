"""Stages: the picture of an interface, with a pane per session; panes share scales and curves."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, final

import numpy as np

from scalarviz.base.checks import FloatArray, require
from scalarviz.base.texts import text
from scalarviz.core.perceptron import Perceptron
from scalarviz.errors import ScalarvizError
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.frame_data import (
    CubeValues,
    Curve,
    FrameData,
    Pane,
    PictureWords,
)
from scalarviz.scene.layout.division import Box, Panes
from scalarviz.scene.look import Look
from scalarviz.scene.loss_chart import Chart
from scalarviz.scene.overlay import OnTop
from scalarviz.scene.past_images import line_colors
from scalarviz.stage.channels import DIFFERENCE, checked
from scalarviz.stage.chart_view import OverlayPointer
from scalarviz.stage.curves import loss_at
from scalarviz.stage.dragging import Handle
from scalarviz.stage.handles import Grip
from scalarviz.stage.notices import Messages
from scalarviz.stage.show import Several, alike, sizes_of
from scalarviz.stage.stage import Stage
from scalarviz.story.caption import label
from scalarviz.story.facts import Neuron
from scalarviz.training.session.reading import cells_of as cells_in
from scalarviz.training.session.timeline import Position

# Mouse and keyboard.

Part = int | Perceptron | Neuron
Pin = Part | Sequence[Part | None] | None


def list_of_parts(part: Pin, count: int) -> list[Part | None] | None:
    """Return a list of parts to pin, one for each of `count` sessions; None for a single part."""
    is_neuron = isinstance(part, tuple) and len(part) == 2 and isinstance(part[0], str)
    if is_neuron or not isinstance(part, (list, tuple)):
        return None
    require(
        len(part) == count,
        f"side by side are {count} sessions, and pin has {len(part)} parts: pass one per session, "
        "or None",
    )
    return list(part)


# The picture.


@final
class Stages(Messages):
    """The picture of an interface: the stages of its sessions, each in a pane; usually one.

    A single stage fills the picture. Several share their scales and cameras, and are surrounded by
    the loss curves and all messages.

    Attributes:
        panes: the stage of each session
        names: names of several sessions, which include current network sizes
        chosen: index of the selected pane, the target of commands on one session
        on_top: overlays of several panes in the last picture; empty before the first
        over: the item under the mouse in the loss curves of several sessions
        still: returns a context manager in which no session advances; it yields False if that would
            take too long, else True
    """

    def __init__(self, panes: Sequence[Stage], names: Sequence[str] = ("",)) -> None:
        super().__init__()
        self.panes, self.names = list(panes), list(names)
        self.common = self.panes[0].common
        self.chosen = 0
        self.over = OverlayPointer()
        self.on_top = OnTop()
        self.still: Callable[[], AbstractContextManager[bool]] = lambda: nullcontext(True)
        self._is_read = False
        self._now = 0.0
        self._extent = (1280.0, 800.0)
        self._boxes = Panes.of(len(self.panes), *self._extent)
        self._picture: Any = None
        if self.several:
            self._share()

    def _share(self) -> None:
        """Share the scales and the loss chart of the first stage with all others."""
        self._sizes = [sizes_of(stage.reading.now) for stage in self.panes]
        for stage in self.panes:
            stage.peers, stage.common = self.panes, self.common
        self.resize(*self._extent)
        self.rescale()

    @property
    def several(self) -> bool:
        return len(self.panes) > 1

    @property
    def lead(self) -> Stage:
        """The stage of the selected session."""
        return self.panes[self.chosen]

    def rescale(self, *, anew: bool = False) -> None:
        """Fit the scales to the numbers of all panes; if `anew`, read the numbers again first."""
        self.panes[0].rescale(anew=anew)

    # Settings.

    @property
    def look(self) -> Look:
        """View options of the user, shared by all panes."""
        return self.panes[0].look

    def take(self, **given: Any) -> None:
        """Change view options of all panes; raise the same errors as `Stage.take`."""
        look = self.look.changed(checked(given, self.channels))
        for stage in self.panes:
            stage.look_as(look, given)

    @property
    def has_walls(self) -> bool:
        """Whether a network has two layouts: with a cube for every weight, and without."""
        return any(stage.has_walls for stage in self.panes)

    @property
    def has_plane(self) -> bool:
        """Whether the data of a session are points in a plane."""
        return any(stage.has_plane for stage in self.panes)

    @property
    def channels(self) -> list[str]:
        """Names of the channels for color and size that a session has, or that compare sessions."""
        found = dict.fromkeys(name for stage in self.panes for name in stage.channels)
        first, *others = self.panes
        if any(alike(first.reading.now, other.reading.now) for other in others):
            found[DIFFERENCE] = None
        return list(found)

    # Mouse and keyboard, in logical pixels.

    @property
    def chart(self) -> Chart | None:
        """The loss curves in the last picture, or None."""
        return self.on_top.chart if self.several else self.lead.chart

    @property
    def looks(self) -> tuple[object, ...]:
        """A value that changes with the views, to trigger redrawing; it excludes the sessions."""
        return tuple(stage.looks for stage in self.panes)

    def zoom(self, factor: float, x: float, y: float) -> None:
        """Zoom in on a pixel of a pane, and on the same position in all others."""
        number = self._boxes.at(x, y)
        if number is None:
            return
        box = self._boxes.panes[number]
        across, down = (x - box.x) / box.width, (y - box.y) / box.height
        for stage, own in zip(self.panes, self._boxes.panes, strict=True):
            stage.eyes.zoom(factor, across * own.width, down * own.height)

    def frame_pinned(self) -> None:
        """Frame the pinned weights, or the whole network if none is pinned."""
        for stage in self.panes:
            stage.frame_pinned()

    def restore(self) -> None:
        """Close help or the large chart of several sessions, else restore all stages."""
        if self.several and self.common.help:
            self.common.help = False
        elif not (self.several and self.common.curve_view.close()):
            for stage in self.panes:
                stage.restore()

    # The mouse.

    def place_of(self, row: int) -> FloatArray | None:
        """Return the pixel (x, y) of the center of a cube of the selected session."""
        found, box = self.lead.place_of(row), self._boxes.panes[self.chosen]
        return None if found is None else found + np.array((box.x, box.y))

    def choose_at(self, x: float, y: float) -> None:
        """Select the session whose pane is at a pixel."""
        number = self._boxes.at(x, y)
        if number is not None and not self._covers(x, y):
            self.chosen = number

    def _covers(self, x: float, y: float) -> bool:
        """Return whether a button or the common chart covers the panes at a pixel."""
        return self.on_top.on_chart(x, y) or self.on_top.button_at(x, y) is not None

    def _within(self, x: float, y: float) -> tuple[Stage | None, float, float]:
        """Return the stage whose pane is at a pixel, and the upper left corner of the pane."""
        number = self._boxes.at(x, y)
        if number is None or self._covers(x, y):
            return None, 0.0, 0.0
        box = self._boxes.panes[number]
        return self.panes[number], box.x, box.y

    def hover_at(self, x: float, y: float) -> None:
        """Set the hovered item to the item under the mouse."""
        found, left, top = self._within(x, y)
        for stage in self.panes:
            if stage is found:
                stage.hover_at(x - left, y - top)
            elif not stage.walking:
                stage.hover_at(-1.0, -1.0)
        self.over.hover(self.on_top, x, y)

    def handle_at(self, x: float, y: float) -> Handle | None:
        """Return the handle for dragging the weight of the cube at a pixel, or None."""
        stage, left, top = self._within(x, y)
        return None if stage is None else stage.handle_at(x - left, y - top)

    def grip_at(self, x: float, y: float) -> Grip | None:
        """Return the grip for entering custom inputs at a pixel, or None."""
        stage, left, top = self._within(x, y)
        grip = None if stage is None else stage.grip_at(x - left, y - top)
        return None if grip is None else grip.within(left, top)

    def click(self, x: float, y: float) -> None:
        """Press the button at a pixel or, if none is there, select the session and pin the item."""
        if not self.several:
            return self.lead.click(x, y)
        if (name := self.on_top.button_at(x, y)) is not None:
            return self._press(name)
        self.hover_at(x, y)
        if self.over.click(self.on_top, x, y, self.common.curve_view):
            return None
        self.choose_at(x, y)
        stage, left, top = self._within(x, y)
        if stage is not None:
            stage.click(x - left, y - top)
            self._pin_alike(stage)
        return None

    def _press(self, name: str) -> None:
        """Press the named button of the whole picture or, without one, of each session."""
        if not self.press(name):
            for stage in self.panes:
                stage.press(name)

    def _pin_alike(self, pinned: Stage) -> None:
        """Pin the pinned item of a stage in all sessions with equal networks."""
        for stage in self.panes:
            if stage is not pinned and alike(stage.session, pinned.session):
                stage.pin(pinned.pinned_part)

    def pin_pointed(self) -> None:
        """Pin the item selected by keyboard, or unpin it."""
        self.lead.pin_pointed()
        self._pin_alike(self.lead)

    def pin(self, part: Pin) -> None:
        """Pin a bank index in all sessions that have it, or a Perceptron in its session.

        A list contains an item, or None, for each session. Raises InputError for an item that no
        session has.
        """
        count = len(self.panes)
        given = list_of_parts(part, count) if self.several else None
        parts: list[Any] = given or [part] * count
        errors: list[ScalarvizError] = []
        for stage, each in zip(self.panes, parts, strict=True):
            try:
                stage.pin(each)
            except ScalarvizError as error:
                errors.append(error)
        if errors and (given or len(errors) == count):
            raise errors[0]

    # Pictures.

    def resize(self, width: float, height: float) -> None:
        """Set the size in logical pixels."""
        self._extent = width, height
        large = self.common.curve_view.large
        self._boxes = Panes.of(len(self.panes), width, height, large=large)
        if self.several:
            self._place()
        else:
            self.lead.resize(width, height)

    def _place(self) -> None:
        """Give each of several stages its pane: area, name, color and loss."""
        colors = line_colors(CURVE_CLASSES[: len(self.panes)], THEMES[self.look.theme])
        apart = len({stage.reading.place[0] for stage in self.panes}) > 1
        for i, (stage, box) in enumerate(zip(self.panes, self._boxes.panes, strict=True)):
            before, sizes = self._sizes[i], sizes_of(stage.reading.now)
            if sizes != before:  # the network has grown
                self.names[i] = self.names[i].replace(before, sizes) if before else self.names[i]
                self._sizes[i] = sizes
            about = done_of(stage) or self._compared_with(stage)
            if apart and not about:
                about = text("chart.step", step=stage.reading.place[0])
            stage.pane = Pane(self._boxes.scale, self.names[i], colors[i], loss_of(stage), about)
            stage.resize(box.width, box.height)

    def _compared_with(self, stage: Stage) -> str:
        """Return why a pane cannot show the difference from the first network, or ""."""
        if DIFFERENCE not in (self.look.color, self.look.cubes):
            return ""
        if stage is self.panes[0]:
            return text("compared.first")
        is_alike = alike(self.panes[0].reading.now, stage.reading.now)
        return "" if is_alike else text("compared.other_shape")

    def tick(self, now: float) -> bool:
        """Advance to the time `now`; return whether something moves by itself."""
        self._now = now
        moving = [stage.tick(now) for stage in self.panes]
        return self.expire(now) or any(moving)

    def read(self) -> Position:
        """Read all sessions at one moment; return the position of the selected one.

        If a session is busy for too long, all keep their previous reading.
        """
        with self.still() as still:
            found = [stage.read() for stage in self.panes] if still else []
        self._is_read = True
        return found[self.chosen] if found else self.lead.reading.here

    def frame_data(self) -> list[FrameData]:
        """Return the frame data of several panes, with common scales."""
        if not self._is_read:
            self.read()
        self._is_read = False
        self.common.scales.follow([stage.shown() for stage in self.panes], self._now)
        self._place()
        return in_common([stage.frame_data() for stage in self.panes])

    def surroundings(self, panes: list[FrameData]) -> FrameData:
        """Return what surrounds several panes: the selected pane's with common curve and words."""
        self.over.again(self.on_top)
        drawn = [(stage, stage.pane) for stage in self.panes if stage.pane is not None]
        chosen, seen = self.lead, panes[self.chosen]
        caption, own = seen.words.caption, chosen.own is not None
        speaks = caption is not None and (chosen.motion.walking or own)
        curves = [
            (
                pane.color,
                replace(data.curve, reads=loss_at(stage.reading.here.branch, self.over.step)),
            )
            for (stage, pane), data in zip(drawn, panes, strict=True)
        ]
        view = self.common.curve_view
        longest = max((curve for _, curve in curves), key=lambda curve: curve.whole)
        marks = [
            (step, text("compared.of", name=name, words=why))
            for name, (_, curve) in zip(self.names, curves, strict=True)
            for step, why in curve.marks
        ]
        axis = Curve(
            at=longest.at,
            end=longest.whole,
            before=max(curve.before for _, curve in curves),
            first=longest.first,
            last=longest.last,
            pointed=self.over.step,
            on_title=self.over.title,
            large=view.large,
            marks=marks,
            settings=view.settings,
            several=[*curves[: self.chosen], *curves[self.chosen + 1 :], curves[self.chosen]],
        )
        speakers = [self, *([] if self.common.silent else self.panes)]
        works = [each.work for each in speakers if each.work is not None]
        return replace(
            seen,
            cubes=legend_of(panes),
            curve=axis,
            words=PictureWords(caption.title if caption is not None and speaks else ""),
            chips=self.all_chips(),
            work=works[0] if works else None,
            offers=[*self.offered, *chosen.offered],
            help=self.common.keys if self.common.help else (),
            marks=self.over.legend,
        )

    def all_chips(self) -> list[tuple[str, str]]:
        """Return all messages; with several sessions, each under its session's name."""
        found = dict.fromkeys(self.chips())
        of_each = [dict.fromkeys(stage.chips()) for stage in self.panes]
        for name, chips in zip(self.names, of_each, strict=True):
            for words, action in chips:
                is_common = all((words, action) in each for each in of_each)
                said = words if is_common else text("compared.of", name=name, words=words)
                found[said, action] = None
        return list(found)

    def draw(self, width: int, height: int, ratio: float) -> None:
        """Draw in the current OpenGL context, `ratio` device pixels per logical pixel."""
        if not self.several:
            return self.lead.draw(width, height, ratio)
        if width < 2 or height < 2:
            return None
        self.resize(width / ratio, height / ratio)
        try:
            return self._draw(width, height, ratio)
        except Exception:
            self.release()  # its GPU resources may be lost
            raise

    def _draw(self, width: int, height: int, ratio: float) -> None:
        """Draw several panes, and the loss curves and messages around them."""
        from scalarviz.scene.canvas.renderer import clear
        from scalarviz.scene.compared_picture import ComparedPicture

        around = self._picture = self._picture or ComparedPicture()
        theme, panes = THEMES[self.look.theme], self.frame_data()
        clear(theme.ground, width, height)
        for stage, data, box in zip(self.panes, panes, self._boxes.panes, strict=True):
            left, low, wide, high = device_box(box, self._extent[1], ratio)
            if wide > 1 and high > 1:
                picture, camera = stage.picture(), stage.eyes.camera
                stage.on_top = picture.draw(data, camera, wide, high, ratio, (left, low))
        seen, chosen = self.surroundings(panes), None if self.common.silent else self.chosen
        self.on_top = around.draw(self._boxes, seen, chosen, theme, width, height, ratio)

    def leave(self) -> None:
        """Unpin everything, and free the pictures."""
        for stage in self.panes:
            stage.leave()
        self.release()

    def release(self) -> None:
        """Free the GPU memory; the next picture allocates it again."""
        for stage in self.panes:
            stage.release()
        self._picture = None


def done_of(stage: Stage) -> str:
    """Return the name of the last finished operation during a step; "" between steps."""
    reading, done = stage.reading, stage.reading.place[1]
    return label(cells_in(reading.program)[done - 1]) if done else ""


def loss_of(stage: Stage) -> str:
    """Return the loss of the shown step as text; "" if unknown."""
    loss = stage.reading.here.loss
    return "" if math.isnan(loss) else f"{text('chart.title')} {loss:#.3g}"


def device_box(box: Box, high: float, ratio: float) -> tuple[int, int, int, int]:
    """Return left, bottom, width and height in device pixels, in a picture of height `high`."""
    left, right = round(box.x * ratio), round(box.right * ratio)
    low, top = round((high - box.bottom) * ratio), round((high - box.y) * ratio)
    return left, low, right - left, top - low


def in_common(panes: list[FrameData]) -> list[FrameData]:
    """Return the panes with one scale for all activations, and one for all gradients."""
    activations = max(data.buffers.scale for data in panes)
    tops = [data.cubes.longest_push for data in panes]
    top = max((each for each in tops if each is not None), default=None)
    return [
        replace(
            data,
            buffers=replace(data.buffers, scale=activations),
            cubes=data.cubes if each is None else replace(data.cubes, top_push=top),
        )
        for data, each in zip(panes, tops, strict=True)
    ]


def legend_of(panes: list[FrameData]) -> CubeValues:
    """Return the data of the legend: the scales of all panes, and how many numbers exceed them."""
    cubes = [data.cubes for data in panes]
    clipped = sum(each.clipped for each in cubes)
    grown = next((each.grown for each in cubes if each.grown), None)
    scales = np.concatenate([each.color_scales for each in cubes])
    return replace(cubes[0], clipped=clipped, grown=grown, color_scales=scales)


def stages_of(show: object, *given: Any, **more: Any) -> Stages:
    """Return the Stages of a Show or a Several; further arguments are passed to `Stage`."""
    if not isinstance(show, Several):
        return Stages([Stage(show, *given, **more)])
    return Stages([Stage(each, *given, **more) for each in show.shows], show.names)


# Indices of class colors for the networks: neither orange nor blue, which show signs.
CURVE_CLASSES = 0, 1, 2, 3, 4, 6
