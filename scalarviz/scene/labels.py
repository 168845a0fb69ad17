"""Labels: IN and OUT, words of formulas and graphs, and colors beside neurons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.core.program import NONE
from scalarviz.scene.annotations import sign_words, write_end
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import Theme
from scalarviz.scene.frame_data import FrameData
from scalarviz.scene.layout.division import Box, Division, Projection
from scalarviz.scene.layout.plates import ENDS, HALF, SIDE, Layout, Neurons, Sign
from scalarviz.scene.layout.ways import BEHIND, Stroke, curve
from scalarviz.scene.lines import CHANNEL, LinePaint
from scalarviz.scene.neurons import balls_of, spheres_seen

# IN and OUT, where they cover nothing.


def draw_labels(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme, scale: float
) -> Obstacles:
    """Write which line is the input and which the output.

    Return what other words must not cover, these words included.
    """
    taken, layout = obstacles(see, frame_data, scale), frame_data.layout
    if len(layout.neurons) < 2 or layout.signs or layout.written:
        return taken
    division, ends = frame_data.division(see.width, see.height), [(layout.neurons[0], "in")]
    if frame_data.exhibit is None or not division.exhibit.width:
        ends.append((layout.neurons[-1], "out"))  # else the result has the word
    for line, key in ends:
        half = line.radius if not line.shape else 0.5 * line.side
        if line.tied is None:  # else its color has the word
            about = text(f"picture.{key}"), balls_of(see(line.points), half), see.box
            top = max(see.box.y - division.margin, 0.0)
            covers = partial(is_on, spheres=taken.spheres)
            found = write_end(canvas, theme, *about, top, covers)
            taken.boxes += [] if found is None else [found]
    return taken


@dataclass
class Obstacles:
    """What labels must not cover.

    boxes     of other labels
    spheres   (n, 3), x, y and radius
    polygons  (n, corners, 2), convex, of which plates and images consist
    words     words in space, with their boxes, which are the last of the first `placed` boxes
    """

    boxes: list[Box]
    spheres: FloatArray
    polygons: FloatArray
    words: list[tuple[Box, str, dict[str, Any]]] = field(default_factory=list)
    placed: int = 0
    _shares: dict[object, float] = field(default_factory=dict)  # what was covered

    def covered(self, box: Box) -> float:
        """Return the share of a box with something of the network or its labels under it."""
        key = (box, *self.boxes)
        if key not in self._shares:
            self._shares[key] = self._covered(box)
        return self._shares[key]

    def _covered(self, box: Box) -> float:
        points = points_in(box, 25, 7)
        x, y, radius = self.spheres.T
        apart = np.hypot(points[:, :1] - x, points[:, 1:] - y)
        found = (apart < radius).any(axis=1) | inside(points, self.polygons)
        for each in self.boxes:
            low, high = (each.x, each.y), (each.right, each.bottom)
            found |= ((points >= low) & (points < high)).all(axis=1)
        return float(found.mean())

    def place(
        self, canvas: Canvas2D, x: float, y: float, words: str, *, size: float, **look: Any
    ) -> None:
        """Keep a place free for words in space, (x, y) the middle of their line."""
        wide = canvas.measure(words, size=size, bold=look.get("bold", False))
        box = Box(x - 0.5 * wide, y - 0.8 * size, wide, size)
        self.boxes.append(box)
        self.words.append((box, words, {"size": size, **look}))
        self.placed = len(self.boxes)

    def write(self, canvas: Canvas2D, theme: Theme, cards: Sequence[Box]) -> None:
        """Write words in space, but those on which a card or a later box lies."""
        others = [*self.boxes[self.placed :], *cards]
        for box, words, look in self.words:
            if not any(map(box.meets, others)):
                x, y = box.x + 0.5 * box.width, box.y + 0.8 * look["size"]
                canvas.text(x, y, words, anchor="center", outline=theme.ground, **look)


def points_in(box: Box, across: int, down: int) -> FloatArray:
    """Return points of a grid over a box, (across * down, 2)."""
    grid = np.meshgrid(np.linspace(box.x, box.right, across), np.linspace(box.y, box.bottom, down))
    return np.stack(grid, axis=-1).reshape(-1, 2)


def is_on(box: Box, spheres: FloatArray) -> bool:
    """Return whether a box covers a part of a sphere."""
    x, y, radius = spheres.T
    aside = np.maximum(np.maximum(box.x - x, x - box.right), 0.0)
    apart = np.maximum(np.maximum(box.y - y, y - box.bottom), 0.0)
    return bool((aside**2 + apart**2 < radius**2).any())


def obstacles(see: Projection, frame_data: FrameData, scale: float) -> Obstacles:
    """Return what labels must not cover, as seen."""
    layout = frame_data.layout
    tied = tied_color(see, frame_data, scale)
    boxes = [] if tied is None else [tied.box]
    spheres, _ = spheres_seen(see, layout)
    quads = see(layout.once("outlines", outlines_of)).xy.reshape(-1, 4, 2)
    quads = quads[np.isfinite(quads).all(axis=(1, 2))]
    (right, down), (left, low) = ((quads[:, place] - quads[:, 0]).T for place in (1, 3))
    mirrored = right * low < down * left
    quads[mirrored] = quads[mirrored, ::-1]
    return Obstacles(boxes, spheres[np.isfinite(spheres).all(axis=1)], quads)


def outlines_of(layout: Layout) -> FloatArray:
    """Return the corners of the sides of all plates, and of all images, (n, 3)."""
    sides = [plate.corners(HALF)[[*SIDES]] for plate in layout.plates]
    for line in layout.neurons:
        if line.shape:
            first, right, down = np.moveaxis(line.corners(), 1, 0)
            sides.append(np.stack([first, right, right + down - first, down], axis=1))
    return np.concatenate([np.zeros((0, 4, 3)), *sides]).reshape(-1, 3)


# Which corners of the box around a plate its sides have, in order.
SIDES = (0, 2, 6, 4), (1, 3, 7, 5), (0, 1, 5, 4), (2, 3, 7, 6), (0, 1, 3, 2), (4, 5, 7, 6)


def inside(points: FloatArray, polygons: FloatArray) -> npt.NDArray[np.bool_]:
    """Return which points, (n, 2), are inside one of some convex polygons, (m, corners, 2)."""
    low, high = points.min(axis=0), points.max(axis=0)
    near = (polygons.min(axis=1) <= high).all(axis=1) & (polygons.max(axis=1) >= low).all(axis=1)
    starts = polygons[near, :, np.newaxis]
    edge, way = np.roll(starts, -1, axis=1) - starts, points - starts
    left = edge[..., 0] * way[..., 1] - edge[..., 1] * way[..., 0] >= 0.0
    return np.asarray(left.all(axis=1).any(axis=0))


# Words in space: the formula between cubes, and the names below them.

MEASURED_LETTERS = 20.0  # size of letters at which words are measured
TYPE = 12.0, 14.0, 16.0  # sizes of names


def place_written(
    canvas: Canvas2D,
    see: Projection,
    layout: Layout,
    taken: Obstacles,
    theme: Theme,
    scale: float,
) -> None:
    """Place them as large as their parts of a line are seen."""
    edge, line = -np.inf, 0.0  # where the last words end; a name that meets them is left out
    for each in layout.written:
        xy = see(each.middle + ENDS * each.half).xy
        if np.isfinite(xy).all():
            wide = float(np.linalg.norm(xy[1] - xy[0]))
            size = MEASURED_LETTERS * wide / canvas.measure(each.words, size=MEASURED_LETTERS)
            named = max([step for step in TYPE if step * scale <= size], default=each.least)
            size = named * scale if each.least else size
            x, y = xy.mean(axis=0).tolist()
            half = 0.5 * canvas.measure(each.words, size=size)
            apart = x - half >= edge + 0.5 * size or abs(y - line) >= size
            if each.least == 0.0 or apart:
                taken.place(canvas, x, y + 0.36 * size, each.words, size=size, color=theme.ink)
                edge, line = x + half, y


# Signs of a graph, and the color that goes in.


def place_signs(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    taken: Obstacles,
    theme: Theme,
    scale: float,
) -> None:
    """Place what stands around the nodes of a graph; smaller than readable, nothing."""
    signs = frame_data.layout.signs
    if signs:
        seen = see(np.array([sign.middle for sign in signs]))
        balls = balls_of(seen, np.array([sign.radius for sign in signs]))
        gradients = [gradient_of(sign, frame_data) for sign in signs]
        for x, y, words, size, color, bold in sign_words(canvas, theme, signs, balls, gradients):
            taken.place(canvas, x, y, words, size=size, color=color, bold=bold)


def gradient_of(sign: Sign, frame_data: FrameData) -> float | None:
    """Return the gradient of a node as far as it is known in this step; None if it is not."""
    if sign.row != NONE:
        pushes = frame_data.cubes.pushes
        found = None if pushes is None else float(pushes[sign.row])
    else:
        flow = frame_data.buffers.flows.get(sign.buffer)
        found = None if flow is None else float(flow[0])
    return None if found is None or np.isnan(found) else found


# The color that goes in, beside the neurons that stand for it; and the lines on to the result.

COLOR_SIDE, COLOR_LETTERS = 64.0, 12.0  # pixels of the color's side, and of its word
COLOR_WIRE = 1.4  # pixels of a line to a result without colors


class Tied(NamedTuple):
    """The color of the inputs.

    box    around it, with its word
    place  x and y of its middle, its depth, and its side
    color  None where it is not known
    """

    line: Neurons
    box: Box
    place: tuple[float, float, float, float]
    color: FloatArray | None


def tied_color(see: Projection, frame_data: FrameData, scale: float) -> Tied | None:
    """Return where the color that goes in is seen; None if no color does."""
    line = next(iter(frame_data.layout.neurons), None)
    if line is None or line.tied is None:
        return None
    seen = see.of(line.tied)
    (x, y), depth = seen.xy[0].tolist(), float(seen.depth[0])
    side = min(SIDE * float(seen.unit[0]), COLOR_SIDE * scale)
    if not np.isfinite(x + y):
        return None
    high = side + 1.6 * COLOR_LETTERS * scale
    box = Box(x - 0.5 * side, y + 0.5 * side - high, side, high)
    return Tied(line, box, (x, y, depth, side), frame_data.buffers.values.get(line.values))


def draw_tied(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme, scale: float
) -> None:
    """Draw the color that goes in, with a tube to each of its neurons."""
    tied, size = tied_color(see, frame_data, scale), COLOR_LETTERS * scale
    if tied is None:
        return
    x, y, depth, side = tied.place
    seen, count = see.of(tied.line.points), len(tied.line.points)
    ends = (seen.xy - np.outer(tied.line.radius * seen.unit, (1.0, 0.0))).tolist()
    spread = side * ((np.arange(count) + 0.5) / count - 0.5)
    starts = [(x + 0.5 * side, y + 0.8 * each) for each in spread.tolist()]
    amounts = np.zeros(count) if tied.color is None else np.nan_to_num(tied.color)
    draw_tubes(canvas, starts, ends, amounts.tolist(), theme)
    known = tied.color is not None and np.isfinite(tied.color).all()
    fill = np.clip(tied.color, 0.0, 1.0) if tied.color is not None and known else None
    place = x - 0.5 * side, y - 0.5 * side, side, side
    canvas.box(*place, fill, radius=0.125 * side, outline=theme.ghost, depth=depth)
    write = partial(canvas.text, anchor="center", outline=theme.ground)
    write(x, place[1] - 0.6 * size, text("picture.in"), size=size, color=theme.ink, bold=True)


def draw_doors(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    division: Division,
    theme: Theme,
) -> None:
    """Draw lines from the outputs to the result: one each, or from their middle to one door."""
    exhibit, lines = frame_data.exhibit, frame_data.layout.neurons
    if exhibit is None or not division.exhibit.width or not lines:
        return
    line, buffers = lines[-1], frame_data.buffers
    doors = exhibit.doors(division.exhibit, division.scale)
    seen = see.of(line.points)
    rims = seen.xy + np.array([line.radius * float(seen.unit.max()), 0.0])
    values = [*buffers.values.get(line.values, ()), *np.zeros(len(rims))]  # 0 until it is known
    starts = rims if len(doors) == len(rims) else rims.mean(axis=0)[np.newaxis]
    if buffers.answers is not None and len(buffers.answers) == len(rims) > len(doors):
        starts = rims[[int(np.nan_to_num(buffers.answers).argmax())]]  # from the answer
    is_seen = np.isfinite(starts).all() and doors[0][0] >= division.inner.right  # not below
    is_seen = is_seen and starts[0, 0] <= doors[0][0]
    if is_seen and line.is_color and len(starts) == len(rims):
        draw_tubes(canvas, starts.tolist(), doors, values, theme)
    elif is_seen:
        for (x, y), door in zip(starts.tolist(), doors, strict=False):
            canvas.line(curve((x, y), door), theme.quiet, width=COLOR_WIRE * canvas.scale)


def draw_tubes(
    canvas: Canvas2D,
    starts: Sequence[Sequence[float]],
    ends: Sequence[Sequence[float]],
    amounts: Sequence[float],
    theme: Theme,
) -> None:
    """Draw what the channels of a color carry, from start to end, as wide as the amounts."""
    paint, scale = LinePaint(canvas, theme), canvas.scale
    for i, (start, end, amount) in enumerate(zip(starts, ends, amounts, strict=False)):
        path = curve((start[0], start[1]), (end[0], end[1]))
        width = scale * (2.8 + 5.0 * min(1.0, max(0.0, amount)))
        tube = Stroke("in", path, 0, i, amount, width, 1.5 * scale, 1.0)
        paint.add([(tube, CHANNEL + i % 3, BEHIND, True)])
    paint.draw()
