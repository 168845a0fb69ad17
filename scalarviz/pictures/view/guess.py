"""What is guessed: a question mark over a cube, the arrow of who guesses, and the true one."""

from __future__ import annotations

import numpy as np

from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.theme import Theme
from scalarviz.pictures.view.frame_data import FrameData
from scalarviz.pictures.view.highlights import corners_of
from scalarviz.pictures.view.scene.frame import Projection

SIDE = 30.0  # of the box of the question mark
LONG, WIDE, HEAD = 52.0, 7.0, 20.0  # of an arrow
GAP = 10.0  # between cube and arrow, and between arrow and number
SIZE = 17.0  # letters
MARGIN = 70.0  # from the edge of the picture


def draw_guess(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme, scale: float
) -> None:
    """Draw a question mark over the cube; left of it what was guessed, right of it what came."""
    guess = frame_data.guess
    xy = see(corners_of(frame_data, guess.row, 0.42)).xy if guess is not None else np.zeros((0, 2))
    if guess is None or not len(xy) or not np.isfinite(xy).all():
        return
    box, edge = see.box, MARGIN * scale
    x = float(np.clip(xy[:, 0].mean(), box.x + edge, max(box.x + edge, box.right - edge)))
    y = float(np.clip(xy[:, 1].mean(), box.y + edge, max(box.y + edge, box.bottom - edge)))
    away = 0.5 * max(SIDE * scale, float(np.ptp(xy[:, 0]))) + (GAP + 0.5 * HEAD) * scale
    if guess.result is None:
        draw_question(canvas, (x, y), theme, scale, drags=guess.way is None)
    else:
        draw_way(canvas, (x + away, y), guess.came, theme.metric, theme, scale)
        number = x + away + (GAP + 0.5 * HEAD) * scale, y
        write(canvas, number, guess.result, theme.metric, "left", theme, scale)
    draw_way(canvas, (x - away, y), guess.way, theme.accent, theme, scale)
    said = x - away - (GAP + 0.5 * HEAD) * scale, y
    write(canvas, said, guess.typed or guess.label, theme.accent, "right", theme, scale)


def draw_question(
    canvas: Canvas2D, place: tuple[float, float], theme: Theme, scale: float, *, drags: bool
) -> None:
    """Draw a question mark in a box; if it can be dragged, with an arrow above and below."""
    (x, y), side = place, SIDE * scale
    corner = x - 0.5 * side, y - 0.5 * side
    look = theme.panel[:7], theme.accent
    canvas.box(*corner, side, side, look[0], radius=0.25 * side, outline=look[1], line=2.0 * scale)
    write(canvas, place, "?", theme.ink, "center", theme, scale)
    for way in (1, -1) if drags else ():
        middle = y - way * (0.5 * SIDE + 0.4 * LONG) * scale
        draw_way(canvas, (x, middle), way, theme.quiet, theme, 0.6 * scale)


def draw_way(
    canvas: Canvas2D,
    place: tuple[float, float],
    way: int | None,
    color: str,
    theme: Theme,
    scale: float,
) -> None:
    """Draw an arrow up or down around a point; a bar for neither, nothing for None."""
    (x, y), long, wide, rim = place, LONG * scale, WIDE * scale, 2.0 * scale
    for more, ink in ((rim, theme.ground), (0.0, color)) if way is not None else ():
        if not way:
            half = 0.25 * long + more
            canvas.box(x - half, y - 0.5 * wide - more, 2.0 * half, wide + 2.0 * more, ink)
            continue
        half = way * (0.5 * long + more)
        ends = (x, y + half), (x, y - half - 1.2 * way * more)
        canvas.arrows(*ends, ink, width=wide + 2.0 * more, head=HEAD * scale + 2.6 * more)


def write(
    canvas: Canvas2D,
    place: tuple[float, float],
    words: str,
    color: str,
    anchor: str,
    theme: Theme,
    scale: float,
) -> None:
    """Write words in a box at the height of a point, unless they are "" or in the middle."""
    size, (x, y), pad = SIZE * scale, place, 6.0 * scale
    low, wide = y + 0.36 * size, canvas.measure(words, size=size, bold=True)
    if anchor != "center" and words:
        left = x - (wide if anchor == "right" else 0.0) - pad
        canvas.box(left, y - 0.75 * size, wide + 2.0 * pad, 1.5 * size, theme.panel[:7], radius=pad)
    canvas.text(x, low, words, size=size, color=color, bold=True, anchor=anchor)
