"""The picture in a terminal, as a rich renderable.

`picture` is a pure function: equal frames, sizes and styles give equal pictures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from rich import box
from rich.console import Group, RenderableType
from rich.layout import Layout
from rich.padding import Padding
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.segment import SegmentLines
from rich.style import Style
from rich.table import Table
from rich.text import Text

from scalarviz.checks.numbers import FloatArray
from scalarviz.draw2d.braille_curve import curve_block
from scalarviz.draw2d.colors import to_bytes
from scalarviz.draw2d.text_blocks import (
    ACCENT,
    QUIET,
    STRONG,
    Block,
    Shade,
    TextPlate,
    least_lines,
    paint,
    plates_block,
)
from scalarviz.session.caption import Caption
from scalarviz.terminal.operations import caption_lines, strip_line
from scalarviz.texts import text
from scalarviz.view.exhibits.exhibit import BlockStyle, Exhibit
from scalarviz.view.frame_data import Cell

# In lines; the frame of a panel takes two more.
HEAD, FOOT = 3, 1
LINES = 3  # of a caption
ROOMY = 18  # lines of a terminal from which on the strip and the caption are shown
LEAST_TOP, LEAST_WEIGHTS = 5, 6
PLAIN = Style(dim=False)
SIDE_BY_SIDE = 64  # columns that two panels side by side need


@dataclass(frozen=True)
class TerminalFrame:
    """Everything that one picture shows.

    scale     the absolute weight with the strongest color
    exhibit   panel of what is learned, if there is one
    held_out  loss on held-out samples, if there are any
    note      the reason for the speed, or the current operation
    keys      help on keys, most important first
    strip     the operations of a step, while one goes through them; `current` of them are done
    caption   of the last operation
    """

    title: str
    step: int
    steps: int
    losses: FloatArray
    speed: float
    learning_rate: float
    plates: Sequence[TextPlate]
    scale: float
    epoch: float = 0.0
    engine: str = ""
    exhibit: Exhibit | None = None
    held_out: float | None = None
    note: str = ""
    keys: Sequence[str] = field(default_factory=lambda: (text("terminal.keys.stop"),))
    strip: Sequence[Cell] = ()
    current: int = 0
    caption: Caption | None = None


def picture(moment: TerminalFrame, look: BlockStyle, width: int, height: int) -> RenderableType:
    """Return the picture of a frame in `width` columns and `height` lines."""
    room = height - HEAD - (FOOT if moment.note else 0)
    told = operations(moment, width) if height >= ROOMY else []
    room -= len(told)
    rows = [Layout(head(moment, width), size=HEAD)]
    if moment.exhibit is not None and moment.exhibit.wide and room >= 2 * LEAST_TOP:
        size = moment.exhibit.lines(width, room)
        rows.append(Layout(exhibit_panel(moment.exhibit, look, width, size), size=size))
        rows += under(moment, None, look, width, room - size)
    else:
        rows += under(moment, moment.exhibit, look, width, room)
    if told:
        rows.append(Layout(Padding(Group(*told), (0, 1)), size=len(told)))
    if moment.note:
        rows.append(Layout(foot(moment, width), size=FOOT))
    whole = Layout()
    whole.split_column(*rows)
    return whole


def operations(moment: TerminalFrame, width: int) -> list[Text]:
    """Return the lines of the strip and the caption, always as many."""
    if not moment.strip:
        return []
    lines = caption_lines(moment.caption, LINES) if moment.caption is not None else []
    strip = strip_line(moment.strip, moment.current, width - 2)
    return [strip, *lines, *[Text("")] * (LINES - len(lines))]


def under(
    moment: TerminalFrame, exhibit: Exhibit | None, look: BlockStyle, width: int, room: int
) -> list[Layout]:
    """Return the loss, with an exhibit beside it or not, and the weights below if they fit."""
    wish = exhibit.lines(width, room) if exhibit else max(LEAST_TOP, room // 3)
    least = max(LEAST_WEIGHTS, least_lines(moment.plates, width - 4) + 2) if moment.plates else 0
    top = max(LEAST_TOP, min(wish, max(room - least, room // 2)))
    if room - top < LEAST_WEIGHTS or not moment.plates:
        return [Layout(tops(moment, exhibit, look, width, room))]
    plates = plates_block(moment.plates, shade(moment, look), width - 4, room - top - 2)
    top = room - len(plates) - 2
    weights = Layout(panel(legend(moment, look), plates), size=len(plates) + 2)
    return [Layout(tops(moment, exhibit, look, width, top)), weights]


def shade(moment: TerminalFrame, look: BlockStyle) -> Shade | None:
    """Return the color map of the weights; None without colors."""
    return (lambda values: look.map(values, moment.scale)) if look.color else None


def head(moment: TerminalFrame, width: int) -> RenderableType:
    """Return three lines: title, numbers, progress bar."""
    loss = f"{moment.losses[-1]:#.3g}" if len(moment.losses) else "-"
    last = text("terminal.head.of", step=moment.steps, steps=moment.steps)
    fields = [
        (text("status.step"), text("terminal.head.of", step=moment.step, steps=moment.steps), last),
        (text("chart.title"), loss, "1.00e-05"),
        (text("terminal.head.pace"), f"{moment.speed:,.0f}", "10,000"),
        (text("status.learning_rate"), f"{moment.learning_rate:g}", "0.0001"),
    ]
    # Fixed column widths keep the numbers from moving sideways.
    gap = max(2, (width - 2 - sum(len(f"{name} {widest}") for name, _, widest in fields)) // 3)
    numbers = Text(no_wrap=True, overflow="ellipsis")
    for name, value, widest in fields:
        spare = " " * (len(widest) + gap - len(value))
        numbers.append(f"{name} ", QUIET).append(value, STRONG).append(spare)
    numbers.rstrip()
    bar = ProgressBar(
        max(1, moment.steps),
        moment.step,
        style=QUIET,
        complete_style=ACCENT,
        finished_style=ACCENT,
    )
    return Padding(Group(title_line(moment, width), numbers, bar), (0, 1))


def title_line(moment: TerminalFrame, width: int) -> Text:
    """Return the title, and at its right epoch and engine if they fit."""
    title = Text.assemble(("scalarviz", ACCENT + STRONG), "  ", moment.title)
    place = ""
    if moment.engine:
        place = text("terminal.head.place", epoch=moment.epoch, engine=moment.engine)
    spare = width - 2 - title.cell_len - len(place)
    if spare >= 2:
        title.append(" " * spare).append(place, QUIET)
    title.truncate(max(1, width - 2), overflow="ellipsis")
    return title


def tops(
    moment: TerminalFrame, exhibit: Exhibit | None, look: BlockStyle, width: int, height: int
) -> RenderableType:
    """Return the loss and the exhibit side by side; the exhibit alone if narrow."""
    if exhibit is None:
        return loss_panel(moment, width, height)
    if width < SIDE_BY_SIDE:
        return exhibit_panel(exhibit, look, width, height)
    columns = exhibit.columns(width, height - 2)
    both = Layout()
    both.split_row(
        Layout(loss_panel(moment, width - columns, height), size=width - columns),
        Layout(exhibit_panel(exhibit, look, columns, height)),
    )
    return both


def loss_panel(moment: TerminalFrame, width: int, height: int) -> Panel:
    """Return the loss curve."""
    title = Text(text("chart.title"), STRONG)
    if moment.held_out is not None and math.isfinite(moment.held_out):
        title.append("  " + text("terminal.held_out", loss=moment.held_out), PLAIN)
    title.truncate(max(1, width - 4), overflow="ellipsis")
    return panel(title, curve_block(moment.losses, width - 4, height - 2))


def exhibit_panel(exhibit: Exhibit, look: BlockStyle, width: int, height: int) -> Panel:
    """Return the exhibit in a panel."""
    block = exhibit.block(look, max(1, width - 4), max(1, height - 2))
    title = Text(exhibit.title, STRONG)
    title.truncate(max(1, width - 4), overflow="ellipsis")
    return panel(title, block)


def legend(moment: TerminalFrame, look: BlockStyle) -> Text:
    """Return the color scale with its ends, and the number of weights beyond them."""
    line = Text.assemble((text("terminal.weights"), STRONG), f"  {-moment.scale:g} ", style=PLAIN)
    if look.color:
        for i, color in enumerate(to_bytes(look.map(np.linspace(-1.0, 1.0, 15))).tolist()):
            line.append("0" if i == 7 else " ", paint(*color))
        line.append(f" +{moment.scale:g}").append("  " + text("legend.colors"), QUIET)
    else:
        line.append(text("terminal.to", most=moment.scale))
        line.append("  " + text("terminal.signs"), QUIET)
    values = np.concatenate([np.append(plate.weights, plate.biases) for plate in moment.plates])
    beyond = int(np.sum(np.abs(values) > moment.scale))
    return line.append("  " + text("terminal.beyond", count=beyond) if beyond else "", QUIET)


def foot(moment: TerminalFrame, width: int) -> RenderableType:
    """Return one line: the note, and as many keys as fit."""
    keys = list(moment.keys)
    while len(keys) > 1 and len(moment.note) + sum(len(key) + 2 for key in keys) > width - 2:
        del keys[-2]  # the last one tells how to quit
    line = Table.grid(expand=True, padding=(0, 1))
    line.add_column(ratio=1, no_wrap=True)
    line.add_column(justify="right", no_wrap=True)
    line.add_row(Text(moment.note, QUIET), Text("  ".join(keys), QUIET))
    return Padding(line, (0, 1))


def panel(title: Text, block: Block) -> Panel:
    """Return a block of text in a panel with a title."""
    return Panel(
        SegmentLines(block, new_lines=True),
        title=title,
        title_align="left",
        box=box.ROUNDED,
        border_style=QUIET,
    )
