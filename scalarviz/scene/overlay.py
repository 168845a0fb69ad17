"""Text over the picture: title, band with the loss, messages, buttons, help."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from scalarviz.base.texts import text
from scalarviz.core.past_numbers import KINDS, ORDERS
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import Theme
from scalarviz.scene.caption_band import ABOUT, HEAD, NEXT, PieceBox, caption_box
from scalarviz.scene.charts import Chart, draw_loss
from scalarviz.scene.frame_data import Compared, FrameData, Pane, PictureWords
from scalarviz.scene.labels import Obstacles
from scalarviz.scene.layout.division import Box, Division
from scalarviz.scene.legend import LETTERS, explain_in_corner, legend_box, mark_rows, write
from scalarviz.scene.past_charts import (
    draw_past,
    draw_tabs,
    draw_terrain,
    status_of_terrain,
    status_of_weights,
)
from scalarviz.scene.strip import Place
from scalarviz.story.caption import Piece

LOSS_SHARE = 0.4  # of a large chart that the losses have
LANDSCAPE = "landscape"
ALONG = "main", "two"  # directions of a landscape
TABS_OF_PAST = *ORDERS, LANDSCAPE
TABS_HIGH = 24.0  # height of the row of tabs
LEAST_LETTERS = 8.0  # pixels of the name of a pane; smaller ones are left out
Button = tuple[Box, str]  # the box and the label of a button


def draw_head(canvas: Canvas2D, division: Division, words: PictureWords, theme: Theme) -> float:
    """Draw the title, and the sentence beside it as far as there is room; return where it ends."""
    box, scale = division.head, division.scale
    if not box.height:
        return 0.0
    canvas.box(*box.place, theme.ground)  # nothing of the stage shows through
    margin, size = 20.0 * scale, HEAD * scale
    base = box.y + 28.0 * scale
    title = canvas.fit(words.title, box.width - 2.0 * margin, size=size, bold=True)
    x = margin + canvas.text(margin, base, title, size=size, color=theme.ink, bold=True)
    left = box.width - x - 2.0 * margin
    if left > 60.0 * scale:
        about = canvas.fit(words.about, left, size=ABOUT * scale)
        x += margin + canvas.text(x + margin, base, about, size=ABOUT * scale, color=theme.quiet)
    return x


def explain_arrows(
    canvas: Canvas2D,
    division: Division,
    head: float,
    theme: Theme,
    messages: Sequence[Box] = (),
    covers: Callable[[Box], bool] = lambda box: False,
) -> None:
    """Write what arrows on cubes mean: at the end of the head, whose text ends at x = `head`.

    Without room there, it stands in an upper corner of the stage, see `explain_in_corner`.
    Everywhere the words stand beside the boxes of `messages`.
    """
    size, margin, words = LETTERS * division.scale, 20.0 * division.scale, text("legend.pushes")
    above = division.head
    in_head = [box.x for box in messages if box.y < above.bottom]
    below = [box.bottom + size for box in messages if box.y >= above.bottom]
    x = min([above.right, *in_head]) - margin - canvas.measure(words, size=size)
    if above.height and x >= head + margin:
        write(canvas, x, 28.0 * division.scale, words, theme, size)
    else:
        explain_in_corner(canvas, division, max([division.inner.y, *below]), theme, covers)


def draw_pane_head(canvas: Canvas2D, division: Division, pane: Pane, theme: Theme) -> float:
    """Draw the name of a pane beside its dot, and what is said about it; return where it ends."""
    box, scale = division.head, division.scale
    size = min(14.0 * scale, 0.62 * box.height)
    canvas.box(*box.place, theme.ground)  # nothing of the stage shows through
    if size < LEAST_LETTERS * scale:
        return 0.0
    margin, radius = 12.0 * scale, 4.5 * scale
    base = box.y + 0.5 * box.height + 0.36 * size + scale
    canvas.discs((margin + radius, base - 0.36 * size), radius, pane.color)
    x = margin + 3.6 * radius
    name = canvas.fit(pane.name, box.width - x - margin, size=size, bold=True)
    x += canvas.text(x, base, name, size=size, color=theme.ink, bold=True)
    small = min(13.0 * scale, size)
    if x + margin + canvas.measure(pane.about, size=small) + margin <= box.width:
        right = box.width - margin
        canvas.text(right, base, pane.about, size=small, color=theme.quiet, anchor="right")
    return x


def draw_band(
    canvas: Canvas2D, division: Division, frame_data: FrameData, theme: Theme
) -> tuple[list[Button], Chart | None]:
    """Draw the loss at the right end of the band; return the buttons of the offers, and its chart.

    A large chart stands below the network instead. Offers take the place of the
    lines below the title of the caption.
    """
    band, scale = division.band, division.scale
    chart = None
    if not band.height:
        return [], None
    canvas.box(*band.place, theme.ground)
    box = caption_box(division, loss=frame_data.has_small_curve(division.band.width))
    if frame_data.curve.large:
        chart = draw_large_loss(canvas, division, frame_data, theme)
    elif frame_data.has_small_curve(band.width):
        x = box.right + 20.0 * scale
        loss = Box(x, band.y, band.right - 20.0 * scale - x, band.height - 6.0 * scale)
        chart = draw_loss(canvas, loss, frame_data.curve, theme, frame_data.words.clock, scale)
    if frame_data.guess is not None and frame_data.guess.result is not None:
        box = Box(box.right - (NEXT - 8.0) * scale, box.y, NEXT * scale, box.height)
    return draw_offers(canvas, box, frame_data.offers, theme, scale), chart


def draw_large_loss(
    canvas: Canvas2D, division: Division, frame_data: FrameData, theme: Theme
) -> Chart | None:
    """Draw the losses, and all weights over time, below the network; return the chart."""
    box, scale, curve = division.chart, division.scale, frame_data.curve
    past, terrain = curve.past, curve.terrain
    if (past is None and terrain is None) or not box.width:
        return None
    canvas.box(*box.place, theme.panel[:7], radius=8.0 * scale, outline=theme.rim)
    inner = box.inside(6.0 * scale)
    above = replace(inner, height=LOSS_SHARE * inner.height)
    chart = draw_loss(canvas, above, curve, theme, frame_data.words.clock, scale)
    if chart is None:
        return None
    row = Box(chart.plot.x, above.bottom + 4.0 * scale, chart.plot.width, TABS_HIGH * scale)
    high = inner.bottom - row.bottom - 4.0 * scale
    strip = Box(row.x, row.bottom, row.width, high)
    chart, look = replace(chart, box=box), (theme, scale)
    if terrain is not None:
        ball = draw_terrain(canvas, strip, terrain, *look)
        chosen, told = (LANDSCAPE, terrain.along), status_of_terrain(terrain, theme)
        tabs = draw_tabs(canvas, row, (ALONG, TABS_OF_PAST), chosen, told, *look)
        span = chart.span if terrain.plane is None else terrain.plane.span
        return replace(chart, terrain=strip, span=span, ball=ball, tabs=tabs)
    assert past is not None, "one of both is there"
    draw_past(canvas, strip, past, curve, *look)
    chosen, told = (past.over_time.kind, past.order), status_of_weights(past, theme)
    tabs = draw_tabs(canvas, row, (list(KINDS), TABS_OF_PAST), chosen, told, *look)
    return replace(chart, strip=strip, tiles=len(past.over_time.tiles), tabs=tabs)


def draw_offers(
    canvas: Canvas2D, box: Box, offers: Sequence[str], theme: Theme, scale: float
) -> list[Button]:
    """Draw large buttons in a row at the bottom of a box, smaller if they are too many."""
    if not offers:
        return []
    size, pad = 14.0 * scale, 16.0 * scale
    while size > 8.0:
        widths = [canvas.measure(each, size=size, bold=True) + 2.0 * pad for each in offers]
        if sum(widths) + 8.0 * scale * (len(offers) - 1) <= box.width:
            break
        size, pad = size - 1.0, max(6.0, pad - 4.0)
    high, buttons = 32.0 * scale, []
    x, y = box.x, box.bottom - high - 6.0 * scale
    for words, width in zip(offers, widths, strict=True):
        if x + width > box.right + 1.0:
            break
        canvas.box(x, y, width, high, theme.panel, radius=high / 2.0, outline=theme.accent)
        base = y + high / 2.0 + 0.36 * size
        middle = x + width / 2.0
        canvas.text(middle, base, words, size=size, color=theme.ink, bold=True, anchor="center")
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
    while True:  # the largest letters with which all of it fits
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
    title = text("help.title")
    canvas.text(x + gap, y + 1.6 * row, title, size=1.25 * size, color=theme.ink, bold=True)
    with canvas.clip(x, y, wide, high):
        left = x + gap
        for column, second in zip(columns, seconds, strict=True):
            for i, (key, meaning) in enumerate(column):
                base = y + (2.9 + i) * row
                canvas.text(left, base, key, size=size, color=theme.accent, bold=True)
                canvas.text(left + first, base, meaning, size=size, color=theme.ink)
            left += first + second + gap


# Messages: in the head, or in the corner of the stage where they cover least.

WIDEST_MESSAGE = 560.0  # largest width in pixels
MOST_LINES, FEW_LINES = 5, 3  # of a message; with few it stays in its corner
CORNER_SHARE, CORNER_LEAST = (
    0.4,
    240.0,
)  # share of the width for the network in its corner; pixels at least
MESSAGE_LINE = 17.0  # height in pixels


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
    size, line, pad = 13.0 * scale, MESSAGE_LINE * scale, 14.0 * scale
    most = min(max(inner.width - 2.0 * pad, 40.0), WIDEST_MESSAGE * scale)
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
            corner = min(most, max(CORNER_SHARE * inner.width, CORNER_LEAST * scale))
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


# Where one can press and point beside the network.


class OnTop(NamedTuple):
    """What a picture has over its stage and around it, with boxes in logical pixels.

    buttons  boxes and labels of the buttons
    chart    the chart of the losses, or None
    cells    boxes of the operations in the strip, with how many are done after each
    told     boxes of the pieces of the caption; the first one at a pixel counts
    legend   the box of the legend, or None
    """

    buttons: Sequence[Button] = ()
    chart: Chart | None = None
    cells: Sequence[Place] = ()
    told: Sequence[PieceBox] = ()
    legend: Box | None = None

    def button_at(self, x: float, y: float) -> str | None:
        """Return the label of the topmost button at a pixel, or None."""
        return next((name for box, name in reversed(self.buttons) if box.has(x, y)), None)

    def cell_at(self, x: float, y: float) -> int:
        """Return how many operations are done after that of the cell at a pixel, or 0."""
        return next((done for box, done in self.cells if box.has(x, y)), 0)

    def piece_at(self, x: float, y: float) -> Piece | None:
        """Return the piece of the caption at a pixel, one without words for its panel, or None."""
        return next((piece for box, piece in self.told if box.has(x, y)), None)

    def on_chart(self, x: float, y: float) -> bool:
        """Return whether a pixel is on the chart."""
        return self.chart is not None and self.chart.box.has(x, y)


# The key to the marks.

KEY_LETTERS, KEY_ROW, KEY_PAD = 13.0, 18.0, 12.0  # letters, height of a line, and margins in pixels
WIDEST_KEY = 560.0  # largest width in pixels
KEY_NAMES = 0.42  # largest part of it for the names
MOST_KEY_LINES = 3  # for what one mark means


def extra_marks(frame_data: FrameData) -> Iterator[str]:
    """Yield the marks that not every picture has."""
    cubes, buffers = frame_data.cubes, frame_data.buffers
    if any((buffers.saturated[name] > 0.0).any() for name in buffers.saturated):
        yield "striped"
    if any((each > 0.0).any() for each in buffers.left_out.values()):
        yield "crossed"
    if buffers.flows:
        yield "dot"
    if cubes.pushes is not None:
        yield "arrow"
    if cubes.before is not None:
        yield "before"
    if cubes.frozen is not None:
        yield "frozen"


def draw_marks_key(
    canvas: Canvas2D, division: Division, frame_data: FrameData, theme: Theme
) -> Box | None:
    """Draw the key over the lower left part of the stage, above the legend; return its box."""
    if not frame_data.marks:
        return None
    scale, scene, legend = division.scale, division.scene, legend_box(division)
    size, row, pad = KEY_LETTERS * scale, KEY_ROW * scale, KEY_PAD * scale
    rows = mark_rows(frame_data.cubes, extra_marks(frame_data))
    x = division.inner.x
    wide = min(WIDEST_KEY * scale, scene.right - x - pad)
    names = max(canvas.measure(name, size=size, bold=True) for name, _ in rows) + pad
    names = min(names, KEY_NAMES * wide)
    room = wide - names - 2.0 * pad
    told = [(name, canvas.wrap(about, room, MOST_KEY_LINES, size=size)) for name, about in rows]
    high = row * (1 + sum(len(lines) for _, lines in told)) + 1.5 * pad
    end = scene.bottom - pad if legend is None else legend.y - 0.5 * pad
    box = Box(x, max(scene.y, end - high), wide, high)
    canvas.box(*box.place, theme.panel[:7], radius=8.0, outline=theme.rim)
    base = box.y + pad + 0.7 * size
    title, left = text("marks.title"), box.x + pad
    canvas.text(left, base, title, size=size, color=theme.ink, bold=True)
    for name, lines in told:
        short = canvas.fit(name, names - 0.5 * pad, size=size, bold=True)
        canvas.text(left, base + row, short, size=size, color=theme.ink, bold=True)
        for line in lines:
            base += row
            canvas.text(left + names, base, line, size=size, color=theme.quiet)
    return box
