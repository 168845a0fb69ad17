"""The inspector: data of one weight, on a card beside its cube or in a panel."""

from __future__ import annotations

import re

from scalarviz.draw2d.canvas import Canvas2D
from scalarviz.draw2d.theme import Theme
from scalarviz.view.charts import panel, sparkline
from scalarviz.view.frame_data import Card, FrameData
from scalarviz.view.highlights import corners_of
from scalarviz.view.scene.frame import Box, Projection

ROW = 17.0
PART = re.compile(r", (?=[a-z])")  # separates the parts of a name, but not the numbers of a place


def draw_hover(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme, scene: Box
) -> None:
    """Draw a card beside the hovered cube, inside the scene."""
    card = frame_data.hover
    if card is None:
        return
    corners = see(corners_of(frame_data, card.row, 0.5)).xy
    if len(corners) != 8:
        return
    names = max((canvas.measure(name, size=12) for name, _ in card.facts), default=0.0) + 10.0
    values = max(
        (canvas.measure(value, size=12, bold=True) for _, value in card.facts), default=0.0
    )
    wide = max(canvas.measure(card.name, size=12, bold=True), names + values) + 24.0
    high = 30.0 + ROW * len(card.facts)
    x, y = float(corners[:, 0].max()) + 12.0, float(corners[:, 1].mean()) - high / 2.0
    if x + wide > scene.right:
        x = float(corners[:, 0].min()) - 12.0 - wide
    x = min(max(x, 4.0), max(4.0, scene.right - wide))
    y = min(max(y, 4.0), max(4.0, scene.bottom - high))
    canvas.box(x, y, wide, high, theme.panel, radius=8.0, outline=theme.rim)
    canvas.text(x + 12.0, y + 19.0, card.name, size=12, color=theme.ink, bold=True)
    for i, (name, value) in enumerate(card.facts):
        base = y + 37.0 + ROW * i
        canvas.text(x + 12.0, base, name, size=12, color=theme.quiet)
        canvas.text(x + 12.0 + names, base, value, size=12, color=theme.ink, bold=True)


def inspector_height(canvas: Canvas2D, card: Card, width: float, room: float) -> float:
    """Return the wanted height of the panel for this width, at most `room`."""
    lines = sum(len(wrapped(canvas, line, width - 24.0, 11.0)) for line in card.lines)
    history = 52.0 if card.history is not None else 0.0
    rows = len(card.facts) + bool(titles(canvas, card.name, width)[1])
    return min(room, 42.0 + ROW * rows + (ROW - 1.0) * lines + history)


def draw_inspector(canvas: Canvas2D, box: Box, card: Card, theme: Theme) -> None:
    """Draw the pinned weight: its numbers, its history, and its arithmetic line by line."""
    title, more = titles(canvas, card.name, box.width)
    inside = panel(canvas, box, title, theme)
    y = inside.y + 12.0
    names = max((canvas.measure(name, size=12) for name, _ in card.facts), default=0.0) + 12.0
    with canvas.clip(box.x, box.y, box.width, box.height - 2.0):
        if more:
            more = canvas.fit(more, inside.width, size=12, bold=True)
            canvas.text(inside.x, y - 4.0, more, size=12, color=theme.ink, bold=True)
            y += ROW
        for name, value in card.facts:
            canvas.text(inside.x, y, name, size=12, color=theme.quiet)
            canvas.text(inside.x + names, y, value, size=12, color=theme.ink, bold=True)
            y += ROW
        lines = sum(len(wrapped(canvas, line, inside.width, 11.0)) for line in card.lines)
        fits = y + 44.0 + (ROW - 1.0) * lines <= box.bottom
        if fits and card.history is not None and len(card.history[0]) > 1:
            sparkline(canvas, Box(inside.x, y - 8.0, inside.width, 44.0), *card.history, theme)
            y += 52.0
        for line in card.lines:
            for part in wrapped(canvas, line, inside.width, 11.0):
                canvas.text(inside.x, y, part, size=11, color=theme.ink, mono=True)
                y += ROW - 1.0


def titles(canvas: Canvas2D, name: str, width: float) -> tuple[str, str]:
    """Return the name of a weight, with its last part separate if the line would be too long."""
    if canvas.measure(name, size=12, bold=True) <= width - 24.0:
        return name, ""
    *first, last = PART.split(name)
    return (", ".join(first), last) if first else (name, "")


def wrapped(canvas: Canvas2D, line: str, width: float, size: float) -> list[str]:
    """Break a formula before operators into lines that fit; continuation lines are indented."""
    found: list[str] = []
    now = line[: len(line) - len(line.lstrip())]
    for word in line.split():
        longer = f"{now} {word}" if now.strip() else now + word
        if now.strip() and canvas.measure(longer, size=size, mono=True) > width:
            found.append(now)
            longer = "    " + word
        now = longer
    return [*found, now]
