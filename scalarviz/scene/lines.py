"""Lines: what comes into cubes and what leaves them, drawn in the picture."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.program import NONE
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import Theme, rgb
from scalarviz.scene.frame_data import FrameData
from scalarviz.scene.layout.division import Projection
from scalarviz.scene.layout.plates import RIGHT, UP, Fan, Layout, Neurons
from scalarviz.scene.layout.ways import (
    TIP,
    Point,
    SeenFan,
    Stroke,
    head_of,
    known_in,
    look_of,
    part_of,
    strokes_of,
    way_out,
)
from scalarviz.scene.lights import Lights, rows_of_column, rows_of_sum, rows_walked

MOST = 4096  # weights of a layer whose lines are drawn
LIT = 1.6  # how much wider lines are that are pointed at or spoken of
TUBE = 3.4  # least width of a tube
CLEAR = 16  # lines of a caption that are drawn at full width
CHANNELS = "#ff5c5c", "#58dc6e", "#605cff"
BEHIND = 0.9999  # the depth of lines before cubes: behind all cubes
# By kind of operation: whether the lines before and behind the cubes carry numbers back.
WAYS = {
    "forward": (False, False),
    "input gradient": (True, True),
    "weight gradient": (False, True),
}
Span = tuple[float, float]
Depth = float | tuple[float, float]


@dataclass
class KnownFans:
    """The trays of a layout as they were seen last; they change with the camera and the size."""

    key: object = None
    fans: Sequence[SeenFan | None] = ()

    def of(self, see: Projection, frame_data: FrameData, scale: float) -> Sequence[SeenFan | None]:
        """Return the trays of a frame as they are seen; None for those without lines."""
        layout = frame_data.layout
        key = id(layout), see, scale, tuple(frame_data.buffers.tints)
        if self.key != key:
            tints = frame_data.buffers.tints
            self.key = key
            self.fans = [seen_fan(each, layout, see, scale, tints) for each in layout.fans]
        return self.fans


def seen_fan(
    fan: Fan, layout: Layout, see: Projection, scale: float, tints: Container[str]
) -> SeenFan | None:
    """Return the trays of a layer as they are seen."""
    before, after = layout.neurons[fan.before], layout.neurons[fan.after]
    if len(fan.rows) * len(fan.columns) > MOST:
        return None
    columns = np.vstack([fan.columns[0] - fan.begin, fan.columns])
    places = fan.rows[:, np.newaxis] + columns + fan.foot
    seen, origin = see(places.reshape(-1, 3)), places[0, 0]
    ends = see(np.stack([origin, origin + RIGHT, origin + UP])).xy
    if not np.isfinite(seen.xy).all():
        return None
    names, (right, up) = before.buffers, (ends[1:] - ends[0]).tolist()
    return SeenFan(
        rings(fan.starts, before, see),
        rings(fan.ends, after, see),
        [[(x, y) for x, y in row] for row in seen.xy.reshape(*places.shape[:2], 2).tolist()],
        (right[0], right[1]),
        (up[0], up[1]),
        scale,
        after.square,
        any(name in tints for name in names) and not before.shape,
    )


def rings(points: FloatArray, line: Neurons, see: Projection) -> list[tuple[float, float, float]]:
    """Return middle and radius of neurons or images as they are seen."""
    half = 0.33 * line.side * max(line.shape[1:]) if line.shape else line.radius
    seen = see(points)
    return list(zip(*seen.xy.T.tolist(), (half * seen.unit).tolist(), strict=True))


@dataclass(frozen=True)
class Carried:
    """What the lines of a layer carry, as `strokes_of` takes it."""

    values: list[float]
    terms: list[list[float]]
    halves: list[list[float]]
    summed: bool


def carried(fan: Fan, frame_data: FrameData) -> Carried:
    """Return what the lines of a layer carry; zeros for what is not known."""
    layout, cubes, known = frame_data.layout, frame_data.cubes, frame_data.buffers.values
    before, after = layout.neurons[fan.before], layout.neurons[fan.after]
    count, units = fan.inputs_count, len(fan.ends)
    values = known.get(before.values, known.get(before.sums, np.zeros(0)))
    values = values if len(values) else np.zeros(len(before.points))
    rows, pixels = fan.all_rows, fan.inputs // max(1, count)
    weights = frame_data.weights if len(frame_data.weights) else np.zeros(len(cubes.colors))
    own = weights[rows[:, : fan.inputs]].reshape(units, count, pixels)
    read = values[fan.reads]
    if pixels == len(read) // max(1, count):
        terms = (own * read.reshape(count, pixels)).sum(axis=2)
    else:  # of a kernel that many places share
        terms = np.linalg.norm(own, axis=2) * np.abs(read.reshape(count, -1)).mean(axis=1)
    if fan.biases != NONE:
        terms = np.column_stack([terms, weights[rows[:, -1]]])
    number = layout.plate_number(int(rows[0, 0]))
    halves = layout.plates[number].halves(cubes.sizes[rows], float(cubes.size_scales[number]))
    halves = np.column_stack([halves[:, : fan.inputs : pixels], halves[:, fan.inputs :]])
    values = read.reshape(count, -1).mean(axis=1)
    summed = any(name in known for name in (after.sums, after.values) if name)
    return Carried(values.tolist(), np.nan_to_num(terms).tolist(), halves.tolist(), summed)


def draw_lines(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    lit: Lights,
    fans: Sequence[SeenFan | None],
    theme: Theme,
) -> None:
    """Draw the lines of all trays."""
    paint = LinePaint(canvas, theme)
    told, pointed = told_rows(frame_data), pointed_rows(frame_data)
    for fan, seen, glows in zip(frame_data.layout.fans, fans, lit.fans, strict=True):
        if seen is None:
            continue
        numbers = carried(fan, frame_data)
        middles = (fan.rows[:, np.newaxis] + fan.columns).reshape(-1, 3)
        depths = see(middles).depth.reshape(len(fan.rows), -1).tolist()
        far = float(see(fan.ends[:1]).depth[0])
        strokes = strokes_of(
            seen, numbers.values, numbers.terms, numbers.halves, summed=numbers.summed
        )
        for stroke in strokes:
            is_whole = stroke.unit < 0 or stroke.column < 0
            row = NONE if is_whole else fan.row_of(stroke.unit, stroke.column)
            look, is_product = look_of(seen, stroke), stroke.kind == "product"
            depth = (depths[stroke.unit][stroke.column], far) if is_product else BEHIND
            part = 1.0 if lit.focus is None or row in lit.focus.rows else lit.level
            color = hue_of(stroke, seen, theme)
            if row in pointed:
                paint.add(stroke.points, color, LIT * look.width, look.casing, 0.95, depth)
            else:
                width, casing, strength = look.width, look.casing, part * look.strength
                hollow = seen.tubes and stroke.kind == "in"
                paint.add(stroke.points, color, width, casing, strength, depth, hollow=hollow)
            paint.head(head_of(seen, stroke), color, part, depth)
            glow = glows[is_product]
            if glow is not None and glow.span[0] < glow.span[1] and not is_whole:
                light = theme.accent if glow.back else theme.light
                path = part_of(stroke.points, *glow.span)
                paint.add(path, rgb((light,))[0], 2.0 * canvas.scale, 0.0, 0.9, depth)
        explain(paint, (fan, seen, numbers), told, frame_data, (depths, far))
    paint.draw()


def hue_of(stroke: Stroke, fan: SeenFan, theme: Theme) -> FloatArray:
    """Return the color of a line: of a channel, of the sign of what it carries, or quiet."""
    name = theme.wire
    if fan.tubes and stroke.kind in ("in", "tick", "stub"):
        name = CHANNELS[stroke.column % 3]
    elif stroke.value:
        name = theme.map.positive if stroke.value > 0.0 else theme.map.negative
    found: FloatArray = rgb((name,))[0]
    return found


def pointed_rows(frame_data: FrameData) -> frozenset[int]:
    """Return the bank indices whose lines are pointed at: that of a cube, all of a neuron."""
    layout, found = frame_data.layout, set[int]()
    for card in (frame_data.hover, frame_data.pinned):
        found |= set() if card is None or layout.fan_of(card.row) is None else {card.row}
    for neuron in (frame_data.hover_neuron, frame_data.pinned_neuron):
        into = None if neuron is None else layout.fan_into(neuron)
        leaving = None if neuron is None else layout.fan_from(neuron)
        found |= set() if into is None else set(rows_of_sum(*into))
        found |= set() if leaving is None else set(rows_of_column(*leaving))
    return frozenset(found)


def told_rows(frame_data: FrameData) -> frozenset[int]:
    """Return the bank indices of the cubes that the caption of an operation is about."""
    moment, caption = frame_data.moment, frame_data.words.caption
    if moment is None or caption is None or moment.kind not in WAYS:
        return frozenset()
    told = [*(piece.row for piece in caption.pieces), *caption.rows]
    return frozenset(rows_walked(frame_data) or told)


def explain(
    paint: LinePaint,
    fan: tuple[Fan, SeenFan, Carried],
    told: frozenset[int],
    frame_data: FrameData,
    depths: tuple[list[list[float]], float],
) -> None:
    """Draw light on the lines through the cubes that the caption of an operation is about."""
    moment, (whole, seen, numbers) = frame_data.moment, fan
    if moment is None or not told:
        return
    theme, spans = paint.theme, lit_spans(moment.kind, frame_data.part)
    paints = [theme.accent if back else theme.lit for back in WAYS[moment.kind]]
    width = LIT * 2.0 * paint.canvas.scale * min(1.0, (CLEAR / len(told)) ** 0.5)
    for row in told:
        unit = whole.unit_of(row)
        if unit is None:
            continue
        column, count = whole.unit_before(row), len(seen.starts)
        half = numbers.halves[unit][column]
        paths: list[list[Point]] = [[], way_out(seen, unit, column, half)]
        if column < count:
            paths[0] = known_in(seen, unit, column, 0, half)
        ways: tuple[Depth, Depth] = BEHIND, (depths[0][unit][column], depths[1])
        for path, color, span, depth in zip(paths, paints, spans, ways, strict=True):
            if path and span[0] < span[1]:
                paint.add(part_of(path, *span), rgb((color,))[0], width, 0.0, 0.95, depth)


def lit_spans(kind: str, part: float) -> tuple[Span, Span]:
    """Return which parts of the lines before and behind a cube are lit: light leaves a trail."""
    early, late = min(1.0, part / 0.45), min(1.0, max(0.0, (part - 0.5) / 0.45))
    if kind == "forward":
        return (0.0, early), (0.0, late)
    if kind == "input gradient":
        return (1.0 - late, 1.0), (1.0 - early, 1.0)
    return (0.0, early), (1.0 - early, 1.0)


class LinePaint:
    """Paths that are drawn together, in their order, each over its dark casing."""

    def __init__(self, canvas: Canvas2D, theme: Theme) -> None:
        self.canvas, self.theme = canvas, theme
        self._ground, self._casing = rgb((theme.ground,))[0], rgb((theme.map.background,))[0]
        self._paths: list[FloatArray] = []
        self._colors: list[FloatArray] = []
        self._rest: list[tuple[float, float, float]] = []  # width, and depth at both ends
        self._heads: list[tuple[float, ...]] = []  # ends, colors and depth

    def add(
        self,
        points: list[Point],
        color: FloatArray,
        width: float,
        casing: float,
        strength: float,
        depth: Depth,
        *,
        hollow: bool = False,
    ) -> None:
        """Add a path: `strength` is the part of its color, the rest is the ground.

        hollow  whether it is a tube; by default it is not
        """
        if len(points) < 2:
            return
        path = np.array(points)
        begin, end = depth if isinstance(depth, tuple) else (depth, depth)
        width = max(width, TUBE * self.canvas.scale) if hollow else width
        mixed = self._ground + strength * (color - self._ground)
        layers = [(mixed, width)]
        if casing:
            layers.insert(0, (self._casing, width + 2.0 * casing))
        if hollow:
            inner = max(1.4, 0.88 * width - 2.4)
            layers.append((self._ground + 0.2 * (color - self._ground), inner))
        for paint, wide in layers:
            self._paths.append(path)
            self._colors.append(paint)
            self._rest.append((wide, begin, end))

    def head(self, way: list[Point], color: FloatArray, part: float, depth: Depth) -> None:
        """Draw a head on a short way, if there is one; `part` is how bright it is."""
        if way:
            bright = self._ground + part * (color + 0.6 * (1.0 - color) - self._ground)
            self._heads.append((*way[0], *way[-1], *bright, np.mean(depth)))

    def draw(self) -> None:
        """Draw all that was added."""
        if not self._paths:
            return
        counts = np.array([len(path) - 1 for path in self._paths])
        starts = np.concatenate([path[:-1] for path in self._paths])
        ends = np.concatenate([path[1:] for path in self._paths])
        rest, colors = (
            np.repeat(self._rest, counts, axis=0),
            np.repeat(self._colors, counts, axis=0),
        )
        last = np.cumsum(counts)
        part = np.arange(len(starts)) - np.repeat(last - counts, counts)
        along = np.stack([part, part + 1.0], axis=1) / np.repeat(counts, counts)[:, np.newaxis]
        depth = rest[:, [1]] + along * (rest[:, [2]] - rest[:, [1]])
        self.canvas.segments(starts, ends, colors, width=rest[:, 0], depth=depth)
        heads = np.array(self._heads).reshape(-1, 8)
        size = TIP * self.canvas.scale
        way = heads[:, 2:4] - heads[:, :2]
        way *= size / np.maximum(np.hypot(way[:, 0], way[:, 1]), 1e-9)[:, np.newaxis]
        tips = heads[:, :2] + way
        for grown, paint in ((2.0, np.tile(self._ground, (len(heads), 1))), (0.0, heads[:, 4:7])):
            ends = heads[:, :2] - 0.5 * grown * way / size, tips + grown * way / size
            self.canvas.arrows(*ends, paint, head=size + 1.5 * grown, depth=heads[:, 7])
