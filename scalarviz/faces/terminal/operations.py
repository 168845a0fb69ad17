"""The operations of a step in a terminal: the strip, and the caption of the last one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.style import Style
from rich.text import Text

from scalarviz.base.terminal_styles import ACCENT, QUIET, STRONG
from scalarviz.pictures.view.frame_data import Cell
from scalarviz.pictures.view.strip import chosen, heading, label, lit_of
from scalarviz.training.session.caption import Caption

LIT = Style(reverse=True)
BETWEEN, PARTS = "  ", " | "


def strip_line(cells: Sequence[Cell], current: int, width: int) -> Text:
    """Return the operations of a step in a line, the current one lit."""
    shown = chosen(cells, current, width, columns)
    lit, line = lit_of(shown, current), Text(no_wrap=True, overflow="ellipsis")
    for part, group in groupby(shown, lambda cell: cell.part):
        line.append(PARTS if line else "", QUIET).append(heading(part), STRONG)
        for cell in group:
            done = QUIET if cell.done > current else Style()
            line.append(BETWEEN).append(label(cell), ACCENT + LIT if cell is lit else done)
    return line


def columns(cells: Sequence[Cell]) -> float:
    """Return the width of cells with the words of their parts."""
    parts = [heading(part) for part in dict.fromkeys(cell.part for cell in cells)]
    gaps = len(PARTS) * max(0, len(parts) - 1) + len(BETWEEN) * len(cells)
    return sum(map(len, parts)) + gaps + sum(len(label(cell)) for cell in cells)


def caption_lines(caption: Caption, most: int) -> list[Text]:
    """Return the sentence and the numbers of a caption, in at most so many lines."""
    return [line_of(caption.title, STRONG), *map(line_of, caption.numbers)][:most]


def line_of(words: str, style: Style | str = "") -> Text:
    """Return words that take one line, cut where it ends."""
    return Text(words, style, no_wrap=True, overflow="ellipsis")
