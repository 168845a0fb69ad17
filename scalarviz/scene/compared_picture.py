"""ComparedPicture: everything around the panes of several networks: table, curves and frames.

The panes are separate pictures, drawn into parts of the same framebuffer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import final

from vispy import gloo

from scalarviz.scene import overlay
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import Theme
from scalarviz.scene.canvas.renderer import Renderer
from scalarviz.scene.charts import draw_loss
from scalarviz.scene.frame_data import Compared
from scalarviz.scene.layout.division import Box, Panes
from scalarviz.scene.overlay import OnTop

RIM = 2.0  # pixels of the frame of the selected pane


@final
class ComparedPicture:
    """Draws everything around the panes in the current OpenGL context.

    Attributes:
        words: all text of the last picture outside the panes
    """

    def __init__(self) -> None:
        self.words: list[str] = []
        self._renderer = Renderer()

    def draw(
        self,
        panes: Panes,
        compared: Compared,
        theme: Theme,
        width: int,
        height: int,
        ratio: float,
    ) -> OnTop:
        """Draw over the panes; sizes are in device pixels, of which `ratio` make a logical pixel.

        Returns:
            The overlays, which handle the mouse.
        """
        gloo.set_viewport(0, 0, width, height)
        canvas, on_top = self.flat(panes, compared, theme, ratio)
        self._renderer.draw(canvas, width, height)
        return on_top

    def flat(
        self, panes: Panes, compared: Compared, theme: Theme, ratio: float
    ) -> tuple[Canvas2D, OnTop]:
        """Return a canvas with all shapes and text, and the overlays, which handle the mouse."""
        whole, scale, seen = panes.whole, panes.scale, compared.seen
        canvas = Canvas2D(whole.width, whole.height, ratio, scale)
        draw_frames(canvas, panes, compared.chosen, theme)
        line = panes.line
        if line.height:
            canvas.segments([(line.x, line.y)], [(line.right, line.y)], theme.rim)
        legend = overlay.draw_head(canvas, panes.division, seen, theme)
        draw_table(canvas, panes, compared, theme)
        box, division = panes.chart, panes.division
        if seen.curve.large:
            canvas.box(*box.place, theme.panel[:7], radius=8.0 * scale, outline=theme.rim)
        chart = draw_loss(canvas, box, box.x, seen.curve, theme, scale)
        chart = None if chart is None else replace(chart, box=box)
        gap, end = 16.0 * scale, line.y if line.height else panes.table.y
        above = Box(gap, 0.0, whole.width - 2.0 * gap, end)  # the table
        buttons = overlay.draw_offers(canvas, above, seen.offers, theme, scale)
        buttons += overlay.draw_chips(canvas, division, seen, theme)[0]
        overlay.draw_marks_key(canvas, division, seen, theme)
        overlay.draw_help(canvas, division, seen.help, theme)
        self.words = canvas.words
        return canvas, OnTop(buttons, chart, legend=legend)


def draw_frames(canvas: Canvas2D, panes: Panes, chosen: int | None, theme: Theme) -> None:
    """Draw lines between panes, and a frame around the selected one."""
    for box in panes.panes:
        if box.x > 0.0:
            canvas.segments([(box.x, box.y)], [(box.x, box.bottom)], theme.rim)
        if box.y > 0.0:
            canvas.segments([(box.x, box.y)], [(box.right, box.y)], theme.rim)
    if chosen is not None and len(panes.panes) > 1:
        box, line = panes.panes[chosen], RIM * panes.scale
        canvas.box(*box.inside(0.5).place, None, radius=3.0 * line, outline=theme.accent, line=line)


# The table below the panes.

LETTERS, LOW_LETTERS = 13.0, 12.0  # letters
MARGIN = 16.0  # left of the names, and minimum between columns
DOT = 4.5  # radius of the dot beside a name
NAMES_SHARE = 0.3  # minimum fraction of the table for names


def draw_table(canvas: Canvas2D, panes: Panes, compared: Compared, theme: Theme) -> None:
    """Draw a table with the names, colors and numbers of the networks.

    Columns that leave too little room for the names are left out, the highest rank first.
    """
    box, scale, row = panes.table, panes.scale, panes.row
    if not box.height:
        return
    size = min(LETTERS * scale, max(LOW_LETTERS * scale, 0.7 * row))  # smaller in lower rows
    gap = MARGIN * scale
    left = box.x + gap + 4.0 * DOT * scale
    columns = [
        (rank, [words, *cells])
        for (words, rank), *cells in zip(
            compared.heads, *(cells for _, cells in compared.rows), strict=True
        )
    ]
    widths = [max(canvas.measure(each, size=size) for each in words) for _, words in columns]
    longest = max(canvas.measure(pane.name, size=size, bold=True) for pane, _ in compared.rows)
    names = min(longest, max(NAMES_SHARE * box.width, 60.0 * scale))
    while widths and left + names + sum(widths) + gap * (len(widths) + 1) > box.right:
        last = max(range(len(columns)), key=lambda i: columns[i][0])
        del columns[last], widths[last]
    spare = box.right - left - names - sum(widths) - gap * (len(widths) + 1)
    names = min(longest, names + spare)
    spare = box.right - left - names - sum(widths) - gap * (len(widths) + 1)
    apart = gap + min(2.0 * gap, max(0.0, spare) / max(1, len(widths)))
    top = box.y + 0.5 * (box.height - (len(compared.rows) + 1) * row)
    base = top + 0.5 * row + 0.36 * size
    for i, (pane, _) in enumerate(compared.rows):
        y = base + (i + 1) * row
        if i == compared.chosen:
            mark = Box(box.x + 0.5 * gap, y - 0.5 * row - 0.36 * size, box.width - gap, row)
            canvas.box(*mark.place, theme.tray, radius=0.25 * row)
        canvas.discs((box.x + gap + DOT * scale, y - 0.36 * size), DOT * scale, pane.color)
        canvas.text(left, y, pane.name, size=size, color=theme.ink, bold=True, room=names)
    right = left + names
    for width, (_, (head, *cells)) in zip(widths, columns, strict=True):
        right += apart + width
        canvas.text(right, base, head, size=size, color=theme.quiet, anchor="right")
        for i, words in enumerate(cells):
            y = base + (i + 1) * row
            canvas.text(right, y, words, size=size, color=theme.ink, anchor="right")
