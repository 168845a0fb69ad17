"""Colors beside the neurons that stand for them: what goes in, and what comes out at its goal."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import short
from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.theme import Theme
from scalarviz.pictures.view.frame_data import FrameData
from scalarviz.pictures.view.scene.frame import Box, Projection
from scalarviz.pictures.view.scene.plates import SIDE, Neurons

LARGEST, SMALLEST = 72.0, 10.0  # pixels of the side of a color; smaller ones are not drawn
LETTERS, NAMED = 13.0, 22.0  # size of the words, and least side for them
FITTED = 0.92  # of a side that its word may be wide
THREAD = "a0"  # opacity of a line over a map
WIDE, HEAD = 1.4, 9.0  # pixels of their wires, and of the arrow heads of those


class Tied(NamedTuple):
    """The color of a line of neurons; behind the outputs it touches the color of the goal.

    box     around both, with their words
    place   x and y of the middle of the color, its depth, and its side
    colors  by its word; None where it is not known
    """

    line: Neurons
    box: Box
    place: tuple[float, float, float, float]
    colors: dict[str, FloatArray | None]


def tied_colors(see: Projection, frame_data: FrameData, scale: float) -> list[Tied]:
    """Return where the colors of the sample are seen."""
    found, buffers = [], frame_data.buffers
    lines = frame_data.layout.neurons
    for line in lines:
        if line.tied is None:
            continue
        seen = see(line.tied)
        (x, y), depth = seen.xy[0].tolist(), float(seen.depth[0])
        side = min(SIDE * float(seen.unit[0]), LARGEST * scale)
        colors: dict[str, FloatArray | None] = {text("picture.in"): buffers.values.get(line.values)}
        if line is not lines[0]:
            colors = {
                text("picture.out"): buffers.answers,
                text("exhibits.swatches.target"): buffers.target,
            }
            x -= 0.5 * side  # both are in the middle over the outermost neuron
        if np.isfinite(x + y) and side >= SMALLEST:
            high = side + 3.0 * LETTERS * scale
            box = Box(x - 0.5 * side, y + 0.5 * side - high, side * len(colors), high)
            found.append(Tied(line, box, (x, y, depth, side), colors))
    return found


def draw_tied(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme, scale: float
) -> None:
    """Draw the colors of the sample with wires to their neurons, and how far the answer is off."""
    size = LETTERS * scale
    for tied in tied_colors(see, frame_data, scale):
        x, y, depth, side = tied.place
        wide = max(canvas.measure(words, size=size, bold=True) for words in tied.colors)
        named_size = size * min(1.0, FITTED * side / wide)
        write = partial(canvas.text, size=named_size, anchor="center", outline=theme.ground)
        top, named = y - 0.5 * side, side >= NAMED * scale
        draw_wires(canvas, see, tied, theme, scale)
        for i, (words, color) in enumerate(tied.colors.items()):
            known = color is not None and np.isfinite(color).all()
            fill = np.clip(color, 0.0, 1.0) if color is not None and known else None
            left = x + (i - 0.5) * side
            canvas.box(left, top, side, side, fill, outline=theme.ghost, depth=depth)
            if named:
                ink = theme.quiet if i else theme.ink
                write(left + 0.5 * side, top - 0.5 * size, words, color=ink, bold=i == 0)
        off = largest_error(tied)
        if named and off is not None:
            words = text("outputs.off", error=short(off))
            has_room = tied.box.y >= see.box.y - size
            middle, low = x + 0.5 * side, top - 1.9 * size
            if not has_room:  # below the goal, since wires come to the answer from below
                most = see.box.right + 0.7 * size - 0.5 * canvas.measure(words, size=named_size)
                middle, low = min(x + side, most), top + side + 1.3 * size
            write(middle, low, words, color=theme.ink)


def draw_wires(canvas: Canvas2D, see: Projection, tied: Tied, theme: Theme, scale: float) -> None:
    """Draw wires with arrows from a color to its neurons, or from them to it."""
    seen, (x, y, _, side) = see(tied.line.points), tied.place
    way = seen.xy - (x, y)
    way /= np.maximum(np.hypot(*way.T), 1e-9)[:, np.newaxis]
    edges = (x, y) + way * (0.5 * side / np.abs(way).max(axis=1))[:, np.newaxis]
    rims = seen.xy - way * (tied.line.radius * seen.unit)[:, np.newaxis]
    ends = (edges, rims) if len(tied.colors) == 1 else (rims, edges)
    start, end = ends
    wide, head = WIDE * scale, HEAD * scale
    canvas.arrows(start, end, theme.quiet, width=wide, head=head, depth=seen.depth)


def draw_thread(
    canvas: Canvas2D, see: Projection, line: Neurons, spot: tuple[float, float], theme: Theme
) -> None:
    """Draw a line from the outputs to the pixel of the exhibit that shows their answer."""
    start, end = see(line.points).xy.mean(axis=0), np.array(spot)
    way = end - start
    start = start + way * line.radius * float(see(line.points).unit.max()) / np.hypot(*way)
    if np.isfinite(start).all():
        canvas.line([start, end], theme.ink + THREAD, width=WIDE * canvas.scale)


def largest_error(tied: Tied) -> float | None:
    """Return how far the answer is off its goal; None where one is not known."""
    answer, *goals = tied.colors.values()
    goal = goals[0] if goals else None
    if answer is None or goal is None or not np.isfinite(answer - goal).all():
        return None
    return float(np.abs(answer - goal).max())
