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
from scalarviz.core.program import NONE
from scalarviz.scene.annotations import Number, is_free
from scalarviz.scene.blame import head_on, lit_by_blame
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import Theme, rgb
from scalarviz.scene.cube_numbers import numbers_on_cubes
from scalarviz.scene.first_row import is_called
from scalarviz.scene.focus import blame_in, pointed_rows, told_rows
from scalarviz.scene.frame_data import FrameData
from scalarviz.scene.layout.division import Projection
from scalarviz.scene.layout.plates import RIGHT, Fan, Layout, Neurons
from scalarviz.scene.layout.ways import (
    BEHIND,
    LIT,
    MOST,
    MOST_DIRECT,
    NEARER,
    TUBE,
    Point,
    SeenFan,
    Stroke,
    curve,
    draw_bias,
    draw_gates,
    draw_joined,
    lit_parts,
    strokes_of,
    thread_strokes,
)
from scalarviz.scene.lights import Lights
from scalarviz.scene.pace import WAYS_BACK

TIP = 12.0  # pixels of an arrowhead
LARGEST: float = np.finfo(np.float64).max  # in place of infinity
CHANNEL = 3  # index of the color of the first channel, see `LinePaint`
Depths = tuple[float, float]
Added = tuple[Stroke, int, Depths, bool]  # with color and depths, and whether it is a tube


@dataclass
class KnownFan:
    """The rows of a layer in the picture, with data to draw them.

    Attributes:
        rows: bank indices of the cubes, by unit and column
        depths: depths of the line behind each cube, at its start and its end
    """

    seen: SeenFan
    rows: list[list[int]]
    depths: list[list[Depths]]


def points_of(fan: Fan) -> tuple[FloatArray, list[slice], list[list[int]]]:
    """Return the points of a layer, a slice for each of five kinds, and its cubes' bank indices.

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
    return (
        np.concatenate(points),
        [slice(*each) for each in pairwise(ends)],
        fan.first_rows.tolist(),
    )


def known_fans(see: Projection, layout: Layout, scale: float) -> list[KnownFan | None]:
    """Return the rows of each layer in the picture, None for layers drawn in another form."""
    return see.once(
        ("fans", scale),
        layout,
        lambda layout: [known_fan(each, layout, see, scale) for each in layout.fans],
    )


def seen_fans(see: Projection, layout: Layout, scale: float) -> list[SeenFan | None]:
    """Return the `SeenFan` of each layer in the picture, or None."""
    return [None if each is None else each.seen for each in known_fans(see, layout, scale)]


def tops_of(known: KnownFan, unit: int, halves: Sequence[float]) -> list[float]:
    """Return the y coordinates of the tops of a row's cubes, given half their sides."""
    feet, cell = known.seen.feet[unit], known.seen.cell
    return [y - 2.1 * half * cell for (_, y), half in zip(feet, halves, strict=True)]


def known_fan(fan: Fan, layout: Layout, see: Projection, scale: float) -> KnownFan | None:
    """Return the rows of a layer in the picture; None if it has no rows or is not visible."""
    before, after = layout.neurons[fan.before], layout.neurons[fan.after]
    most, units = MOST_DIRECT if fan.is_direct else MOST, len(fan.rows)
    if fan.top is not None or units * len(fan.columns) > most:
        return None
    points, kinds, rows = layout.once(("lines", id(fan)), lambda _: points_of(fan))
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
    if fan.is_direct:
        depths = [depths[0] * len(rows[0])] * units
    return KnownFan(trays, rows, depths)


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


def carried(fan: Fan, frame_data: FrameData) -> Carried:
    """Return the values of a layer's lines; unknown values are 0."""
    layout, cubes, known = frame_data.layout, frame_data.cubes, frame_data.buffers.values
    before, after = layout.neurons[fan.before], layout.neurons[fan.after]
    count, units = fan.inputs_count, len(fan.ends)
    values = np.zeros(len(before.points))
    come = known.get(before.values, known.get(before.sums, values))
    values[: len(come)] = come  # some may be missing
    weights = frame_data.weights if len(frame_data.weights) else np.zeros(len(cubes.colors))
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


def draw_lines(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    lit: Lights,
    theme: Theme,
) -> LinePaint:
    """Draw the lines of all rows; return the lines to draw later, in front of squares."""
    scale = canvas.scale
    fans = known_fans(see, frame_data.layout, scale)
    paint, above = LinePaint(canvas, theme), LinePaint(canvas, theme)
    told, pointed = told_rows(frame_data), pointed_rows(frame_data)
    thread = frame_data.layout.thread
    written = [*numbers_on_cubes(canvas, see, frame_data).values()] if told else []
    gates: list[tuple[Fan, KnownFan, list[float]]] = []
    for number, (fan, known) in enumerate(zip(frame_data.layout.fans, fans, strict=True)):
        if known is None:
            continue
        seen, rows, numbers = known.seen, known.rows, carried(fan, frame_data)
        if not fan.is_direct:
            is_new = number == 0 and frame_data.names_row
            named = not (is_new and is_called(seen, scale, see.camera, asked=frame_data.marks))
            draw_bias(canvas, theme, seen, named=named)
            gates += [(fan, known, [*map(sum, numbers.terms)] if numbers.summed else [])]
        if fan.is_direct:
            draw_joined(canvas, theme, seen)
        strokes = (
            []
            if fan.is_direct
            else strokes_of(
                seen, numbers.values, numbers.terms, numbers.halves, summed=numbers.summed
            )
        )
        focus, outside = (None, 1.0) if lit.focus is None else (lit.focus.rows, lit.level)
        added: list[Added] = []
        for stroke in strokes:
            unit, column, kind = stroke.unit, stroke.column, stroke.kind
            row = rows[unit][column] if unit >= 0 and column >= 0 else NONE
            is_in = kind in ("in", "arm")
            part = 1.0 if focus is None or row in focus else outside
            if focus is not None and kind == "in" and row == NONE:  # a wire to a whole column
                part = 1.0 if any(each[column] in focus for each in rows) else outside
            hue = 0 if stroke.value == 0.0 else 1 if stroke.value > 0.0 else 2
            if seen.tubes and is_in:
                hue = CHANNEL + column % 3
            if row in pointed:
                stroke.width, stroke.strength = LIT * stroke.width, 0.95
            else:
                stroke.strength *= part
            added += [(stroke, hue, BEHIND, is_in and seen.tubes)]
        paint.add(added)
        for _, unit, column in [step for step in thread if step[0] == number]:
            two = numbers.values[column], numbers.terms[unit][column]
            level = known.depths[unit][column][1] - NEARER
            over: list[Added] = []
            under: list[Added] = []
            for stroke in thread_strokes(seen, unit, column, *two):
                hue = 0 if stroke.kind == "rest" else 1 if stroke.value > 0.0 else 2
                line: Added = (stroke, hue, (level, level), False)
                if seen.square or stroke.kind == "in":
                    over += [line]
                else:
                    under += [line]
            above.add(over)
            paint.add(under)
        explain(paint, (fan, known, numbers), told, frame_data, written)
    paint.draw()
    for fan, known, sums in gates:
        curve = frame_data.layout.neurons[fan.after].bends
        draw_gates(canvas, theme, known.seen, curve, sums, known.depths[0][0][1])
    return above


def explain(
    paint: LinePaint,
    fan: tuple[Fan, KnownFan, Carried],
    told: set[int],
    frame_data: FrameData,
    written: Sequence[Number],
) -> None:
    """Highlight the lines of the cubes that a caption about gradients mentions."""
    moment, (whole, known, numbers) = frame_data.moment, fan
    if moment is None or not told or whole.is_direct:
        return
    blame, linked = blame_in(frame_data), set[int]()
    if blame is not None:
        for path, width in lit_by_blame(whole, known.seen, numbers.halves, blame, frame_data.part):
            paint.light(path, 7, width, BEHIND)
            head = head_on(path)
            if len(head) > 1 and is_free(written, *head[0], TIP * paint.canvas.scale):
                paint.heads += [(*head[0], *head[1], 7, 1.0, BEHIND[0])]
    elif frame_data.told is not None:
        linked = {*frame_data.told.linked}
    for row in sorted(told | linked):
        unit = whole.unit_of(row)
        if unit is None:
            continue
        column = whole.unit_before(row)
        cube = unit, column, numbers.halves[unit][column]
        is_back = moment.kind in WAYS_BACK or moment.kind == "delta" or row not in told
        part = frame_data.part if row in told else 1.0
        lit = lit_parts(known.seen, *cube, is_back, part, len(told))
        lit = lit if blame is None else lit[:1]  # its own path is one of blame's
        for i, (path, width, back) in enumerate(lit):
            depth = known.depths[unit][column] if i else BEHIND
            paint.light(path, 7 if back else 6, width, depth)
            head = path[3 * len(path) // 4 - 1 : 3 * len(path) // 4 + 1]
            if back and len(head) > 1 and is_free(written, *head[1], TIP * paint.canvas.scale):
                paint.heads += [(*head[1], *head[0], 7, 1.0, depth[1])]


class LinePaint:
    """Paths that are drawn together, in order, each over a dark casing.

    Colors by index: quiet, positive, negative, the three channels, lit, and the light of the
    backward pass.
    """

    def __init__(self, canvas: Canvas2D, theme: Theme) -> None:
        self.canvas = canvas
        self._paths: list[list[Point]] = []
        self._rows: list[tuple[float, ...]] = []  # color, strength, width, depths
        self.heads: list[tuple[float, ...]] = []  # ends, color, brightness, and depth
        self._colors, self._ground = colors_of(theme)

    def add(self, strokes: list[Added]) -> None:
        """Add lines to draw."""
        scale = self.canvas.scale
        for stroke, hue, depth, hollow in strokes:
            points, width = stroke.points, stroke.width
            if hollow and width < TUBE * scale:
                width = TUBE * scale
            self._paths += [points, points]
            self._rows += [
                (hue, 0.0, width + 2.0 * stroke.casing, *depth),
                (hue, stroke.strength, width, *depth),
            ]
            if hollow:
                self._paths += [points]
                self._rows += [(hue, 0.2, 0.88 * width - 2.0 * scale, *depth)]

    def light(self, path: list[Point], hue: int, width: float, depth: Depths) -> None:
        """Add a highlight on part of a line."""
        if len(path) > 1:
            self._paths += [path]
            self._rows += [(hue, 0.9, width, *depth)]

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
    signs = theme.wire, theme.map.positive, theme.map.negative
    return rgb((*signs, *theme.channels, theme.lit, theme.accent)), rgb((theme.ground,))[0]


def draw_signed(canvas: Canvas2D, theme: Theme, strokes: Sequence[tuple[Stroke, Depths]]) -> None:
    """Draw lines with depths, each in the color of its value's sign."""
    paint = LinePaint(canvas, theme)
    paint.add([(each, 1 if each.value >= 0.0 else 2, depth, False) for each, depth in strokes])
    paint.draw()


def draw_tubes(
    canvas: Canvas2D,
    theme: Theme,
    starts: Sequence[Point],
    ends: Sequence[Point],
    amounts: Sequence[float],
) -> None:
    """Draw the values of color channels as tubes; the width of a tube shows its amount."""
    paint, scale = LinePaint(canvas, theme), canvas.scale
    known = chain(amounts, repeat(0.0))
    for i, (start, end, amount) in enumerate(zip(starts, ends, known, strict=False)):
        width = scale * (2.8 + 5.0 * min(1.0, max(0.0, amount)))
        tube = Stroke("in", curve(start, end), 0, i, amount, width, 1.5 * scale, 1.0)
        paint.add([(tube, CHANNEL + i % 3, BEHIND, True)])
    paint.draw()
