"""The callout: a few words beside the neuron or cube that the caption is about."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.theme import Theme
from scalarviz.pictures.view.frame_data import FrameData
from scalarviz.pictures.view.highlights import corners_of
from scalarviz.pictures.view.labels import Obstacles
from scalarviz.pictures.view.legend import legend_box
from scalarviz.pictures.view.lights import BACK
from scalarviz.pictures.view.numbers import marks_of
from scalarviz.pictures.view.pace import ARRIVES
from scalarviz.pictures.view.scene.frame import Box, Projection
from scalarviz.pictures.view.scene.plates import Neurons
from scalarviz.pictures.view.terms import LONG, ROW, draw_bars, ends_of
from scalarviz.training.session.caption import Caption

SIZE, PAD, GAP = 14.0, 8.0, 8.0  # letters, space around them, and from what they name
FARTHEST = 56.0  # of words without bars
PLACES = 32, 24  # places that are tried, across and down
SUBJECT = 1e8  # what a covered pixel of the subject costs, in pixels away,
COVERED, CUBE = 1e4, 1e3  # another one, or one of a cube
MUCH = 100 * COVERED  # for which the name is left out
EQUAL = 1e-3  # what it costs to be a pixel further right; down twice as much
SHORTER = 60.0  # what it costs to leave out the name, which is marked anyway
STEP = 4  # logical pixels of which the width of the box is a multiple
MOST = 200  # cubes that it keeps clear of


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
            return box_around(see, *found)
    return None


def box_around(see: Projection, line: Neurons, place: int) -> Box | None:
    """Return the box around a neuron; None if it is behind the eye."""
    seen = see(line.point(place))
    x, y = seen.xy[0].tolist()
    half = (0.5 * line.side if line.shape else line.radius) * float(seen.unit[0])
    return Box(x - half, y - half, 2.0 * half, 2.0 * half) if np.isfinite(x + y) else None


def draw_callout(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    taken: Obstacles,
    theme: Theme,
    scale: float,
) -> Box | None:
    """Write beside the subject of an operation what it is and has, below the bars of its sum.

    Return the box of the words.
    """
    caption, moment = frame_data.words.caption, frame_data.moment
    is_known, subject = frame_data.part >= ARRIVES, subject_of(frame_data, see)
    if caption is None or moment is None or subject is None or not words_of(caption):
        return None
    ends, size, pad, box = ends_of(caption.summed), SIZE * scale, PAD * scale, None
    high, least = size + 1.4 * pad + len(ends) * ROW * scale, np.inf
    for is_short, words in enumerate((words_of(caption), words_of(caption).rpartition(": ")[2])):
        long = LONG * scale / (1.0 + is_short) if len(ends) else 0.0
        wide = max(width_of(canvas, words, size, pad), long)
        if wide <= see.box.width and high <= see.box.height:
            reach = np.inf if len(ends) else FARTHEST * scale
            place, cost = free_place(see, frame_data, taken, subject, (wide, high), reach, scale)
            cost += SHORTER * is_short
            if box is None or (cost < least and (len(ends) or least > MUCH)):
                box, said, least = place, words, cost
    if box is None or not (is_known or len(ends)):
        return None
    light = theme.accent if moment.kind in BACK else theme.light
    lead(canvas, box, subject, light, scale)
    radius = 0.4 * (high - len(ends) * ROW * scale)
    canvas.box(*box.place, theme.panel[:7], radius=radius, outline=light, line=1.5 * scale)
    if len(ends):
        inner = box.x + pad, box.y + 0.7 * pad, box.width - 2.0 * pad
        draw_bars(canvas, see, frame_data, inner, ends, theme, scale)
    base = box.bottom - 0.5 * (size + 1.4 * pad) + 0.36 * size
    said = said if is_known else said.rpartition(": ")[0]  # the name, until the number is there
    canvas.text(box.x + pad, base, said, size=size, color=theme.ink, bold=True)
    return box


def width_of(canvas: Canvas2D, words: str, size: float, pad: float) -> float:
    """Return the width of the box of words, in whole steps: fonts differ by parts of a pixel."""
    return STEP * math.ceil((canvas.measure(words, size=size, bold=True) + 2.0 * pad) / STEP)


def words_of(caption: Caption) -> str:
    """Return what stands beside the subject: the callout, or else what its cube would say."""
    marks = [piece.mark for piece in caption.pieces if piece.row in caption.rows[:1] and piece.mark]
    return caption.callout or " ".join(marks[0].split("\n") if marks else ())


def free_place(
    see: Projection,
    frame_data: FrameData,
    taken: Obstacles,
    subject: Box,
    sides: tuple[float, float],
    reach: float,
    scale: float,
) -> tuple[Box, float]:
    """Return the box within reach of its subject that covers least, and what it costs.

    Of those that cover as little, it is the nearest one.
    """
    legend = legend_box(frame_data.division(see.width, see.height))
    rows = len(frame_data.cubes.sizes)
    words = [subject, *taken.boxes, *name_boxes(see, frame_data, scale)]
    words += [Box(x - r, y - r, 2.0 * r, 2.0 * r) for x, y, r in taken.spheres.tolist()]
    words += [] if legend is None else [legend]
    cubes = cube_boxes(frame_data, see, range(rows) if rows <= MOST else marks_of(frame_data))
    x, y, width, height = np.array([each.place for each in (*words, *cubes)]).T
    view, (wide, high) = see.box, sides
    first = max(view.x, subject.x - reach - wide), max(view.y, subject.y - reach - high)
    end = subject.right + reach, subject.bottom + reach
    last = min(view.right - wide, end[0]), min(view.bottom - high, end[1])
    left = np.linspace(first[0], last[0], PLACES[0])[:, np.newaxis]
    top = np.linspace(first[1], last[1], PLACES[1])[:, np.newaxis]
    across = np.minimum(left + wide, x + width) - np.maximum(left, x)
    down = np.minimum(top + high, y + height) - np.maximum(top, y)
    price = np.repeat((SUBJECT, COVERED, CUBE), (1, len(words) - 1, len(cubes)))
    cost = np.maximum(across, 0.0) * price @ np.maximum(down, 0.0).T
    away = np.hypot(np.minimum(across[:, :1], 0.0), np.minimum(down[:, :1], 0.0).T)
    cost += away + (away > reach) * 1e9 + EQUAL * (left + 2.0 * top.T)
    i, k = np.unravel_index(int(np.argmin(cost)), cost.shape)
    return Box(float(left[i, 0]), float(top[k, 0]), wide, high), float(cost[i, k])


def lead(canvas: Canvas2D, box: Box, subject: Box, color: str, scale: float) -> None:
    """Draw a line from words to their subject, unless they touch it."""
    start, end = shortest(box, subject)
    if np.hypot(*(end - start)) > GAP * scale + 1.0:
        canvas.line(np.stack([start, end]), color, width=1.5 * scale)


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
    corners = [corners_of(frame_data, row, 0.42) for row in rows]
    xy = see(np.concatenate([*corners, np.zeros((0, 3))])).xy.reshape(-1, 8, 2)
    xy = xy[np.isfinite(xy).all(axis=(1, 2))]
    low, high = xy.min(axis=1), xy.max(axis=1)
    return [Box(*place) for place in np.hstack([low, high - low]).tolist()]


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
