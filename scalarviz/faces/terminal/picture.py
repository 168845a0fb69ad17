"""The picture in a terminal, as a rich renderable.

`picture` is a pure function: equal frames, sizes and styles give equal pictures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

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

from scalarviz.base.checks.numbers import FloatArray
from scalarviz.base.terminal_styles import ACCENT, QUIET, STRONG
from scalarviz.base.texts import text
from scalarviz.faces.terminal.operations import caption_lines, line_of, strip_line
from scalarviz.pictures.draw2d.braille_curve import curve_block
from scalarviz.pictures.view.exhibits.exhibit import Exhibit
from scalarviz.pictures.view.frame_data import Cell
from scalarviz.training.session.caption import Caption

# In lines.
HEAD, FOOT = 3, 1
LINES = 3  # of a caption
MOST = 8  # of the words on what is learned
ROOMY = 18  # of a terminal, from which on there is something below the loss
PLAIN = Style(dim=False)


@dataclass(frozen=True)
class TerminalFrame:
    """Everything that one picture shows.

    exhibit   what is learned, if there is a way to show it; its words stand below the loss
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
    epoch: float = 0.0
    engine: str = ""
    exhibit: Exhibit | None = None
    held_out: float | None = None
    note: str = ""
    keys: Sequence[str] = field(default_factory=lambda: (text("terminal.keys.stop"),))
    strip: Sequence[Cell] = ()
    current: int = 0
    caption: Caption | None = None


def picture(moment: TerminalFrame, width: int, height: int) -> RenderableType:
    """Return the picture of a frame in `width` columns and `height` lines."""
    room = height - HEAD - (FOOT if moment.note else 0)
    told = below(moment, width) if height >= ROOMY else []
    rows = [Layout(head(moment, width), size=HEAD)]
    rows.append(Layout(loss_panel(moment, width, room - len(told))))
    if told:
        rows.append(Layout(Padding(Group(*told), (0, 1)), size=len(told)))
    if moment.note:
        rows.append(Layout(foot(moment, width), size=FOOT))
    whole = Layout()
    whole.split_column(*rows)
    return whole


def below(moment: TerminalFrame, width: int) -> list[Text]:
    """Return the strip and the caption, always as many lines, or in words what is learned."""
    if moment.strip:
        lines = caption_lines(moment.caption, LINES) if moment.caption is not None else []
        strip = strip_line(moment.strip, moment.current, width - 2)
        return [strip, *lines, *[Text("")] * (LINES - len(lines))]
    if moment.exhibit is None:
        return []
    words = moment.exhibit.words()[:MOST]
    return [line_of(moment.exhibit.title, STRONG), *map(line_of, words)] if words else []


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


def loss_panel(moment: TerminalFrame, width: int, height: int) -> Panel:
    """Return the loss curve."""
    title = Text(text("chart.title"), STRONG)
    if moment.held_out is not None and math.isfinite(moment.held_out):
        title.append("  " + text("terminal.held_out", loss=moment.held_out), PLAIN)
    title.truncate(max(1, width - 4), overflow="ellipsis")
    return Panel(
        SegmentLines(curve_block(moment.losses, width - 4, height - 2), new_lines=True),
        title=title,
        title_align="left",
        box=box.ROUNDED,
        border_style=QUIET,
    )


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
