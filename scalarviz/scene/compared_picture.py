"""ComparedPicture: everything around the panes of several networks: frames, legend and curves.

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
from scalarviz.scene.frame_data import FrameData
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
        seen: FrameData,
        chosen: int | None,
        theme: Theme,
        width: int,
        height: int,
        ratio: float,
    ) -> OnTop:
        """Draw over the panes; sizes are in device pixels, of which `ratio` make a logical pixel.

        Args:
            seen: contents of the selected session's pane, with its caption as title, and with the
                scales, losses and messages of all sessions
            chosen: index of the selected pane, or None

        Returns:
            The overlays, which handle the mouse.
        """
        gloo.set_viewport(0, 0, width, height)
        canvas, on_top = self.flat(panes, seen, chosen, theme, ratio)
        self._renderer.draw(canvas, width, height)
        return on_top

    def flat(
        self, panes: Panes, seen: FrameData, chosen: int | None, theme: Theme, ratio: float
    ) -> tuple[Canvas2D, OnTop]:
        """Return a canvas with all shapes and text, and the overlays, which handle the mouse."""
        whole, scale = panes.whole, panes.scale
        canvas = Canvas2D(whole.width, whole.height, ratio, scale)
        draw_frames(canvas, panes, chosen, theme)
        band = panes.band
        if band.height:
            canvas.segments([(band.x, band.y)], [(band.right, band.y)], theme.rim)
        legend = overlay.draw_head(canvas, panes.division, seen, theme)
        box, division = panes.chart, panes.division
        if seen.curve.large:
            canvas.box(*box.place, theme.panel[:7], radius=8.0 * scale, outline=theme.rim)
        chart = draw_loss(canvas, box, box.x, seen.curve, theme, scale)
        chart = None if chart is None else replace(chart, box=box)
        gap = 16.0 * scale
        above = Box(gap, 0.0, whole.width - 2.0 * gap, band.y)
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
