"""Text over the picture: title, legend, caption, status, messages, buttons, help."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scalarviz.draw2d.canvas import Canvas2D
from scalarviz.draw2d.theme import Theme
from scalarviz.texts import row_text, text
from scalarviz.view.frame_data import CubeValues, FrameData, Words
from scalarviz.view.inspector import wrapped
from scalarviz.view.scene.frame import MARGIN, Box, Division

LEGEND = 232.0  # pixels wide
MESSAGE = 560.0  # largest width in pixels
MOST_LINES = 5  # of a message
LINE = 17.0  # height in pixels
Button = tuple[Box, str]  # the box and the label of a button


def draw_head(canvas: Canvas2D, box: Box, words: Words, theme: Theme) -> float:
    """Draw the title and the sentence below it; return the x where they end."""
    room = box.width - 2.0 * MARGIN
    large = box.height >= 50.0
    size = 18.0 if large else 14.0
    title = canvas.fit(words.title, room, size=size, bold=True)
    wide = canvas.text(MARGIN, box.y + 12.0 + size, title, size=size, color=theme.ink, bold=True)
    if large:
        about = canvas.fit(words.about, room, size=13)
        wide = max(wide, canvas.text(MARGIN, box.y + 50.0, about, size=13, color=theme.quiet))
    return MARGIN + wide


def draw_foot(canvas: Canvas2D, box: Box, words: Words, theme: Theme) -> None:
    """Draw the status line: names and values from left to right, as many as fit."""
    canvas.box(0.0, box.y, box.width, box.height, theme.panel)
    canvas.segments([(0.0, box.y)], [(box.width, box.y)], theme.rim)
    x, y = MARGIN, box.y + 19.5
    for name, value in words.status:
        wide = canvas.measure(name, size=12) + canvas.measure(value, size=12, bold=True) + 5.0
        if x + wide > box.width - MARGIN:
            break
        if name:
            x += canvas.text(x, y, name, size=12, color=theme.quiet) + 5.0
        x += canvas.text(x, y, value, size=12, color=theme.ink, bold=True) + 20.0


def draw_strip(canvas: Canvas2D, box: Box, frame_data: FrameData, theme: Theme) -> None:
    """Draw the strip below the scene: the legend, and the caption beside it."""
    room = box.width - 2.0 * MARGIN
    caption = frame_data.words.caption
    if caption is None or room > LEGEND + 280.0:
        legend = Box(MARGIN, box.y + 6.0, LEGEND, box.height - 12.0)
        draw_legend(canvas, legend, frame_data.cubes, theme, alone=caption is None)
        left = MARGIN + LEGEND + 28.0
    else:
        left = MARGIN
    if caption is not None:
        draw_caption(
            canvas, Box(left, box.y, box.width - left - MARGIN, box.height), caption, theme
        )


def draw_caption(
    canvas: Canvas2D, box: Box, caption: tuple[str, str, Sequence[str]], theme: Theme
) -> None:
    """Draw the caption: title, formula, and lines of numbers."""
    title, formula, numbers = caption
    parts = [(line, i == 0) for i, line in enumerate((formula, *numbers)) if line]
    lines = [
        (part, strong) for line, strong in parts for part in wrapped(canvas, line, box.width, 12.5)
    ]
    y = box.y + 22.0
    for line, size in heading(canvas, title, box.width):
        canvas.text(box.x, y, line, size=size, color=theme.ink, bold=True)
        y += size + 4.0
    room = max(1, int((box.bottom - y) // 17.0) + 1)
    for i, (line, strong) in enumerate(lines[:room]):
        if i == room - 1 and len(lines) > room:
            line = canvas.fit(line + " " * 40, box.width, size=12.5, mono=True)  # ends in "..."
        color = theme.ink if strong else theme.quiet
        canvas.text(box.x, y, line, size=12.5, color=color, mono=True)
        y += 17.0


def heading(canvas: Canvas2D, title: str, width: float) -> list[tuple[str, float]]:
    """Return lines of a title with their sizes: one line, else a smaller one, else two."""
    for size in (16.0, 13.0):
        if canvas.measure(title, size=size, bold=True) <= width:
            return [(title, size)]
    words, first = title.split(), ""
    while words and canvas.measure(f"{first} {words[0]}", size=13.0, bold=True) <= width:
        first = f"{first} {words.pop(0)}".strip()
    rest = canvas.fit(" ".join(words), width, size=13.0, bold=True)
    return [(line, 13.0) for line in (first, rest) if line]


def draw_legend(
    canvas: Canvas2D, box: Box, cubes: CubeValues, theme: Theme, *, alone: bool
) -> None:
    """Draw the scales of colors and sizes with the numbers at their ends.

    Sizes stand below the colors; in a low legend beside them if it is `alone`, else nowhere.
    """
    scales = np.asarray(cubes.color_scales)
    by_layer = cubes.per_layer and len(scales) > 1
    scale = float(scales[0]) if len(scales) else 1.0
    y = box.y + 12.0
    words = text("legend.color", channel=channel_name(cubes.color))
    if cubes.clipped:
        words = text("legend.beyond", color=words, count=cubes.clipped)
    canvas.text(box.x, y, words, size=12, color=theme.ink, bold=True)
    bar = theme.map(np.linspace(-1.0, 1.0, 128))[np.newaxis]
    canvas.image(box.x, y + 7.0, box.width, 10.0, bar, smooth=True)
    ends = f"{-scale:.3g}", "0", f"+{scale:.3g}"
    if by_layer:
        ends = text("legend.least"), "0", text("legend.most")
    for part, (words, anchor) in zip(
        (0.0, 0.5, 1.0), zip(ends, ("left", "center", "right"), strict=True), strict=True
    ):
        at = box.x + part * box.width
        canvas.text(at, y + 30.0, words, size=11, color=theme.quiet, anchor=anchor)
    if box.height <= 80.0 and not alone:
        return
    left, y = (box.x, y + 50.0) if box.height > 80.0 else (box.right + 28.0, y)
    words = text("legend.size", channel=channel_name(cubes.size))
    canvas.text(left, y, words, size=12, color=theme.ink, bold=True)
    x = left + 1.0
    tops = np.asarray(cubes.size_scales)
    top = float(tops[0]) if len(tops) else 1.0
    for i in range(5):
        side = 13.0 * (0.35 + 0.65 * i / 4)
        canvas.box(x, y + 20.0 - side, side, side, theme.quiet, radius=1.5)
        x += side + 5.0
    words = text("legend.range", least=top * 1e-4, most=top)
    words = text("legend.range_of_layer") if by_layer else words
    canvas.text(x + 3.0, y + 19.0, words, size=11, color=theme.quiet)


def channel_name(channel: str) -> str:
    """Return the label of a size channel: sizes show magnitudes."""
    return row_text(f"rows.channels.{channel}.name", channel)


def draw_chips(
    canvas: Canvas2D, division: Division, frame_data: FrameData, head: float, theme: Theme
) -> list[Button]:
    """Draw messages in the upper right of the scene; return their buttons.

    They start below the head if one would overlap the title, which ends at x = `head`.
    """
    chips = []
    room = min(max(0.8 * division.scene.width - 2.0 * MARGIN - 28.0, 40.0), MESSAGE)
    for words, action in frame_data.chips:
        more = canvas.measure(action, size=13, bold=True) + 14.0 if action else 0.0
        wide = canvas.measure(words, size=13) + more
        if wide <= room:
            chips.append(([words], action, wide + 28.0))
        else:  # the button gets a line of its own
            lines = canvas.wrap(words, room, MOST_LINES, size=13) + [""] * bool(action)
            chips.append((lines, action, room + 28.0))
    right = division.scene.right - MARGIN
    reach = any(right - wide < head + MARGIN for _, _, wide in chips)
    y = division.head.bottom + 4.0 if reach else MARGIN
    buttons = []
    for lines, action, wide in chips:
        box = Box(right - wide, y, wide, 30.0 + LINE * (len(lines) - 1))
        canvas.box(box.x, box.y, box.width, box.height, theme.panel, radius=15.0, outline=theme.rim)
        for i, line in enumerate(lines):
            canvas.text(box.x + 14.0, y + 19.5 + LINE * i, line, size=13, color=theme.ink)
        if action:
            end = box.right - 14.0
            color, base = theme.accent, box.bottom - 10.5
            canvas.text(end, base, action, size=13, color=color, bold=True, anchor="right")
            buttons.append((box, action))
        y += box.height + 6.0
    return buttons


def draw_offers(
    canvas: Canvas2D, division: Division, offers: Sequence[str], theme: Theme
) -> list[Button]:
    """Draw large buttons at the bottom of the scene, in a row if they fit; return them."""
    if not offers:
        return []
    widths = [canvas.measure(each, size=14, bold=True) + 36.0 for each in offers]
    scene = division.scene
    in_row = sum(widths) + 10.0 * (len(offers) - 1) < scene.width - 2.0 * MARGIN
    buttons = []
    total = sum(widths) + 10.0 * (len(offers) - 1)
    x = scene.x + (scene.width - total) / 2.0
    y = scene.bottom - (58.0 if in_row else 58.0 + 44.0 * (len(offers) - 1))
    for words, width in zip(offers, widths, strict=True):
        if not in_row:
            x = scene.x + (scene.width - width) / 2.0
        canvas.box(x, y, width, 38.0, theme.accent, radius=19.0)
        canvas.text(
            x + width / 2.0,
            y + 24.0,
            words,
            size=14,
            color=theme.ground,
            bold=True,
            anchor="center",
        )
        buttons.append((Box(x, y, width, 38.0), words))
        x, y = (x + width + 10.0, y) if in_row else (x, y + 44.0)
    return buttons


def draw_help(
    canvas: Canvas2D, division: Division, keys: Sequence[tuple[str, str]], theme: Theme
) -> None:
    """Draw the list of keys over everything else."""
    if not keys:
        return
    whole = division.whole
    size = 13.0
    first = max(canvas.measure(key, size=size, bold=True) for key, _ in keys) + 18.0
    second = max(canvas.measure(meaning, size=size) for _, meaning in keys)
    columns = 1 if len(keys) * 22.0 + 90.0 < whole.height else 2
    rows = -(-len(keys) // columns)
    wide = min(whole.width - 20.0, columns * (first + second + 30.0) + 34.0)
    high = min(whole.height - 20.0, rows * 22.0 + 76.0)
    x, y = (whole.width - wide) / 2.0, (whole.height - high) / 2.0
    canvas.box(0.0, 0.0, whole.width, whole.height, theme.ground + "b0")
    canvas.box(x, y, wide, high, theme.panel[:7], radius=12.0, outline=theme.rim)
    canvas.text(x + 22.0, y + 32.0, text("help.title"), size=17, color=theme.ink, bold=True)
    with canvas.clip(x, y, wide, high):
        for i, (key, meaning) in enumerate(keys):
            left = x + 22.0 + (i // rows) * (first + second + 30.0)
            base = y + 62.0 + (i % rows) * 22.0
            canvas.text(left, base, key, size=size, color=theme.accent, bold=True)
            canvas.text(left + first, base, meaning, size=size, color=theme.ink)
