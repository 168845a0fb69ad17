"""Mouse interaction with charts and captions: zoom, and the item under the mouse."""

from __future__ import annotations

from typing import final

from scalarviz.scene.layout.division import what_at
from scalarviz.scene.loss_chart import Chart, CurveView
from scalarviz.scene.overlay import OnTop

FEWEST = 10.0  # minimum number of shown steps, if available


def zoom(view: CurveView, chart: Chart, factor: float, x: float) -> None:
    """Zoom the chart by a factor around the pixel column x; a factor below 1 zooms out."""
    now = chart.last - chart.first
    wide = max(now / factor, min(FEWEST, chart.end))
    at = chart.place_at(x)
    show(view, at - (at - chart.first) * wide / now, wide, chart.end)


def move(view: CurveView, chart: Chart, dx: float) -> None:
    """Move the curve by a number of pixels to the right."""
    wide = chart.last - chart.first
    show(view, chart.first - dx / chart.plot.width * wide, wide, chart.end)


def show(view: CurveView, first: float, wide: float, end: float) -> None:
    """Show `wide` steps from `first` on, clipped to the available steps."""
    view.first = max(0.0, min(first, end - wide))
    last = view.first + wide
    view.last = None if last >= end - 1e-6 * end else last


@final
class OverlayPointer:
    """The item under the mouse in the caption and charts below the network.

    Attributes:
        cell: number of operations finished after the strip cell under the mouse, or 0
        piece: the piece of the caption under the mouse, or None
        opened: whether all terms are shown in a panel, opened by a click on "... 5 more"
        step: the step under the mouse in the loss chart, or None
        branch: number of the branch whose line is under the mouse, or None
        tile: the tile under the mouse in the chart of all weights over time, or None
        tab: name of the tab of the strip under the mouse, or None
        title: whether the title of the loss chart is under the mouse
        legend: whether the legend is under the mouse
    """

    def __init__(self) -> None:
        self.opened = False
        self.hover(OnTop(), -1.0, -1.0)

    def hover(self, on_top: OnTop, x: float, y: float) -> bool:
        """Find the item at a pixel; return whether the pixel is on the caption or its panel."""
        self._place = x, y
        over, chart, legend = what_at(on_top.told, x, y), on_top.chart, on_top.legend
        self.piece = over if over is not None and over.words else None
        self.cell = what_at(on_top.cells, x, y) or 0
        self.step = None if chart is None else chart.step_under(x, y)
        self.branch = None if chart is None else chart.branch_at(x, y)
        self.tile = None if chart is None else chart.tile_at(x, y)
        self.tab = None if chart is None else what_at(chart.tabs, x, y)
        self.title = chart is not None and chart.title.has(x, y)
        self.legend = legend is not None and legend.has(x, y)
        return over is not None

    def again(self, on_top: OnTop) -> None:
        """Find the item under the mouse again, since the picture has changed."""
        self.hover(on_top, *self._place)

    def click(self, on_top: OnTop, x: float, y: float, view: CurveView) -> bool:
        """Apply a click at a pixel to the panel or the charts; return whether it had an effect.

        A click on "... 5 more" opens the panel, a click elsewhere closes it; a click on the title
        of the loss chart toggles its size, a click on a tab below it selects that tab.
        """
        over = what_at(on_top.told, x, y)
        if self.opened or (over is not None and over.opens):
            self.opened = not self.opened
            return True
        self.hover(on_top, x, y)
        if self.title:
            view.large = not view.large
        elif self.tab is not None:
            view.choose(self.tab)
        return self.title or self.tab is not None

    def close(self) -> bool:
        """Close the panel; return whether it was open."""
        was, self.opened = self.opened, False
        return was
