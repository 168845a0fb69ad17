"""The picture in a terminal: numbers in, something that rich can print out.

`picture` is a pure function: the same moment, size and look give the same picture.
"""

from __future__ import annotations

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

from scalarviz.checks import FloatArray
from scalarviz.view.blocks import (
    ACCENT,
    QUIET,
    STRONG,
    Block,
    Plate,
    Shade,
    Swatches,
    paint,
    plates_block,
    swatch_block,
)
from scalarviz.view.colors import LEGEND, MAPS, ColorMap, to_bytes
from scalarviz.view.curve import curve_block

# In lines; a panel's frame takes two of its own.
HEAD, FOOT = 3, 1
LEAST_TOP, GOOD_TOP, LEAST_WEIGHTS = 5, 8, 6
PLAIN = Style(dim=False)
SIDE_BY_SIDE = 64  # the columns that two panels need beside each other


@dataclass(frozen=True)
class Moment:
    """All that one picture shows; `scale` is the size of weight with the strongest colour."""

    title: str
    step: int
    steps: int
    losses: FloatArray
    speed: float
    learning_rate: float
    plates: Sequence[Plate]
    scale: float
    swatches: Swatches | None = None
    note: str = ""


@dataclass(frozen=True)
class Look:
    """The colours to use, or none: then signs, digits and letters say everything."""

    map: ColorMap = field(default=MAPS["dark"])
    color: bool = True


def picture(moment: Moment, look: Look, width: int, height: int) -> RenderableType:
    """The whole picture of one moment, in so many columns and lines."""
    room = height - HEAD - (FOOT if moment.note else 0)
    top = min(GOOD_TOP, max(LEAST_TOP, room // 3))
    rows = [Layout(head(moment, width), size=HEAD)]
    if room - top >= LEAST_WEIGHTS and moment.plates:
        plates = plates_block(moment.plates, shade(moment, look), width - 4, room - top - 2)
        weights = panel(legend(moment, look), plates)
        rows.append(Layout(tops(moment, look, width, room - len(plates) - 2)))
        rows.append(Layout(weights, size=len(plates) + 2))
    else:
        rows.append(Layout(tops(moment, look, width, room)))
    if moment.note:
        rows.append(Layout(foot(moment.note), size=FOOT))
    whole = Layout()
    whole.split_column(*rows)
    return whole


def shade(moment: Moment, look: Look) -> Shade | None:
    """How values become colours, if they do."""
    return (lambda values: look.map(values, moment.scale)) if look.color else None


def head(moment: Moment, width: int) -> RenderableType:
    """Three lines: the title, the numbers, and how far the training has come."""
    title = Text.assemble(("scalarviz", ACCENT + STRONG), "  ", moment.title)
    title.truncate(width - 2, overflow="ellipsis")
    loss = f"{moment.losses[-1]:#.3g}" if len(moment.losses) else "-"
    steps = f"{moment.steps:,}"
    fields = [
        ("step ", f"{moment.step:,} of {steps}", len("step  of ") + 2 * len(steps)),
        ("loss ", loss, len("loss 1.00e-05")),
        ("steps/s ", f"{moment.speed:,.0f}", len("steps/s 10,000")),
        ("learning rate ", f"{moment.learning_rate:g}", len("learning rate 0.0001")),
    ]
    # Columns of one width, so that nothing moves sideways while the numbers run.
    gap = max(2, (width - 2 - sum(columns for _, _, columns in fields)) // 3)
    numbers = Text(no_wrap=True, overflow="ellipsis")
    for name, value, columns in fields:
        spare = " " * (columns + gap - len(name) - len(value))
        numbers.append(name, QUIET).append(value, STRONG).append(spare)
    numbers.rstrip()
    bar = ProgressBar(
        moment.steps, moment.step, style=QUIET, complete_style=ACCENT, finished_style=ACCENT
    )
    return Padding(Group(title, numbers, bar), (0, 1))


def tops(moment: Moment, look: Look, width: int, height: int) -> RenderableType:
    """The loss and the swatches, side by side; where it is narrow, the swatches alone."""
    swatches = moment.swatches
    loss_width = width if swatches is None else width * 9 // 20
    loss = panel(Text("loss", STRONG), curve_block(moment.losses, loss_width - 4, height - 2))
    if swatches is None:
        return loss
    narrow = width < SIDE_BY_SIDE
    rest = width if narrow else width - loss_width
    block = swatch_block(swatches, rest - 4, height - 2, look.color)
    colors = panel(Text("colours", STRONG), block)
    if narrow:
        return colors
    both = Layout()
    both.split_row(Layout(loss, size=loss_width), Layout(colors))
    return both


def legend(moment: Moment, look: Look) -> Text:
    """The scale of colours with its ends as numbers, and how many weights lie beyond them."""
    text = Text.assemble(("weights", STRONG), f"  {-moment.scale:g} ", style=PLAIN)
    if look.color:
        for i, color in enumerate(to_bytes(look.map(np.linspace(-1.0, 1.0, 15))).tolist()):
            text.append("0" if i == 7 else " ", paint(*color))
        text.append(f" +{moment.scale:g}").append(f"  {LEGEND}", QUIET)
    else:
        text.append(f"to +{moment.scale:g}").append("  - below 0, + above", QUIET)
    values = np.concatenate([np.append(plate.weights, plate.biases) for plate in moment.plates])
    beyond = int(np.sum(np.abs(values) > moment.scale))
    return text.append(f"  {beyond} beyond" if beyond else "", QUIET)


def foot(note: str) -> RenderableType:
    """One line: how fast it goes and why, and how to leave."""
    line = Table.grid(expand=True, padding=(0, 1))
    line.add_column(ratio=1, no_wrap=True)
    line.add_column(justify="right", no_wrap=True)
    line.add_row(Text(note, QUIET), Text("Ctrl-C stops", QUIET))
    return Padding(line, (0, 1))


def panel(title: Text, block: Block) -> Panel:
    """A block in a frame, as wide as there is room."""
    return Panel(
        SegmentLines(block, new_lines=True),
        title=title,
        title_align="left",
        box=box.ROUNDED,
        border_style=QUIET,
    )
