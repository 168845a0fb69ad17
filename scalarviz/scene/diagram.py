"""The diagram of a followed model: frames, lines and words between its walls, and where to click.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalarviz.scene.layout.camera import Box
from scalarviz.scene.layout.plates import FRAME_TITLE, PIXEL
from scalarviz.scene.layout.ways import BEHIND, Point, rounded
from scalarviz.scene.silhouettes import balls_of

if TYPE_CHECKING:
    from scalarviz.scene.canvas.canvas2d import Canvas2D
    from scalarviz.scene.canvas.palette import Theme
    from scalarviz.scene.layout.division import Projection
    from scalarviz.scene.layout.plates import DiagramMark, Layout

CREAM, ON_CREAM = "#fff0c8", "#0d1117"  # the number of repetitions
HEAD, CASING = 7.0, 2.2  # pixels: length of an arrowhead, and ground beside a line
TEXTS, LEGIBLE, NEAR = 60, 7.5, 1.4  # texts of the whole picture; least letters; zoom for more


def draw_diagram(canvas: Canvas2D, theme: Theme, see: Projection, layout: Layout) -> None:
    """Draw the marks of a layout in their order, and texts in front of all cubes."""
    texts = 0
    for each in layout.marks:
        seen = balls_of(see, each.points, 0.0)
        points = [(ball.x, ball.y) for ball in seen]
        zoom = PIXEL * seen[0].unit
        if each.kind == "box":
            draw_box(canvas, theme, each, points, zoom)
        elif each.kind == "line":
            draw_line(canvas, theme, each, rounded(points, each.size * zoom), zoom)
        elif each.kind == "text":
            texts += 1
            if texts <= TEXTS or zoom > NEAR * canvas.scale:
                draw_words(canvas, theme, each, points[0], zoom)


def draw_box(
    canvas: Canvas2D, theme: Theme, mark: DiagramMark, points: list[Point], zoom: float
) -> None:
    """Draw a frame, a chip, or the ground of a wall."""
    x, y = points[0]
    right, low = points[1]
    fills = {
        "frame": theme.ink + "07", "behind": theme.panel, "closed": theme.ink + "09",
        "wall": theme.ink + "05", "tied": theme.ink + "05", "badge": CREAM,
    }  # fmt: skip
    rims = {"wall": theme.faint, "tied": theme.accent, "badge": CREAM, "ring": theme.soft}
    wide = 1.4 if mark.look in ("tied", "ring") else 1.0
    canvas.box(
        x, y, right - x, low - y, fills.get(mark.look, theme.panel),
        radius=mark.size * zoom, outline=rims.get(mark.look, theme.rim), line=wide * zoom,
        depth=-1.0 if mark.look == "badge" else BEHIND[0],
    )  # fmt: skip


def draw_line(
    canvas: Canvas2D, theme: Theme, mark: DiagramMark, points: list[Point], zoom: float
) -> None:
    """Draw a line with its casing, and an arrowhead at its end."""
    colors = {"around": theme.ink, "loop": theme.soft, "cut": theme.ink}
    color, wide = colors.get(mark.look, theme.quiet), 2.0 if mark.look == "around" else 1.7
    if mark.look == "cut":
        canvas.line(points, color, width=zoom)
        return
    x, y = points[-2]
    end_x, end_y = points[-1]
    far = max(1e-6, ((end_x - x) ** 2 + (end_y - y) ** 2) ** 0.5)
    back = min(1.0, 0.7 * HEAD * zoom / far)
    short = [*points[:-1], (end_x - back * (end_x - x), end_y - back * (end_y - y))]
    canvas.line(short, theme.ground, width=(wide + 2.0 * CASING) * zoom, depth=BEHIND[0])
    canvas.line(short, color, width=wide * zoom, depth=BEHIND[0])
    part = HEAD * zoom / far
    canvas.arrows(
        (end_x - part * (end_x - x), end_y - part * (end_y - y)), (end_x, end_y), color,
        width=wide * zoom, head=HEAD * zoom, depth=BEHIND[0],
    )  # fmt: skip


def draw_words(
    canvas: Canvas2D, theme: Theme, mark: DiagramMark, place: Point, zoom: float
) -> None:
    """Draw a text, unless its letters would be illegible."""
    size = mark.size * zoom
    if size < LEGIBLE:
        return
    if mark.look == "line":  # the line is interrupted
        wide = canvas.measure(mark.words, size=size) + size
        canvas.box(
            place[0] - 0.5 * wide, place[1] - size, wide, 1.3 * size, theme.panel, radius=0.4 * size
        )
    colors = {"ink": theme.ink, "bold": theme.ink, "badge": ON_CREAM, "soft": theme.soft}
    canvas.text(
        place[0],
        place[1],
        mark.words,
        size=size,
        color=theme.accent if mark.look == "tied" else colors.get(mark.look, theme.quiet),
        bold=mark.look in ("bold", "badge", "tied"),
        anchor=mark.anchor,
        outline=None if mark.look == "badge" else theme.ground,
    )


def frames_seen(
    see: Projection, layout: Layout, *, badges: bool = False
) -> list[tuple[str, bool, Box]]:
    """Return the key of each frame, whether it is open, and the box in which a click changes that.

    It is the title of an open frame, and all of a closed one. Inner frames follow outer ones.

    Args:
        badges: return the numbers of repetitions instead, where a click shows the next one
    """
    found: list[tuple[str, bool, Box]] = []
    for each in layout.marks:
        if each.key and (each.look == "badge") == badges:
            seen = balls_of(see, each.points, 0.0)
            first, last = seen[0], seen[1]
            is_open = each.look == "frame"
            high = FRAME_TITLE * PIXEL * first.unit if is_open else last.y - first.y
            found.append((each.key, is_open, Box(first.x, first.y, last.x - first.x, high)))
    return found
