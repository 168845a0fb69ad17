"""What the mouse does in the charts: zoom, and what it points at there and in the caption."""

from __future__ import annotations

from typing import final

from scalarviz.scene.layout.division import what_at
from scalarviz.scene.loss_chart import Chart, CurveView
from scalarviz.scene.overlay import OnTop

FEWEST = 10.0  # steps that are shown at least, if there are so many


def zoom(view: CurveView, chart: Chart, factor: float, x: float) -> None:
    """Show fewer steps around those at a pixel's x, or more for a factor below 1."""
    now = chart.last - chart.first
    wide = max(now / factor, min(FEWEST, chart.end))
    at = chart.place_at(x)
    show(view, at - (at - chart.first) * wide / now, wide, chart.end)


def move(view: CurveView, chart: Chart, dx: float) -> None:
    """Move the curve by a number of pixels to the right."""
    wide = chart.last - chart.first
    show(view, chart.first - dx / chart.plot.width * wide, wide, chart.end)


def show(view: CurveView, first: float, wide: float, end: float) -> None:
    """Show so many steps from one on, but none outside of all."""
    view.first = max(0.0, min(first, end - wide))
    last = view.first + wide
    view.last = None if last >= end - 1e-6 * end else last


@final
class OverlayPointer:
    """What the mouse does with what lies below the network on the last picture.

    Attributes:
        cell: how many operations are done after the one of the strip that is under it, or 0
        piece: the piece of the caption under it, or None
        opened: whether all terms are shown in a panel, which a click on "... 5 more" opens
        step: the step under it in the chart of the losses, or None
        branch: the number of the branch whose line is under it there, or None
        tile: the tile under it of the strip of all weights over time, or None
        spot: the point of a landscape's plane under it, or None
        tab: the name of what can be chosen for the strip there, or None
        title: whether the title of this chart is under it
        legend: whether the legend is under it
    """

    def __init__(self) -> None:
        self.opened = False
        self.hover(OnTop(), -1.0, -1.0)

    def hover(self, on_top: OnTop, x: float, y: float) -> bool:
        """Point at what is at a pixel; return whether it is on the caption or its panel."""
        self._place = x, y
        over, chart, legend = what_at(on_top.told, x, y), on_top.chart, on_top.legend
        self.piece = over if over is not None and over.words else None
        self.cell = what_at(on_top.cells, x, y) or 0
        self.step = None if chart is None else chart.step_under(x, y)
        self.branch = None if chart is None else chart.branch_at(x, y)
        self.tile = None if chart is None else chart.tile_at(x, y)
        self.spot = None if chart is None else chart.spot_at(x, y)
        self.tab = None if chart is None else what_at(chart.tabs, x, y)
        self.title = chart is not None and chart.title.has(x, y)
        self.legend = legend is not None and legend.has(x, y)
        return over is not None

    def again(self, on_top: OnTop) -> None:
        """Point at what is under the mouse now: the picture moves, the mouse may rest."""
        self.hover(on_top, *self._place)

    def click(self, on_top: OnTop, x: float, y: float, view: CurveView) -> bool:
        """Do what a click at a pixel does to the panel or to the charts; return whether it did.

        It opens the panel on what opens it, and closes it anywhere; on the title of the chart of
        the losses that becomes large or small, on a tab below it another one is chosen.
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
