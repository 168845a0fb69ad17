"""The callout: a few words beside the neuron or cube that the caption is about."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from scalarviz.base.checks.numbers import FloatArray
from scalarviz.core.model.program import Moment
from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.theme import Theme
from scalarviz.pictures.view.frame_data import FrameData
from scalarviz.pictures.view.highlights import corners_of
from scalarviz.pictures.view.labels import Obstacles
from scalarviz.pictures.view.lights import BACK
from scalarviz.pictures.view.numbers import marks_of
from scalarviz.pictures.view.scene.frame import Box, Projection
from scalarviz.training.session.caption import Caption

SIZE, PAD, GAP = 14.0, 8.0, 8.0  # letters, space around them, and from what they name
# What it costs to cover a pixel of each, and to be a pixel further away.
WORDS, SPHERE, TOLD, CUBE, FAR = 4.0, 4.0, 1.0, 0.3, 6.0
FARTHEST = 7.0  # from what they name, in gaps
AWAY = (0.0, 1.0, 2.0)  # distances that are tried, in heights of the box
ASIDE = (0.0, -1.0, 1.0, -0.5, 0.5, -0.75, 0.75, -0.25, 0.25)  # from its middle to its sides
STEP = 4  # logical pixels of which the width of the box is a multiple
MOST = 200  # cubes that it keeps clear of
KNOWN = 0.8  # part of an operation from which on its result is known


def subject_of(frame_data: FrameData, see: Projection) -> Box | None:
    """Return the box around what the caption is about; None if that is not in the picture."""
    caption = frame_data.words.caption
    if caption is None:
        return None
    for row in caption.rows[:1]:
        corners = corners_of(frame_data, row, 0.42)
        xy = see(corners).xy if len(corners) else np.zeros((0, 2))
        if len(xy) and np.isfinite(xy).all():
            low, high = xy.min(axis=0), xy.max(axis=0)
            return Box(float(low[0]), float(low[1]), *(high - low).tolist())
    for neuron in caption.neurons[:1]:
        found = frame_data.layout.line_of(neuron)
        if found is not None:
            line, place = found
            seen = see(line.point(place))
            x, y = seen.xy[0].tolist()
            half = (0.5 * line.side if line.shape else line.radius) * float(seen.unit[0])
            return Box(x - half, y - half, 2.0 * half, 2.0 * half) if np.isfinite(x + y) else None
    return None


def draw_callout(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    taken: Obstacles,
    theme: Theme,
    scale: float,
) -> Box | None:
    """Write beside the subject of an operation what it is and has; return the box of the words."""
    caption, moment = frame_data.words.caption, frame_data.moment
    words = "" if caption is None else words_of(caption)
    if moment is None or not words or frame_data.part < KNOWN:
        return None
    subject = subject_of(frame_data, see)
    if subject is None:
        return None
    size, pad, gap = SIZE * scale, PAD * scale, GAP * scale
    wide = width_of(canvas, words, size, pad)
    if frame_data.pane is not None and wide > see.box.width:  # what is named is marked anyway
        words = words.rpartition(": ")[2]
        wide = width_of(canvas, words, size, pad)
        if wide > see.box.width:
            return None
    high = size + 1.4 * pad
    covers = covers_of(see, frame_data, taken, scale)
    box = place_for(subject, wide, high, gap, see, covers)
    draw_panel(canvas, box, subject, theme, moment, scale)
    base = box.y + 0.5 * high + 0.36 * size
    x = box.x + pad
    canvas.text(x, base, words, size=size, color=theme.ink, bold=True)
    return box


def covers_of(
    see: Projection, frame_data: FrameData, taken: Obstacles, scale: float
) -> list[tuple[Box, float]]:
    """Return boxes of what words beside a subject may cover, and what a pixel of each costs."""
    found = [(each, WORDS) for each in (*taken.boxes, *name_boxes(see, frame_data, scale))]
    found += [(each, TOLD) for each in cube_boxes(frame_data, see, marks_of(frame_data))]
    if len(frame_data.cubes.sizes) <= MOST:
        every = range(len(frame_data.cubes.sizes))
        found += [(each, CUBE) for each in cube_boxes(frame_data, see, every)]
    around = [(Box(x - r, y - r, 2.0 * r, 2.0 * r), SPHERE) for x, y, r in taken.spheres.tolist()]
    return found + around


def draw_panel(
    canvas: Canvas2D, box: Box, subject: Box, theme: Theme, moment: Moment, scale: float
) -> None:
    """Draw the ground of words beside a subject, and a line from one that is away from it."""
    light = theme.accent if moment.kind in BACK else theme.light
    start, end = shortest(box, subject)
    if np.hypot(*(end - start)) > GAP * scale + 1.0:
        canvas.line(np.stack([start, end]), light, width=1.5 * scale)
    radius = 0.4 * (SIZE + 1.4 * PAD) * scale
    canvas.box(*box.place, theme.panel[:7], radius=radius, outline=light, line=1.5 * scale)


def width_of(canvas: Canvas2D, words: str, size: float, pad: float) -> float:
    """Return the width of the box of words, in whole steps: fonts differ by parts of a pixel."""
    return STEP * math.ceil((canvas.measure(words, size=size, bold=True) + 2.0 * pad) / STEP)


def words_of(caption: Caption) -> str:
    """Return what stands beside the subject: the callout, or else what its cube would say."""
    marks = [piece.mark for piece in caption.pieces if piece.row in caption.rows[:1] and piece.mark]
    return caption.callout or " ".join(marks[0].split("\n") if marks else ())


def place_for(
    subject: Box,
    wide: float,
    high: float,
    gap: float,
    see: Projection,
    covers: list[tuple[Box, float]],
) -> Box:
    """Return where the words cover little: above, below or aside, a little away if need be.

    covers  boxes, and what a covered pixel of each costs
    """
    middle = subject.y + 0.5 * (subject.height - high)
    level = subject.x + 0.5 * (subject.width - wide)
    view = see.box
    boxes, costs = [], []
    for away in AWAY:
        far = gap + away * high
        reach = 0.5 * (subject.width + wide) + far
        above, below = subject.y - far - high, subject.bottom + far
        places = [(level - reach, middle), (level + reach, middle)]
        places += [(level + aside * reach, y) for y in (above, below) for aside in ASIDE]
        for x, y in places:
            x = min(max(x, view.x), max(view.x, view.right - wide))
            y = min(max(y, view.y), max(view.y, view.bottom - high))
            boxes.append(Box(x, y, wide, high))
            start, end = shortest(boxes[-1], subject)
            is_far = bool(np.hypot(*(end - start)) > FARTHEST * gap)
            costs.append(FAR * away * high + covered(boxes[-1], subject, covers) + is_far * 1e5)
    return boxes[int(np.argmin(costs))]


def covered(box: Box, subject: Box, covers: list[tuple[Box, float]]) -> float:
    """Return what it costs that a box covers others, and above all the subject."""
    prices = np.array([price for _, price in covers])
    places = np.array([each.place for each, _ in covers]).reshape(-1, 4)
    x, y, width, height = places.T
    wide = np.minimum(box.right, x + width) - np.maximum(box.x, x)
    high = np.minimum(box.bottom, y + height) - np.maximum(box.y, y)
    own = box.meets(subject) * 1e6
    return own + float((prices * np.maximum(wide, 0.0) * np.maximum(high, 0.0)).sum())


def shortest(box: Box, subject: Box) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the shortest line between two boxes; from middle to middle beside them."""
    ends = []
    for low, high, first, last in (
        (box.x, box.right, subject.x, subject.right),
        (box.y, box.bottom, subject.y, subject.bottom),
    ):
        if high < first:
            ends.append((high, first))
        elif last < low:
            ends.append((low, last))
        else:
            shared = 0.5 * (max(low, first) + min(high, last))
            ends.append((shared, shared))
    start, end = np.array(ends).T
    return start, end


def cube_boxes(frame_data: FrameData, see: Projection, rows: Iterable[int]) -> list[Box]:
    """Return the boxes of some cubes."""
    found = []
    for row in rows:
        xy = see(corners_of(frame_data, row, 0.42)).xy
        if len(xy) and np.isfinite(xy).all():
            low, high = xy.min(axis=0).tolist(), xy.max(axis=0).tolist()
            found.append(Box(low[0], low[1], high[0] - low[0], high[1] - low[1]))
    return found


def name_boxes(see: Projection, frame_data: FrameData, scale: float) -> list[Box]:
    """Return the boxes of the names below spheres, and of the errors below those of a loss."""
    found, moment = [], frame_data.moment
    for line in frame_data.layout.neurons:
        seen = see(line.points)
        is_last = line is frame_data.layout.neurons[-1]
        high = 17.0 + 45.0 * (is_last and moment is not None and moment.kind == "loss")
        for (x, y), unit in zip(seen.xy.tolist(), seen.unit.tolist(), strict=True):
            if line.names and not line.shape and np.isfinite(x + y):
                below = y + line.radius * unit
                found.append(Box(x - 20.0 * scale, below, 40.0 * scale, high * scale))
    return found
