"""Text over the picture: title, loss curve, messages, buttons and help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from scalarviz.base.scales import HEALTH, NAMES, SCALARS, SETTINGS, WEIGHTS
from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import typeset
from scalarviz.scene.canvas.canvas2d import Canvas2D, image_bytes
from scalarviz.scene.canvas.palette import Theme
from scalarviz.scene.caption_band import PieceBox, clearest, corners
from scalarviz.scene.charts import draw_loss
from scalarviz.scene.frame_data import (
    CubeValues,
    Curve,
    FrameData,
    HealthRows,
    Pane,
    ScalarCharts,
)
from scalarviz.scene.health_strip import draw_health
from scalarviz.scene.labels import Obstacles
from scalarviz.scene.layout.division import LOW, Box, Division, what_at
from scalarviz.scene.layout.plates import LEAST, PIXEL
from scalarviz.scene.legend import five_of, mark_rows, news_of, round_number
from scalarviz.scene.loss_chart import Chart
from scalarviz.scene.past_charts import (
    draw_past,
    status_of_weights,
)
from scalarviz.scene.past_names import NamesOfMoment, draw_names, words_of_names
from scalarviz.scene.past_tabs import draw_tabs
from scalarviz.scene.scalar_charts import draw_scalars, words_of_scalars
from scalarviz.scene.strip import Place, words_end

LOSS_SHARE = 0.46  # fraction of a large chart for the losses
LOSS_LEAST = 96.0  # pixels for them, if that is at most half of it
OF_FOLLOWED = {HealthRows: 0.2, ScalarCharts: 0.36}  # if these are below them
TABS_HIGH = 24.0  # height of the row of tabs
LEAST_LETTERS = 8.0  # minimum pixels of the name of a pane
LOSS_OF_PANE = 0.5  # maximum fraction of a pane's width for its loss
Button = tuple[Box, str]  # the box and the label of a button


def draw_title(canvas: Canvas2D, division: Division, frame_data: FrameData, theme: Theme) -> None:
    """Draw the title, and the task below it."""
    box, scale, words = division.head, division.scale, frame_data.words
    left, room = TITLE_LEFT * scale, box.width - 3.0 * TITLE_LEFT * scale
    title, task = (20.0, 40.0) if TASK_LOW * scale >= box.bottom else (TITLE_LOW, TASK_LOW)
    letters = task_letters(box, scale)
    for said, size, low, color, bold in (
        (words.title, HEAD * scale, title, theme.ink, True),
        (words.task, letters, task, theme.soft, False),
    ):
        look: dict[str, Any] = {"size": size, "color": color, "bold": bold, "room": room}
        if said and low * scale < box.bottom:
            canvas.text(left, box.y + low * scale, said, **look)


def task_letters(box: Box, scale: float) -> float:
    """Return the font size of the task below the title."""
    return (LETTERS if TASK_LOW * scale >= box.bottom else TASK) * scale


def draw_headline(
    canvas: Canvas2D, division: Division, frame_data: FrameData, theme: Theme
) -> None:
    """Draw the progress of training: the value at the start, an arrow, and the current value."""
    box, scale, exhibit = division.headline, division.scale, frame_data.exhibit
    things = text(f"things.{frame_data.words.things}")
    found = None if exhibit is None or not box.height else exhibit.headline(things)
    if found is None or exhibit is None:
        return
    said, start, now, is_better = found
    size, large = LETTERS * scale, (HEAD if canvas.height < LOW else NUMBER_SIZE) * scale
    color = theme.ink if is_better else theme.worse
    base, low = box.y + 46.0 * scale, box.y + 63.0 * scale
    canvas.text(box.x, box.y + 16.0 * scale, said, size=size, color=theme.quiet, room=box.width)
    x = box.x
    for number, words, ink in (
        (start, exhibit.since, theme.former),
        (now, text("headline.now"), color),
    ):
        wide = canvas.text(x, base, number, size=large, color=ink, bold=True)
        beside = canvas.text(x, low, words, size=size, color=theme.quiet)
        if number is start:
            x += max(wide, beside) + 16.0 * scale
            y = base - 0.36 * large
            ends = [(x, y)], [(x + 28.0 * scale, y)]
            canvas.arrows(*ends, theme.ink, width=2.6 * scale, head=9.0 * scale)
            x += 44.0 * scale
    words = exhibit.aside()
    is_wide = canvas.measure(words, size=size) > canvas.width - box.x
    look: dict[str, Any] = {"size": LETTERS if is_wide else size, "color": theme.soft}
    canvas.text(box.x, box.y + 80.0 * scale, words, **look)
    if not is_better and not exhibit.by_hand:
        look = {"size": TASK * scale, "color": theme.worse, "bold": True}
        words, low = text("headline.no_better"), box.y + 83.0 * scale
        canvas.text(box.x, low, words, room=box.width, **look)


def draw_head(
    canvas: Canvas2D,
    division: Division,
    frame_data: FrameData,
    theme: Theme,
    news: str = "",
    *,
    titled: bool = True,
) -> Box | None:
    """Draw the title, and the legend to the right; return the box of the legend, or None.

    Args:
        news: text below the legend about its scale or channel
        titled: whether the title is drawn; its space is reserved in any case; default True
    """
    box, scale = division.head, division.scale
    if not box.height or frame_data.is_health:
        return None
    if not frame_data.layout.thread:  # with cubes for only a few of all weights
        news = news or news_of(frame_data.cubes)
    is_below = division.headline.height > 0.0 or frame_data.layout.sequence is not None
    if is_below and box.height <= (CUBES_LOW + NEWS) * scale:
        news = ""  # the headline, or OUT and goal, are there
    left = title_right(canvas, division, frame_data)
    if titled:
        draw_title(canvas, division, frame_data, theme)
    flat = bool(frame_data.layout.marks)
    if frame_data.layout.crossbar is not None:
        return draw_bars(canvas, box, scale, frame_data, theme, left, news)
    return draw_legend(canvas, box, scale, frame_data.cubes, theme, left, news, flat=flat)


def title_right(canvas: Canvas2D, division: Division, frame_data: FrameData) -> float:
    """Return the right end of the title and the task, with a margin."""
    box, scale = division.head, division.scale
    wide = canvas.measure(frame_data.words.title, size=HEAD * scale, bold=True)
    wide = max(wide, canvas.measure(frame_data.words.task, size=task_letters(box, scale)))
    return TITLE_LEFT * scale * 1.6 + min(wide, box.width - 3.0 * TITLE_LEFT * scale)


# The legend: the rule of lines as a drawing, the marks in use, cubes on their scale.

HEAD, TASK = 16.0, 14.0  # letter sizes of the title, and of the task
TITLE_LOW, TASK_LOW, NUMBER_SIZE = 33.0, 55.0, 24.0  # their lines, and letter size of a headline
TITLE_LEFT, TALL_HEAD = 24.0, 60.0  # pixels left of the title; twice those down to its center
SHORT_HEAD = 40.0  # height of a head without room for the bar
LETTERS, ICON, BESIDE = 12.0, 18.0, 6.0  # letter size, width of a mark, and distance to its words
# Cubes of the legend: their foot, the side of the largest, and distance.
CUBES_LOW, LARGEST, CUBE_PITCH = 48.0, 34.0, 45.0
NEWS = 15.0  # pixels from there to the line below
DEEP = 0.26, 0.2  # offset of the rear of a cube to the right and upward, in its sides
FACES = 0.94, 1.13, 0.62  # light on front, top and side
FIVE = range(5)
Cube = tuple[float, float, float, float]  # center, foot and side in pixels, and share


def draw_legend(
    canvas: Canvas2D,
    head: Box,
    scale: float,
    cubes: CubeValues,
    theme: Theme,
    left: float,
    news: str,
    *,
    flat: bool = False,
) -> Box | None:
    """Draw five cubes with their numbers to the right of x = `left`, or "?" if they do not fit.

    Args:
        flat: whether to draw tiles of one size

    Returns:
        The box of the drawing, or None.
    """
    size, icon = LETTERS * scale, ICON * scale
    right = head.right - TITLE_LEFT * scale
    low = head.y + CUBES_LOW * scale
    words = [text("legend.minus"), text("legend.plus")]
    wide = [canvas.measure(each, size=size) for each in words]
    first = right - wide[1] - ((len(FIVE) - 0.5) * CUBE_PITCH + BESIDE) * scale
    start = first - 0.5 * CUBE_PITCH * scale - wide[0]
    if start < left or head.height < SHORT_HEAD * scale:
        middle = head.y + 0.5 * min(head.height, TALL_HEAD * scale)
        return draw_question(canvas, Box(right - icon, middle - 0.5 * icon, icon, icon), theme)
    numbers = five_of(cubes)
    top = numbers[-1] or 1.0
    places: list[Cube] = [
        (first + i * CUBE_PITCH * scale, low, LARGEST * scale, each / top)
        for i, each in enumerate(numbers)
    ]
    draw_cubes(canvas, places, theme, flat=flat)
    for (x, foot, side, share), each in zip(places, numbers, strict=True):
        if share:
            edge = side if flat else side * abs(share) ** (1.0 / 3.0)
            y, bold = foot - 0.5 * edge + 0.36 * size, abs(share) == 1.0
            look: dict[str, Any] = {"size": size, "anchor": "center", "bold": bold}
            canvas.text(x, y, typeset(f"{each:g}"), color=theme.on_face(share), **look)
    base = low - 0.5 * LARGEST * scale + 0.36 * size
    canvas.text(start, base, words[0], size=size, color=theme.quiet)
    canvas.text(right, base, words[1], size=size, color=theme.quiet, anchor="right")
    if news and canvas.measure(news, size=size) < right - left:
        canvas.text(right, low + NEWS * scale, news, size=size, color=theme.quiet, anchor="right")
    return Box(start, head.y, right - start, head.height)


# Bars of the legend: height of their line, longest bar, width, depth.
BARS_LOW, BAR, BAR_WIDE, BAR_DEEP = 38.0, 24.0, 34.0, 9.0


def draw_bars(
    canvas: Canvas2D,
    head: Box,
    scale: float,
    frame_data: FrameData,
    theme: Theme,
    left: float,
    news: str,
) -> Box | None:
    """Draw a bar that stands and one that hangs, in the scale of the picture; "?" without room.

    Returns:
        The box of the drawing, or None.
    """
    size, icon = LETTERS * scale, ICON * scale
    right, low = head.right - TITLE_LEFT * scale, head.y + BARS_LOW * scale
    words = [text("legend.stands"), text("legend.hangs")]
    wide = [canvas.measure(each, size=size) for each in words]
    plate = frame_data.layout.plates[0]
    unit = 2.0 * plate.half / PIXEL / float(frame_data.cubes.size_scales[0])
    number = round_number(BAR / unit)
    said = [typeset(f"{number:g}"), typeset(f"{-number:g}")]
    room = BAR_WIDE + BAR_DEEP + canvas.measure(said[1], size=size) / scale + BESIDE
    start = right - wide[0] - wide[1] - 2.0 * (room + BESIDE) * scale - 2.0 * BAR_DEEP * scale
    if start < left or low + number * unit * scale > head.bottom:
        middle = head.y + 0.5 * min(head.height, TALL_HEAD * scale)
        return draw_question(canvas, Box(right - icon, middle - 0.5 * icon, icon, icon), theme)
    x = start
    canvas.segments([(x, low)], [(right, low)], theme.faint, width=1.2 * scale)
    for i, sign in enumerate((1.0, -1.0)):
        high = number * unit * scale
        top = low - high if sign > 0.0 else low
        draw_box(canvas, Box(x, top, BAR_WIDE * scale, high), BAR_DEEP * scale, sign, theme)
        x += (BAR_WIDE + BAR_DEEP) * scale
        y = low - 0.5 * high if sign > 0.0 else low + 0.5 * high
        canvas.text(x + 2.0 * scale, y + 0.36 * size, said[i], size=size, color=theme.ink)
        x += canvas.measure(said[1], size=size) + BESIDE * scale
        base = low - 0.5 * size
        canvas.text(x, base, words[i], size=size, color=theme.quiet)
        x += wide[i] + BESIDE * scale + 2.0 * BAR_DEEP * scale
    if news and canvas.measure(news, size=size) < right - left:
        y = head.y + (CUBES_LOW + NEWS) * scale
        canvas.text(right, y, news, size=size, color=theme.quiet, anchor="right")
    return Box(start, head.y, right - start, head.height)


def draw_box(canvas: Canvas2D, front: Box, deep: float, sign: float, theme: Theme) -> None:
    """Draw a bar as a box that is seen from the front, from above and from the right."""
    colors = bar_of(theme)[1]
    x, y, right, low = front.x, front.y, front.right, front.bottom
    up = 0.7 * deep
    sides = [
        [(x, y), (right, y), (x, low)],
        [(x + deep, y - up), (right + deep, y - up), (x, y)],
        [(right, y), (right + deep, y - up), (right, low)],
    ]
    faces = 3.0 * round(10.0 * (sign + 1.0)) + np.arange(3)
    middle, half = (faces + 0.5) / colors.shape[1], np.full(3, 0.5)
    canvas.images(np.array(sides), colors, np.stack([middle, half, middle, half], axis=1))


def draw_question(canvas: Canvas2D, box: Box, theme: Theme) -> Box:
    """Draw the button "?" that opens the key of the marks; return its box."""
    canvas.box(*box.place, theme.panel[:7], radius=0.5 * box.height, outline=theme.faint)
    x, y = box.x + 0.5 * box.width, box.bottom - 0.28 * box.height
    canvas.text(
        x, y, "?", size=LETTERS * canvas.scale, color=theme.quiet, bold=True, anchor="center"
    )
    return box


@lru_cache(maxsize=8)
def bar_of(theme: Theme) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Return the color scale as an image, and the colors of cube faces at the same positions."""
    places = np.round(np.linspace(-1.0, 1.0, 21), 3)
    faces = np.clip(theme.map(places)[:, np.newaxis] * np.array(FACES)[:, np.newaxis], 0.0, 1.0)
    return image_bytes(theme.map(places)[np.newaxis]), image_bytes(faces.reshape(1, -1, 3))


def draw_cubes(
    canvas: Canvas2D, cubes: Sequence[Cube], theme: Theme, *, flat: bool = False
) -> None:
    """Draw small cubes: x of the center, y of the base, side of the largest, share of the scale.

    If `flat`, they are tiles of one size.
    """
    x, foot, side, share = np.array(cubes).T
    side = side * (1.0 if flat else np.maximum(np.cbrt(np.abs(share)), LEAST))
    left, top = x - 0.5 * side, foot - side
    right, high = (0.0 if flat else part * side for part in DEEP)
    front = (left, top), (left + side, top), (left, foot)
    above = (left + right, top - high), (left + right + side, top - high), (left, top)
    beside = (left + side, top), (left + side + right, top - high), (left + side, foot)
    corners = np.array([front, above, beside]).transpose(3, 0, 1, 2).reshape(-1, 3, 2)
    colors = bar_of(theme)[1]
    faces = 3 * np.round(10.0 * (share + 1.0))[:, np.newaxis] + np.arange(3)
    middle = (faces.ravel() + 0.5) / colors.shape[1]
    half = np.full(len(middle), 0.5)
    canvas.images(corners, colors, np.stack([middle, half, middle, half], axis=1))


def draw_pane_head(canvas: Canvas2D, division: Division, pane: Pane, theme: Theme) -> None:
    """Draw a pane's dot, name, description and loss."""
    box, scale = division.head, division.scale
    size = min(14.0 * scale, 0.62 * box.height)
    canvas.box(*box.place, theme.ground)  # opaque background
    if size < LEAST_LETTERS * scale:
        return
    margin, radius, small = 12.0 * scale, 4.5 * scale, min(13.0 * scale, size)
    base = box.y + 0.5 * box.height + 0.36 * size + scale
    canvas.discs((margin + radius, base - 0.36 * size), radius, pane.color)
    x, right = margin + 3.6 * radius, box.width - margin
    if pane.loss and canvas.measure(pane.loss, size=small) < LOSS_OF_PANE * box.width:
        wide = canvas.text(right, base, pane.loss, size=small, color=theme.ink, anchor="right")
        right -= wide + margin
    x += canvas.text(x, base, pane.name, size=size, color=theme.ink, bold=True, room=right - x)
    if x + margin + canvas.measure(pane.about, size=small) <= right:
        canvas.text(right, base, pane.about, size=small, color=theme.quiet, anchor="right")


def draw_band(
    canvas: Canvas2D,
    division: Division,
    frame_data: FrameData,
    theme: Theme,
    cells: Sequence[Place] = (),
) -> Chart | None:
    """Draw the loss chart, in the band or large below the network; return the chart.

    Args:
        cells: positions of the parts of a step, above the band
    """
    if frame_data.curve.large:
        return draw_large_loss(canvas, division.chart, frame_data.curve, theme, division.scale)
    if not division.band.height:
        return None
    box = replace(division.strip, height=division.strip.height + division.band.height)
    parts = max((each.right for each, _ in cells), default=0.0)
    words_from = words_end(canvas, division, frame_data, parts)
    curve, caption = frame_data.curve, frame_data.words.caption
    if caption is not None and caption.losses is not None:
        curve = replace(curve, told=caption.losses)
    return draw_loss(canvas, box, division.curve_left, curve, theme, division.scale, words_from)


def draw_large_loss(
    canvas: Canvas2D, box: Box, curve: Curve, theme: Theme, scale: float
) -> Chart | None:
    """Draw the large loss chart with the contents below it; return the chart."""
    below = curve.below
    if below is None or not box.width:
        return None
    canvas.box(*box.place, theme.panel[:7], radius=8.0 * scale, outline=theme.rim)
    inner = box.inside(6.0 * scale)
    high = OF_FOLLOWED.get(type(below), LOSS_SHARE) * inner.height
    above = replace(inner, height=max(high, min(LOSS_LEAST * scale, 0.5 * inner.height)))
    chart = draw_loss(canvas, above, above.x, curve, theme, scale)
    if chart is None:
        return None
    plot, y = chart.plot, above.bottom + 4.0 * scale
    row = Box(plot.x, y, inner.right - plot.x, TABS_HIGH * scale)
    strip = Box(row.x, row.bottom, plot.width, inner.bottom - row.bottom - 4.0 * scale)
    chart, look = replace(chart, box=box), (theme, scale)
    orders = (WEIGHTS, *(SCALARS, HEALTH) * curve.followed, *(NAMES,) * curve.has_level)
    if isinstance(below, NamesOfMoment):
        draw_names(canvas, strip, below, *look)
        told = [(words_of_names(below), theme.quiet)]
        return replace(chart, tabs=draw_tabs(canvas, row, (orders,), (NAMES,), told, *look))
    if isinstance(below, HealthRows):
        draw_health(canvas, strip, below, curve, *look)
        tabs = draw_tabs(canvas, row, (orders,), (HEALTH,), (), *look)
        return replace(chart, strip=strip, tabs=tabs)
    if isinstance(below, ScalarCharts):
        draw_scalars(canvas, strip, below, curve, *look)
        told = [(words_of_scalars(strip.height, below, scale), theme.quiet)]
        tabs = draw_tabs(canvas, row, (SETTINGS, orders), (*curve.settings, SCALARS), told, *look)
        return replace(chart, strip=strip, tabs=tabs)
    draw_past(canvas, strip, below, curve, *look)
    others, told = (orders,) if len(orders) > 1 else (), status_of_weights(below, theme)
    tabs = draw_tabs(canvas, row, others, (WEIGHTS,), told, *look)
    return replace(chart, strip=strip, tiles=len(below.over_time.tiles), tabs=tabs)


def draw_offers(
    canvas: Canvas2D, box: Box, offers: Sequence[str], theme: Theme, scale: float
) -> list[Button]:
    """Draw large buttons in a row at the bottom of a box, narrower or fewer if they do not fit."""
    if not offers:
        return []
    for size, pad in ((14.0 * scale, 16.0 * scale), (12.0 * scale, 12.0 * scale), (12.0, 7.0)):
        widths = [canvas.measure(each, size=size, bold=True) + 2.0 * pad for each in offers]
        if sum(widths) + 8.0 * scale * (len(offers) - 1) <= box.width:
            break
    high, buttons = 32.0 * scale, []
    x, y = box.x, box.bottom - high - 6.0 * scale
    for words, width in zip(offers, widths, strict=True):
        if x + width > box.right + 1.0:
            break
        canvas.box(x, y, width, high, theme.panel, radius=high / 2.0, outline=theme.accent)
        canvas.text(
            x + width / 2.0,
            y + high / 2.0 + 0.36 * size,
            words,
            size=size,
            color=theme.ink,
            bold=True,
            anchor="center",
        )
        buttons.append((Box(x, y, width, high), words))
        x += width + 8.0 * scale
    return buttons


def draw_help(
    canvas: Canvas2D, division: Division, keys: Sequence[tuple[str, str]], theme: Theme
) -> None:
    """Draw the list of keys over everything else."""
    if not keys:
        return
    whole, size = division.whole, 14.0 * division.scale
    while True:  # the largest letters with which everything fits
        row, gap = 1.7 * size, 1.6 * size
        first = max(canvas.measure(key, size=size, bold=True) for key, _ in keys) + gap
        count = 1 if (len(keys) + 3.5) * row < whole.height else 2
        rows = -(-len(keys) // count)
        columns = [keys[i : i + rows] for i in range(0, len(keys), rows)]
        seconds = [max(canvas.measure(said, size=size) for _, said in each) for each in columns]
        wide = sum(first + second + gap for second in seconds) + gap
        high = (rows + 3.0) * row
        if size < 9.0 or (wide <= whole.width - 20.0 and high <= whole.height - 20.0):
            break
        size -= 0.5
    wide, high = min(wide, whole.width - 20.0), min(high, whole.height - 20.0)
    x, y = (whole.width - wide) / 2.0, (whole.height - high) / 2.0
    canvas.box(0.0, 0.0, whole.width, whole.height, theme.ground + "b0")
    canvas.box(x, y, wide, high, theme.panel[:7], radius=12.0, outline=theme.rim)
    start, large = (x + gap, y + 1.6 * row), 1.25 * size
    canvas.text(*start, text("help.title"), size=large, color=theme.ink, bold=True)
    with canvas.clip(x, y, wide, high):
        left = x + gap
        for column, second in zip(columns, seconds, strict=True):
            for i, (key, meaning) in enumerate(column):
                base = y + (2.9 + i) * row
                canvas.text(left, base, key, size=size, color=theme.accent, bold=True)
                canvas.text(left + first, base, meaning, size=size, color=theme.ink)
            left += first + second + gap


# Messages: in the corner of the stage where they cover least.

WIDEST_MESSAGE = 560.0  # maximum width in pixels
MOST_LINES, FEW_LINES = 5, 3  # lines of a message; with few it stays in its corner
CORNER_SHARE, CORNER_LEAST = (
    0.4,
    240.0,
)  # fraction of the width for the network in its corner; minimum pixels
MESSAGE_LINE = 17.0  # height in pixels


def draw_chips(
    canvas: Canvas2D,
    division: Division,
    frame_data: FrameData,
    theme: Theme,
    taken: Obstacles | None = None,
    others: Sequence[Box] = (),
) -> tuple[list[Button], list[Box]]:
    """Draw messages in the corners of the stage where they cover least of `taken`.

    They do not overlap `others`. A background task comes first, with its progress as a filled part.
    Returns the buttons, and the boxes of all messages.
    """
    inner, scale = division.inner, division.scale
    size, line, pad = 13.0 * scale, MESSAGE_LINE * scale, 14.0 * scale
    most = min(max(inner.width - 2.0 * pad, 40.0), WIDEST_MESSAGE * scale)
    buttons: list[Button] = []
    boxes: list[Box] = []
    work = frame_data.work
    first = [] if work is None else [(work.text, work.action, work.part)]
    for words, action, done in [*first, *((*chip, None) for chip in frame_data.chips)]:
        more = canvas.measure(action, size=size, bold=True) + pad if action else 0.0
        wide, lines = canvas.measure(words, size=size) + more, [words]
        high = 30.0 * scale
        corner = min(most, max(CORNER_SHARE * inner.width, CORNER_LEAST * scale))
        if wide > corner:
            lines = canvas.wrap(words, corner, MOST_LINES, size=size)
            wide = corner
            if len(lines) > FEW_LINES or " ".join(lines) != words:  # it needs more room
                wide, lines = most, canvas.wrap(words, most, MOST_LINES, size=size)
            if canvas.measure(lines[-1], size=size) + more > wide:
                lines.append("")  # the button gets a separate line
        high += line * (len(lines) - 1)
        places = corners(division, wide + 2.0 * pad, high, [*others, *boxes])
        box = clearest(places[2:] + places[:2], taken)
        if box is None:
            break
        boxes.append(box)
        canvas.box(*box.place, theme.panel[:7], radius=15.0 * scale, outline=theme.rim)
        if done is not None:
            with canvas.clip(box.x, box.y, done * box.width, box.height):
                canvas.box(*box.place, theme.accent + "50", radius=15.0 * scale)
        for i, part in enumerate(lines):
            start = box.x + pad, box.y + 19.5 * scale + line * i
            canvas.text(*start, part, size=size, color=theme.ink)
        if action:
            canvas.text(
                box.right - pad,
                box.bottom - 10.5 * scale,
                action,
                size=size,
                color=theme.accent,
                bold=True,
                anchor="right",
            )
            buttons.append((box, action))
    return buttons, boxes


# Mouse targets beside the network.


class OnTop(NamedTuple):
    """Everything that is drawn over and around a picture and handles the mouse.

    Attributes:
        buttons: boxes and labels of the buttons
        chart: the loss chart, or None
        cells: boxes of the operations in the strip, each with the number of operations finished
            after it
        told: boxes of the pieces of the caption and of its panel; the panel has an empty piece
        legend: box of the legend, or None
        pairs: boxes of the cubes on the card of a tray, with their bank indices
    """

    buttons: Sequence[Button] = ()
    chart: Chart | None = None
    cells: Sequence[Place] = ()
    told: Sequence[PieceBox] = ()
    legend: Box | None = None
    pairs: Sequence[Place] = ()

    def button_at(self, x: float, y: float) -> str | None:
        """Return the label of the topmost button at a pixel, or None."""
        return what_at(self.buttons[::-1], x, y)

    def on_chart(self, x: float, y: float) -> bool:
        """Return whether a pixel is on the chart."""
        return self.chart is not None and self.chart.box.has(x, y)


# The key to the marks.

KEY_LETTERS, KEY_ROW, KEY_PAD = 13.0, 18.0, 12.0  # letter size, line height, and margins in pixels
WIDEST_KEY = 560.0  # maximum width in pixels
KEY_NAMES = 0.42  # maximum fraction of it for the names
MOST_KEY_LINES = 3  # for the meaning of one mark


def draw_marks_key(
    canvas: Canvas2D, division: Division, frame_data: FrameData, theme: Theme
) -> Box | None:
    """Draw the key of the marks over the upper right part of the stage; return its box or None."""
    if not frame_data.marks:
        return None
    scale, scene = division.scale, division.scene
    size, row, pad = KEY_LETTERS * scale, KEY_ROW * scale, KEY_PAD * scale
    rows = mark_rows(frame_data.cubes, frame_data.buffers, frame_data.layout.neurons)
    wide = min(WIDEST_KEY * scale, scene.width - 2.0 * pad)
    names = max(canvas.measure(name, size=size, bold=True) for name, _ in rows) + pad
    names = min(names, KEY_NAMES * wide)
    room = wide - names - 2.0 * pad
    told = [(name, canvas.wrap(about, room, MOST_KEY_LINES, size=size)) for name, about in rows]
    high = row * (1 + sum(len(lines) for _, lines in told)) + 1.5 * pad
    box = Box(scene.right - pad - wide, scene.y, wide, high)
    canvas.box(*box.place, theme.panel[:7], radius=8.0, outline=theme.rim)
    base = box.y + pad + 0.7 * size
    left = box.x + pad
    canvas.text(left, base, text("marks.title"), size=size, color=theme.ink, bold=True)
    for name, lines in told:
        canvas.text(
            left,
            base + row,
            name,
            size=size,
            color=theme.ink,
            bold=True,
            room=names - 0.5 * pad,
        )
        for line in lines:
            base += row
            canvas.text(left + names, base, line, size=size, color=theme.quiet)
    return box
