"""The table below several networks, and the line above it: what cubes show, and a caption."""

from __future__ import annotations

import numpy as np

from scalarviz.base.texts import text
from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.theme import Theme
from scalarviz.pictures.view.compared import Compared
from scalarviz.pictures.view.frame_data import CubeValues
from scalarviz.pictures.view.legend import sides_of, words_of
from scalarviz.pictures.view.scene.frame import Box
from scalarviz.pictures.view.scene.panes import Panes

SIZE, LOW_SIZE = 13.0, 12.0  # letters
MARGIN = 16.0  # left of the names, and between columns at least
DOT = 4.5  # radius of the dot beside a name
NAMES = 0.3  # share of the table that names have at least
SQUARE = 15.0  # pixels of the largest cube of the legend
STEPS = 7  # squares from the negative to the positive end


def letters(panes: Panes) -> float:
    """Return the size of letters in the table: smaller ones in lower rows."""
    return min(SIZE * panes.scale, max(LOW_SIZE * panes.scale, 0.7 * panes.row))


def draw_table(canvas: Canvas2D, panes: Panes, compared: Compared, theme: Theme) -> None:
    """Draw the names of the networks with their colors, and their numbers in columns.

    Columns that have no room beside names of a readable length are left out, by their ranks.
    """
    box, scale, row, size = panes.table, panes.scale, panes.row, letters(panes)
    if not box.height:
        return
    gap = MARGIN * scale
    left = box.x + gap + 4.0 * DOT * scale
    columns = [
        (head, [head.words, *cells])
        for head, *cells in zip(
            compared.heads, *(each.cells for each in compared.rows), strict=True
        )
    ]
    widths = [max(canvas.measure(each, size=size) for each in words) for _, words in columns]
    longest = max(canvas.measure(each.name, size=size, bold=True) for each in compared.rows)
    names = min(longest, max(NAMES * box.width, 60.0 * scale))
    while widths and left + names + sum(widths) + gap * (len(widths) + 1) > box.right:
        last = max(range(len(columns)), key=lambda i: columns[i][0].rank)
        del columns[last], widths[last]
    spare = box.right - left - names - sum(widths) - gap * (len(widths) + 1)
    names = min(longest, names + spare)
    spare = box.right - left - names - sum(widths) - gap * (len(widths) + 1)
    apart = gap + min(2.0 * gap, max(0.0, spare) / max(1, len(widths)))
    top = box.y + 0.5 * (box.height - (len(compared.rows) + 1) * row)
    base = top + 0.5 * row + 0.36 * size
    for i, each in enumerate(compared.rows):
        y = base + (i + 1) * row
        if i == compared.chosen:
            mark = Box(box.x + 0.5 * gap, y - 0.5 * row - 0.36 * size, box.width - gap, row)
            canvas.box(*mark.place, theme.tray, radius=0.25 * row)
        canvas.discs((box.x + gap + DOT * scale, y - 0.36 * size), DOT * scale, each.color)
        words = canvas.fit(each.name, names, size=size, bold=True)
        canvas.text(left, y, words, size=size, color=theme.ink, bold=True)
    right = left + names
    for width, (_, (head, *cells)) in zip(widths, columns, strict=True):
        right += apart + width
        canvas.text(right, base, head, size=size, color=theme.quiet, anchor="right")
        for i, words in enumerate(cells):
            y = base + (i + 1) * row
            canvas.text(right, y, words, size=size, color=theme.ink, anchor="right")


def draw_line(canvas: Canvas2D, panes: Panes, compared: Compared, theme: Theme) -> None:
    """Draw the legend, and the caption of the chosen network where there is room."""
    box, scale = panes.line, panes.scale
    if not box.height:
        return
    canvas.segments([(box.x, box.y)], [(box.right, box.y)], theme.rim)
    gap, size = MARGIN * scale, letters(panes)
    base = box.y + 0.5 * box.height + 0.36 * size
    x = draw_legend(canvas, box.x + gap, base, size, compared.legend, theme) + 1.5 * gap
    words = canvas.fit(compared.caption, box.right - gap - x, size=size, bold=True)
    if words.strip(". "):
        canvas.text(x, base, words, size=size, color=theme.ink, bold=True)


def draw_legend(
    canvas: Canvas2D, x: float, base: float, size: float, cubes: CubeValues, theme: Theme
) -> float:
    """Draw the colors and sizes of cubes between their ends, in a line; return where it ends."""
    scale = size / SIZE
    scales = np.asarray(cubes.color_scales)
    most = cubes.common or (float(scales[0]) if len(scales) else 1.0)
    ends = [f"-{most:g}", f"+{most:g}"]
    if cubes.per_layer and len(set(scales.tolist())) > 1:
        ends = [text("legend.least"), text("legend.most")]
    gap, largest = 8.0 * scale, SQUARE * scale
    x += canvas.text(x, base, words_of(cubes), size=size, color=theme.quiet) + 1.5 * gap
    x += canvas.text(x, base, ends[0], size=size, color=theme.quiet) + gap
    numbers = np.linspace(-1.0, 1.0, STEPS)
    sides = largest * sides_of(numbers)
    middles = x + 1.25 * largest * np.arange(STEPS) + 0.5 * largest
    corners = np.stack([middles - sides / 2.0, base - 0.36 * size - sides / 2.0], axis=1)
    square = np.stack([sides, sides], axis=1)
    canvas.boxes(corners, square, theme.map(numbers), radius=1.5 * scale)
    x = float(middles[-1]) + 0.5 * largest + gap
    return x + canvas.text(x, base, ends[1], size=size, color=theme.quiet)
