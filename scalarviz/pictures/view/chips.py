"""Messages: in the head, or in the corner of the stage where they cover least."""

from __future__ import annotations

from collections.abc import Sequence

from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.theme import Theme
from scalarviz.pictures.view.compared import Compared
from scalarviz.pictures.view.frame_data import FrameData
from scalarviz.pictures.view.labels import Obstacles
from scalarviz.pictures.view.legend import legend_box
from scalarviz.pictures.view.overlay import Button
from scalarviz.pictures.view.scene.frame import Box, Division

MESSAGE = 560.0  # largest width in pixels
MOST_LINES, FEW_LINES = 5, 3  # of a message; with few it stays in its corner
CORNER, LEAST = 0.4, 240.0  # share of the width for the network in its corner; pixels at least
LINE = 17.0  # height in pixels


def draw_chips(
    canvas: Canvas2D,
    division: Division,
    frame_data: FrameData | Compared,
    head: float,
    theme: Theme,
    taken: Obstacles | None = None,
) -> tuple[list[Button], list[Box]]:
    """Draw messages in the head, right of its text, which ends at x = `head`.

    Messages that are too long for that stand in a corner of the stage: the upper left one, unless
    the network, which is `taken`, is there, and less of it in another one. Work in the background
    is the first, filled as far as it is done. Returns the buttons, and the boxes of all messages.
    """
    inner, scale = division.inner, division.scale
    size, line, pad = 13.0 * scale, LINE * scale, 14.0 * scale
    most = min(max(inner.width - 2.0 * pad, 40.0), MESSAGE * scale)
    end = division.head.right - 16.0 * scale
    buttons: list[Button] = []
    boxes: list[Box] = []
    work = frame_data.work
    first = [] if work is None else [(work.text, work.action, work.part)]
    for words, action, done in [*first, *((*chip, None) for chip in frame_data.chips)]:
        more = canvas.measure(action, size=size, bold=True) + pad if action else 0.0
        wide, lines = canvas.measure(words, size=size) + more, [words]
        high = 30.0 * scale
        if division.head.height and end - wide - 2.0 * pad > head + 2.0 * pad:
            box = Box(end - wide - 2.0 * pad, 7.0 * scale, wide + 2.0 * pad, high)
            end = box.x - 8.0 * scale
        else:
            corner = min(most, max(CORNER * inner.width, LEAST * scale))
            if wide > corner:
                lines = canvas.wrap(words, corner, MOST_LINES, size=size)
                wide = corner
                if len(lines) > FEW_LINES or " ".join(lines) != words:  # it needs more room
                    wide, lines = most, canvas.wrap(words, most, MOST_LINES, size=size)
                if canvas.measure(lines[-1], size=size) + more > wide:
                    lines.append("")  # the button gets a line of its own
            high += line * (len(lines) - 1)
            found = clearest(corners(division, wide + 2.0 * pad, high, boxes), taken)
            if found is None:
                break
            box = found
        boxes.append(box)
        canvas.box(*box.place, theme.panel[:7], radius=15.0 * scale, outline=theme.rim)
        if done is not None:
            with canvas.clip(box.x, box.y, done * box.width, box.height):
                canvas.box(*box.place, theme.accent + "50", radius=15.0 * scale)
        for i, part in enumerate(lines):
            base = box.y + 19.5 * scale + line * i
            canvas.text(box.x + pad, base, part, size=size, color=theme.ink)
        if action:
            right, base = box.right - pad, box.bottom - 10.5 * scale
            color = theme.accent
            canvas.text(right, base, action, size=size, color=color, bold=True, anchor="right")
            buttons.append((box, action))
    return buttons, boxes


def corners(division: Division, wide: float, high: float, others: Sequence[Box]) -> list[Box]:
    """Return the places of a message in the corners of the stage that others leave free."""
    inner, scene, gap = division.inner, division.scene, 8.0 * division.scale
    legend = legend_box(division)
    right = max(inner.right - wide, inner.x)
    bottom = min(scene.bottom - gap, inner.bottom)  # what is learned may stand below the network
    top, low = scene.y + gap, bottom - high
    low_left = low if legend is None else legend.y - gap - high
    places = []
    for x, y, way in (
        (inner.x, top, 1.0),
        (right, top, 1.0),
        (right, low, -1.0),
        (inner.x, low_left, -1.0),
    ):
        box = Box(x, y, wide, high)
        for other in others if way > 0.0 else others[::-1]:
            if box.meets(other):  # beside it, on the way to the middle
                y = other.bottom + 0.75 * gap if way > 0.0 else other.y - 0.75 * gap - high
                box = Box(x, y, wide, high)
        if top <= box.y and box.bottom <= scene.bottom and not any(map(box.meets, others)):
            places.append(box)
    return places


def clearest(places: Sequence[Box], taken: Obstacles | None) -> Box | None:
    """Return the first of the places where least is covered; None for no places."""
    if taken is None or not places:
        return next(iter(places), None)
    return min(places, key=taken.covered)
