"""The loss chart: its contents, scales and texts, and the item under the mouse.

The window and pages share this file; docs/TRANSLATOR.md lists the supported Python. Functions of
arrays are in scene/curve_points.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from scalarviz.base.checks import FloatArray
from scalarviz.base.scales import SETTINGS, WEIGHTS, even_ends, loss_ends
from scalarviz.base.texts import plural, text
from scalarviz.base.texts.decimals import typeset
from scalarviz.scene.curve_points import (
    Numbers,
    count_up_to,
    curve_pixels,
    distance,
    draw_thin,
    mean_height,
    nothing,
    pixels,
    shown_between,
    value_at,
)
from scalarviz.scene.layout.camera import Box
from scalarviz.story.panel_words import percent

if TYPE_CHECKING:
    from scalarviz.scene.canvas.canvas2d import Canvas2D
    from scalarviz.scene.canvas.palette import Theme
    from scalarviz.scene.frame_data import HealthRows, PastWeights, ScalarCharts
    from scalarviz.scene.past_names import NamesOfMoment


@dataclass(frozen=True)
class Measured:
    """A metric: its name, and its values at several steps.

    Attributes:
        name: displayed name, such as "new data: right"
        share: whether it is drawn on a scale from 0 to 1, otherwise on the scale of the loss
    """

    name: str
    share: bool
    steps: FloatArray
    values: FloatArray


@dataclass(frozen=True)
class BranchLine:
    """The losses of another branch, starting where it leaves the shown branch."""

    number: int
    steps: FloatArray
    losses: FloatArray


@dataclass(frozen=True)
class Curve:
    """The loss curve with the current step, the lines of other branches, and metrics.

    Attributes:
        smoothed: moving average of the losses, drawn over them; may be empty
        before: number of steps of earlier sessions that led to this one, drawn left of step 0
        end: the last step of all branches
        first: the first shown step
        last: the last shown step; None means the end
        pointed: the step under the mouse, or None
        reads: the loss at that step; NaN if unknown
        meant: index of the branch whose line is under the mouse, or None
        name: name of that branch
        there: loss of that branch at the step under the mouse
        on_title: whether the mouse is on the title of the chart
        large: whether the chart is drawn large, below the network
        marks: steps at which training stopped by itself or a condition first held, with the reason
        below: contents below a large chart: all weights over time, the health or the scalars of a
            followed model, written names, or None
        several: the curves of several networks with their colors, drawn instead of this curve
        start: loss of the first step of the whole history; NaN if unknown
        measure: name of the loss
        followed: whether it is of a followed model, which has a health and scalars
        settings: `CurveView.settings`
        level: loss of counting pairs of letters, drawn as a dashed line; NaN for other data. The
            losses of single samples then say little, and the axis begins near the least mean
        told: losses of the samples of the explained step, before and after the step, or only that
            of the step before; None without such a step
    """

    steps: FloatArray = field(default_factory=nothing)
    losses: FloatArray = field(default_factory=nothing)
    at: float = 0.0
    loss: float = math.nan
    others: Sequence[BranchLine] = ()
    metrics: Sequence[Measured] = ()
    smoothed: FloatArray = field(default_factory=nothing)
    end: float = 0.0
    first: float = 0.0
    last: float | None = None
    pointed: int | None = None
    reads: float = math.nan
    meant: int | None = None
    name: str = ""
    there: float = math.nan
    on_title: bool = False
    large: bool = False
    marks: Sequence[tuple[int, str]] = ()
    before: float = 0.0
    below: PastWeights | HealthRows | ScalarCharts | NamesOfMoment | None = None
    several: Sequence[tuple[str, Curve]] = ()
    start: float = math.nan
    told: tuple[str, ...] | None = None
    measure: str = ""
    followed: bool = False
    settings: Sequence[str] = ()
    level: float = math.nan

    @property
    def has_level(self) -> bool:
        return not math.isnan(self.level)

    @cached_property
    def whole(self) -> float:
        """The last step; at least 1 if there are no steps `before`."""
        parts = [self.steps, *(line.steps for line in self.others)]
        ends = [float(steps[-1]) for steps in parts if len(steps)]
        return max(self.at, self.end, float(not self.before), *ends)

    @cached_property
    def span(self) -> tuple[float, float]:
        """The first and last shown step."""
        whole = self.whole
        last = whole if self.last is None else min(self.last, whole)
        is_part = self.first < last and (self.first > 0.0 or self.last is not None)
        return (self.first, last) if is_part else (-self.before, whole)


SMOOTHED_PART = 40  # fraction of the shown steps averaged by a mean
SINGLE = 12  # steps on each side that are averaged at least if single losses say little


def smoothed_of(losses: Sequence[float], *, single: bool = False) -> list[float]:
    """Return the moving average of the losses, or an empty list if there are too few.

    It is the geometric mean of the positive losses, if none is negative.

    Args:
        single: whether a single loss says little; then it is the usual mean, of more losses
    """
    around = len(losses) // (2 * SMOOTHED_PART)  # on each side
    around = max(around, min(SINGLE, len(losses) // 2)) if single else around
    if around == 0:
        return []
    is_linear = single or len([loss for loss in losses if loss < 0.0]) > 0
    numbers = [loss if is_linear else math.log(loss) if loss > 0.0 else math.nan for loss in losses]
    found: list[float] = []
    for i in range(len(numbers)):
        near = [x for x in numbers[max(0, i - around) : i + around + 1] if math.isfinite(x)]
        mean = sum(near) / len(near) if near else math.nan
        found.append(mean if is_linear else math.exp(mean))
    return found


# The height of a loss in a chart.

TOP = 1.1  # upper end of a linear scale, relative to the largest loss
NEAR = 0.5  # of a level: with lower losses, the scale begins at 0
FLAT, SEEN = 0.05, 0.1  # of that scale, of the losses: with fewer above it the curve is flat


@dataclass(frozen=True)
class LossScale:
    """A scale from `low` to `high`; logarithmic if `low` is positive, unless it is `even`."""

    low: float = 0.1
    high: float = 1.0
    even: bool = False

    @property
    def is_linear(self) -> bool:
        return self.even or self.low <= 0.0


def curve_scale(
    losses: FloatArray, settings: Sequence[str] = (), level: float = math.nan
) -> LossScale:
    """Return the scale of a curve: linear from 0 if that suits the losses, else `loss_scale`.

    A linear scale from 0 is not used if a loss is negative. It begins near the least loss if that
    is not far below a `level`.
    """
    least: float = float(losses.min())
    if least > NEAR * level and "log" not in settings:
        low, high = even_ends(min(least, level), max(level, float(losses.max())))
        return LossScale(low, high, even=True)
    if losses.min() < 0.0 or is_logarithmic(losses, settings):
        return loss_scale(losses)
    return LossScale(0.0, TOP * float(losses.max()))


def is_logarithmic(numbers: FloatArray, settings: Sequence[str]) -> bool:
    """Return whether a scale is logarithmic by settings, or else if most of a curve were flat."""
    if "log" in settings or "linear" in settings:
        return "log" in settings
    high = TOP * float(numbers.max())
    above = [each for each in numbers if each > FLAT * high]
    return len(above) < SEEN * len(numbers)


def loss_scale(losses: FloatArray) -> LossScale:
    """Return a scale with round ends for losses returned by `shown`.

    The scale is logarithmic if all losses are positive, otherwise linear.
    """
    low, high = loss_ends(float(losses.min()), float(losses.max()))
    return LossScale(low, high)


AXIS = 92.0  # pixels left of a curve for the names of its ends; in narrow charts below it
BELOW = 18.0  # height of these names in pixels
NARROW = 900.0  # width in pixels below which a chart is narrow
LETTERS, DASH = 12.0, 5.0  # letter size, and length of a dash
ROOM, MOST_TOLD = 4.0, 0.75  # height of a plot with text in it, in letters; part of its width
SHARES = 44.0  # right of a curve, for the scale of fractions
LOW_CHART = 140.0  # minimum height of a chart with a scale of fractions
REACH = 6.0  # pixels around the line of a branch, or a mark, for hitting it


@dataclass(frozen=True)
class Chart:
    """The positions of the loss chart's parts in the picture.

    Attributes:
        box: box of the whole chart
        title: area that toggles the size of the chart by a click
        grip: area that selects a step: the curve and its step axis
        plot: box of the curve, from the step `first` to the step `last`
        end: the last existing step
        own: pixels of the curve
        others: indices of other branches, and the pixels of their lines
        marks: x coordinate and step of each mark on the step axis
        strip: box of all weights over time, or None
        tiles: number of tiles in the strip
        tabs: boxes and names of the tabs
    """

    box: Box
    title: Box
    grip: Box
    plot: Box
    first: float
    last: float
    end: float
    own: FloatArray = field(default_factory=nothing)
    others: Sequence[tuple[int, FloatArray]] = ()
    marks: Sequence[tuple[float, int]] = ()
    strip: Box | None = None
    tiles: int = 0
    tabs: Sequence[tuple[Box, str]] = ()

    def tile_at(self, x: float, y: float) -> int | None:
        """Return the index of the tile of the strip at a pixel, or None."""
        if self.strip is None or not self.strip.has(x, y) or not self.tiles:
            return None
        return min(int((y - self.strip.y) / self.strip.height * self.tiles), self.tiles - 1)

    def place_at(self, x: float) -> float:
        """Return the step at x as a float, clipped to the ends of the axis."""
        share = (x - self.plot.x) / self.plot.width
        return self.first + min(max(share, 0.0), 1.0) * (self.last - self.first)

    def step_at(self, x: float) -> int:
        """Return the step at x, snapped to a close mark and clipped to the ends of the axis."""
        near = [(abs(x - at), step) for at, step in self.marks if abs(x - at) <= REACH]
        return min(near)[1] if near else max(0, round(self.place_at(x)))

    def step_under(self, x: float, y: float) -> int | None:
        """Return the step at a pixel of the curve, its axis or the strip; None outside."""
        on_strip = self.strip is not None and self.strip.has(x, y)
        return self.step_at(x) if on_strip or self.grip.has(x, y) else None

    def branch_at(self, x: float, y: float, reach: float = REACH) -> int | None:
        """Return the index of the branch whose line is close to a pixel, or None.

        None is also returned if the curve of the shown branch is as close.
        """
        if not self.others or not self.plot.has(x, y):
            return None
        apart = [(distance(points, x, y), number) for number, points in self.others]
        nearest, number = min(apart)
        return number if nearest <= reach and nearest < distance(self.own, x, y) else None


class CurveView:
    """The range of steps shown by the loss chart, and its view options.

    Attributes:
        first: the first shown step
        last: the last shown step; None means the last existing step, also during training
        smooth: whether a moving average is drawn over the losses
        axis: "log" or "linear" for all numbers, or ""
        large: whether the chart is drawn large, with all weights over time below
        order: name of the contents below it: WEIGHTS, HEALTH, SCALARS or NAMES
        compared: two compared steps, or None
        pinned: bank indices of the last two pinned weights
    """

    def __init__(self) -> None:
        self.first = 0.0
        self.last: float | None = None
        self.smooth, self.axis = True, ""
        self.large = False
        self.order = WEIGHTS
        self.compared: tuple[int, int] | None = None
        self.pinned: tuple[int, ...] = ()

    @property
    def is_zoomed(self) -> bool:
        """Whether only some of the steps are shown."""
        return self.first > 0.0 or self.last is not None

    @property
    def key(self) -> tuple[float | None, ...]:
        """A value that changes if other steps have to be read."""
        return self.first, self.last, self.smooth, self.large

    @property
    def looks(self) -> tuple[object, ...]:
        """A value that changes with the contents below the network."""
        look = self.large, self.order, self.compared, self.pinned
        return *look, self.smooth, self.axis

    @property
    def settings(self) -> list[str]:
        """The chosen ones of SETTINGS."""
        return [
            name for name in SETTINGS if name == self.axis or (name == "raw" and not self.smooth)
        ]

    def show_all(self) -> bool:
        """Show all steps; return whether this changes anything."""
        was, self.first, self.last = self.is_zoomed, 0.0, None
        return was

    def choose(self, name: str) -> None:
        """Choose the contents below a large chart, or toggle one of SETTINGS."""
        if name == "raw":
            self.smooth = not self.smooth
        elif name in SETTINGS:
            self.axis = "" if name == self.axis else name
        else:
            self.order = name

    def pin(self, row: int) -> None:
        """Store the bank index of a weight that was pinned."""
        self.pinned = (*(each for each in self.pinned if each != row), row)[-2:]

    def close(self) -> bool:
        """End a comparison, show all steps, or shrink the chart; return whether it changed."""
        if self.compared is not None:
            self.compared = None
            return True
        was_large = self.large and not self.is_zoomed
        self.large = self.large and not was_large
        return self.show_all() or was_large


@dataclass(frozen=True)
class ChartScales:
    """The scales of a plot: steps from `first` to `last`, and losses."""

    plot: Box
    first: float
    last: float
    losses: LossScale = LossScale()

    def x(self, step: float) -> float:
        """Return the x coordinate of a step."""
        return self.plot.x + (step - self.first) / (self.last - self.first) * self.plot.width

    def y(self, value: float) -> float:
        """Return the y coordinate of a loss, clipped to the plot; NaN if undefined."""
        return float(pixels(self, [0.0], [value])[0][1])


def share_drawn(curve: Curve, high: float, scale: float) -> Measured | None:
    """Return the metric of the 0-to-1 axis on the right; None if the chart is not tall enough."""
    shares = [each for each in curve.metrics if each.share]
    return shares[0] if shares and high >= LOW_CHART * scale else None


def draw_chart(
    canvas: Canvas2D,
    chart: tuple[Box, Box, Box, Box],
    curve: Curve,
    theme: Theme,
    scale: float,
    words_from: float,
    rise: float,
    *,
    narrow: bool,
) -> Chart:
    """Draw the losses with their scale, and everything in and around the plot.

    Args:
        chart: boxes of the whole chart, its title, its grip, and its plot including the scale of
            metrics
        words_from: x coordinate from which text above the plot is allowed
        rise: distance from the plot to the text above it
        narrow: whether the ends of the curve are labeled below it, otherwise to the left
    """
    box, title, grip, plot = chart
    shares = share_drawn(curve, box.height, scale)
    if shares is not None:
        grip, plot = [replace(each, width=each.width - SHARES * scale) for each in (grip, plot)]
        draw_shares(canvas, plot, color_of(shares, theme), scale)
    first, last = curve.span
    seen = Chart(box, title, grip, plot, first, last, curve.whole)
    drawn = curve.several or [(theme.loss, curve)]
    shown: list[tuple[Numbers, Numbers]] = [(each.steps, each.losses) for each in curve.others]
    shown += [(each.steps, each.values) for each in curve.metrics if not each.share]
    for _, each in drawn:
        now = loss_shown(each, each.at, each.loss)
        shown += [(each.steps, losses_of(each)), ([each.at], [now])]
        if each.has_level:
            shown.append(([first], [first_loss(each)]))
    found: FloatArray = shown_between(first, last, shown)
    canvas.segments([(plot.x, plot.bottom)], [(plot.right, plot.bottom)], theme.faint)
    if not len(found):
        canvas.text(
            plot.x + 8.0,
            plot.y + plot.height / 2.0 + 4.0,
            text("chart.empty"),
            size=12.0 * scale,
            color=theme.quiet,
            room=plot.width - 8.0,
        )
        return seen
    scales = ChartScales(plot, first, last, curve_scale(found, curve.settings, curve.level))
    others = [(each.number, pixels(scales, each.steps, each.losses)) for each in curve.others]
    with canvas.clip(plot.x - 4.0, plot.y - 4.0, plot.width + 8.0, plot.height + 8.0):
        for _, points in others:
            draw_thin(canvas, points, theme.ghost, scale)
        draw_level(canvas, scales, curve.level, theme, scale)
        owns = [draw_curve(canvas, scales, each, color, scale) for color, each in drawn]
        draw_lines(canvas, scales, curve, others, theme, scale)
        for color, each in drawn:
            draw_places(canvas, scales, each, color, theme, scale)
        if curve.pointed is not None:
            draw_step(canvas, scales, curve.pointed, theme.accent)
    own = owns[-1]
    name_ends(canvas, scales, drawn, theme, scale, narrow=narrow)
    # No line is over it.
    write_scale(canvas, scales, curve, theme, scale, words_from, rise, own, narrow=narrow)
    marks = [(scales.x(step), step) for step, _ in curve.marks if first <= step <= last]
    return replace(seen, own=own, others=others, marks=marks)


def losses_of(curve: Curve) -> FloatArray:
    """Return the losses that the scale covers: means, if single losses say little."""
    return curve.smoothed if curve.has_level and len(curve.smoothed) else curve.losses


def loss_shown(curve: Curve, step: float, loss: float) -> float:
    """Return the loss shown for a step: a mean, if the `loss` of the step alone says little."""
    mean = value_at(curve.steps, losses_of(curve), step) if curve.has_level else loss
    return loss if math.isnan(mean) else mean


def draw_level(
    canvas: Canvas2D, scales: ChartScales, level: float, theme: Theme, scale: float
) -> None:
    """Draw a loss to beat as a dashed line with its name, if it is on the scale."""
    plot, size, dash = scales.plot, LETTERS * scale, DASH * scale
    if not scales.losses.low < level < scales.losses.high:
        return
    y: float = scales.y(level)
    starts = [(plot.x + i * dash, y) for i in range(0, math.floor(plot.width / dash), 2)]
    canvas.segments(starts, [(x + dash, y) for x, y in starts], theme.quiet, width=1.2 * scale)
    words, x = text("chart.pairs", loss=said_loss(level)), plot.x + 0.3 * plot.width
    look: dict[str, Any] = {"size": size, "color": theme.quiet, "outline": theme.ground}
    if canvas.measure(words, size=size) < 0.6 * plot.width:
        canvas.text(x, y - 0.4 * size, words, **look)


WRONG = "wrong"
HINTS = {
    "negative_log_likelihood": "unsure",
    "mse": "squared",
    "softmax_cross_entropy": "unsure",
    "sigmoid_cross_entropy": "unsure",
}


def write_scale(
    canvas: Canvas2D,
    scales: ChartScales,
    curve: Curve,
    theme: Theme,
    scale: float,
    words_from: float,
    rise: float,
    own: FloatArray,
    *,
    narrow: bool,
) -> None:
    """Write the last step, the kind of scale, and text about the curve or the step at the pointer.

    Args:
        words_from: x coordinate from which text above the plot is allowed
        rise: distance from the plot to the text above it
        own: pixels of the curve; text in the plot is above the curve where the curve is low
        narrow: whether to omit the name of the loss
    """
    about, plot, size = about_curve(curve, theme), scales.plot, LETTERS * scale
    look: dict[str, Any] = {"size": size, "color": theme.quiet, "outline": theme.ground}
    gap, right = 12.0 * scale, plot.right - 8.0 * scale

    def free(right: float, wide: float) -> float:
        """Return a baseline at the upper or lower end of the plot that is clear of the curve."""
        is_low = mean_height(own, right - 0.5 * wide, 0.5 * wide + size) > plot.y + plot.height / 2
        return plot.y + size if is_low else plot.bottom - 6.0 * scale

    if plot.right - scales.x(curve.at) > 3.0 * size:  # otherwise it is named beside the curve
        last = f"{scales.last:,.0f}"
        right -= canvas.text(right, free(right, 3.0 * size), last, anchor="right", **look) + gap
    is_named = about or narrow or curve.several
    said = [] if is_named else [text(f"chart.hint.{HINTS.get(curve.measure, WRONG)}")]
    if not scales.losses.is_linear:
        said.append(text("chart.log"))
    told = "   ".join(said)
    wide = canvas.measure(told, size=size)
    base: float = free(right, wide)
    is_crossed = abs(base - 0.4 * size - scales.y(curve.level)) < size  # by the line of a level
    if said and wide < MOST_TOLD * plot.width and plot.height > ROOM * size and not is_crossed:
        canvas.text(right, base, told, anchor="right", **look)
    left, right = words_from, plot.right
    is_over = len(about) == 1 and about[0][1] != theme.quiet
    is_over = is_over and canvas.measure(about[0][0], size=size) > right - left
    # The readout of the mouse is written even over the curve.
    left, base = (plot.x, plot.y + size) if is_over else (left, plot.y - rise * scale)
    for words, color in about:
        words = canvas.fit(words, right - left, size=size) if color == theme.accent else words
        if words.strip(". ") and canvas.measure(words, size=size) <= right - left:
            look["color"] = color
            right -= canvas.text(right, base, words, anchor="right", **look) + gap


def about_curve(curve: Curve, theme: Theme) -> Sequence[tuple[str, str]]:
    """Return texts about the item under the pointer, or about steps, branches and metrics.

    For several networks, the texts are their losses at the pointer, the last network first.
    """
    marked = "".join([why for step, why in curve.marks if step == curve.pointed][:1])
    if marked:
        return [(marked, theme.accent)]
    if curve.meant is not None:
        return [(words_of_branch(curve), theme.ink)]
    if curve.several and curve.pointed is not None:
        return [(said_loss(each.reads) or "-", color) for color, each in reversed(curve.several)]
    step: float = curve.at if curve.pointed is None else curve.pointed
    first, last = curve.span
    metrics = [each for share in (True, False) for each in curve.metrics if each.share == share]
    found = [(words_of(each, step), color_of(each, theme)) for each in metrics]
    if (first, last) != (-curve.before, curve.whole):
        words = text("chart.zoomed", first=first, last=last, whole=curve.whole)
        found = [(words, theme.accent), *found]
    elif curve.others:
        found = [(plural("chart.ghost", len(curve.others)), theme.quiet), *found]
    return found


def said_loss(loss: float) -> str:
    """Return a loss as text; "" if it is NaN."""
    return "" if math.isnan(loss) else typeset(f"{loss:#.3g}")


def words_beside(curve: Curve) -> tuple[str, str, str]:
    """Return loss and step as text next to a curve, at the pointer if it is on the curve.

    While a step is explained, the losses before and after it for the same samples are returned.
    """
    loss, step, told = curve.loss, curve.at, curve.told
    if curve.pointed is not None:
        loss, step, told = curve.reads, float(curve.pointed), None
    if told is not None and len(told) == 1:
        was = f"{text('chart.title')} {typeset(told[0])}"
        return was, text("chart.before"), text("chart.step", step=step)
    if told is not None:
        old, new = typeset(told[0]), typeset(told[1])
        losses = text(
            "chart.step.alone" if curve.has_level else "chart.step.loss", old=old, new=new
        )
        by = text("chart.by.samples" if curve.has_level else "chart.by")
        return losses, by, text("chart.steps", old=step - 1.0, new=step)
    is_start = step <= 0.0 and not curve.before and not math.isnan(curve.start)
    is_start = is_start and (curve.has_level or math.isnan(loss))  # no loss of a later step
    loss = curve.start if is_start else loss_shown(curve, step, loss)
    said, at = said_loss(loss), text("chart.step", step=step)
    better = text("chart.better")
    if curve.has_level and said:
        better = text("chart.among", count=math.exp(loss))
    if not said and len(curve.steps):  # the last known one
        last: int = max(0, count_up_to(curve.steps, step) - 1)
        known, said = float(curve.steps[last]), said_loss(float(curve.losses[last]))
        return text("chart.known", loss=said, step=known), better, at
    if not said or is_start or curve.pointed is not None:
        return f"{text('chart.title')} {said}".rstrip(), better, at
    return text("chart.mean" if curve.has_level else "chart.now", loss=said), better, at


def first_loss(curve: Curve) -> float:
    """Return the loss at the first shown step; NaN if unknown."""
    is_known = curve.first <= 0.0 and not math.isnan(curve.start)
    return curve.start if is_known else value_at(curve.steps, curve.losses, curve.span[0])


def name_ends(
    canvas: Canvas2D,
    scales: ChartScales,
    drawn: Sequence[tuple[str, Curve]],
    theme: Theme,
    scale: float,
    *,
    narrow: bool,
) -> None:
    """Write the lower end of the scale and the loss at the start, the largest of several curves."""
    plot, size = scales.plot, LETTERS * scale
    known = [loss for loss in [first_loss(each) for _, each in drawn] if not math.isnan(loss)]
    first = drawn[0][1].first
    name = text("chart.step", step=first) if first > 0.0 else text("chart.start")
    loss = max(known) if known else math.nan
    look: dict[str, Any] = {"size": size, "anchor": "left" if narrow else "right"}
    if narrow:
        x, base = plot.x, plot.bottom + 1.2 * size
        if known:
            x += canvas.text(x, base, name, color=theme.quiet, **look) + 0.4 * size
            canvas.text(x, base, said_loss(loss), color=theme.ink, **look)
        return
    x, low = plot.x - 8.0 * scale, scales.losses.low
    words = typeset(f"{low:g}") if low else text("chart.perfect")
    canvas.text(x, plot.bottom + 0.36 * size, words, color=theme.quiet, **look)
    if known:
        base = min(max(scales.y(loss), plot.y + size), plot.bottom - 2.0 * size)
        canvas.text(x, base - 0.3 * size, name, color=theme.quiet, **look)
        canvas.text(x, base + 1.0 * size, said_loss(loss), color=theme.ink, **look)


def draw_ends(canvas: Canvas2D, scales: ChartScales, theme: Theme, scale: float) -> None:
    """Write both ends of the loss scale to the left of the plot."""
    plot, losses, size = scales.plot, scales.losses, LETTERS * scale
    for value, y in ((losses.high, plot.y + 0.7 * size), (losses.low, plot.bottom)):
        x, words = plot.x - 6.0 * scale, typeset(f"{value:g}")
        canvas.text(x, y, words, size=size, color=theme.quiet, anchor="right")


def draw_shares(canvas: Canvas2D, plot: Box, color: str, scale: float) -> None:
    """Write the scale of metrics from 0 to 1 on the right of a plot."""
    for share in (0.0, 0.5, 1.0):
        y, x = plot.bottom - share * plot.height, plot.right + 6.0 * scale
        canvas.text(x, y + 4.0 * scale, f"{share:.0%}", size=12.0 * scale, color=color)


def draw_lines(
    canvas: Canvas2D,
    scales: ChartScales,
    curve: Curve,
    others: Sequence[tuple[int, FloatArray]],
    theme: Theme,
    scale: float,
) -> None:
    """Draw the lines of metrics, and the line of the branch under the mouse."""
    for metric in curve.metrics:
        points = curve_pixels(scales, metric.steps, metric.values, share=metric.share)
        canvas.line(points, color_of(metric, theme), width=1.3 * scale)
    for number, points in others:
        if number == curve.meant:
            canvas.line(points, theme.quiet, width=2.0 * scale)


def draw_curve(
    canvas: Canvas2D, scales: ChartScales, curve: Curve, color: str, scale: float
) -> FloatArray:
    """Draw a curve, thin if its moving average is drawn over it; return its pixels."""
    own: FloatArray = curve_pixels(scales, curve.steps, curve.losses)
    if len(curve.smoothed):
        draw_thin(canvas, own, color + ("29" if curve.has_level else "57"), scale)
        mean = curve_pixels(scales, curve.steps, curve.smoothed)
        canvas.line(mean, color, width=2.6 * scale)
    else:
        canvas.line(own, color, width=2.0 * scale)
    return own


def draw_places(
    canvas: Canvas2D, scales: ChartScales, curve: Curve, color: str, theme: Theme, scale: float
) -> None:
    """Draw the current step and the marks on the curve."""
    x = draw_step(canvas, scales, curve.at, color + "96")
    y = scales.y(loss_shown(curve, curve.at, curve.loss))
    if math.isfinite(y):
        canvas.discs((x, y), 5.0 * scale, color, outline=theme.ground, line=1.5 * scale)
    for step, _ in curve.marks:
        x = draw_step(canvas, scales, step, theme.accent + "90")
        y = scales.y(value_at(curve.steps, curve.losses, step))
        canvas.discs((x, y if math.isfinite(y) else scales.plot.y), 3.5 * scale, theme.accent)


def draw_step(canvas: Canvas2D, scales: ChartScales, step: float, color: str) -> float:
    """Draw a vertical line across the plot at a step; return its x coordinate."""
    x: float = scales.x(step)
    canvas.segments([(x, scales.plot.y)], [(x, scales.plot.bottom)], color, width=1.0)
    return x


def draw_moments(canvas: Canvas2D, scales: ChartScales, curve: Curve, theme: Theme) -> None:
    """Draw vertical lines across a plot at the current step and the one at the pointer."""
    for step, color in ((curve.at, theme.ink + "60"), (curve.pointed, theme.accent)):
        if step is not None and scales.first <= step <= scales.last:
            draw_step(canvas, scales, step, color)


def words_of_branch(curve: Curve) -> str:
    """Return the name of the branch under the mouse and its loss at that step."""
    if math.isnan(curve.there):
        return curve.name
    return text("chart.branch.loss", name=curve.name, loss=f"{curve.there:#.3g}")


def words_of(metric: Measured, step: float) -> str:
    """Return the name of a metric and its last known value at a step."""
    known: int = count_up_to(metric.steps, step)
    value = float(metric.values[known - 1]) if known else math.nan
    if math.isnan(value):
        return metric.name
    return f"{metric.name} {percent(value) if metric.share else said_loss(value)}"


def color_of(metric: Measured, theme: Theme) -> str:
    """Return the color of a metric's curve."""
    return theme.metric if metric.share else theme.ink
