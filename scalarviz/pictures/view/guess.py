"""What is guessed: a question mark over a cube, the arrow of who guesses, and the true one.

In place of arrows a gradient has signs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.theme import Theme
from scalarviz.pictures.view.frame_data import FrameData, Guess
from scalarviz.pictures.view.highlights import corners_of
from scalarviz.pictures.view.scene.frame import Projection

LONG, WIDE, HEAD = 52.0, 7.0, 20.0  # of an arrow
GAP = 20.0  # between the edge of the cube and the middle of an arrow, and from there to words
SIZE, SIGN = 17.0, 29.0  # letters
MARGIN = 70.0  # from the edge of the picture


class Pen(NamedTuple):
    """What marks are drawn with, and how large."""

    canvas: Canvas2D
    theme: Theme
    scale: float


def draw_guess(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme, scale: float
) -> None:
    """Draw a question mark over the cube; left of it what was guessed, right of it what came."""
    guess = frame_data.guess
    mark = None if guess is None else mark_of(frame_data, see, guess, scale)
    if guess is None or mark is None:
        return
    x, y, away = mark
    pen = Pen(canvas, theme, scale)
    draw = draw_sign if guess.kind == "gradient" else draw_way
    for side, way, words, color in (
        (-1.0, guess.way, guess.typed or guess.label, theme.accent),
        (1.0, guess.came, guess.result or "", theme.metric),
        (0.0, None, "?" * (guess.result is None), theme.ink),
    ):
        draw(pen, (x + side * away, y), way, color)
        write(pen, (x + side * (away + GAP * scale), y), words, side, color)
    for way in (1, -1) if guess.way is None else ():  # it can be dragged
        smaller = pen._replace(scale=0.7 * scale)
        draw(smaller, (x, y - 2.0 * way * GAP * scale), way, theme.quiet)


def mark_of(
    frame_data: FrameData, see: Projection, guess: Guess, scale: float
) -> tuple[float, float, float] | None:
    """Return where the question mark is, and how far beside it the arrows; None if unseen."""
    xy = see(corners_of(frame_data, guess.row, 0.42)).xy
    if not len(xy) or not np.isfinite(xy).all():
        return None
    inner = see.box.inside(MARGIN * scale)
    x, y = np.clip(xy.mean(axis=0), (inner.x, inner.y), (inner.right, inner.bottom)).tolist()
    return x, y, max(15.0 * scale, 0.5 * float(np.ptp(xy[:, 0]))) + GAP * scale


def draw_sign(pen: Pen, place: tuple[float, float], way: int | None, color: str) -> None:
    """Write +, − or 0 around a point; nothing for None."""
    if way is not None:
        canvas, theme, scale = pen
        (x, y), size = place, SIGN * scale
        canvas.box(x - 0.4 * size, y - 0.4 * size, 0.8 * size, 0.8 * size, theme.panel[:7])
        sign = "0+−"[way]
        canvas.text(x, y + 0.36 * size, sign, size=size, color=color, bold=True, anchor="center")


def draw_way(pen: Pen, place: tuple[float, float], way: int | None, color: str) -> None:
    """Draw an arrow up or down around a point; a bar for neither, nothing for None."""
    canvas, theme, scale = pen
    (x, y), wide, half = place, WIDE * scale, 0.5 * LONG * scale
    if way == 0:
        canvas.box(x - 0.5 * half, y - 0.5 * wide, half, wide, color, outline=theme.ground)
    for rim, ink in ((2.0 * scale, theme.ground), (0.0, color)) if way else ():
        end = (way or 0) * (half + rim)
        look = {"width": wide + 2.0 * rim, "head": HEAD * scale + 2.6 * rim}
        canvas.arrows((x, y + end), (x, y - end * (1.0 + rim / half)), ink, **look)


def write(pen: Pen, place: tuple[float, float], words: str, side: float, color: str) -> None:
    """Write words in a box beside a point: on the left for a side of -1, over it for 0."""
    canvas, theme, scale = pen
    (x, y), size = place, SIZE * scale
    wide = canvas.measure(words, size=size, bold=True)
    box = x + 0.5 * (side - 1.0) * wide - 0.5 * size, y - 0.8 * size, wide + size, 1.6 * size
    if words:
        edge = None if side else theme.accent
        canvas.box(*box, theme.panel[:7], radius=0.4 * size, outline=edge, line=2.0 * scale)
        canvas.text(box[0] + 0.5 * size, y + 0.36 * size, words, size=size, color=color, bold=True)
