"""The tabs between the large loss curve and the contents below it, in the window."""

from __future__ import annotations

from collections.abc import Sequence

from scalarviz.base.texts import text
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import Theme
from scalarviz.scene.layout.division import Box
from scalarviz.scene.loss_chart import LETTERS
from scalarviz.scene.past_charts import StatusWords

APART = 14.0  # pixels between two tabs, and twice that between groups
Tab = tuple[Box, str]  # its box and the selected name


def draw_tabs(
    canvas: Canvas2D,
    box: Box,
    groups: Sequence[Sequence[str]],
    chosen: Sequence[str],
    told: Sequence[StatusWords],
    theme: Theme,
    scale: float,
) -> list[Tab]:
    """Draw tabs in groups with the selected ones marked, and the status on the right.

    A status text that does not fit is written below the tabs. Returns the boxes and names of the
    tabs.
    """
    named = [(name, text(f"past.tab.{name}")) for names in groups for name in names]
    wide = canvas.measure("".join(words for _, words in named), size=LETTERS * scale)
    wide += APART * scale * (len(named) + len(groups))
    part = scale * min(1.0, 0.97 * box.width / wide) if named else scale  # smaller if necessary
    size, apart, x, tabs = LETTERS * part, APART * part, box.x, list[Tab]()
    base, last = box.bottom - 6.0 * scale, [names[-1] for names in groups]
    for name, words in named:
        color = theme.ink if name in chosen else theme.quiet
        wide = canvas.text(x, base, words, size=size, color=color)
        if name in chosen:
            ends = (x, base + 4.0 * scale), (x + wide, base + 4.0 * scale)
            canvas.segments([ends[0]], [ends[1]], theme.accent, width=2.0 * scale)
        tabs.append((Box(x - 0.5 * apart, box.y, wide + apart, box.height), name))
        x += wide + apart * (1.0 + (name in last))
    right = box.right
    for words, color in reversed(told):
        if (wide := canvas.measure(words, size=size)) < right - x:
            canvas.text(right, base, words, size=size, color=color, anchor="right")
            right -= wide + apart
        elif color == theme.ink:
            write_below_tabs(canvas, box, words, theme, size)
    return tabs


def write_below_tabs(canvas: Canvas2D, row: Box, words: str, theme: Theme, size: float) -> None:
    """Write text over the contents below a row of tabs."""
    words = canvas.fit(words, row.width - size, size=size)
    wide = canvas.measure(words, size=size) + size
    canvas.box(row.right - wide, row.bottom, wide, 1.6 * size, theme.panel[:7], outline=theme.rim)
    place = row.right - size / 2.0, row.bottom + 1.15 * size
    canvas.text(*place, words, size=size, color=theme.ink, anchor="right")
