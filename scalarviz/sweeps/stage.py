"""SweepStage: draws a sweep in an OpenGL context, for pictures."""

from __future__ import annotations

from typing import Any, final

from scalarviz.draw2d.theme import THEMES
from scalarviz.formulas.table import pick
from scalarviz.sweeps.panels import panels_of
from scalarviz.sweeps.sweep import Sweep


@final
class SweepStage:
    """What is drawn of a sweep, which is read anew for each picture."""

    def __init__(self, sweep: Sweep, theme: str) -> None:
        pick(THEMES, theme, "theme")
        self.sweep, self.theme = sweep, theme
        self._renderer: Any = None

    def draw(self, width: int, height: int, ratio: float) -> None:
        """Draw in the current OpenGL context, `ratio` device pixels per logical pixel."""
        from vispy import gloo  # slow to import

        from scalarviz.draw2d.canvas import Canvas2D
        from scalarviz.draw2d.colors import rgb
        from scalarviz.draw2d.renderer import Renderer
        from scalarviz.view.sweep_panels import draw_panels

        theme = THEMES[self.theme]
        canvas = Canvas2D(width / ratio, height / ratio, ratio)
        draw_panels(canvas, panels_of(self.sweep), theme)
        gloo.set_viewport(0, 0, width, height)
        gloo.clear(color=(*rgb((theme.ground,))[0].tolist(), 1.0), depth=True)
        self._renderer = self._renderer or Renderer()
        self._renderer.draw(canvas, width, height)
