"""The inspector: data of one weight, on a card beside its cube or in a panel."""

from __future__ import annotations

import re

from scalarviz.draw2d.canvas import Canvas2D
from scalarviz.draw2d.theme import Theme
from scalarviz.view.charts import sparkline
from scalarviz.view.frame_data import Card, FrameData
from scalarviz.view.highlights import corners_of
from scalarviz.view.scene.frame import Box, Division, Projection

ROW = 18.0  # height of a line in pixels
PART = re.compile(r", (?=[a-z])")  # separates the parts of a name, but not the numbers of a place


def draw_hover(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme, division: Division
) -> None:
    """Draw a card beside the hovered cube, inside the stage."""
    scene, scale = division.scene, division.scale
    size, row, pad = 13.0 * scale, ROW * scale, 12.0 * scale
    card = frame_data.hover
    if card is None:
        return
    corners = see(corners_of(frame_data, card.row, 0.5)).xy
    if len(corners) != 8:
        return
    names = (
        max((canvas.measure(name, size=size) for name, _ in card.facts), default=0.0) + 0.8 * pad
    )
    values = max(
        (canvas.measure(value, size=size, bold=True) for _, value in card.facts), default=0.0
    )
    wide = max(canvas.measure(card.name, size=size, bold=True), names + values) + 2.0 * pad
    high = 30.0 * scale + row * len(card.facts)
    x, y = float(corners[:, 0].max()) + pad, float(corners[:, 1].mean()) - high / 2.0
    if x + wide > scene.right:
        x = float(corners[:, 0].min()) - pad - wide
    x = min(max(x, 4.0), max(4.0, scene.right - wide))
    y = min(max(y, scene.y + 4.0), max(scene.y + 4.0, scene.bottom - high))
    canvas.box(x, y, wide, high, theme.panel, radius=8.0, outline=theme.rim)
    canvas.text(x + pad, y + 19.0 * scale, card.name, size=size, color=theme.ink, bold=True)
    for i, (name, value) in enumerate(card.facts):
        base = y + 37.0 * scale + row * i
        canvas.text(x + pad, base, name, size=size, color=theme.quiet)
        canvas.text(x + pad + names, base, value, size=size, color=theme.ink, bold=True)


def draw_inspector(
    canvas: Canvas2D, box: Box, card: Card, theme: Theme, scale: float = 1.0
) -> None:
    """Draw the pinned weight: its numbers, its history, and its arithmetic line by line.

    The card is as high as its text. If the box is too low for it, the history is left out, then
    letters are smaller.
    """
    pad = 12.0 * scale
    room = box.width - 2.0 * pad
    history = 56.0 * scale if card.history is not None and len(card.history[0]) > 1 else 0.0
    sizes = [(13.0 * scale, history), *((size * scale, 0.0) for size in (13.0, 12.0, 11.0, 10.0))]
    for size, below in sizes:
        row = 1.34 * size
        title = title_lines(canvas, card.name, room, size)
        lines = [part for line in card.lines for part in wrapped(canvas, line, room, size)]
        high = 2.0 * pad + row * (len(title) + len(card.facts) + len(lines)) + below + 12.0 * scale
        if high <= box.height:
            break
    y = box.y
    with canvas.clip(box.x, box.y, box.width, box.height):
        canvas.box(
            box.x,
            y,
            box.width,
            min(high, box.height),
            theme.panel[:7],
            radius=8.0,
            outline=theme.rim,
        )
        x, y = box.x + pad, y + pad + 0.78 * row
        for line in title:
            canvas.text(x, y, line, size=size, color=theme.ink, bold=True)
            y += row
        y += 4.0 * scale
        names = max((canvas.measure(name, size=size) for name, _ in card.facts), default=0.0)
        for name, value in card.facts:
            canvas.text(x, y, name, size=size, color=theme.quiet)
            canvas.text(x + names + pad, y, value, size=size, color=theme.ink, bold=True)
            y += row
        if below and card.history is not None:
            place = Box(x, y - 0.6 * row, room, below - 12.0 * scale)
            sparkline(canvas, place, *card.history, theme, scale)
            y += below
        y += 4.0 * scale
        for part in lines:
            canvas.text(x, y, part, size=size, color=theme.ink)
            y += row


def title_lines(canvas: Canvas2D, name: str, width: float, size: float) -> list[str]:
    """Return the name of a weight in lines: with its last part separate if it is too long."""
    first, last = titles(canvas, name, width, size)
    return [canvas.fit(part, width, size=size, bold=True) for part in (first, last) if part]


def titles(canvas: Canvas2D, name: str, width: float, size: float) -> tuple[str, str]:
    """Return the name of a weight, with its last part separate if the line would be too long."""
    if canvas.measure(name, size=size, bold=True) <= width:
        return name, ""
    *first, last = PART.split(name)
    return (", ".join(first), last) if first else (name, "")


def wrapped(
    canvas: Canvas2D, line: str, width: float, size: float, *, indent: str = "    "
) -> list[str]:
    """Break a formula at spaces into lines that fit; continuation lines are indented."""
    found: list[str] = []
    now = line[: len(line) - len(line.lstrip())]
    for word in line.split():
        longer = f"{now} {word}" if now.strip() else now + word
        if now.strip() and canvas.measure(longer, size=size) > width:
            found.append(now)
            longer = indent + word
        now = longer
    return [*found, now]
