"""Lines: the inputs and outputs of cubes, drawn in the picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, chain, pairwise, repeat
from typing import Any

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import Theme, rgb
from scalarviz.scene.frame_data import FrameData, Held
from scalarviz.scene.layout.division import Projection
from scalarviz.scene.layout.plates import RIGHT, Fan, Layout, Neurons, Step
from scalarviz.scene.layout.ways import (
    BEHIND,
    CHANNEL,
    MOST,
    MOST_DIRECT,
    NEGATIVE,
    POSITIVE,
    TIP,
    TUBE,
    Point,
    SeenFan,
    Stroke,
    curve,
)

LARGEST: float = np.finfo(np.float64).max  # in place of infinity
Depths = tuple[float, float]


@dataclass
class KnownFan:
    """The rows of a layer in the picture, with data to draw them.

    Attributes:
        depths: depths of the line behind each cube, at its start and its end
    """

    seen: SeenFan
    depths: list[list[Depths]]


def points_of(fan: Fan) -> tuple[FloatArray, list[slice]]:
    """Return the points of a layer, and a slice for each of five kinds.

    The kinds are the input units, the output units, the points below the cubes, the centers of the
    cubes, and the corners of the first row. Direct lines have no cubes.
    """
    few = slice(0, 1 if fan.is_direct else None)
    middles = fan.rows[few, np.newaxis] + fan.columns[few]
    feet = middles + fan.foot
    corner = feet[0].min(axis=0)
    marks = [corner - fan.begin, corner - 2.3 * fan.foot, corner, corner + RIGHT]
    kinds = fan.starts, fan.ends, feet, middles, np.array(marks)
    points = [each.reshape(-1, 3) for each in kinds]
    ends = accumulate(map(len, points), initial=0)
    return np.concatenate(points), [slice(*each) for each in pairwise(ends)]


def known_fans(see: Projection, layout: Layout, scale: float) -> list[KnownFan | None]:
    """Return the rows of each layer in the picture, None for layers drawn in another form."""
    return see.once(
        ("fans", scale),
        layout,
        lambda layout: [known_fan(each, layout, see, scale) for each in layout.fans],
    )


def seen_fans(see: Projection, layout: Layout, scale: float) -> list[SeenFan | None]:
    """Return the `SeenFan` of each layer in the picture, or None."""
    return see.once(
        ("seen", scale),
        layout,
        lambda layout: [
            None if each is None else each.seen for each in known_fans(see, layout, scale)
        ],
    )


def known_fan(fan: Fan, layout: Layout, see: Projection, scale: float) -> KnownFan | None:
    """Return the rows of a layer in the picture; None if it has no rows or is not visible."""
    before, after = layout.neurons[fan.before], layout.neurons[fan.after]
    most, units = MOST_DIRECT if fan.is_direct else MOST, len(fan.rows)
    if fan.top is not None or fan.form == "crossbar" or units * len(fan.columns) > most:
        return None
    points, kinds = layout.once(("lines", id(fan)), lambda _: points_of(fan))
    seen, count = see(points), 1 if fan.is_direct else units
    (starts, ends, feet, middles, marks), xy = kinds, seen.xy
    below: Any = xy[feet]
    if not math.isfinite(np.add.reduce(below, None)):
        return None
    (left, _), (_, top), corner, right = xy[marks].tolist()
    along = np.abs(np.diff(below.reshape(count, -1, 2)[0, :2], axis=0)).max(axis=1)
    cell = right[0] - corner[0]
    trays = SeenFan(
        rings(xy[starts], seen.unit[starts], before),
        rings(xy[ends], seen.unit[ends], after),
        below.reshape(count, -1, 2).tolist(),
        left,
        top - 6.0 * scale,
        float(along[0]) if len(along) else cell,
        cell,
        scale,
        square=after.square,
        tubes=before.is_color,
        form=fan.form,
        wired=fan.is_wired,
        tiled=fan.is_tiled or fan.form == "strip",
    )
    near, far = seen.depth[middles].reshape(count, -1).tolist(), seen.depth[ends].tolist()[0]
    depths = [[*zip(row, repeat(far), strict=False)] for row in near]
    return KnownFan(trays, depths)


def rings(xy: FloatArray, unit: FloatArray, line: Neurons) -> list[tuple[float, float, float]]:
    """Return the center and radius of each neuron or image in the picture."""
    half = 0.33 * line.side * max(line.shape[1:]) if line.shape else line.radius
    return [*zip(*xy.T.tolist(), (half * unit).tolist(), strict=True)]


@dataclass(frozen=True)
class Carried:
    """The values of a layer's lines, as arguments of `strokes_of`."""

    values: list[float]
    terms: list[list[float]]
    halves: list[list[float]]
    summed: bool

    @property
    def most(self) -> float:
        """The largest magnitude of a term."""
        return float(np.abs(self.terms).max())


def carried(fan: Fan, frame_data: FrameData, held: Held | None = None) -> Carried:
    """Return the values of a layer's lines; unknown values are 0.

    Args:
        held: what is dragged, for the values before that; None (default) means the present ones
    """
    layout, cubes = frame_data.layout, frame_data.cubes
    known = frame_data.buffers.values if held is None else held.values
    before, after = layout.neurons[fan.before], layout.neurons[fan.after]
    count, units = fan.inputs_count, len(fan.ends)
    values = np.zeros(len(before.points))
    come = known.get(before.values, known.get(before.sums, values))
    values[: len(come)] = come  # some may be missing
    weights = frame_data.weights if held is None else held.weights
    weights = weights if len(weights) else np.zeros(len(cubes.colors))
    numbers, read = weights[fan.all_rows], values[fan.reads].reshape(count, -1)
    own, pixels = numbers[:, : fan.inputs].reshape(units, count, -1), read.shape[1]
    terms = np.zeros((units, len(fan.columns)))
    if own.shape[2] == pixels:
        terms[:, :count] = np.add.reduce(own * read, 2)
    else:  # of a kernel shared by many positions
        means = np.add.reduce(np.abs(read), 1) / pixels
        terms[:, :count] = np.sqrt(np.add.reduce(own * own, 2)) * means
    terms[:, count:] = numbers[:, fan.inputs :]
    if fan.is_direct:
        return Carried(values.tolist(), terms[:, :count].tolist(), [], summed=True)
    number = layout.plate_number(int(fan.all_rows[0, 0]))
    sizes, top = cubes.sizes[fan.first_rows], float(cubes.size_scales[number])
    halves = layout.plates[number].halves(sizes, top)
    said = np.add.reduce(read, 1) / pixels
    terms[np.isnan(terms)] = 0.0
    terms = np.minimum(np.maximum(terms, -LARGEST), LARGEST)
    summed = after.sums in known or after.values in known
    return Carried(said.tolist(), terms.tolist(), halves.tolist(), summed)


def depths_at(see: Projection, layout: Layout, step: Step, scale: float) -> Depths:
    """Return the depths of the line of a cube, given its layer, unit and column."""
    number, unit, column = step
    known = known_fans(see, layout, scale)[number]
    depths = [[BEHIND]] if known is None else known.depths
    return depths[0][0] if layout.fans[number].is_direct else depths[unit][column]


class LinePaint:
    """Paths that are drawn together, in order, each over a dark casing.

    Their colors are indices such as POSITIVE, see ways.py.
    """

    def __init__(self, canvas: Canvas2D, theme: Theme) -> None:
        self.canvas = canvas
        self._paths: list[list[Point]] = []
        self._rows: list[tuple[float, ...]] = []  # color, strength, width, depths
        self.heads: list[tuple[float, ...]] = []  # ends, color, brightness, and depth
        self._colors, self._ground = colors_of(theme)

    def put(self, lines: Sequence[tuple[Stroke, int, Depths, bool]]) -> None:
        """Add lines to draw, each with its hue, its depths and whether it is a tube."""
        scale = self.canvas.scale
        for stroke, hue, depths, hollow in lines:
            points, width = stroke.points, stroke.width
            if hollow and width < TUBE * scale:
                width = TUBE * scale
            self._paths += [points, points]
            self._rows += [
                (hue, 0.0, width + 2.0 * stroke.casing, *depths),
                (hue, stroke.strength, width, *depths),
            ]
            if hollow:
                self._paths += [points]
                self._rows += [(hue, 0.2, 0.88 * width - 2.0 * scale, *depths)]

    def light(self, path: list[Point], hue: int, width: float, depth: Depths) -> None:
        """Add a highlight on part of a line."""
        if len(path) > 1:
            self._paths += [path]
            self._rows += [(hue, 0.9, width, *depth)]

    def head(self, start: Point, end: Point, hue: int, depth: float) -> None:
        """Add an arrow head."""
        self.heads += [(*start, *end, hue, 1.0, depth)]

    def draw(self) -> None:
        """Draw all lines and highlights added before."""
        if not self._rows:
            return
        points, rows = np.array([*chain(*self._paths)]), np.array(self._rows)
        counts = np.array([*map(len, self._paths)])
        every = np.repeat(np.arange(len(rows)), counts)
        inner = every[:-1] == every[1:]  # not between lines
        own = every[:-1][inner]
        first = np.cumsum(counts) - counts
        begin, end = rows[own, 3], rows[own, 4]
        part = (np.arange(len(points) - 1)[inner] - first[own]) / (counts[own] - 1)
        step = (end - begin) / (counts[own] - 1)
        depth = begin + part * (end - begin)
        hues = rows[:, 0].astype(np.intp)
        colors = self._ground + rows[:, [1]] * (self._colors[hues] - self._ground)
        self.canvas.segments(
            points[:-1][inner],
            points[1:][inner],
            colors[own],
            width=rows[own, 2],
            depth=np.array([depth, depth + step]).T,
        )
        if self.heads:
            self._draw_heads(np.array(self.heads))

    def _draw_heads(self, heads: FloatArray) -> None:
        size, start = TIP * self.canvas.scale, heads[:, :2]
        way = heads[:, 2:4] - start
        way *= size / np.maximum(np.hypot(way[:, 0], way[:, 1]), 1e-9)[:, np.newaxis]
        colors = self._colors[heads[:, 4].astype(np.intp)]
        bright = self._ground + heads[:, [5]] * (colors + 0.6 * (1.0 - colors) - self._ground)
        for grown, paint in ((2.0, self._ground), (0.0, bright)):
            ends = start - 0.5 * grown * way / size, start + way + grown * way / size
            self.canvas.arrows(*ends, paint, head=size + 1.5 * grown, depth=heads[:, 6])


@lru_cache(maxsize=8)
def colors_of(theme: Theme) -> tuple[FloatArray, FloatArray]:
    """Return the colors of lines, see `LinePaint`, and the background color."""
    signs = theme.wire, *theme.signs[::-1]
    return rgb((*signs, *theme.channels, theme.lit, theme.accent)), rgb((theme.ground,))[0]


def draw_signed(canvas: Canvas2D, theme: Theme, strokes: Sequence[tuple[Stroke, Depths]]) -> None:
    """Draw lines with depths, each in the color of its value's sign."""
    paint = LinePaint(canvas, theme)
    paint.put(
        [
            (each, POSITIVE if each.value >= 0.0 else NEGATIVE, depths, False)
            for each, depths in strokes
        ]
    )
    paint.draw()


def draw_tubes(
    canvas: Canvas2D,
    theme: Theme,
    starts: Sequence[Point],
    ends: Sequence[Point],
    amounts: Sequence[float],
    *,
    upright: bool = False,
) -> None:
    """Draw the values of color channels as tubes; the width of a tube shows its amount.

    Args:
        upright: whether they begin and end upright, instead of horizontally
    """
    paint, scale = LinePaint(canvas, theme), canvas.scale
    known = chain(amounts, repeat(0.0))
    for i, (start, end, amount) in enumerate(zip(starts, ends, known, strict=False)):
        width = scale * (2.8 + 5.0 * min(1.0, max(0.0, amount)))
        path = curve(start[::-1], end[::-1]) if upright else curve(start, end)
        points = [each[::-1] for each in path] if upright else path
        tube = Stroke("in", points, 0, i, amount, width, 1.5 * scale, 1.0)
        paint.put([(tube, CHANNEL + i % 3, BEHIND, True)])
    paint.draw()
