"""ComparedPicture: draws what stands around the panes of several networks: table, curves, frames.

The panes themselves are pictures of their own, drawn into parts of the same framebuffer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import final

from vispy import gloo

from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.colors import rgb
from scalarviz.pictures.draw2d.renderer import Renderer
from scalarviz.pictures.draw2d.theme import Theme
from scalarviz.pictures.view import overlay
from scalarviz.pictures.view.charts import Chart
from scalarviz.pictures.view.chips import draw_chips
from scalarviz.pictures.view.compared import Compared
from scalarviz.pictures.view.compared_chart import draw_losses
from scalarviz.pictures.view.compared_table import draw_line, draw_table
from scalarviz.pictures.view.on_top import OnTop
from scalarviz.pictures.view.scene.frame import Box
from scalarviz.pictures.view.scene.panes import Panes

RIM = 2.0  # pixels of the frame of the chosen pane


@final
class ComparedPicture:
    """Draws the surroundings of panes in the current OpenGL context.

    words    all text on the last picture, without that of the panes
    """

    def __init__(self) -> None:
        self.words: list[str] = []
        self._renderer: Renderer | None = None

    def clear(self, theme: Theme, width: int, height: int) -> None:
        """Fill the picture of this size in device pixels with the ground."""
        gloo.set_viewport(0, 0, width, height)
        gloo.clear(color=(*rgb((theme.ground,))[0].tolist(), 1.0), depth=True)

    def draw(
        self,
        panes: Panes,
        compared: Compared,
        theme: Theme,
        width: int,
        height: int,
        ratio: float,
    ) -> OnTop:
        """Draw it over panes; `width` and `height` in device pixels, `ratio` a logical pixel.

        Return what lies on top, for the mouse.
        """
        gloo.set_viewport(0, 0, width, height)
        canvas, on_top = self.flat(panes, compared, theme, ratio)
        self._renderer = self._renderer or Renderer()
        self._renderer.draw(canvas, width, height)
        return on_top

    def flat(
        self, panes: Panes, compared: Compared, theme: Theme, ratio: float
    ) -> tuple[Canvas2D, OnTop]:
        """Return all shapes and text, and what of them the mouse can find."""
        whole, scale = panes.whole, panes.scale
        canvas = Canvas2D(whole.width, whole.height, ratio, scale)
        draw_frames(canvas, panes, compared.chosen, theme)
        draw_line(canvas, panes, compared, theme)
        draw_table(canvas, panes, compared, theme)
        chart = None
        if compared.view.large:
            chart = draw_large(canvas, panes, compared, theme)
        elif panes.chart.width and panes.chart.height:
            chart = draw_losses(canvas, panes.chart, compared, theme, scale)
        division = panes.division
        buttons = overlay.draw_offers(canvas, offers_box(panes), compared.offers, theme, scale)
        buttons += draw_chips(canvas, division, compared, 0.0, theme)[0]
        overlay.draw_help(canvas, division, compared.help, theme)
        self.words = canvas.words
        return canvas, OnTop(buttons, chart)

    def release(self) -> None:
        """Drop what is on the graphics card; the next `draw` makes it again."""
        self._renderer = None


def draw_large(canvas: Canvas2D, panes: Panes, compared: Compared, theme: Theme) -> Chart | None:
    """Draw the losses over the lower half of the panes; return their chart."""
    margin, scene = 16.0 * panes.scale, panes.division.scene
    y = 0.5 * scene.height
    box = Box(margin, y, scene.width - 2.0 * margin, scene.height - y)
    canvas.box(*box.place, theme.panel[:7], radius=8.0 * panes.scale, outline=theme.rim)
    inner = box.inside(6.0 * panes.scale)
    chart = draw_losses(canvas, inner, compared, theme, panes.scale)
    return None if chart is None else replace(chart, box=box)


def offers_box(panes: Panes) -> Box:
    """Return the box above the table at whose lower end large buttons stand."""
    gap, end = 16.0 * panes.scale, panes.line.y if panes.line.height else panes.table.y
    return Box(gap, 0.0, panes.whole.width - 2.0 * gap, end)


def draw_frames(canvas: Canvas2D, panes: Panes, chosen: int | None, theme: Theme) -> None:
    """Draw lines between panes, and a frame around the chosen one."""
    for box in panes.panes:
        if box.x > 0.0:
            canvas.segments([(box.x, box.y)], [(box.x, box.bottom)], theme.rim)
        if box.y > 0.0:
            canvas.segments([(box.x, box.y)], [(box.right, box.y)], theme.rim)
    if chosen is not None and len(panes.panes) > 1:
        box, line = panes.panes[chosen], RIM * panes.scale
        place = box.inside(0.5).place
        canvas.box(*place, None, radius=3.0 * line, outline=theme.accent, line=line)
